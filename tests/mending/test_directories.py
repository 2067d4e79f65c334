"""The short form of the campaign of damaged partition directories."""

import pytest

pytest.importorskip("pyarrow", reason="tables need the package pyarrow")

from campaigns import directories  # what needs Arrow
from campaigns.directories import GOLDEN, REPLICAS, WRITTEN
from tests.loops import of_all_cases
from tests.oracle.restarts import why_not_available
from tests.support import skip_if


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "numbers", "share", "judges", "at_least"),
    [
        (GOLDEN, range(40), 8, (), {"partial": 1, "whole": 1}),
        (GOLDEN, range(40, 80), 1, ("recover",), {"partial": 6, "whole": 6}),
        (WRITTEN, range(30), 5, (), {"partial": 1, "reindex refused": 1, "redacted": 4}),
        (REPLICAS, range(30), 3, ("recover",), {"merged whole": 3}),  # damaged in different places, they make one whole log
    ],
)
def test_damaged_directories_are_judged_and_mended_without_a_slip(
    source: str, numbers: range, share: int, judges: tuple[str, ...], at_least: dict[str, int], all_cases: bool
) -> None:
    failures, seen = directories.measure(numbers if all_cases else numbers[: len(numbers) // share], 1, source, *judges)
    assert failures == []
    assert {what: count for what, count in at_least.items() if seen.counts[what] < count} == {}


@pytest.mark.oracle
@pytest.mark.parametrize("release", [*map(of_all_cases, directories.RELEASES[:-1]), directories.RELEASES[-1]])
def test_log_managers_keep_what_was_recovered(release: str) -> None:
    skip_if(why_not_available(release))
    assert directories.measure(range(100, 104), 1, GOLDEN, "recover", releases=[release])[0] == []
