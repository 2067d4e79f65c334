"""The short form of the campaign with a live broker: all of Kafka's own on one side, all of kdump's on the other."""

from collections.abc import Iterator

import pytest

pytest.importorskip("pyarrow", reason="tables need the package pyarrow")

from campaigns import live_copies, live_starts, live_streams
from tests.oracle import live_broker
from tests.oracle.live_broker import Broker, Clients

pytestmark = pytest.mark.oracle


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Broker, Clients]]:
    """One broker for all tests, in this order."""
    if missing := live_broker.why_not_available():
        pytest.skip(missing)
    with live_broker.running(tmp_path_factory.mktemp("live")) as found:
        yield found


def test_a_stream_over_a_live_broker_delivers_each_record_once(running: tuple[Broker, Clients]) -> None:
    assert live_streams.campaign(*running, count=2, seed=1, is_plain=True) == []


def test_a_broker_serves_what_kdump_made_of_its_partitions(running: tuple[Broker, Clients]) -> None:
    assert live_copies.campaign(*running, count=5, seed=1) == []


def test_a_live_broker_starts_as_foretold(running: tuple[Broker, Clients]) -> None:
    assert live_starts.campaign(*running, count=1, seed=1) == []


def test_partitions_that_lack_a_record_are_noticed() -> None:
    records = [live_broker.ClientRecord(offset, 0, "CreateTime", "-", "x", "-") for offset in range(3)]
    promise = live_copies.Promise("slice", records, [0, 1, 2])
    whole, part = live_broker.Reading(records), live_broker.Reading(records[:2])
    assert list(live_copies._broken(promise, whole, whole)) == []
    assert len(list(live_copies._broken(promise, part, whole))) == 2
    assert len(list(live_copies._broken(promise, whole, part))) == 1
