"""Faults of the order of offsets and leader epochs, and of what batch headers count."""

from tests.builders.files import file_name
from tests.builders.records import batch, record

from .case import PARTITION_DIRECTORY, FaultCase, Files, partition_files

_LOG = file_name(0, ".log")


def _batch(offset: int, value: bytes = b"value", *, epoch: int = 0) -> bytes:
    return batch(records=[record(key=b"key", value=value)], base_offset=offset, partition_leader_epoch=epoch)


def _log(*offsets: int) -> bytes:
    return b"".join(_batch(offset) for offset in offsets)


def _other(*offsets: int) -> bytes:
    return b"".join(_batch(offset, b"other") for offset in offsets)


def _epochs(*epochs: int) -> bytes:
    return b"".join(_batch(row, epoch=epoch) for row, epoch in enumerate(epochs))


def _segments(first: int, second: int, third: int) -> Files:
    segments = {0: [_batch(0, epoch=first)], 1: [_batch(1, epoch=second), _batch(2, epoch=third)]}
    return partition_files(segments, topic="orders", partition=3)


def _case(code: str, shown: bytes, near_miss: bytes, base: int = 0, **more: object) -> FaultCase:
    name = file_name(base, ".log")
    return FaultCase(code, shown={name: shown}, near_miss={name: near_miss}, **more)  # type: ignore[arg-type]  # of any field's type


def _records(*deltas: int, last: int | None = None, count: int | None = None) -> bytes:
    return batch(records=[record(offset_delta=delta) for delta in deltas], last_offset_delta=last, records_count=count)


_FOUR = _log(0, 1, 2, 3)
_DEEP = {"level": "deep"}
_DELETE = {"cleanup_policy": "delete"}

CASES = (
    _case("uncovered-header-rot", _log(0, 1, 2 + (1 << 20), 3, 4), _log(0, 1, 2, 3, 4)),
    _case("uncovered-header-rot", _log(64, 65, 2, 67, 68), _log(64, 65, 66, 67, 68), name="lower"),
    _case("uncovered-header-rot", _epochs(3, 3, 19, 3, 3), _epochs(3, 3, 3, 4, 4), name="leader-epoch"),
    _case("record-count-too-high", _records(0, 1, last=2, count=3), _records(0, 1, 2), settings=_DEEP),
    _case(
        "record-count-too-low",
        _records(0, 1, 2, last=1, count=2),
        _records(0, 1, 2),
        settings=_DEEP,
    ),
    _case("last-offset-delta-negative", _records(0, last=-3) + _batch(1), _FOUR),
    _case("last-offset-delta-mismatch", _records(0, last=5) + _batch(6), _records(0, 1, 2, 3, 4, 5) + _batch(6)),
    _case(
        "last-offset-delta-mismatch",
        _records(0, 1, 2, last=1, count=3) + _batch(6),
        _records(0, 1, 2),
        name="too-low",
        also={"offset-gap"},
    ),
    _case("record-offset-order", _records(0, 2, 1), _records(0, 1, 2), settings=_DEEP),
    _case("offset-gap", _log(0, 1, 5, 6), _FOUR),
    _case("offset-gap", _log(0, 1, 5, 6), _FOUR, name="not-compacted", settings=_DELETE),
    _case("offset-duplicate", _records(0, 1, 2) + _batch(2) + _batch(3), _records(0, 1, 2) + _batch(3)),
    _case(
        "offset-regression", _log(0, 1, 2, 3, 4, 5) + b"".join(_batch(row, b"other") for row in (2, 3, 4, 5, 6)), _log(0, 1, 2)
    ),
    _case("batch-duplicate-bytes", _log(0, 1, 1, 2, 3), _FOUR),
    _case("offset-below-base", _log(7, 8, 9), _log(10, 11), base=10),
    _case(
        "offset-overflow-int32",
        _log(0, 1, 1 << 31, (1 << 31) + 1),
        _log(0, 1, (1 << 31) - 1),
        also={"offset-gap"},
        near_also={"offset-gap"},
    ),
    _case("offset-negative", _log(0, 1) + _batch(-(1 << 63) + 2) + _batch(3), _FOUR),
    _case("leader-epoch-regression", _epochs(5, 5, 5, 3, 3, 3), _epochs(3, 3, 5, 5)),
    FaultCase(
        "leader-epoch-regression",
        shown=partition_files(
            {0: [_batch(0, epoch=4)], 1: [_batch(1, epoch=2), _batch(2, epoch=2)]}, topic="orders", partition=3
        ),
        near_miss=partition_files(
            {0: [_batch(0, epoch=4)], 1: [_batch(1, epoch=4), _batch(2, epoch=5)]}, topic="orders", partition=3
        ),
        scope=PARTITION_DIRECTORY,
        name="across-segments",
    ),
    _case("leader-epoch-negative", _epochs(0, 0) + _batch(2, epoch=-7) + _batch(3), _epochs(0, 0, 0, 0)),
    _case(
        "batch-foreign-topic-hint",
        _log(0, 1, 2, 7000, 7001, 7002, 3, 4),
        _log(0, 1, 2, 7000, 7001, 7002),
        also={"offset-gap"},
        near_also={"offset-gap"},
    ),
)
