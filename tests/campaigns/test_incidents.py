"""The short form of the campaign of what disks, crashes and people do."""

import pytest

from campaigns import incidents


@pytest.mark.slow
def test_partitions_that_incidents_befell_are_mended_without_a_slip() -> None:
    failures, seen = incidents.measure(range(40), seed=1)
    assert failures == []
    assert seen["whole"] > 5 and seen["partial"] > 5 and seen["reindex refused"] > 5 and seen["redacted"] > 20
