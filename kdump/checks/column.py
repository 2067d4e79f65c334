"""Columns of very many numbers that are much alike, in little memory."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from itertools import chain
from operator import index

from kdump.binary import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import overload

_ROWS = 256
"""Of a block. Larger ones have numbers that are further apart, and take more bytes each."""

_WIDTHS = ((1 << 8, "B"), (1 << 16, "H"), (1 << 32, "I"), (1 << 64, "Q"))
"""Up to which distance from the lowest number of a block each takes so many bytes."""

_TYPES = {1: "B", 2: "H", 4: "I", 8: "Q"}


class Column:
    """A sequence of 64-bit numbers that grows at its end.

    Numbers are kept in blocks: an even block, as consecutive offsets make it, as a range, any other as distances from its lowest
    number, in as few bytes as these need. What is searched by `bisect_left` and `bisect_right` has to ascend.
    """

    __slots__ = ("_bases", "_blocks", "_firsts", "_tail")

    def __init__(self) -> None:
        self._blocks: list[Sequence[int]] = []
        self._bases = array("q")  # what is to be added to the numbers of a block
        self._firsts = array("q")
        self._tail = array("q")  # less than a block

    def extend(self, numbers: Sequence[int]) -> None:
        """Add numbers at the end."""
        tail = self._tail
        tail.extend(numbers)
        if len(tail) >= _ROWS:
            end = len(tail) // _ROWS * _ROWS
            if kernel.native is not None:
                self._add_packed(kernel.native.pack(tail, _ROWS))
            else:
                for row in range(0, end, _ROWS):
                    self._add_block(tail[row : row + _ROWS].tolist())
            del tail[:end]

    def _add_packed(self, blocks: list[tuple[int, int, int, int, bytes]]) -> None:
        """Add blocks as the kernel in C has made them."""
        for first, step, lowest, width, data in blocks:
            self._firsts.append(first)
            self._bases.append(lowest)
            block = range(first, first + _ROWS * step, step) if step else array(_TYPES[width], data)
            self._blocks.append(block)

    def _add_block(self, numbers: list[int]) -> None:
        first = numbers[0]
        step = numbers[1] - first
        self._firsts.append(first)
        if step and numbers[-1] == first + (_ROWS - 1) * step:
            even = range(first, first + _ROWS * step, step)
            if numbers == list(even):
                self._bases.append(0)
                self._blocks.append(even)
                return
        lowest = min(numbers)
        span = max(numbers) - lowest
        width = next(width for limit, width in _WIDTHS if span < limit)
        self._bases.append(lowest)
        self._blocks.append(array(width, [number - lowest for number in numbers]))

    def _based(self) -> Iterator[tuple[int, Sequence[int]]]:
        return zip(self._bases, self._blocks, strict=True)

    def __len__(self) -> int:
        return len(self._blocks) * _ROWS + len(self._tail)

    def __iter__(self) -> Iterator[int]:
        blocks = (map(base.__add__, block) for base, block in self._based())
        return chain(chain.from_iterable(blocks), self._tail)

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, place: int) -> int: ...
        @overload
        def __getitem__(self, place: slice) -> array[int]: ...

    def __getitem__(self, place: int | slice) -> int | array[int]:
        if isinstance(place, slice):
            return self._slice(*place.indices(len(self))[:2])
        row = index(place)
        if row < 0:
            row += len(self)
        block, inside = divmod(row, _ROWS)
        if block < 0 or block > len(self._blocks):
            raise IndexError("there is no such row")
        return self._tail[inside] if block == len(self._blocks) else self._bases[block] + self._blocks[block][inside]

    def at(self, rows: Sequence[int]) -> list[int]:
        """The numbers in these rows, none of them counted from the end."""
        blocks, bases = [*self._blocks, self._tail], [*self._bases, 0]
        return [bases[row // _ROWS] + blocks[row // _ROWS][row % _ROWS] for row in rows]

    def _slice(self, start: int, end: int) -> array[int]:
        """The numbers of neighbouring rows."""
        numbers = array("q")
        for block in range(start // _ROWS, -(-end // _ROWS)):
            before = block * _ROWS
            first, last = max(start - before, 0), min(end - before, _ROWS)
            if block == len(self._blocks):
                numbers.extend(self._tail[first:last])
            else:
                numbers.extend(map(self._bases[block].__add__, self._blocks[block][first:last]))
        return numbers

    def highest(self, default: int) -> int:
        """The highest of all numbers, the default where there is none."""
        ends = (base + max(block[0], block[-1]) if type(block) is range else base + max(block) for base, block in self._based())
        return max(chain(ends, self._tail), default=default)

    def index(self, number: int) -> int:
        """The first row with this number, which stands in one."""
        return next(row for row, other in enumerate(self) if other == number)

    def bisect_left(self, number: int, start: int = 0, end: int | None = None) -> int:
        """The first row between these two that is not below this number."""
        tail, last = self._tail, len(self._blocks)
        block = bisect_left(self._firsts, number)
        if tail and block == last and tail[0] < number:
            row = last * _ROWS + bisect_left(tail, number)
        elif block:
            row = (block - 1) * _ROWS + bisect_left(self._blocks[block - 1], number - self._bases[block - 1])
        else:
            row = 0
        return max(start, row if end is None else min(row, end))

    def bisect_right(self, number: int, start: int = 0) -> int:
        """The first row from this one on that is above this number."""
        return self.bisect_left(number + 1, start)
