"""The short form of the campaign that streams the log directory of a live broker."""

from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="tables need the package pyarrow")

from campaigns import live_streams
from campaigns.live_streams import Delivered
from tests.oracle import live_broker
from tests.support import skip_if


@pytest.mark.oracle
@pytest.mark.all_cases
def test_a_stream_over_a_live_broker_delivers_each_record_once(tmp_path: Path) -> None:
    skip_if(live_broker.why_not_available())
    with live_broker.running(tmp_path) as (broker, clients):
        assert live_streams.campaign(broker, clients, count=4, seed=1) == []


def test_records_that_are_missing_or_there_twice_are_noticed() -> None:
    records = [live_broker.ClientRecord(offset, 0, "CreateTime", "-", "x", "-") for offset in range(3)]
    got = live_broker.Reading(records, next=3)
    rows = [Delivered("plain-0", one.offset, False, live_streams.digest_of(one)) for one in records]

    def differences(*delivered: list[Delivered]) -> list[str]:
        return list(live_streams._differences(delivered, {"plain-0": got}, {"plain-0": got}))

    assert differences(rows[:1], rows[1:]) == []
    assert any("there twice" in one for one in differences(rows, rows[2:]))
    assert any("not in the order" in one for one in differences(rows[2:], rows[:2]))
    assert any("1 records are missing" in one for one in differences(rows[:2]))
    assert any("records are others" in one for one in differences([rows[0]._replace(digest=1), *rows[1:]]))
