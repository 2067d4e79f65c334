"""Writes the lines of indexes, compared with their log, with the kernel in C; irregular entries are left to the reference."""

from __future__ import annotations

from itertools import compress

from kdump.formats.record_batch import NO_TIMESTAMP
from kdump.output.kafka.native_lines import OUT_SIZE, int64s, line_program, native_kernel
from kdump.releases.history import NOT_FOUND, OUT_OF_ORDER, TIMESTAMP_MISMATCHES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kdump.binary.source import Source
    from kdump.output.kafka.native_lines import Write

_COMPLAINTS = 1 << 13
_MAX_HELD_INDEX_BYTES = 12 << 20  # an offset index up to this size is held to look entries up


class OffsetIndexText:
    """Writes the lines of an offset index, unless it is quiet; `complain` gets offsets of entries, and those of their batches."""

    def __init__(
        self,
        line: str,
        write: Write,
        complain: Callable[[Sequence[int], Sequence[int]], None],
        *,
        log: Source,
        base_offset: int,
        slice_size: int,
        is_quiet: bool,
    ) -> None:
        self._kernel = native_kernel()
        self._program = line_program("" if is_quiet else line)
        self._write = write
        self._complain = complain
        self._log = log
        self._base_offset = base_offset
        self._slice_size = slice_size
        self._out = bytearray(OUT_SIZE)
        self._mismatches = int64s(2 * _COMPLAINTS)

    def render(self, entries: bytes, start: int, *, is_first: bool) -> int:
        """Write the lines of entries from byte `start` on. Returns where the first one starts that is left to the reference."""
        reason = self._kernel.FULL
        while reason == self._kernel.FULL:
            filled, end, count, reason = self._kernel.dump_index(
                self._program,
                entries,
                start,
                self._base_offset,
                is_first and start == 0,
                self._log.fileno(),
                self._log.size,
                self._slice_size,
                self._out,
                0,
                self._mismatches,
                0,
            )
            if count:
                mismatches = self._mismatches[: 2 * count]
                self._complain(mismatches[0::2].tolist(), mismatches[1::2].tolist())
            with memoryview(self._out) as text:
                self._write(text[:filled])
            start = end
        return start


class TimeIndexText:
    """Writes the lines of a time index, unless it is quiet; `complain` gets what a report needs: its kind and pairs of numbers.

    `previous` is the timestamp of the entry shown last.
    """

    def __init__(
        self,
        line: str,
        write: Write,
        complain: Callable[[str, Sequence[int], Sequence[int]], None],
        *,
        log: Source,
        offset_index: Source,
        base_offset: int,
        tries_end_first: bool,
        is_quiet: bool,
    ) -> None:
        self._kernel = c = native_kernel()
        self._kinds = {c.NOT_FOUND: NOT_FOUND, c.TIMESTAMP_MISMATCH: TIMESTAMP_MISMATCHES, c.OUT_OF_ORDER: OUT_OF_ORDER}
        self._program = line_program("" if is_quiet else line)
        self._write = write
        self._complain = complain
        self._log = log
        self._base_offset = base_offset
        self._index = offset_index.read(0, offset_index.size)
        self._tries_end_first = tries_end_first
        self._walks = int64s(c.LOG_WALKS)
        self.previous = NO_TIMESTAMP
        self._out = bytearray(OUT_SIZE)
        self._complaints = int64s(3 * _COMPLAINTS)

    def render(self, entries: bytes, start: int) -> int:
        """Write the lines of entries from byte `start` on. Returns where the first one starts that is left to the reference."""
        reason = self._kernel.FULL
        while reason == self._kernel.FULL:
            filled, end, self.previous, count, reason = self._kernel.dump_time_index(
                self._program,
                entries,
                start,
                self._base_offset,
                self.previous,
                self._index,
                self._tries_end_first,
                self._walks,
                self._log.fileno(),
                self._log.size,
                self._out,
                0,
                self._complaints,
            )
            self._take_complaints(self._complaints[: 3 * count])
            with memoryview(self._out) as text:
                self._write(text[:filled])
            start = end
        return start

    def _take_complaints(self, complaints: memoryview[int]) -> None:
        kinds, firsts, seconds = (complaints[field::3].tolist() for field in range(3))
        for kind in dict.fromkeys(kinds):
            are_of_kind = [one == kind for one in kinds]
            self._complain(self._kinds[kind], list(compress(firsts, are_of_kind)), list(compress(seconds, are_of_kind)))


def can_hold(index: Source) -> bool:
    """Whether an offset index is small enough to be held in memory while it is searched."""
    return index.size <= _MAX_HELD_INDEX_BYTES


def walks_to_end(log: Source) -> bool:
    """Whether a log holds nothing but regular batches and messages, up to its end or to fewer bytes than a header."""
    from kdump.binary.batch_header import HEADER_UP_TO_MAGIC

    position: int = native_kernel().walk_log(log.fileno(), 0, log.size)
    return log.size - position <= HEADER_UP_TO_MAGIC
