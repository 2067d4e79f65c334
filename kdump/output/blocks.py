"""Buffered output: text is written in large blocks."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

BLOCK_SIZE = 64 << 10
_PIECE_SIZE = 1 << 20  # characters of a longer text that are written at once


class Blocks:
    """Collects text and writes it to a stream in blocks of at least BLOCK_SIZE characters.

    If the reader of a pipe has gone, BrokenPipeError is raised. If `needs_reader` is false, text is dropped instead: the command
    continues to its verdict, whether or not anyone still reads.
    """

    def __init__(self, stream: BinaryIO, *, needs_reader: bool = True) -> None:
        self._stream = stream
        self.needs_reader = needs_reader
        self._has_reader = True
        self._texts: list[str] = []
        self._size = 0
        self._left_out = 0

    def write(self, text: str) -> None:
        if len(text) > _PIECE_SIZE:  # its bytes are not held beside it
            self._drain()
            for start in range(0, len(text), _PIECE_SIZE):
                self._put(memoryview(_encoded(text[start : start + _PIECE_SIZE])))
            return
        self._texts.append(text)
        self._size += len(text)
        if self._size >= BLOCK_SIZE:
            self._drain()

    def write_bytes(self, text: memoryview) -> None:
        """Write UTF-8 text at once; the memory may be reused afterwards."""
        self._drain()
        self._put(text)

    def leave_out(self, size: int) -> None:
        """Drop the next `size` bytes: they were written already."""
        self._drain()
        self._left_out = size

    def flush(self) -> None:
        """Write the buffered lines, however few."""
        self._drain()
        self._stream.flush()

    close = flush

    def _drain(self) -> None:
        if self._texts:
            data = _encoded("".join(self._texts))
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
            if self.needs_reader:
                raise
            self._has_reader = False


def _encoded(text: str) -> bytes:
    """Text as UTF-8; names of files may hold bytes that are not: they go out as they came in."""
    return text.encode("utf-8", "surrogateescape")
