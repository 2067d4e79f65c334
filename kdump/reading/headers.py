"""Reads the headers of consecutive batches, and little of the bytes between them."""

from __future__ import annotations

from kdump.binary.batch_header import BATCH_HEADER_SIZE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.binary.source import SizedReadable


class HeaderWindow:
    """The bytes around the current header.

    While batches are small, windows grow from `smallest` to `largest`, so that many headers are read at once. After a batch
    larger than its window, the next window is small again, so that little more than headers is read.
    """

    __slots__ = ("_largest", "_position", "_size", "_smallest", "_source", "_window")

    def __init__(self, source: SizedReadable, smallest: int, largest: int) -> None:
        self._source = source
        self._smallest = self._size = smallest
        self._largest = largest
        self._window = b""
        self._position = 0

    def at(self, position: int) -> tuple[bytes, int]:
        """A window and the place of this position in it; positions ascend. It holds all of a header unless the log ends there."""
        window, start = self._window, position - self._position
        if start + BATCH_HEADER_SIZE > len(window) and (not window or self._position + len(window) < self._source.size):
            is_dense = start <= len(window) or not window
            self._size = min(2 * self._size, self._largest) if is_dense else self._smallest
            self._window, self._position = self._source.read(position, self._size), position
            return self._window, 0
        return window, start
