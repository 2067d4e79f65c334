"""Faults of timestamps."""

from tests.builders.files import file_name
from tests.builders.records import TIMESTAMP, batch, record

from .case import WHOLE_FILE, FaultCase, Files, error, info, warning

_LOG = file_name(0, ".log")
_DAY = 24 * 3600 * 1000
_PEDANTIC = {"is_pedantic": True}
_YEAR_2100 = 4_102_444_800_000
_TWO = [record(value=b"a", timestamp=TIMESTAMP), record(value=b"b", timestamp=TIMESTAMP + 5)]


_SIZE = 69  # of a batch of _at


def _row(first: int, last: int | None = None) -> tuple[int, int]:
    """Where a batch of `_at` stands, or a run of them."""
    return first * _SIZE, ((first if last is None else last) + 1) * _SIZE


def _at(*timestamps: int, timestamp_type: str = "CreateTime") -> Files:
    """A log with a batch of one record for each of these times."""
    batches = [
        batch(records=[record(value=b"v", timestamp=timestamp)], base_offset=offset, timestamp_type=timestamp_type)  # type: ignore[arg-type]
        for offset, timestamp in enumerate(timestamps)
    ]
    return {_LOG: b"".join(batches)}


def _batch(**changes: object) -> Files:
    return {_LOG: batch(records=_TWO, **changes)}  # type: ignore[arg-type]


CASES = (
    FaultCase(
        "max-timestamp-mismatch",
        shown=_batch(max_timestamp=TIMESTAMP + 7),
        at=warning(WHOLE_FILE, offsets=(0, 1), expected=str(TIMESTAMP + 5), found=str(TIMESTAMP + 7)),
        near_miss=_batch(max_timestamp=TIMESTAMP + 7, timestamp_type="LogAppendTime"),
    ),
    FaultCase(
        "max-timestamp-mismatch",
        name="single-records",
        shown={_LOG: _at(TIMESTAMP)[_LOG] + batch(records=[record(value=b"v")], base_offset=1, max_timestamp=TIMESTAMP + 1)},
        at=warning(_row(1), offsets=(1, 1), expected=str(TIMESTAMP), found=str(TIMESTAMP + 1)),
        near_miss=_at(TIMESTAMP, TIMESTAMP + 1),
    ),
    FaultCase(
        "base-timestamp-odd",
        shown={_LOG: batch(records=[record(value=b"a", timestamp=TIMESTAMP + 5)], base_timestamp=TIMESTAMP)},
        at=info(WHOLE_FILE, offsets=(0, 0)),
        near_miss={_LOG: batch(records=[record(value=b"a", timestamp=TIMESTAMP)], delete_horizon_ms=TIMESTAMP + _DAY)},
        settings=_PEDANTIC,
    ),
    FaultCase(
        "timestamp-out-of-order",
        shown=_at(TIMESTAMP, TIMESTAMP - 3 * _DAY, TIMESTAMP - _DAY),
        at=info(_row(1), offsets=(1, 1)),
        near_miss=_at(TIMESTAMP, TIMESTAMP, TIMESTAMP + 1),
        settings=_PEDANTIC,
    ),
    FaultCase(
        "timestamp-future",
        shown=_at(TIMESTAMP, _YEAR_2100, _YEAR_2100 - _DAY),
        at=warning(_row(1), offsets=(1, 1), found="2"),
        near_miss=_at(TIMESTAMP, TIMESTAMP + _DAY),
    ),
    FaultCase(
        "timestamp-unit-suspect",
        name="seconds",
        shown=_at(TIMESTAMP // 1000, TIMESTAMP // 1000 + 1),
        at=warning(_row(0), offsets=(0, 0)),
        near_miss=_at(31 * _DAY),
    ),
    FaultCase("timestamp-unit-suspect", name="zero", shown=_at(0), at=warning(_row(0), offsets=(0, 0)), near_miss=_at(-1)),
    FaultCase("timestamp-unit-suspect", name="small", shown=_at(6), at=warning(_row(0), offsets=(0, 0)), near_miss=_at(-1)),
    FaultCase(
        "timestamp-unit-suspect",
        name="nanoseconds",
        shown=_at(TIMESTAMP * 1_000_000),
        at=warning(_row(0), offsets=(0, 0)),
        near_miss=_at(_YEAR_2100),
        also={"timestamp-future": warning(_row(0), offsets=(0, 0))},
        near_also={"timestamp-future"},
    ),
    FaultCase(
        "timestamp-unit-suspect",
        name="no-date",
        shown=_at(TIMESTAMP * 1000, 2**63 - 1),
        at=warning(_row(0), offsets=(0, 0)),
        near_miss=_at(2**63 - 1),  # no unit makes a date of it
        also={"timestamp-future": warning(_row(1), offsets=(1, 1), found="2")},
        near_also={"timestamp-future"},
    ),
    FaultCase(
        "timestamp-negative",
        shown=_at(-2, -(2**63)),
        at=(error(_row(0), offsets=(0, 0), expected="-1", found="-2"), error(_row(1), offsets=(1, 1), found=str(-(2**63)))),
        near_miss=_at(-1, TIMESTAMP),
    ),
    FaultCase(
        "timestamp-negative",
        shown={_LOG: batch(records=[record(timestamp=TIMESTAMP), record(timestamp=-5)])},
        at=error(WHOLE_FILE, offsets=(1, 1), expected="-1", found="-5"),
        near_miss={_LOG: batch(records=[record(timestamp=TIMESTAMP), record(timestamp=-1)])},
        name="of-a-record",
    ),
    FaultCase(
        "timestamp-negative",
        shown={_LOG: batch(records=[record(timestamp=-5)], max_timestamp=-1)},
        at=error(WHOLE_FILE, offsets=(0, 0), expected="-1", found="-5"),
        near_miss={_LOG: batch(records=[record(timestamp=-1)], max_timestamp=-1)},
        name="of-a-record-under-none",
    ),
    FaultCase(
        "timestamp-overflow",
        shown={
            _LOG: batch(
                records=[record(value=b"v", timestamp_delta=2**62)], base_timestamp=2**63 - 10, max_timestamp=2**62 - 10 - 2**63
            )
        },
        at=error(WHOLE_FILE, offsets=(0, 0)),
        near_miss={
            _LOG: batch(records=[record(value=b"v", timestamp_delta=-(2**63 - 10 - TIMESTAMP))], base_timestamp=2**63 - 10)
        },
        also={"timestamp-negative": error(WHOLE_FILE, offsets=(0, 0), found=str(2**62 - 10 - 2**63))},
    ),
    FaultCase(
        "log-append-time-odd",
        name="mixed",
        shown={_LOG: _at(TIMESTAMP)[_LOG] + _batch(base_offset=1, timestamp_type="LogAppendTime")[_LOG]},
        at=info((_SIZE, _SIZE + 77), offsets=(1, 2)),
        near_miss=_at(TIMESTAMP, TIMESTAMP, timestamp_type="LogAppendTime"),
    ),
    FaultCase(
        "log-append-time-odd",
        name="unset",
        shown=_at(-1, timestamp_type="LogAppendTime"),
        at=info(WHOLE_FILE, offsets=(0, 0)),
        near_miss=_at(-1),
    ),
    FaultCase(
        "delete-horizon-odd",
        name="far",
        shown=_batch(delete_horizon_ms=TIMESTAMP + 5000 * _DAY),
        at=info(WHOLE_FILE, offsets=(0, 1)),
        near_miss=_batch(delete_horizon_ms=TIMESTAMP + _DAY),
    ),
    FaultCase(
        "delete-horizon-odd",
        name="early",
        shown=_batch(delete_horizon_ms=TIMESTAMP - _DAY),
        at=info(WHOLE_FILE, offsets=(0, 1)),
        near_miss=_batch(delete_horizon_ms=TIMESTAMP + _DAY),
    ),
    FaultCase(
        "delete-horizon-odd",
        name="not-compacted",
        shown=_batch(delete_horizon_ms=TIMESTAMP + _DAY),
        at=info(WHOLE_FILE, offsets=(0, 1)),
        near_miss=_batch(),
        settings={"cleanup_policy": "delete"},
    ),
)
