"""Ranges of offsets in the text of `kdump check`: nothing that was folded is hidden."""

from hypothesis import given
from hypothesis import strategies as st

from kdump.verdicts.ranges import Ranges

PAIRS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)).map(lambda pair: (pair[0], pair[0] + pair[1])), min_size=1)


def _ranges(*pairs: tuple[int, int]) -> Ranges:
    ranges = Ranges()
    for first, last in pairs:
        ranges.add(first, last)
    return ranges


def test_ranges_that_touch_or_overlap_are_one() -> None:
    assert _ranges((0, 4), (5, 9), (8, 12), (20, 20)).merged() == [(0, 12), (20, 20)]
    assert _ranges((20, 20), (0, 4), (5, 9)).merged() == [(0, 9), (20, 20)]


@given(PAIRS)
def test_ranges_hold_each_number_once_in_order(pairs: list[tuple[int, int]]) -> None:
    numbers = {number for first, last in pairs for number in range(first, last + 1)}
    ranges = _ranges(*pairs)
    assert ranges.total == len(numbers)
    assert [number for first, last in ranges.merged() for number in range(first, last + 1)] == sorted(numbers)


def test_ranges_are_shown_on_a_line_and_what_is_not_named_is_counted() -> None:
    assert _ranges((5, 5)).text("offset", 3) == "offset 5"
    assert _ranges((5, 1200)).text("offset", 3) == "offsets 5 to 1,200"
    assert _ranges((1, 1), (3, 4), (6, 6)).text("byte", 3) == "bytes 1, 3 to 4, 6"
    assert _ranges((1, 1), (3, 4), (6, 6), (8, 9)).text("offset", 2) == "offsets 1, 3 to 4 and 2 more ranges"
    assert _ranges((1, 1), (3, 4), (6, 6)).text("offset", 2) == "offsets 1, 3 to 4 and 1 more range"
