"""Passes over batches whose records are as clients write them: rules may have something to report of their timestamps only."""

from __future__ import annotations

from bisect import bisect_left
from struct import Struct

from kdump.binary import kernel
from kdump.binary.batch_header import BATCH_HEADER, MAX_TIMESTAMP
from kdump.checks.content import OddTimes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.binary.kernel import Buffer
    from kdump.binary.source import Source
    from kdump.checks.rules.rule import SegmentRule
    from kdump.formats.log import Chunk
    from kdump.reading.items import Section

_ODD_TIMES = Struct("=5q")
_UNCOMPRESSED = 1  # as the codecs of a summary


class OrdinaryRecords:
    """Finds the batches that may be passed over, and shows the rules their odd times. Needs the kernel in C."""

    def __init__(self, rules: Sequence[SegmentRule]) -> None:
        self._rules = rules
        self._needs_keys = any(rule.needs_keys for rule in rules)

    @classmethod
    def for_rules(cls, rules: Sequence[SegmentRule]) -> OrdinaryRecords | None:
        """None where nothing may be passed over."""
        if kernel.native is None or not all(rule.passes_over_ordinary for rule in rules):
            return None
        return cls(rules)

    def pass_section(self, source: Source, section: Section) -> bool:
        """Whether all batches of a section were passed over; none was where it is False."""
        summary = section.summary
        if summary is None or summary.is_legacy or summary.codecs != _UNCOMPRESSED:
            return False
        position = summary.positions[0]
        data = source.read_exactly(position, summary.end - position)
        end, odd = self._skip(data, 0, len(data))
        if end < len(data):
            return False
        self._show(data, position, odd)
        return True

    def run_from(self, chunk: Chunk, row: int) -> tuple[int, bytes]:
        """The first row from this one on that may not be passed over, and the odd times of the batches before it."""
        if not chunk.window:
            return row, b""
        starts = chunk.starts
        end, odd = self._skip(chunk.window, starts[row], starts[-1] + chunk.batches["size"][-1])
        return bisect_left(starts, end, row), odd

    def show(self, chunk: Chunk, row: int, odd: bytes) -> None:
        """Show the odd times of the batches from this row on to the rules."""
        self._show(chunk.window, chunk.batches["position"][row] - chunk.starts[row], odd)

    def odd_times(self, header: Sequence[int], position: int, size: int, records: Buffer) -> list[OddTimes] | None:
        """The odd times of a compressed batch, if any, by its header and all its records; None if it may not be passed over."""
        assert kernel.native is not None
        header_bytes = BATCH_HEADER.pack(*header)
        found = kernel.native.ordinary_records(header_bytes, 0, records, self._needs_keys)
        if found is None:
            return None
        has_odd_base, highest = found
        if not has_odd_base and highest == header[MAX_TIMESTAMP]:
            return []
        return [OddTimes([(0, size, has_odd_base, highest, header[MAX_TIMESTAMP])], header_bytes, position)]

    def show_odd(self, times: OddTimes) -> None:
        """Show odd times to the rules."""
        for rule in self._rules:
            rule.odd_times(times)

    def _skip(self, data: Buffer, start: int, end: int) -> tuple[int, bytes]:
        assert kernel.native is not None
        skipped: tuple[int, bytes] = kernel.native.skip_ordinary(data, start, end, self._needs_keys)
        return skipped

    def _show(self, data: Buffer, position: int, odd: bytes) -> None:
        """Show the odd times of batches in `data`, which begins at this position of the file."""
        if odd:
            self.show_odd(OddTimes(list(_ODD_TIMES.iter_unpack(odd)), data, position))
