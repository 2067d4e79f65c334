"""Reads a log through the window that was read last."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.binary.source import SizedReadable
    from kdump.reading.tuning import ReadTuning


class RecentBytes:
    """The bytes of a log, those around the last position from memory: near damage, the same bytes are looked at several times.

    Windows grow while positions are close to each other. Reads of more than half of the largest go to the `source`.
    """

    def __init__(self, source: SizedReadable, tuning: ReadTuning) -> None:
        self._smallest, self._largest = tuning.near_bytes // 4, 4 * tuning.near_bytes
        self.source = source
        self.path: str = getattr(source, "path", "")
        self.size = source.size
        self._window = b""
        self._position = 0
        self._read_size = self._smallest

    def read(self, position: int, count: int) -> bytes:
        """The bytes at `position`, fewer than `count` only at the end of the log. Raises what the source raises."""
        window, start = self._window, position - self._position
        end = start + count
        if start >= 0 and (end <= len(window) or start <= len(window) and self._position + len(window) == self.size):
            return window[start:end]
        if count > self._largest // 2:
            return self.source.read(position, count)
        is_near = abs(start) <= 2 * self._largest
        self._read_size = min(2 * self._read_size, self._largest) if is_near else self._smallest
        self._window, self._position = self.source.read(position, max(self._read_size, count)), position
        return self._window[:count]
