"""Long columns of similar numbers, in little memory."""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from itertools import chain
from operator import index

from kdump.binary import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import overload

    Block = Sequence[int]

_BLOCK_ROWS = 256
"""Of a block. Larger ones have numbers that are further apart, and take more bytes each."""

_WIDTHS = ((1 << 8, "B"), (1 << 16, "H"), (1 << 32, "I"), (1 << 64, "Q"))
"""Limits of the distance from the lowest number of a block, and the type that each number then takes."""

_MANY_ROWS = 4096  # rows

_TYPES = {1: "B", 2: "H", 4: "I", 8: "Q"}
_BLOCK_FIELDS = 5  # numbers of a block in the directory

_NO_NUMBERS = array("q")
_NO_BYTES = bytearray()
"""What all columns without a block share, because thousands of small logs have such columns; nothing is ever added to these."""


class PackedInts:
    """A growing sequence of 64-bit numbers.

    Numbers are kept in blocks: an even block, as consecutive offsets make it, as a range, any other as distances from its lowest
    number, in as few bytes as these need. Data for `bisect_left` and `bisect_right` must be in ascending order.

    The directory has five numbers for each block: its first number, the number to add to its data, the step of an even block
    (else 0), where its data start and how many bytes each takes (0 if even). The kernel in C reads columns, too.
    """

    def __init__(self, numbers: Sequence[int] = ()) -> None:
        self._directory = self._firsts = _NO_NUMBERS
        self._data = _NO_BYTES
        self._tail = array("q")  # less than a block
        self.extend(numbers)

    def extend(self, numbers: Sequence[int]) -> None:
        """Add numbers at the end."""
        tail = self._tail
        tail.extend(numbers)
        if len(tail) < _BLOCK_ROWS:
            return
        if not self._firsts:
            self._directory, self._firsts, self._data = array("q"), array("q"), bytearray()
        end = len(tail) // _BLOCK_ROWS * _BLOCK_ROWS
        if kernel.native is not None:
            directory, data = kernel.native.pack(tail, len(self._data))
            entries = array("q", directory)
            self._directory.extend(entries)
            self._firsts.extend(entries[::_BLOCK_FIELDS])
            self._data += data
        else:
            for row in range(0, end, _BLOCK_ROWS):
                self._add_block(tail[row : row + _BLOCK_ROWS].tolist())
        del tail[:end]

    def _add_block(self, numbers: list[int]) -> None:
        first = numbers[0]
        step = numbers[1] - first
        self._firsts.append(first)
        if (
            step
            and numbers[-1] == first + (_BLOCK_ROWS - 1) * step
            and numbers == list(range(first, first + _BLOCK_ROWS * step, step))
        ):
            self._directory.extend((first, 0, step, len(self._data), 0))
            return
        lowest = min(numbers)
        span = max(numbers) - lowest
        block = array(next(width for limit, width in _WIDTHS if span < limit), [number - lowest for number in numbers])
        self._directory.extend((first, lowest, 0, len(self._data), block.itemsize))
        self._data += block.tobytes()

    @property
    def packed(self) -> tuple[array[int], bytearray, array[int]]:
        """The column as the kernel in C reads it."""
        return self._directory, self._data, self._tail

    def _block(self, number: int) -> tuple[int, Block]:
        """The base of the numbers in a block, and the numbers relative to it."""
        first, base, step, start, width = self._directory[number * _BLOCK_FIELDS : (number + 1) * _BLOCK_FIELDS]
        if step:
            return 0, range(first, first + _BLOCK_ROWS * step, step)
        return base, array(_TYPES[width], self._data[start : start + width * _BLOCK_ROWS])

    def _blocks(self) -> Iterator[tuple[int, Block]]:
        return map(self._block, range(len(self._firsts)))

    def __len__(self) -> int:
        return len(self._firsts) * _BLOCK_ROWS + len(self._tail)

    def __iter__(self) -> Iterator[int]:
        blocks = (map(base.__add__, block) for base, block in self._blocks())
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
        number, inside = divmod(row, _BLOCK_ROWS)
        if number < 0 or number > len(self._firsts):
            raise IndexError("there is no such row")
        if number == len(self._firsts):
            return self._tail[inside]
        directory, at = self._directory, number * _BLOCK_FIELDS
        step, width = directory[at + 2], directory[at + 4]
        if step:
            return directory[at] + step * inside
        start = directory[at + 3] + inside * width
        return directory[at + 1] + int.from_bytes(self._data[start : start + width], sys.byteorder)

    def at(self, rows: array[int]) -> array[int]:
        """The numbers in these rows, none of them counted from the end."""
        if kernel.native is not None:
            return array("q", kernel.native.numbers_at(self.packed, rows))
        blocks = [*self._blocks(), (0, self._tail)]
        return array("q", [blocks[row // _BLOCK_ROWS][0] + blocks[row // _BLOCK_ROWS][1][row % _BLOCK_ROWS] for row in rows])

    def _slice(self, start: int, end: int) -> array[int]:
        """The numbers of neighbouring rows."""
        if kernel.native is not None and end - start > _MANY_ROWS:  # it looks at the whole directory first
            return array("q", kernel.native.numbers_of(self.packed, start, end))
        numbers = array("q")
        for number in range(start // _BLOCK_ROWS, -(-end // _BLOCK_ROWS)):
            before = number * _BLOCK_ROWS
            first, last = max(start - before, 0), min(end - before, _BLOCK_ROWS)
            base, block = (0, self._tail) if number == len(self._firsts) else self._block(number)
            numbers.extend(map(base.__add__, block[first:last]))
        return numbers

    def highest(self, default: int) -> int:
        """The highest of all numbers; the default if there are none."""
        ends = (base + max(block[0], block[-1]) if type(block) is range else base + max(block) for base, block in self._blocks())
        return max(chain(ends, self._tail), default=default)

    def index(self, number: int) -> int:
        """The first row with this number, which must exist."""
        return next(row for row, other in enumerate(self) if other == number)

    def bisect_left(self, number: int, start: int = 0) -> int:
        """The first row from this one on that is not below this number."""
        return max(start, self.from_first(number, 0)[0])

    def from_first(self, number: int, count: int) -> tuple[int, list[int]]:
        """The first row that is not below this number, and the numbers of so many rows from there on, as far as there are."""
        tail, last = self._tail, len(self._firsts)
        block = bisect_left(self._firsts, number)
        if tail and block == last and tail[0] < number:
            inside = bisect_left(tail, number)
            return last * _BLOCK_ROWS + inside, tail[inside : inside + count].tolist()
        row = 0
        if block:
            base, numbers = self._block(block - 1)
            inside = bisect_left(numbers, number - base)
            row = (block - 1) * _BLOCK_ROWS + inside
            if inside + count <= _BLOCK_ROWS:
                return row, [base + other for other in numbers[inside : inside + count]]
        return row, self._slice(row, min(row + count, len(self))).tolist()

    def bisect_right(self, number: int, start: int = 0) -> int:
        """The first row from this one on that is above this number."""
        return self.bisect_left(number + 1, start)

    def rows_of(self, numbers: array[int]) -> array[int]:
        """For each number the first row that is not below it."""
        if kernel.native is not None:
            return array("q", kernel.native.rows_of(self.packed, numbers))
        return array("q", map(self.bisect_left, numbers))
