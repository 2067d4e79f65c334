"""Where a worker process is, in memory shared with its parent, which can read it after the worker died."""

import mmap
from struct import Struct


class LastPosition:
    """Numbers and a text in `size` bytes of shared memory. The worker writes them; both read the last ones written."""

    def __init__(self, number_count: int, size: int) -> None:
        self._numbers = Struct(f">{number_count}QI")  # and the length of the text, which follows
        self._page = mmap.mmap(-1, size)
        self._length = 0

    def put(self, *numbers: int) -> None:
        """Write numbers; they become valid together with the text that was written before them."""
        self._numbers.pack_into(self._page, 0, *numbers, self._length)

    def put_text(self, text: bytes) -> None:
        """Write a text, truncated if it does not fit. It becomes valid with the next numbers."""
        start = self._numbers.size
        text = text[: len(self._page) - start]
        self._page[start : start + len(text)] = text
        self._length = len(text)

    def numbers(self) -> tuple[int, ...]:
        """The numbers that were written last, zeros at first."""
        return self._numbers.unpack_from(self._page)[:-1]

    def text(self) -> bytes:
        """The text that was written last, empty if there is none."""
        start, length = self._numbers.size, self._numbers.unpack_from(self._page)[-1]
        return self._page[start : start + length]
