"""Faults of timestamps."""

from tests.builders.files import file_name
from tests.builders.records import TIMESTAMP, batch, record

from .case import WHOLE_FILE, Files, case, error, info, warning

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


_HORIZON, _ODD = _batch(delete_horizon_ms=TIMESTAMP + _DAY), info(WHOLE_FILE, offsets=(0, 1))
_TOP = 2**63 - 10
_FIRST = warning(_row(0), offsets=(0, 0))

CASES = (
    case(
        "max-timestamp-mismatch",
        _batch(max_timestamp=TIMESTAMP + 7),
        warning(WHOLE_FILE, offsets=(0, 1), expected=str(TIMESTAMP + 5), found=str(TIMESTAMP + 7)),
        _batch(max_timestamp=TIMESTAMP + 7, timestamp_type="LogAppendTime"),
    ),
    case(
        "max-timestamp-mismatch: single-records",
        _at(TIMESTAMP)[_LOG] + batch(records=[record(value=b"v")], base_offset=1, max_timestamp=TIMESTAMP + 1),
        warning(_row(1), offsets=(1, 1), expected=str(TIMESTAMP), found=str(TIMESTAMP + 1)),
        _at(TIMESTAMP, TIMESTAMP + 1),
    ),
    case(
        "base-timestamp-odd",
        batch(records=[record(value=b"a", timestamp=TIMESTAMP + 5)], base_timestamp=TIMESTAMP),
        info(WHOLE_FILE, offsets=(0, 0)),
        batch(records=[record(value=b"a", timestamp=TIMESTAMP)], delete_horizon_ms=TIMESTAMP + _DAY),
        settings=_PEDANTIC,
    ),
    case(
        "timestamp-out-of-order",
        _at(TIMESTAMP, TIMESTAMP - 3 * _DAY, TIMESTAMP - _DAY),
        info(_row(1), offsets=(1, 1)),
        _at(TIMESTAMP, TIMESTAMP, TIMESTAMP + 1),
        settings=_PEDANTIC,
    ),
    case(
        "timestamp-future",
        _at(TIMESTAMP, _YEAR_2100, _YEAR_2100 - _DAY),
        warning(_row(1), offsets=(1, 1), found="2"),
        _at(TIMESTAMP, TIMESTAMP + _DAY),
    ),
    case("timestamp-unit-suspect: seconds", _at(TIMESTAMP // 1000, TIMESTAMP // 1000 + 1), _FIRST, _at(31 * _DAY)),
    case(
        "timestamp-negative",
        _at(-2, -(2**63)),
        (warning(_row(0), offsets=(0, 0), expected="-1", found="-2"), warning(_row(1), offsets=(1, 1), found=str(-(2**63)))),
        _at(-1, TIMESTAMP),
    ),
    case(
        "timestamp-negative: of-a-record-under-none",
        batch(records=[record(timestamp=-5)], max_timestamp=-1),
        warning(WHOLE_FILE, offsets=(0, 0), expected="-1", found="-5"),
        batch(records=[record(timestamp=-1)], max_timestamp=-1),
    ),
    case(
        "timestamp-overflow",
        {_LOG: batch(records=[record(value=b"v", timestamp_delta=2**62)], base_timestamp=_TOP, max_timestamp=2**62 - 10 - 2**63)},
        error(WHOLE_FILE, offsets=(0, 0)),
        {_LOG: batch(records=[record(value=b"v", timestamp_delta=-(_TOP - TIMESTAMP))], base_timestamp=_TOP)},
        also={"timestamp-negative": warning(WHOLE_FILE, offsets=(0, 0), found=str(2**62 - 10 - 2**63))},
    ),
    case(
        "log-append-time-odd: mixed",
        _at(TIMESTAMP)[_LOG] + _batch(base_offset=1, timestamp_type="LogAppendTime")[_LOG],
        info((_SIZE, _SIZE + 77), offsets=(1, 2)),
        _at(TIMESTAMP, TIMESTAMP, timestamp_type="LogAppendTime"),
    ),
    case("log-append-time-odd: unset", _at(-1, timestamp_type="LogAppendTime"), info(WHOLE_FILE, offsets=(0, 0)), _at(-1)),
    case("delete-horizon-odd: far", _batch(delete_horizon_ms=TIMESTAMP + 5000 * _DAY), _ODD, _HORIZON),
    case("delete-horizon-odd: not-compacted", _HORIZON, _ODD, _batch(), settings={"cleanup_policy": "delete"}),
)
