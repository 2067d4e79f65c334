"""Buffered output: text is written in large blocks."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

BLOCK_SIZE = 64 << 10


class Blocks:
    """Collects text and writes it to a stream in blocks of at least BLOCK_SIZE characters.

    If the reader of a pipe has gone, BrokenPipeError is raised. If `needs_reader` is false, text is dropped instead: the command
    continues to its verdict, whether or not anyone still reads.
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
            # names of files may hold bytes that are not UTF-8: they go out as they came in
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
