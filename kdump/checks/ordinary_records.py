"""Passes over batches whose records are as clients write them: rules may have something to report of their timestamps only.

So may messages of magic 0 and 1 be, and wrappers of them, if their timestamps agree, too.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from struct import Struct

from kdump.binary import kernel
from kdump.binary.batch_header import ATTRIBUTES, BATCH_HEADER, COMPRESSION_MASK, LENGTH, LOG_OVERHEAD, batch_offset, codec_id
from kdump.checks.content import OddTimes
from kdump.checks.rules.rule import SegmentRule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.binary.codecs import BatchDecompressor
    from kdump.binary.kernel import Buffer
    from kdump.binary.source import Source
    from kdump.checks.context import FileContext
    from kdump.formats.log import Chunk
    from kdump.reading.items import Section

    Miscounts = Sequence[tuple[int, int, int]]  # by code: how many batches, where the first starts, where the last ends

_MISCOUNTED = "record-count-too-high", "record-count-too-low"  # which a rule only counts after a while, and others leave to it
_ODD_TIMES = Struct("=5q")
_UNCOMPRESSED = 1  # as the codecs of a summary
_READ_BYTES = 512 << 10  # at once; a larger batch as a whole


class OrdinaryRecords:
    """Finds the batches that may be passed over, and shows the rules their odd times. Needs the kernel in C.

    A wrapper of more than `max_messages` may not be. The rules see no content of bad batches that say they have no more than
    `most_together` records. Batches that have fewer records than they say, or bytes after them, are passed over where such
    batches are only counted.
    """

    def __init__(self, context: FileContext, rules: Sequence[SegmentRule], max_messages: int, most_together: int) -> None:
        self._context = context
        self._takers = [rule.odd_times for rule in rules if type(rule).odd_times is not SegmentRule.odd_times]
        self._most_together = most_together
        self._max_messages = max_messages
        self._needs_keys = any(rule.needs_keys for rule in rules)
        self._refused: tuple[int, Buffer] | None = None
        self._are_counted = [False for _ in _MISCOUNTED]
        self._room = bytearray()

    def pass_section(
        self,
        source: Source,
        section: Section,
        decompressor: BatchDecompressor,
        first_offsets: list[int] | None = None,
    ) -> int:
        """Pass over the first batches of a section that may be. Returns how many these are.

        The first offsets of messages and wrappers are added to `first_offsets`, -1 where the offsets in a wrapper do not say it.
        """
        summary = section.summary
        if summary is None:
            return 0
        starts = [*summary.positions, summary.end]
        row, count = 0, len(summary.positions)
        read_bytes = _READ_BYTES if section.kept is None else summary.end - starts[0]
        while row < count:
            first, row = row, max(bisect_right(starts, starts[row] + read_bytes) - 1, row + 1)
            data = self._read(source, section, starts[first], starts[row] - starts[first])
            positions = starts[first : row + 1]
            if summary.is_legacy:
                relative = [start - positions[0] for start in positions]
                passed = self._pass_messages(data, relative, decompressor, first_offsets=first_offsets)
            else:
                passed = self._pass_batches(data, positions, summary.codecs, decompressor)
            if passed < row - first:
                return first + passed
        return row

    def _read(self, source: Source, section: Section, position: int, size: int) -> memoryview:
        """The bytes there, valid until the next call."""
        if section.kept is not None and section.summary is not None:
            start = position - section.summary.positions[0]
            return section.kept[start : start + size]
        if size > len(self._room):
            self._room = bytearray(max(size, _READ_BYTES))
        data = memoryview(self._room)[:size]
        source.read_into(data, position)
        return data

    def _pass_batches(self, data: memoryview, positions: Sequence[int], codecs: int, decompressor: BatchDecompressor) -> int:
        """Pass over the first batches that may be, of those at these positions of the file; the last is where they end."""
        position, count = positions[0], len(positions) - 1
        starts = [start - position for start in positions]
        found: list[bytes] = []
        passed, row = -1, 0
        while passed < row < count:
            passed = row
            if codecs != _UNCOMPRESSED:
                row = self._pass_compressed(data, position, starts, row, decompressor, found)
            if codecs & _UNCOMPRESSED and row < count:
                end, odd, miscounts = self._skip(data, starts[row], len(data))
                row = bisect_left(starts, end, row)
                found.append(odd)
                self._count(miscounts, position)
        self._show(data, position, b"".join(found))
        return row

    def _pass_messages(
        self,
        data: Buffer,
        starts: Sequence[int],
        decompressor: BatchDecompressor,
        row: int = 0,
        first_offsets: list[int] | None = None,
    ) -> int:
        """Pass over the messages and wrappers from this row on that may be, of those at these places; the last is where they end.

        Returns the first row that may not be. Their first offsets are added to `first_offsets`.
        """
        assert kernel.native is not None
        count, view = len(starts) - 1, memoryview(data)
        while row < count:
            codec = codec_id(data, starts[row])
            decompress = decompressor.of(codec) if codec else None
            if codec and decompress is None:
                break
            settings = (self._needs_keys, self._max_messages, codec, decompress, first_offsets)
            end = kernel.native.skip_messages(view, starts[row], starts[-1], *settings)
            if end == starts[row]:
                break
            before, row = row, bisect_left(starts, end, row)
            if first_offsets is not None and not codec:
                first_offsets += [batch_offset(view, start) for start in starts[before:row]]
        return row

    def _pass_compressed(
        self,
        data: memoryview,
        position: int,
        starts: Sequence[int],
        row: int,
        decompressor: BatchDecompressor,
        found: list[bytes],
    ) -> int:
        """The first row from this one on whose batch is not compressed or may not be passed over; odd times are appended."""
        assert kernel.native is not None
        while row + 1 < len(starts) and (codec := codec_id(data, starts[row])):
            decompress = decompressor.of(codec)
            if decompress is None:
                break
            end, odd, records = kernel.native.skip_compressed(data, starts[row], len(data), self._needs_keys, codec, decompress)
            found.append(odd)
            row = bisect_left(starts, end, row)
            if row + 1 < len(starts) and codec_id(data, end) == codec:
                self._refused = None if records is None else (position + end, records)
                break
        return row

    def take_refused(self, position: int) -> Buffer | None:
        """The payload of the batch at this position, if it is the one that ended the last section. It is given once.

        It is the decompressor's buffer, valid until the next payload is decompressed.
        """
        refused, self._refused = self._refused, None
        return refused[1] if refused is not None and refused[0] == position else None

    def run_from(self, chunk: Chunk, row: int) -> tuple[int, bytes, Miscounts]:
        """The first row from this one on that may not be passed over; odd times and wrong counts of those before."""
        if not chunk.window or chunk.headers[row][ATTRIBUTES] & COMPRESSION_MASK:
            return row, b"", ()
        starts = chunk.starts
        end, odd, miscounts = self._skip(chunk.window, starts[row], starts[-1] + chunk.headers[-1][LENGTH] + LOG_OVERHEAD)
        return bisect_left(starts, end, row), odd, miscounts

    def messages_from(self, window: Buffer, starts: Sequence[int], row: int, decompressor: BatchDecompressor) -> int:
        """The first row from this one on whose message may not be passed over. The last of the starts is where they end."""
        passed = self._pass_messages(window, starts, decompressor, row)
        if passed > row:
            self.show_odd(OddTimes((), b"", 0))  # what came before them has ended
        return passed

    def show(self, chunk: Chunk, row: int, odd: bytes, miscounts: Miscounts) -> None:
        """Show the odd times of the batches from this row on to the rules, and count those that say a wrong number of records."""
        position = chunk.batches["position"][row] - chunk.starts[row]
        self._show(chunk.window, position, odd)
        self._count(miscounts, position)

    def odd_times(self, header: Sequence[int], position: int, records: Buffer) -> list[OddTimes] | None:
        """The odd times of a compressed batch, if any, by its header and all its records; None if it may not be passed over."""
        assert kernel.native is not None
        header_bytes = BATCH_HEADER.pack(*header)
        odd = kernel.native.ordinary_records(header_bytes, 0, records, self._needs_keys)
        if odd is None:
            return None
        return [OddTimes(list(_ODD_TIMES.iter_unpack(odd)), header_bytes, position)] if odd else []

    def show_odd(self, times: OddTimes) -> None:
        """Show odd times to the rules."""
        for show in self._takers:
            show(times)

    def _skip(self, data: Buffer, start: int, end: int) -> tuple[int, bytes, Miscounts]:
        assert kernel.native is not None
        if self._context.has_flood and not all(self._are_counted):  # once they are, they stay so
            self._are_counted = [self._context.is_full(code) for code in _MISCOUNTED]
        passed, odd, *miscounts = kernel.native.skip_ordinary(
            data, start, end, self._needs_keys, *self._are_counted, self._most_together
        )
        return passed, odd, miscounts

    def _count(self, miscounts: Miscounts, position: int) -> None:
        """Count batches that say a wrong number of records, in data that begins at this position of the file."""
        for code, (count, first, end) in zip(_MISCOUNTED, miscounts, strict=False):
            if count:
                self._context.count_further(code, count, position + first, position + end)

    def _show(self, data: Buffer, position: int, odd: bytes) -> None:
        """Show the odd times of batches in `data`, which begins at this position of the file."""
        if odd:
            self.show_odd(OddTimes(list(_ODD_TIMES.iter_unpack(odd)), data, position))
