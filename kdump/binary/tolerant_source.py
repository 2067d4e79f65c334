"""A file on a device with errors: blocks that cannot be read are zeros, and are listed."""

from __future__ import annotations

from kdump.binary.source import Source
from kdump.errors import Unreadable

_BLOCK_BYTES = 4096  # what is read at once where the device has errors


class TolerantSource(Source):
    """A file of which each readable byte is read.

    Blocks that cannot be read are zeros, and `bad_ranges` has their bytes, as pairs of start and end. Raises Unreadable
    (`file-shrank`) if the file has become shorter, or its bytes are gone (`replaced`).
    """

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.bad_ranges: list[tuple[int, int]] = []
        self.replaced: Unreadable | None = None

    def read(self, position: int, count: int) -> bytes:
        count = max(0, min(count, self.size - position))
        try:
            data = self._take(position, count)
        except Unreadable:
            data = self._read_around_errors(position, count)
        if len(data) < count and not self._is_shorter():
            data += self._read_around_errors(position + len(data), count - len(data))
        if len(data) < count:
            return self._cut_short(position, data)
        return data

    def read_into(self, buffer: memoryview, position: int) -> int:
        data = self.read(position, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def read_plainly(self, buffer: memoryview, position: int) -> None:
        """Fill a buffer without a copy where the device gives all bytes, or else as `read_into`."""
        try:
            if self._fill(buffer, position) == len(buffer):
                return
        except Unreadable:
            pass
        self.read_into(buffer, position)

    def _cut_short(self, position: int, data: bytes) -> bytes:
        """What becomes of a read that gave only `data`, because the file has become shorter."""
        raise self.replaced or self._ends_early(position + len(data))

    def _at(self, position: int) -> None:
        """Called before each block that is read around errors."""

    def _read_around_errors(self, position: int, count: int) -> bytes:
        """The bytes here, those of unreadable blocks as zeros; fewer if the file has become shorter."""
        parts = []
        end = position + count
        while position < end:
            stop = min(position // _BLOCK_BYTES * _BLOCK_BYTES + _BLOCK_BYTES, end)
            self._at(position)
            try:
                part = self._take(position, stop - position)
            except Unreadable as error:
                if error.code == "file-shrank":
                    self.replaced = error
                    break
                part = b""
                self._record_bad(position, stop)
            else:
                if len(part) < stop - position:
                    if self._is_shorter():
                        parts.append(part)
                        break
                    self._record_bad(position + len(part), stop)
            parts.append(part.ljust(stop - position, b"\0"))
            position = stop
        return b"".join(parts)

    def _is_shorter(self) -> bool:
        """Whether the file has become shorter since it was opened, or its bytes are gone."""
        return self.replaced is not None or self.status().st_size < self.size

    def _record_bad(self, start: int, end: int) -> None:
        """Record a range that cannot be read; the same bytes may be read several times."""
        if self.bad_ranges and self.bad_ranges[-1][0] <= start <= self.bad_ranges[-1][1]:
            first, last = self.bad_ranges[-1]
            self.bad_ranges[-1] = first, max(last, end)
        elif not any(first <= start and end <= last for first, last in self.bad_ranges):
            self.bad_ranges.append((start, end))
