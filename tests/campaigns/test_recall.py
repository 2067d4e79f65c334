"""The short form of the campaign that measures recall."""

import pytest

from campaigns import recall

COUNT = 250
COUNT_OF_ALL_CASES = 700


@pytest.mark.slow
def test_what_is_whole_in_damaged_segments_is_listed_and_what_is_not_is_reported(all_cases: bool) -> None:
    count = COUNT_OF_ALL_CASES if all_cases else COUNT
    counts, failures = recall.measure(range(count), seed=3)
    assert counts["mutants"] == count
    assert (counts["crashed"], counts["intact but changed"]) == (0, 0), failures
    assert counts["untouched"] > 5 * count
    assert counts["listed"] >= counts["untouched"] * 0.9995, failures
    assert counts["changes covered"] >= counts["changes"] - 1, failures  # of fewer than a thousand; the campaign wants 99.9 %
    assert counts["told as an error"] == counts["damaged files"] > count / 3, failures
    assert not [failure for failure in failures if "slow" in failure or "account" in failure]


def test_untouched_batches_are_those_that_are_there_whole() -> None:
    original = next(one for one in recall.originals() if {entry.size for entry in one.batches} == {76})
    one = recall.Mutant(0, original, "three bytes in the second batch", original.data[:100] + b"new" + original.data[100:])
    positions = sorted(one.untouched())
    assert (positions[0], positions[1], len(positions)) == (0, 155, 99)
    assert one.change() == (100, 103)
