"""The short form of the campaign that measures recall."""

from collections import Counter
from pathlib import Path

import pytest

from campaigns import recall

COUNT = 150
COUNT_OF_ALL_CASES = 700


@pytest.mark.slow
def test_what_is_whole_in_damaged_segments_is_listed_and_what_is_not_is_reported(tmp_path: Path, all_cases: bool) -> None:
    counts: Counter[str] = Counter()
    count = COUNT_OF_ALL_CASES if all_cases else COUNT
    assert [fault for number in range(count) for fault in recall.faults(counts, 3, number, tmp_path)] == []
    assert counts["untouched"] > 5 * count
    assert counts["changes"] > counts["damaged files"] / 2 > count / 6
