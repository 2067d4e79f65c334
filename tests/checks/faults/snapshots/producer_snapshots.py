"""Faults of snapshots."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.builders.checksums import crc32c
from tests.builders.files import file_name, producer_entry, producer_snapshot
from tests.builders.records import batch, record
from tests.checks.faults.case import NO_BYTES, WHOLE_FILE, FaultCase, Files, case, error, info, partition_files, warning

_SNAPSHOT, _AT_2, _AT_3 = (file_name(offset, ".snapshot") for offset in (5, 2, 3))
_ENTRIES = [producer_entry(producer_id=7), producer_entry(producer_id=8)]
_SOUND = producer_snapshot(entries=_ENTRIES)
_CHANGED = _SOUND[:-1] + b"\1"


def _entry_at(row: int) -> tuple[int, int]:
    """Where an entry of 46 bytes stands: version, checksum and count take 10."""
    return 10 + row * 46, 10 + (row + 1) * 46


def _file(data: bytes) -> Files:
    return {_SNAPSHOT: data}


def _of(entries: Sequence[bytes] = _ENTRIES, **changes: int | bytes) -> Files:
    return _file(producer_snapshot(entries=entries, **changes))  # type: ignore[arg-type]  # of each its own type


def _partition(snapshots: Mapping[int, Sequence[bytes]], *, in_txn: bool = False, second: int = 7) -> Files:
    """Two segments of one producer, with sequences 0 and 1, then 2; of which the `second` batch may be of another."""
    more: dict[str, Any] = {"producer_epoch": 0, "is_transactional": in_txn, "records": [record(value=b"value")]}
    written = [
        batch(base_offset=offset, base_sequence=offset, producer_id=producer_id, **more)
        for offset, producer_id in enumerate((7, second, 7))
    ]
    return partition_files({0: written[:2], 2: written[2:]}, producer_snapshots=snapshots)


def _entry(last_sequence: int, *, first_offset: int = -1, epoch: int = 0) -> bytes:
    """What a snapshot says of that producer."""
    last = {"last_sequence": last_sequence, "last_offset": last_sequence}
    return producer_entry(producer_id=7, producer_epoch=epoch, current_txn_first_offset=first_offset, **last)


CASES: tuple[FaultCase, ...] = (
    case(
        "snapshot-crc-mismatch",
        _file(_CHANGED),
        error(WHOLE_FILE, expected=f"0x{crc32c(_CHANGED[6:]):08x}", found=f"0x{crc32c(_SOUND[6:]):08x}"),
        _file(_SOUND),
    ),
    case("snapshot-truncated", _file(_SOUND[:-10]), error((10 + 46, 92), expected="102", found="92"), _of(_ENTRIES[:1])),
    case("snapshot-version-unknown", _of(version=2), error((0, 2), expected="1", found="2"), _file(_SOUND)),
    case("snapshot-count-absurd", _of(entry_count=1 << 30), error((6, 10), expected="2", found=str(1 << 30)), _file(_SOUND)),
    case("snapshot-trailing-bytes", _file(_SOUND + b"left"), error((102, 106)), _file(_SOUND)),
    case(
        "snapshot-duplicate-producer",
        _of([*_ENTRIES, producer_entry(producer_id=7, last_sequence=4)]),
        warning(_entry_at(2), found="7"),
        _of([*_ENTRIES, producer_entry(producer_id=9)]),
    ),
    case(
        "snapshot-disagrees",
        _partition({2: [_entry(0)], 3: [_entry(2, epoch=1)]}),
        (
            warning(_entry_at(0), file=_AT_2, expected="last sequence 1", found="last sequence 0"),
            warning(_entry_at(0), file=_AT_3, expected="epoch 0", found="epoch 1"),
        ),
        _partition({2: [_entry(1)], 3: [_entry(2)]}),
    ),
    case(
        "snapshot-stray",
        _partition({1: [_entry(0)], 3: [_entry(2)]}),
        info(WHOLE_FILE, file=file_name(1, ".snapshot"), offsets=(1, 1)),
        _partition({2: [_entry(1)], 3: [_entry(2)]}),
        settings={"is_pedantic": True},
        also={"file-empty": (info(NO_BYTES, file=file_name(0, ".index")), info(NO_BYTES, file=file_name(2, ".index")))},
        near_also={"file-empty"},
    ),
)
