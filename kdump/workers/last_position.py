"""Where a worker process is, in memory that it shares with the process that started it: readable when the worker has died."""

import mmap
from struct import Struct


class LastPosition:
    """Some numbers and a text of bytes, `size` bytes in all. The worker puts them; both read what was put last."""

    __slots__ = ("_length", "_numbers", "_page")

    def __init__(self, number_count: int, size: int) -> None:
        self._numbers = Struct(f">{number_count}QI")  # and the length of the text, which follows
        self._page = mmap.mmap(-1, size)
        self._length = 0

    def put(self, *numbers: int) -> None:
        """Put numbers, and make the text that was put before them count."""
        self._numbers.pack_into(self._page, 0, *numbers, self._length)

    def put_text(self, text: bytes) -> None:
        """Put a text, cut off where there is no room. It counts when numbers are put after it."""
        start = self._numbers.size
        text = text[: len(self._page) - start]
        self._page[start : start + len(text)] = text
        self._length = len(text)

    def numbers(self) -> tuple[int, ...]:
        """The numbers that were put last, at first zeros."""
        return self._numbers.unpack_from(self._page)[:-1]

    def text(self) -> bytes:
        """The text that was put last, empty if there is none."""
        start, length = self._numbers.size, self._numbers.unpack_from(self._page)[-1]
        return self._page[start : start + length]
