"""The short form of the campaign of damaged directories that are recovered."""

import pytest

from campaigns import recovers
from tests.oracle.restarts import why_not_available


@pytest.mark.slow
def test_damaged_directories_are_recovered_without_a_slip() -> None:
    judged = recovers.measure(range(60), seed=1)
    assert judged.failures == []
    assert judged.seen["partial"] > 10 and judged.seen["whole"] > 10


@pytest.mark.slow
def test_replicas_that_are_damaged_in_different_places_make_one_whole_log() -> None:
    judged = recovers.measure_merges(range(30), seed=1)
    assert judged.failures == []
    assert judged.seen["merged whole"] > 10


@pytest.mark.oracle
@pytest.mark.parametrize("release", recovers.RELEASES)
def test_log_managers_keep_what_was_recovered(release: str) -> None:
    missing = why_not_available(release)
    if missing:
        pytest.skip(missing)
    assert recovers.measure(range(100, 106), seed=1, releases=[release]).failures == []
