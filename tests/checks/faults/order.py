"""Faults of the order of offsets and leader epochs, and of what batch headers count."""

from collections.abc import Sequence

from tests.builders.files import checkpoint, file_name
from tests.builders.records import batch, record

from .case import NO_BYTES, WHOLE_FILE, Files, case, error, info, partition_files, warning
from .framing import _FOUR, _SIZE, _row, _wrong

_HEADER_SIZE, _RECORD_SIZE = 61, 7  # of batches and records of _records


def _batch(offset: int, value: bytes = b"value", *, epoch: int = 0) -> bytes:
    return batch(records=[record(key=b"key", value=value)], base_offset=offset, partition_leader_epoch=epoch)


def _log(*offsets: int) -> bytes:
    return b"".join(_batch(offset) for offset in offsets)


def _epochs(*epochs: int) -> bytes:
    return b"".join(_batch(row, epoch=epoch) for row, epoch in enumerate(epochs))


def _records(*deltas: int, last: int | None = None, count: int | None = None) -> bytes:
    return batch(records=[record(offset_delta=delta) for delta in deltas], last_offset_delta=last, records_count=count)


_TENTH = file_name(10, ".log")
_THREE = _records(0, 1, 2)
_THIN, _FULL = _records(0, last=5) + _batch(6), _records(0, 1, 2, 3, 4, 5) + _batch(6)
_HEADERS = {"level": "full"}  # records have faults of their own


def _partition(*bases: int, changed: dict[str, bytes | None] | None = None, **segments: Sequence[bytes]) -> Files:
    """Segments of ten offsets each, a batch an offset; those given by name, such as `at_10`, hold these batches."""
    given = {int(name.removeprefix("at_")): batches for name, batches in segments.items()}
    whole = {base: [_batch(base + row) for row in range(10)] for base in bases}
    return partition_files(dict(sorted({**whole, **given}.items())), changed, topic="orders", partition=3)


CASES = (
    case(
        "segment-missing",
        _partition(0, 10, 20, changed={_TENTH: None}),
        error(NO_BYTES, file=file_name(20, ".log"), offsets=(10, 19), is_estimated=True, expected="10", found="20"),
        _partition(0, 10, 20),
        also={
            "index-orphan": (warning(NO_BYTES, file=file_name(10, ".index")), warning(NO_BYTES, file=file_name(10, ".timeindex")))
        },
    ),
    # the near miss: as retention leaves it
    case(
        "segments-not-local",
        _partition(10, 20, changed={"leader-epoch-checkpoint": checkpoint(entries=[(0, 0)])}),
        info((4, 8), file="leader-epoch-checkpoint", offsets=(0, 9), is_estimated=True),
        _partition(10, 20, changed={"leader-epoch-checkpoint": checkpoint(entries=[(0, 10)])}),
    ),
    case(
        "uncovered-header-rot",
        _log(0, 1, 2 + (1 << 20), 3, 4),
        _wrong(2, 2 + (1 << 20), expected="2", found=str(2 + (1 << 20))),
        _log(0, 1, 2, 3, 4),
    ),
    case("record-count-too-high", _records(0, 1, last=2, count=3), error(WHOLE_FILE, offsets=(0, 2), found="3"), _THREE),
    case("record-count-too-low", _records(0, 1, 2, last=1, count=2), error(WHOLE_FILE, offsets=(0, 1), found="2"), _THREE),
    case(
        "last-offset-delta-negative",
        _records(0, last=-3) + _batch(1),
        error((0, _HEADER_SIZE + _RECORD_SIZE), offsets=(0, -3), found="-3"),
        _FOUR,
        settings=_HEADERS,
    ),
    case("last-offset-delta-mismatch", _THIN, info((0, _HEADER_SIZE + _RECORD_SIZE), offsets=(0, 5)), _FULL),
    case(
        "last-offset-delta-mismatch: too-low",
        _records(0, 1, 2, last=1, count=3) + _batch(6),
        error((0, _HEADER_SIZE + 3 * _RECORD_SIZE), offsets=(0, 1), expected="2", found="1"),
        _THREE,
        settings=_HEADERS,
        also={"offset-gap": info((0, _HEADER_SIZE + 3 * _RECORD_SIZE + _SIZE), offsets=(2, 5), found="4")},
    ),
    case("record-offset-order", _records(0, 2, 1), error(WHOLE_FILE, offsets=(0, 2)), _THREE),
    case("offset-gap", _log(0, 1, 5, 6), info(_row(1, 2), offsets=(2, 4), found="3"), _FOUR),
    case(
        "offset-duplicate",
        _THREE + _batch(2) + _batch(3),
        error(
            (_HEADER_SIZE + 3 * _RECORD_SIZE, _HEADER_SIZE + 3 * _RECORD_SIZE + _SIZE), offsets=(2, 2), expected="3", found="2"
        ),
        _THREE + _batch(3),
    ),
    case(
        "offset-regression",
        _log(0, 1, 2, 3, 4, 5) + b"".join(_batch(row, b"other") for row in (2, 3, 4, 5, 6)),
        _wrong(6, 2, expected="6", found="2"),
        _log(0, 1, 2),
    ),
    case("batch-duplicate-bytes", _log(0, 1, 1, 2, 3), _wrong(2, 1, found=str(_SIZE)), _FOUR),
    case(
        "batch-duplicate-bytes: several",
        _log(0, 1, 2, 3, 0, 1, 2, 4),
        (_wrong(4, 0, found="0"), error((5 * _SIZE, 7 * _SIZE), offsets=(1, 2), found=str(_SIZE))),
        _FOUR,
    ),
    case("offset-below-base", {_TENTH: _log(7, 8, 9)}, _wrong(0, 7, expected="10", found="7"), {_TENTH: _log(10, 11)}),
    case("offset-below-base: by-one", {_TENTH: _log(9, 10)}, _wrong(0, 9, expected="10", found="9"), {_TENTH: _log(10)}),
    case(
        "offset-overflow-int32",
        _log(0, 1, 1 << 31, (1 << 31) + 1),
        warning(_row(2), offsets=(1 << 31, 1 << 31), expected=str((1 << 31) - 1), found=str(1 << 31)),
        _log(0, 1, (1 << 31) - 1),
        also={"offset-gap": info(_row(1, 2), offsets=(2, (1 << 31) - 1))},
        near_also={"offset-gap"},
    ),
    case("offset-negative", _log(0, 1) + _batch(-(1 << 63) + 2) + _batch(3), _wrong(2, -(1 << 63) + 2), _FOUR),
    case("leader-epoch-regression", _epochs(5, 5, 5, 3, 3, 3), _wrong(3, expected="5", found="3"), _epochs(3, 3, 5, 5)),
    case(
        "leader-epoch-regression: across-segments",
        partition_files({0: [_batch(0, epoch=4)], 1: [_batch(1, epoch=2), _batch(2, epoch=2)]}, topic="orders", partition=3),
        error(_row(0), file=file_name(1, ".log"), offsets=(1, 1), expected="4", found="2"),
        partition_files({0: [_batch(0, epoch=4)], 1: [_batch(1, epoch=4), _batch(2, epoch=5)]}, topic="orders", partition=3),
    ),
    case("leader-epoch-negative", _epochs(0, 0) + _batch(2, epoch=-7) + _batch(3), _wrong(2, found="-7"), _epochs(0, 0, 0, 0)),
    case(
        "batch-foreign-topic-hint",
        _log(0, 1, 2, 7000, 7001, 7002, 3, 4),
        error(_row(3, 5), offsets=(7000, 7002)),
        _log(0, 1, 2, 7000, 7001, 7002),
        also={"offset-gap": info(_row(2, 3), offsets=(3, 6999))},
        near_also={"offset-gap"},
    ),
)
