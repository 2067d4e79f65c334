"""Text on its way out, in large blocks."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

BLOCK_SIZE = 64 << 10


class Blocks:
    """Collects text and writes it to a stream in blocks of at least BLOCK_SIZE characters.

    If `needs_reader` is false, text is dropped once the reader of a pipe has gone: a verdict is due whether or not anybody reads
    on. Otherwise that raises BrokenPipeError.
    """

    __slots__ = ("_has_reader", "_left_out", "_needs_reader", "_size", "_stream", "_texts")

    def __init__(self, stream: BinaryIO, *, needs_reader: bool = True) -> None:
        self._stream = stream
        self._needs_reader = needs_reader
        self._has_reader = True
        self._texts: list[str] = []
        self._size = 0
        self._left_out = 0

    def write(self, text: str) -> None:
        self._texts.append(text)
        self._size += len(text)
        if self._size >= BLOCK_SIZE:
            self._drain()

    def write_bytes(self, text: memoryview) -> None:
        """Write text that is UTF-8 already, at once; it may change afterwards."""
        self._drain()
        self._put(text)

    def leave_out(self, size: int) -> None:
        """Take the next so many bytes without writing them: they were written already."""
        self._drain()
        self._left_out = size

    def flush(self) -> None:
        """Write what is left, whatever its size."""
        self._drain()
        self._stream.flush()

    close = flush

    def _drain(self) -> None:
        if self._texts:
            # names of files may hold bytes that are no UTF-8: they go out as they came in
            data = "".join(self._texts).encode("utf-8", "surrogateescape")
            self._texts.clear()
            self._size = 0
            self._put(memoryview(data))

    def _put(self, rest: memoryview) -> None:
        if self._left_out:
            left_out = min(self._left_out, len(rest))
            self._left_out -= left_out
            rest = rest[left_out:]
        try:
            while rest and self._has_reader:  # an unbuffered stream may take less than it is given
                rest = rest[self._stream.write(rest) :]
        except BrokenPipeError:
            if self._needs_reader:
                raise
            self._has_reader = False
