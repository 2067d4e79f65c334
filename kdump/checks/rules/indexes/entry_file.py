"""Files of fixed-size entries: windows of entries, runs of zeros between and after them, and their coverage."""

from __future__ import annotations

import errno
import os
from itertools import groupby

from kdump.binary.source import WINDOW_SIZE
from kdump.checks.finding import WARNING, ByteCoverage
from kdump.checks.wording import counted
from kdump.formats import file_name
from kdump.formats.entries import used_entries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from kdump.binary.source import Source
    from kdump.checks.context import FileContext

_MAX_INDEX_BYTES = 0x7FFFFFFF  # Kafka maps an index as a whole
_WINDOW_ROWS = 1 << 15


class EntryFile:
    """The entries of an index file, `count` of them up to the last that is not all zeros.

    Brokers allocate the indexes of the newest segment in full and fill them; what is not used yet is zeros.
    """

    def __init__(self, context: FileContext, entry_size: int, *, is_preallocated: bool = True) -> None:
        self.context = context
        self._is_preallocated = is_preallocated
        self.entry_size = entry_size
        source = context.source
        self._end = source.size - source.size % entry_size
        self._extents = _extents(source)
        self.count = used_entries(source, entry_size)
        self._zeros: tuple[int, int] | None = None
        self.zero_count = 0

    @property
    def has_zero_tail(self) -> bool:
        return self.count * self.entry_size < self._end

    def windows(self) -> Iterator[tuple[int, bytes, bytes]]:
        """Windows of entries: the row of the first, their bytes, and those of the entry after them, if there is one.

        Pass each window to `count_window` before you request the next one.
        """
        source, entry_size = self.context.source, self.entry_size
        end = self.count * entry_size
        position = 0
        for start, stop in self._extents:
            start = min(start - start % entry_size, end)
            if position < start:
                self._count_zeros(position, start)
                position = start
            while position < min(stop, end):
                size = min(_WINDOW_ROWS * entry_size, end - position)
                data = source.read(position, min(size + entry_size, end - position))
                if len(data) < size:
                    return  # the file was cut off meanwhile
                yield position // entry_size, data[:size], data[size:]
                position += size

    def count_window(self, data: bytes, damaged: Collection[int], zeros: Collection[int]) -> None:
        """Count a window, given its damaged and its zero rows, numbered from its first."""
        coverage = self.context.coverage
        count = len(data) // self.entry_size
        if not damaged and not zeros:
            self._flush_zeros()
            coverage.add(ByteCoverage.INTACT, coverage.position + len(data), batches=count)
            return
        if not zeros and len(damaged) == count:
            self._flush_zeros()
            coverage.add(ByteCoverage.DAMAGED, coverage.position + count * self.entry_size, batches=count)
            return
        statuses = (
            ByteCoverage.ZERO if row in zeros else ByteCoverage.DAMAGED if row in damaged else ByteCoverage.INTACT
            for row in range(count)
        )
        for status, run in groupby(statuses):
            rows = sum(1 for _ in run)
            start = coverage.position
            end = start + rows * self.entry_size
            if status == ByteCoverage.ZERO:
                self._count_zeros(start, end)
            else:
                self._flush_zeros()
                coverage.add(status, end, batches=rows)

    def finish(self, misaligned_code: str) -> None:
        """Report faults of the file as a whole: its size, and zeros after the last entry."""
        context, size = self.context, self.context.source.size
        self._flush_zeros()
        if context.coverage.position < self.count * self.entry_size:
            return  # the file was cut off meanwhile
        context.coverage.add(ByteCoverage.ZERO, self._end)
        if size > _MAX_INDEX_BYTES:
            message = f"The file has {size:,} bytes; Kafka maps at most {_MAX_INDEX_BYTES:,}."
            context.report("index-oversize", _MAX_INDEX_BYTES, size, message, expected=_MAX_INDEX_BYTES, found=size)
        self._report_zero_tail()
        if size > self._end:
            context.coverage.add(ByteCoverage.DAMAGED, size)
            entries = counted(self._end // self.entry_size, "whole entry", "whole entries")
            rest = counted(size - self._end, "byte follows", "bytes follow")
            message = f"{counted(size, 'byte is', 'bytes are')} not a multiple of {self.entry_size}: {rest} {entries}."
            context.report(misaligned_code, self._end, size, message, expected=self._end, found=size)

    def _report_zero_tail(self) -> None:
        start = self.count * self.entry_size
        rows = (self._end - start) // self.entry_size
        if not rows:
            return
        severity = None
        message = f"{counted(self.count, 'entry', 'entries')}, then {rows:,} of zeros to the end"
        if not self._is_preallocated:
            message, severity = f"{message}; a file of this type is never preallocated.", WARNING
        elif self.context.is_newest is not True or self.context.settings.is_pedantic:
            message += ": preallocated, and not trimmed."
            if self.context.is_newest is False and self.context.file_type == file_name.TIME_INDEX.removeprefix("."):
                message += " Unless a start scans the segment, time-based retention takes its latest record for one of 1970."
                severity = WARNING
        else:
            return  # as it must be
        self.context.report("index-zero-tail", start, self._end, message, severity=severity, found=rows)

    def _count_zeros(self, start: int, end: int) -> None:
        if self._zeros is None or self._zeros[1] != start:
            self._flush_zeros()
            self._zeros = (start, start)
        self._zeros = (self._zeros[0], end)
        self.zero_count += (end - start) // self.entry_size
        self.context.coverage.add(ByteCoverage.ZERO, end)

    def _flush_zeros(self) -> None:
        """Report a run of zeros that entries follow."""
        if self._zeros is None:
            return
        (start, end), self._zeros = self._zeros, None
        first, last = start // self.entry_size, end // self.entry_size - 1
        subject = f"Entry {first:,} is" if first == last else f"Entries {first:,} to {last:,} are"
        message = f"{subject} all zeros, but entries follow. Lookups that hit zeros go wrong."
        self.context.report("index-zero-entry-middle", start, end, message, found=last - first + 1)


def _extents(source: Source) -> list[tuple[int, int]]:
    """The parts of a file that are not holes; small holes are left in."""
    whole = [(0, source.size)]
    if not hasattr(os, "SEEK_DATA"):
        return whole
    descriptor = source.fileno()
    extents: list[tuple[int, int]] = []
    position = 0
    try:
        if source.status().st_blocks * 512 >= source.size:
            return whole
        while position < source.size:
            start = os.lseek(descriptor, position, os.SEEK_DATA)
            end = os.lseek(descriptor, start, os.SEEK_HOLE)
            if end <= position:
                return whole  # the file was cut off meanwhile
            position = end
            if extents and start - extents[-1][1] < WINDOW_SIZE:
                start = extents.pop()[0]
            extents.append((start, end))
    except OSError as error:
        if error.errno != errno.ENXIO or source.status().st_size < source.size:  # else no data follow
            return whole
    return extents
