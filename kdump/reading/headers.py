"""Reads the headers of consecutive batches, and little of the bytes between them."""

from __future__ import annotations

from kdump.binary.batch_header import BATCH_HEADER, BATCH_HEADER_SIZE, LENGTH, LOG_OVERHEAD, MAGIC_AT
from kdump.reading.plausible import is_plausible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.binary.batch_header import BatchHeader
    from kdump.binary.source import SizedReadable

_HEADER_WINDOW = 32 << 10  # bytes; room for several small batches, and little is wasted on large ones


class HeaderWindow:
    """The bytes around the current header.

    While batches are small, windows grow from `smallest` to `largest`, so that many headers are read at once. After a batch
    larger than its window, the next window is small again, so that little more than headers is read.
    """

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


def headers_from(source: SizedReadable, position: int, most: int) -> tuple[list[BatchHeader], list[int], int]:
    """The headers of the next batches of magic 2, `most` or fewer, their positions, and where the last one ends.

    Their checksums are not verified. Ends before the first old or implausible batch.
    """
    headers: list[BatchHeader] = []
    positions: list[int] = []
    header_window = HeaderWindow(source, _HEADER_WINDOW, _HEADER_WINDOW)
    while len(headers) < most:
        window, start = header_window.at(position)
        header_bytes = window[start : start + BATCH_HEADER_SIZE]
        if (
            len(header_bytes) < BATCH_HEADER_SIZE
            or header_bytes[MAGIC_AT] < 2
            or not is_plausible(header_bytes, source.size - position)
        ):
            break
        headers.append(BATCH_HEADER.unpack(header_bytes))
        positions.append(position)
        position += LOG_OVERHEAD + headers[-1][LENGTH]
    return headers, positions, position
