"""Directories that are built for recorded starts, beside those of the archive, and the starts that are made of them."""

import shutil
from pathlib import Path
from typing import Any

from tests.builders.files import offset_index
from tests.builders.records import TIMESTAMP, batch, record

INDEX_INTERVAL = 4096
FIRST = "00000000000000000000"
STRAY = "orders-0.0123456789abcdef0123456789abcdef-stray"
EVERY_BATCH = {"index.interval.bytes": "0"}
HEADER_AND_RECORD_OVERHEAD = 61 + 9  # of a record without key whose value takes two bytes for its length

STARTS: tuple[dict[str, Any], ...] = (
    # Room for three entries in the time index of the one, of which the last is kept free, and for four in that of the other.
    *(
        {"case": case, "stop": "unclean", "recoveryPoint": 0, "config": {**EVERY_BATCH, "segment.index.bytes": size}}
        for case, size in (("built-time-index-full", "36"), ("built-time-index-fits", "48"))
    ),
)
STARTS += tuple(
    {"case": case, "stop": stop, "recoveryPoint": 0}
    for case in (
        *("built-checkpoint-deleted", "built-snapshot-deleted", "built-orphan-index", "built-empty/orders-0"),
        *("built-batches-of-an-index-interval", "built-negative-offset-without-index", "built-swap-too-wide"),
        *("built-wide-without-index", "built-wide-above-base-without-index", "built-swap-of-transactions"),
    )
    for stop in ("clean", "unclean")
)
STARTS += tuple(
    # Recovery points are those of the checkpoint there.
    {"case": f"built-log-directory/{partition}", "stop": stop, "recoveryPoint": recovery_point, "isInLogDirectory": True}
    for stop in ("clean", "unclean")
    for partition, recovery_point in (("orders-0", 0), ("orders-1", 4), ("payments-0", 2))
)
STARTS += tuple(
    {"case": f"built-stray/{STRAY}", "loadedAs": STRAY, "stop": stop, "recoveryPoint": 0} for stop in ("clean", "unclean")
)


def build(folder: Path) -> None:
    """Write all of them into a folder, which has the directories of the archive already."""
    transactions = folder / "built-swap-of-transactions"
    shutil.copytree(folder / "rdkafka-transactions", transactions)
    shutil.copyfile(transactions / f"{FIRST}.log", transactions / f"{FIRST}.log.swap")
    deleted = _partition(folder / "built-checkpoint-deleted", {0: [_batch(0)]})
    (deleted / "00000000000000000007-0000000001.checkpoint.deleted").write_bytes(b"")
    (deleted / "00000000000000000009-0000000001.checkpoint").write_bytes(b"")
    deleted = _partition(folder / "built-snapshot-deleted", {0: [_batch(0)]})
    (deleted / "00000000000000000003.snapshot.deleted").write_bytes(b"")
    orphan = _partition(folder / "built-orphan-index", {0: [_batch(0)]})
    (orphan / "00000000000000000007.index").write_bytes(b"")
    (folder / "built-empty" / "orders-0").mkdir(parents=True)
    _build_batches_of_an_index_interval(folder / "built-batches-of-an-index-interval")
    bad = _batch(1)
    _partition(folder / "built-stray" / STRAY, {0: [_batch(0), bad[:-1] + bytes([bad[-1] ^ 1])], 2: [_batch(2)]})
    _build_log_directory(folder / "built-log-directory")
    for name in ("built-time-index-full", "built-time-index-fits"):
        _partition(folder / name, {0: [_batch(offset, base_timestamp=TIMESTAMP + offset) for offset in range(4)]})
    negative = _partition(folder / "built-negative-offset-without-index", {0: [_batch(-5, last_offset_delta=10)]})
    (negative / f"{FIRST}.index").unlink()
    for name, first in (("built-wide-without-index", 0), ("built-wide-above-base-without-index", 5)):
        wide = _partition(folder / name, {0: [_batch(first), _batch(1 << 31)]})
        (wide / f"{FIRST}.index").unlink()
    wide = _partition(folder / "built-swap-too-wide", {0: [_batch(0)]})
    (wide / f"{FIRST}.log.swap").write_bytes(_batch(0) + _batch(1 << 31))


def _build_batches_of_an_index_interval(path: Path) -> None:
    """Two batches have the same offset: a broker refuses the second only if it makes an index entry for both."""
    batches = [_batch(offset, size=INDEX_INTERVAL) for offset in (0, 1, 1, 2, 3)]
    assert {len(batch) for batch in batches} == {INDEX_INTERVAL}
    _partition(path, {0: batches})
    entries = [(1, 2 * INDEX_INTERVAL), (3, 4 * INDEX_INTERVAL), (9, 9 * INDEX_INTERVAL)]
    (path / f"{FIRST}.index").write_bytes(offset_index(entries=entries))


def _build_log_directory(path: Path) -> None:
    """Of three partitions the first is damaged, the last sound."""
    bad = _batch(1)
    bad = bad[:-1] + bytes([bad[-1] ^ 1])
    _partition(path / "orders-0", {0: [_batch(0), bad, _batch(2)], 3: [_batch(3)]})
    _partition(path / "orders-1", {0: [_batch(0), bad, _batch(2)], 3: [_batch(3)]})
    _partition(path / "payments-0", {0: [_batch(0), _batch(1)], 2: [_batch(2), _batch(3)]})
    (path / "recovery-point-offset-checkpoint").write_text("0\n3\norders 0 0\norders 1 4\npayments 0 2\n")
    (path / "log-start-offset-checkpoint").write_text("0\n1\npayments 0 1\n")


def _partition(path: Path, segments: dict[int, list[bytes]]) -> Path:
    """A partition directory with empty indexes."""
    path.mkdir(parents=True)
    for base_offset, batches in segments.items():
        (path / f"{base_offset:020}.log").write_bytes(b"".join(batches))
        (path / f"{base_offset:020}.index").write_bytes(b"")
        (path / f"{base_offset:020}.timeindex").write_bytes(b"")
    return path


def _batch(offset: int, *, size: int | None = None, **fields: Any) -> bytes:
    value = b"v" if size is None else bytes(size - HEADER_AND_RECORD_OVERHEAD)
    return batch(base_offset=offset, records=[record(value=value)], **fields)
