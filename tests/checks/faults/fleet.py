"""Faults that only several brokers, or several partitions, show: as trees of log directories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.builders.files import file_name
from tests.builders.fleets import Partitions, data, flipped
from tests.builders.records import TIMESTAMP, transaction_marker

from .case import NO_BYTES, NOW, At, error, info, place, warning

Brokers = Mapping[str, Partitions]

HOUR, DAY = 3_600_000, 86_400_000


@dataclass(frozen=True)
class FleetCase:
    """Brokers that show the fault `code` on `broker`, where `at` says and in these words, and brokers that nearly do.

    Its file is a path inside the log directory of that broker.
    `cleaned` is how far cleaners came, for both; `near_cleaned` replaces it for the near miss. `settings` are those of the
    questions.
    """

    code: str
    shown: Brokers
    near_miss: Brokers
    broker: str
    at: At
    message: str
    cleaned: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    near_cleaned: Mapping[str, Mapping[str, int]] | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    name: str = ""


def _case(address: str, shown: Brokers, near_miss: Brokers, broker: str, at: At, message: str, **more: Any) -> FleetCase:
    """A case as a row of a table; its address is `code` or `code: name`."""
    code, _, name = address.partition(": ")
    return FleetCase(code, shown, near_miss, broker, at, message, name=name, **more)


P = "orders-3"
LOG, TABLE = (f"{partition}/{file_name(0, '.log')}" for partition in (P, "table-0"))


def _on(**brokers: list[bytes]) -> Brokers:
    """One partition with one segment, on brokers by number: `_on(b1=[...], b2=[...])`."""
    return {name[1:]: {P: {0: batches}} for name, batches in brokers.items()}


_LOG = [data(offset, 5, value=b"%d" % offset, epoch=offset // 10) for offset in range(0, 40, 5)]
_OTHER = data(15, 5, value=b"another", epoch=1)
_LATER = data(15, 5, value=b"15", epoch=2)
_SHORTER = data(15, 3, value=b"15", epoch=1)
_STALE = data(15, 5, value=b"another", epoch=0)


def _checksums(here: bytes, there: bytes) -> str:
    return f"Checksum 0x{here[17:21].hex()} here and 0x{there[17:21].hex()}"


def _without(row: int) -> list[bytes]:
    return [*_LOG[:row], *_LOG[row + 1 :]]


def _with(row: int, batch: bytes) -> list[bytes]:
    return [*_LOG[:row], batch, *_LOG[row + 1 :]]


def _transaction(marked_at: int, later_at: int) -> Brokers:
    """A transaction over two partitions, whose marker is missing in one of them."""
    written_at = TIMESTAMP - HOUR
    first, second = (data(offset, 2, producer=9, sequence=0, is_transactional=True, at=written_at) for offset in (1, 0))
    marker = transaction_marker(base_offset=2, producer_id=9, timestamp=marked_at)
    open_log = [data(0, at=written_at - 1000), first, data(3, at=later_at)]
    return {"1": {"orders-0": {0: open_log}, "orders-1": {0: [second, marker]}}}


def _three(*times: int) -> Brokers:
    """A log of segments with a batch each, of these times."""
    return {"1": {P: {number: [data(number, at=at)] for number, at in enumerate(times)}}}


def _keys(*keys: bytes) -> Brokers:
    return {"1": {"table-0": {0: [data(offset, key=key) for offset, key in enumerate(keys)]}}}


def _tombstones(horizon: int) -> Brokers:
    return {"1": {"table-0": {0: [data(0), data(1, delete_horizon_ms=horizon), data(2, delete_horizon_ms=horizon + 1)]}}}


_SEGMENTS = {base: [data(base, 10)] for base in range(0, 50, 10)}
_BOTH = {"1": {"table-0": _SEGMENTS}, "2": {"table-0": _SEGMENTS}}

CASES = (
    _case(
        "replica-divergence: damaged-payload",
        _on(b1=_LOG, b2=_with(3, flipped(_LOG[3]))),
        _on(b1=_LOG, b2=_LOG),
        "2",
        error(place(_LOG, 3), file=LOG, offsets=(15, 19)),
        "Broker 2 differs from broker 1 in 1 batch, from offsets 15 to 19 on (leader epoch 1). "
        "Its checksum does not match, that of broker 1 does.",
    ),
    _case(
        "replica-divergence: damaged-last-batch",
        _on(b1=_with(7, flipped(_LOG[7])), b2=_LOG),
        _on(b1=_LOG[:7], b2=_LOG),
        "1",
        error(place(_LOG, 7), file=LOG, offsets=(35, 39)),
        "Broker 1 differs from broker 2 in 1 batch, from offsets 35 to 39 on (leader epoch 3). "
        "Its checksum does not match, that of broker 2 does.",
    ),
    # the near miss: nobody else has these offsets
    _case(
        "replica-divergence: majority",
        _on(b1=_with(3, _OTHER), b2=_LOG, b3=_LOG),
        _on(b1=_with(3, _OTHER), b2=_LOG[:3], b3=_LOG[:3]),
        "1",
        error(place(_with(3, _OTHER), 3), file=LOG, offsets=(15, 19)),
        "Broker 1 differs from broker 2 in 1 batch, from offsets 15 to 19 on (leader epoch 1). "
        f"{_checksums(_OTHER, _LOG[3])} there.",
    ),
    _case(
        "replica-divergence: other-end",
        _on(b1=_with(3, _SHORTER), b2=_LOG, b3=_LOG),
        _on(b1=_LOG, b2=_LOG, b3=_LOG[:3]),
        "1",
        error(place(_with(3, _SHORTER), 3), file=LOG, offsets=(15, 17)),
        "Broker 1 differs from broker 2 in 1 batch, from offsets 15 to 19 on (leader epoch 1). "
        "The batch ends at offset 17 here and 19 there.",
    ),
    # the near miss: one broker cleaned these offsets, the other did not yet
    _case(
        "replica-divergence: behind-the-cleaners",
        _on(b1=_LOG, b2=_with(3, _OTHER)),
        _on(b1=_LOG, b2=_with(3, _OTHER)),
        "2",
        error(place(_with(3, _OTHER), 3), file=LOG, offsets=(15, 19)),
        "Broker 2 differs from broker 1 in 1 batch, from offsets 15 to 19 on (leader epoch 1). "
        f"{_checksums(_OTHER, _LOG[3])} there.",
        near_cleaned={"1": {P: 20}, "2": {P: 5}},
        cleaned={"1": {P: 15}, "2": {P: 5}},
    ),
    _case(
        "replica-divergence: unclean-election",
        _on(b1=_with(3, _STALE), b2=_LOG),
        _on(b1=_LOG, b2=_LOG),
        "1",
        error(place(_with(3, _STALE), 3), file=LOG, offsets=(15, 19)),
        "Broker 1 differs from broker 2 in 1 batch, from offsets 15 to 19 on (leader epoch 1). "
        f"{_checksums(_STALE, _LOG[3])} there, leader epoch 0 here. "
        "By the leader epochs, 1 there and 0 here, broker 2 is right: "
        "broker 1 cuts its own batches from there on when it follows.",
    ),
    _case(
        "replica-divergence: unclean-election-of-the-minority",
        _on(b1=_with(3, _STALE), b2=_LOG, b3=_with(3, _STALE)),
        _on(b1=_LOG, b2=_LOG, b3=_LOG),
        "2",
        error(place(_LOG, 3), file=LOG, offsets=(15, 19)),
        "Broker 2 differs from broker 1 in 1 batch, from offsets 15 to 19 on (leader epoch 0). "
        f"{_checksums(_LOG[3], _STALE)} there, leader epoch 1 here. "
        "By the leader epochs, 1 here and 0 there, broker 2 is right: "
        "the others cut their own batches from there on when they follow.",
    ),
    _case(
        "replica-epoch-divergence",
        _on(b1=_LOG, b2=_with(3, _LATER), b3=_LOG),
        _on(b1=_with(3, _LATER), b2=_with(3, _LATER), b3=_with(3, _LATER)),
        "2",
        error(place(_with(3, _LATER), 3), file=LOG, offsets=(15, 19), expected="leader epoch 1", found="leader epoch 2"),
        "Broker 2 has different leader epochs than broker 1 in 1 batch, from offsets 15 to 19 on (leader epoch 1): 2 here.",
    ),
    # the near miss: another start is another retention
    _case(
        "replica-missing-batches",
        _on(b1=_LOG, b2=_without(3)),
        {"1": {P: {0: _LOG}}, "2": {P: {20: _LOG[4:]}}},
        "2",
        error(NO_BYTES, file=LOG, offsets=(15, 19), found="nothing"),
        "Broker 2 lacks 1 batch that broker 1 has, the first with offsets 15 to 19.",
    ),
    _case(
        "replica-missing-batches: segment",
        {"1": {P: {0: _LOG[:4], 20: _LOG[4:6], 30: _LOG[6:]}}, "2": {P: {0: _LOG[:4], 30: _LOG[6:]}}},
        {"1": {P: {0: _LOG[:4], 20: _LOG[4:6], 30: _LOG[6:]}}, "2": {P: {0: _LOG[:6], 30: _LOG[6:]}}},
        "2",
        error(NO_BYTES, file=LOG, offsets=(20, 29), found="nothing"),
        "Broker 2 lacks 2 batches that broker 1 has, the first with offsets 20 to 24.",
    ),
    _case(
        "replica-missing-batches: compacted",
        {"1": {"__consumer_offsets-3": {0: _LOG}}, "2": {"__consumer_offsets-3": {0: _without(3)}}},
        {"1": {"__consumer_offsets-3": {0: _LOG}}, "2": {"__consumer_offsets-3": {0: _without(3)}}},
        "2",
        warning(NO_BYTES, file=f"__consumer_offsets-3/{file_name(0, '.log')}", offsets=(15, 19), found="nothing"),
        "Broker 2 lacks 1 batch that broker 1 has, the first with offsets 15 to 19.",
        near_cleaned={"1": {"__consumer_offsets-3": 15}, "2": {"__consumer_offsets-3": 25}},
    ),
    _case(
        "replica-behind",
        _on(b1=[data(0, at=TIMESTAMP - DAY), data(1)], b2=[data(0, at=TIMESTAMP - DAY)]),
        _on(b1=[data(0, at=TIMESTAMP - DAY), data(1)], b2=[data(0, at=TIMESTAMP - DAY), data(1)]),
        "2",
        warning(NO_BYTES, file=LOG, offsets=(1, 1), expected="2", found="1"),
        "Broker 2 ends at 1, broker 1 at 2: if broker 2 leads, broker 1 loses what it has from 1 on. "
        "Its newest batch is 86,400 s older.",
    ),
    _case(
        "replica-behind: a-little",
        _on(b1=_LOG[:1], b2=_LOG[:3]),
        _on(b1=_LOG[:3], b2=_LOG[:3]),
        "1",
        info(NO_BYTES, file=LOG, offsets=(5, 14), expected="15", found="5"),
        "Broker 1 ends at 5, broker 2 at 15: if broker 1 leads, broker 2 loses what it has from 5 on.",
    ),
    # the clock of a producer is ahead
    _case(
        "replica-behind: clock-ahead",
        _on(b1=[data(0, at=NOW), data(1, at=NOW + 9 * DAY)], b2=[data(0, at=NOW)]),
        _on(b1=[data(0, at=NOW + 9 * DAY)], b2=[data(0, at=NOW + 9 * DAY)]),
        "2",
        info(NO_BYTES, file=LOG, offsets=(1, 1), expected="2", found="1"),
        "Broker 2 ends at 1, broker 1 at 2: if broker 2 leads, broker 1 loses what it has from 1 on.",
    ),
    _case(
        "replica-behind: named",
        {"broker-1": {P: {0: _LOG[:1]}}, "broker-2": {P: {0: _LOG[:3]}}},
        {"broker-1": {P: {0: _LOG[:3]}}, "broker-2": {P: {0: _LOG[:3]}}},
        "broker-1",
        info(NO_BYTES, file=LOG, offsets=(5, 14), expected="15", found="5"),
        "broker-1 ends at 5, broker-2 at 15: if broker-1 leads, broker-2 loses what it has from 5 on.",
    ),
    # the near miss: one rolled a segment
    _case(
        "replica-behind: rolled",
        {"1": {P: {0: [data(0), data(1)], 2: []}}, "2": {P: {0: [data(0)]}}},
        {"1": {P: {0: [data(0), data(1)], 2: []}}, "2": {P: {0: [data(0), data(1)]}}},
        "2",
        info(NO_BYTES, file=LOG, offsets=(1, 1), expected="2", found="1"),
        "Broker 2 ends at 1, broker 1 at 2: if broker 2 leads, broker 1 loses what it has from 1 on.",
    ),
    # the near miss: all its segments were deleted
    _case(
        "replica-behind: empty",
        _on(b1=[data(0)], b2=[]),
        {"1": {P: {0: [data(0)]}}, "2": {P: {1: []}}},
        "2",
        warning(NO_BYTES, file=LOG, offsets=(0, 0), expected="1", found="0"),
        "Broker 2 ends at 0, broker 1 at 1: if broker 2 leads, broker 1 loses what it has from 0 on. Broker 2 holds no batch.",
    ),
    # the near miss: the marker may be on its way
    _case(
        "txn-marker-missing",
        _transaction(TIMESTAMP - HOUR + 2000, TIMESTAMP),
        _transaction(TIMESTAMP - HOUR + 2000, TIMESTAMP - HOUR + 60_000),
        "1",
        error((73, 73 + 85), file=f"orders-0/{file_name(0, '.log')}", offsets=(1, 2)),
        "Producer 9, epoch 0: its transaction is open since offset 1, but a marker ended it in orders-1 "
        "on broker 1 2 s after its last record here. The log continues to offset 3: the last stable offset stays at 1.",
    ),
    # the near miss: that marker ended an earlier transaction
    _case(
        "txn-marker-missing: earlier-transaction",
        _transaction(TIMESTAMP - HOUR + 2000, TIMESTAMP),
        _transaction(TIMESTAMP - HOUR - 2000, TIMESTAMP),
        "1",
        error((73, 73 + 85), file=f"orders-0/{file_name(0, '.log')}", offsets=(1, 2)),
        "Producer 9, epoch 0: its transaction is open since offset 1, but a marker ended it in orders-1 "
        "on broker 1 2 s after its last record here. The log continues to offset 3: the last stable offset stays at 1.",
    ),
    # the near miss: the newest segment is not deleted in any case
    _case(
        "retention-blocked",
        _three(TIMESTAMP, NOW + 365 * DAY, TIMESTAMP, TIMESTAMP),
        _three(TIMESTAMP, TIMESTAMP, TIMESTAMP, NOW + 365 * DAY),
        "1",
        warning((0, len(data(1))), file=f"orders-3/{file_name(1, '.log')}", offsets=(1, 1), found=str(NOW + 365 * DAY)),
        "The segment at 1 holds a record with a timestamp in the future, of 2024-11-13 22:21:40 UTC. Retention by time "
        f"deletes nothing from there on before 2024-11-13 22:21:40 UTC: 2 segments of {2 * len(data(1))} bytes.",
    ),
    _case(
        "retention-blocked: known-retention",
        _three(TIMESTAMP - 30 * DAY, TIMESTAMP - DAY, TIMESTAMP - 20 * DAY, TIMESTAMP),
        _three(TIMESTAMP - 30 * DAY, TIMESTAMP - 20 * DAY, TIMESTAMP - DAY, TIMESTAMP),
        "1",
        warning((0, len(data(1))), file=f"orders-3/{file_name(1, '.log')}", offsets=(1, 1), found=str(TIMESTAMP - DAY)),
        "The segment at 1 holds a record newer than those after it, of 2023-11-13 22:13:20 UTC. Retention by "
        f"time deletes nothing from there on before 2023-11-20 22:13:20 UTC: 2 segments of {2 * len(data(1))} bytes.",
        settings={"retention_ms": 7 * DAY},
    ),
    _case(
        "compaction-duplicate",
        _keys(b"a", b"b", b"a", b"c"),
        _keys(b"a", b"b", b"c", b"a"),
        "1",
        error(NO_BYTES, file=TABLE, offsets=(0, 2), expected="each key once", found="2"),
        "1 key has several records below offset 3, up to which the log was cleaned: 1 record too many, the first at offset 0.",
        cleaned={"1": {"table-0": 3}},
    ),
    _case(
        "tombstone-overdue",
        _tombstones(NOW - 30 * DAY),
        _tombstones(NOW - 2 * DAY),
        "1",
        info(
            place([data(0), data(1, delete_horizon_ms=NOW - 30 * DAY)], 1), file=TABLE, offsets=(1, 2), found=str(NOW - 30 * DAY)
        ),
        "2 batches keep tombstones or markers that are due for removal, the oldest since 2023-10-15 22:21:40 UTC.",
    ),
    _case(
        "cleaner-behind",
        _BOTH,
        _BOTH,
        "2",
        warning(NO_BYTES, file=f"table-0/{file_name(10, '.log')}", offsets=(10, 39), expected="40", found="10"),
        f"Broker 2 cleaned up to offset 10, broker 1 up to 40: {3 * len(_SEGMENTS[10][0])} of "
        f"{4 * len(_SEGMENTS[10][0])} bytes in closed segments are not cleaned here.",
        cleaned={"1": {"table-0": 40}, "2": {"table-0": 10}},
        near_cleaned={"1": {"table-0": 40}, "2": {"table-0": 20}},
    ),
)
