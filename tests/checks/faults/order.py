"""Faults of the order of offsets and leader epochs, and of what batch headers count."""

from collections.abc import Sequence

from tests.builders.files import checkpoint, file_name
from tests.builders.records import batch, record

from .case import NO_BYTES, WHOLE_FILE, At, FaultCase, Files, error, info, partition_files, warning

_LOG = file_name(0, ".log")
_SIZE = 76
_HEADER_SIZE, _RECORD_SIZE = 61, 7  # of batches and records of _records


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


def _case(code: str, shown: bytes, at: At | Sequence[At], near_miss: bytes, base: int = 0, **more: object) -> FaultCase:
    name = file_name(base, ".log")
    return FaultCase(code, shown={name: shown}, at=at, near_miss={name: near_miss}, **more)  # type: ignore[arg-type]  # of any field's type


def _records(*deltas: int, last: int | None = None, count: int | None = None) -> bytes:
    return batch(records=[record(offset_delta=delta) for delta in deltas], last_offset_delta=last, records_count=count)


def _row(first: int, last: int | None = None) -> tuple[int, int]:
    """Where a batch of one of these logs stands, or a run of them: all are of one size."""
    return first * _SIZE, ((first if last is None else last) + 1) * _SIZE


_FOUR = _log(0, 1, 2, 3)
_DELETE = {"cleanup_policy": "delete"}
_HEADERS = {"level": "full"}  # records have faults of their own


def _partition(*bases: int, changed: dict[str, bytes | None] | None = None, **segments: Sequence[bytes]) -> Files:
    """Segments of ten offsets each, a batch an offset; those given by name, such as `at_10`, hold these batches."""
    given = {int(name.removeprefix("at_")): batches for name, batches in segments.items()}
    whole = {base: [_batch(base + row) for row in range(10)] for base in bases}
    return partition_files(dict(sorted({**whole, **given}.items())), changed, topic="orders", partition=3)


def _under(directory: str, files: Files) -> Files:
    return {f"{directory}/{name}": data for name, data in files.items()}


CASES = (
    FaultCase(
        "segment-missing",
        shown=_partition(0, 10, 20, changed={file_name(10, ".log"): None}),
        at=error(NO_BYTES, file=file_name(20, ".log"), offsets=(10, 19), is_estimated=True, expected="10", found="20"),
        also={
            "index-orphan": (warning(NO_BYTES, file=file_name(10, ".index")), warning(NO_BYTES, file=file_name(10, ".timeindex")))
        },
        near_miss=_partition(0, 10, 20),
    ),
    FaultCase(
        "segment-missing",
        shown=_partition(0, 20, 30),
        at=error(NO_BYTES, file=file_name(20, ".log"), offsets=(10, 19), expected="10", found="20"),
        near_miss=_partition(0, 30, at_20=[_batch(20), _batch(22)]),  # which lacks others, as compaction leaves them
        near_also={"segments-gap", "offset-gap"},
        name="not-compacted",
    ),
    FaultCase(
        "segment-missing",
        shown=_partition(0, at_11=[_batch(offset) for offset in range(11, 21)]),
        at=warning(NO_BYTES, file=file_name(11, ".log"), offsets=(10, 10), expected="10", found="11"),
        near_miss=_partition(0, 10),
        name="small",
    ),
    FaultCase(
        "segments-not-local",
        shown=_partition(10, 20, changed={"leader-epoch-checkpoint": checkpoint(entries=[(0, 0)])}),
        at=info((4, 8), file="leader-epoch-checkpoint", offsets=(0, 9), is_estimated=True),
        near_miss=_partition(
            10, 20, changed={"leader-epoch-checkpoint": checkpoint(entries=[(0, 10)])}
        ),  # as retention leaves it
    ),
    FaultCase(
        "offset-gap",
        shown=_under("__cluster_metadata-0", _partition(at_0=[_batch(0), _batch(1), _batch(5)])),
        at=error((76, 3 * 76), file=f"__cluster_metadata-0/{file_name(0, '.log')}", offsets=(2, 4), expected="2", found="5"),
        near_miss=_under("__cluster_metadata-0", _partition(at_0=[_batch(0), _batch(1), _batch(2)])),
        settings=_HEADERS,
        name="metadata",
    ),
    _case(
        "uncovered-header-rot",
        _log(0, 1, 2 + (1 << 20), 3, 4),
        error(_row(2), offsets=(2 + (1 << 20), 2 + (1 << 20)), expected="2", found=str(2 + (1 << 20))),
        _log(0, 1, 2, 3, 4),
    ),
    _case(
        "uncovered-header-rot",
        _log(64, 65, 2, 67, 68),
        error(_row(2), offsets=(2, 2), expected="66", found="2"),
        _log(64, 65, 66, 67, 68),
        name="lower",
    ),
    _case(
        "uncovered-header-rot",
        _epochs(3, 3, 19, 3, 3),
        error(_row(2), offsets=(2, 2), expected="3", found="19"),
        _epochs(3, 3, 3, 4, 4),
        name="leader-epoch",
    ),
    _case(
        "record-count-too-high", _records(0, 1, last=2, count=3), error(WHOLE_FILE, offsets=(0, 2), found="3"), _records(0, 1, 2)
    ),
    _case(
        "record-count-too-low",
        _records(0, 1, 2, last=1, count=2),
        error(WHOLE_FILE, offsets=(0, 1), found="2"),
        _records(0, 1, 2),
    ),
    _case(
        "last-offset-delta-negative",
        _records(0, last=-3) + _batch(1),
        error((0, _HEADER_SIZE + _RECORD_SIZE), offsets=(0, -3), found="-3"),
        _FOUR,
        settings=_HEADERS,
    ),
    _case(
        "last-offset-delta-mismatch",
        _records(0, last=5) + _batch(6),
        info((0, _HEADER_SIZE + _RECORD_SIZE), offsets=(0, 5)),
        _records(0, 1, 2, 3, 4, 5) + _batch(6),
    ),
    _case(
        "last-offset-delta-mismatch",
        _records(0, 1, 2, last=1, count=3) + _batch(6),
        error((0, _HEADER_SIZE + 3 * _RECORD_SIZE), offsets=(0, 1), expected="2", found="1"),
        _records(0, 1, 2),
        name="too-low",
        settings=_HEADERS,
        also={"offset-gap": info((0, _HEADER_SIZE + 3 * _RECORD_SIZE + _SIZE), offsets=(2, 5), found="4")},
    ),
    _case("record-offset-order", _records(0, 2, 1), error(WHOLE_FILE, offsets=(0, 2)), _records(0, 1, 2)),
    _case(
        "record-offset-order",
        _records(0, 1, 5, last=2, count=3),
        error(WHOLE_FILE, offsets=(0, 2)),
        _records(0, 1, 2),
        name="beyond-the-last",
        also={"last-offset-delta-mismatch": error(WHOLE_FILE, offsets=(0, 2), expected="5", found="2")},
    ),
    _case(
        "last-offset-delta-mismatch",
        _records(0, last=5) + _batch(6),
        warning((0, _HEADER_SIZE + _RECORD_SIZE), offsets=(0, 5), found="1"),
        _records(0, 1, 2, 3, 4, 5) + _batch(6),
        name="not-compacted",
        settings=_DELETE,
    ),
    _case("offset-gap", _log(0, 1, 5, 6), info(_row(1, 2), offsets=(2, 4), found="3"), _FOUR),
    _case(
        "offset-gap",
        _log(0, 1, 5, 6),
        error(_row(1, 2), offsets=(2, 4), expected="2", found="5"),
        _FOUR,
        name="not-compacted",
        settings=_DELETE,
    ),
    _case("offset-gap", _log(0, 1, 5, 6, 9), info(_row(1, 4), offsets=(2, 8), found="5"), _FOUR, name="two"),
    _case(
        "offset-duplicate",
        _records(0, 1, 2) + _batch(2) + _batch(3),
        error(
            (_HEADER_SIZE + 3 * _RECORD_SIZE, _HEADER_SIZE + 3 * _RECORD_SIZE + _SIZE), offsets=(2, 2), expected="3", found="2"
        ),
        _records(0, 1, 2) + _batch(3),
    ),
    _case(
        "offset-regression",
        _log(0, 1, 2, 3, 4, 5) + b"".join(_batch(row, b"other") for row in (2, 3, 4, 5, 6)),
        error(_row(6), offsets=(2, 2), expected="6", found="2"),
        _log(0, 1, 2),
    ),
    _case("batch-duplicate-bytes", _log(0, 1, 1, 2, 3), error(_row(2), offsets=(1, 1), found=str(_SIZE)), _FOUR),
    _case("offset-below-base", _log(7, 8, 9), error(_row(0), offsets=(7, 7), expected="10", found="7"), _log(10, 11), base=10),
    _case(
        "offset-overflow-int32",
        _log(0, 1, 1 << 31, (1 << 31) + 1),
        warning(_row(2), offsets=(1 << 31, 1 << 31), expected=str((1 << 31) - 1), found=str(1 << 31)),
        _log(0, 1, (1 << 31) - 1),
        also={"offset-gap": info(_row(1, 2), offsets=(2, (1 << 31) - 1))},
        near_also={"offset-gap"},
    ),
    _case(
        "offset-negative",
        _log(0, 1) + _batch(-(1 << 63) + 2) + _batch(3),
        error(_row(2), offsets=(-(1 << 63) + 2, -(1 << 63) + 2)),
        _FOUR,
    ),
    _case(
        "leader-epoch-regression",
        _epochs(5, 5, 5, 3, 3, 3),
        error(_row(3), offsets=(3, 3), expected="5", found="3"),
        _epochs(3, 3, 5, 5),
    ),
    FaultCase(
        "leader-epoch-regression",
        shown=partition_files(
            {0: [_batch(0, epoch=4)], 1: [_batch(1, epoch=2), _batch(2, epoch=2)]}, topic="orders", partition=3
        ),
        at=error(_row(0), file=file_name(1, ".log"), offsets=(1, 1), expected="4", found="2"),
        near_miss=partition_files(
            {0: [_batch(0, epoch=4)], 1: [_batch(1, epoch=4), _batch(2, epoch=5)]}, topic="orders", partition=3
        ),
        name="across-segments",
    ),
    _case(
        "leader-epoch-negative",
        _epochs(0, 0) + _batch(2, epoch=-7) + _batch(3),
        error(_row(2), offsets=(2, 2), found="-7"),
        _epochs(0, 0, 0, 0),
    ),
    _case(
        "leader-epoch-negative",
        _epochs(0, 0, -1, -1, 0),
        info(_row(2, 3), found="2"),
        _epochs(-1, -1, -1, -1, -1),
        name="none-among-others",
    ),
    _case(
        "batch-foreign-topic-hint",
        _log(0, 1, 2, 7000, 7001, 7002, 3, 4),
        error(_row(3, 5), offsets=(7000, 7002)),
        _log(0, 1, 2, 7000, 7001, 7002),
        also={"offset-gap": info(_row(2, 3), offsets=(3, 6999))},
        near_also={"offset-gap"},
    ),
)
