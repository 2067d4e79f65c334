"""Columns of numbers answer as lists of the same numbers do."""

from array import array
from bisect import bisect_left, bisect_right
from typing import Any

import pytest

from kdump.checks.packed_ints import PackedInts
from kdump.checks.segment_facts import SegmentFacts
from tests.loops import each

pytestmark = pytest.mark.both_kernels

_OFFSETS = list(range(5000, 6000))
_UNEVEN = [number * number for number in range(700)]
_EXTREMES = [-(1 << 63), 0, (1 << 63) - 1] * 100
_STEADY = [1_700_000_000_000] * 600
_SHORT = [7, 9, 12]
_MIXED = [*range(256), *_UNEVEN[256:512], *range(1 << 40, (1 << 40) + 256, 1), 1 << 41]
_SPANS = [
    base + far
    for base in (0, -5, 1 << 62)
    for bits in (8, 16, 32)
    for span in ((1 << bits) - 1, 1 << bits)
    for far in (0, span, *[span // 2, 1] * 127)
]
"""Blocks whose numbers are as far apart as one, two or four bytes can say, or one farther."""


def _column(numbers: list[int], step: int = 100) -> PackedInts:
    column = PackedInts()
    for start in range(0, len(numbers), step):
        column.extend(tuple(numbers[start : start + step]))
    return column


@each("numbers", [[], _SHORT, _OFFSETS, _UNEVEN, _EXTREMES, _STEADY, _MIXED, _SPANS])
@each("step", [1, 100, 1024])
def test_a_column_holds_what_was_added(numbers: list[int], step: int) -> None:
    column = _column(numbers, step)
    assert list(column) == numbers
    assert len(column) == len(numbers)
    assert bool(column) is bool(numbers)
    assert [column[row] for row in range(len(numbers))] == numbers
    assert [column[row] for row in range(-len(numbers), 0)] == numbers
    assert column.at(array("q", range(len(numbers)))).tolist() == numbers
    for start, end in ((0, 3), (250, 260), (256, 512), (-5, None), (300, 100)):
        assert column[start:end].tolist() == numbers[start:end]


@each("numbers", [[], _SHORT, _OFFSETS, _UNEVEN, _MIXED])
def test_an_ascending_column_is_searched_as_a_list_is(numbers: list[int]) -> None:
    column = _column(numbers)
    for number in (-1, 0, 7, 8, 12, 13, *(other + delta for other in numbers[::37] for delta in (-1, 0, 1)), 1 << 62):
        assert column.bisect_left(number) == bisect_left(numbers, number)
        rows = [bisect_left(numbers, sought) for sought in (number, 5, number)]
        assert column.rows_of(array("q", [number, 5, number])).tolist() == rows
        assert column.bisect_right(number) == bisect_right(numbers, number)
        assert column.bisect_left(number, 100) == bisect_left(numbers, number, 100)
        assert column.bisect_right(number, 100) == bisect_right(numbers, number, 100)


@each(
    ("batches", "next_base", "offsets"),
    [
        *(([(5, 6), (7, 8), (19, 20)], following, (5, 20 if following in (None, 21) else 8)) for following in (None, 21, 20, 9)),
        *(([(5, 6), (7, 8)], 6, (5, 8)), ([(4, 6), (7, 8)], None, (5, 8)), ([(1 << 40, 1 << 41), (7, 8)], None, (5, 8))),
        *(([(5, 6), (7, far + 4 + (1 << 31))], 1 << 50, (5, 6 if far else 4 + (1 << 31))) for far in (0, 1, 1 << 40)),
    ],
)
def test_the_last_offset_of_a_segment_is_below_the_next_segment(batches: Any, next_base: int | None, offsets: Any) -> None:
    facts = SegmentFacts("x.log", 5, 300)
    facts.add_offsets([first for first, _ in batches], [last for _, last in batches])
    assert facts.plausible_offsets(next_base) == offsets


def test_there_are_no_rows_beyond_the_ends() -> None:
    for row in (1000, 1300, -1001):
        with pytest.raises(IndexError):
            _column(_OFFSETS)[row]


def test_columns_without_a_block_share_what_is_empty_until_they_have_one() -> None:
    small, large, other = PackedInts(), PackedInts(), PackedInts()
    small.extend([1, 2, 3])
    assert [id(part) for part in small.packed[:2]] == [id(part) for part in other.packed[:2]]
    large.extend(range(0, 3000, 3))
    large.extend(range(3000, 9000, 2))
    assert list(large) == [*range(0, 3000, 3), *range(3000, 9000, 2)]
    assert (list(small), list(other), list(PackedInts())) == ([1, 2, 3], [], [])
