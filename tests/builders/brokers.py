"""The log directory of a broker on a bad day: sound partitions beside damage of eight kinds."""

from __future__ import annotations

from pathlib import Path

from .files import checkpoint, file_name, partition_metadata, write_partition
from .fleets import data, flipped
from .records import TIMESTAMP

EIGHT_KINDS = (
    "a directory that is none of Kafka's",
    "a file of the log directory that is malformed",
    "an empty partition.metadata",
    "zeros over a page",
    "a checksum that does not match",
    "a damaged index",
    "a transaction that hangs",
    "timestamps in the future",
)
_HOUR = 3_600_000
_FAR = TIMESTAMP + 100 * 365 * 24 * _HOUR
_PAGE = 4096


def write_broken_broker(root: Path) -> Path:
    """A log directory of a KRaft broker with damage of `EIGHT_KINDS`, and six sound partitions of the topic `good`."""
    root.mkdir(parents=True)
    (root / "meta.properties").write_text(
        "version=1\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\nnode.id=1\ndirectory.id=c29tZS1kaXJlY3RvcnkxMg\n"
    )
    (root / "recovery-point-offset-checkpoint").write_text("0\n9\norders 0 30\n")
    for name in ("replication-offset-checkpoint", "log-start-offset-checkpoint"):
        (root / name).write_bytes(checkpoint())
    for number in range(6):
        _partition(root, "good", number)
    for number in range(4):
        _partition(root, "orders", number)
    (root / "lost+found").mkdir()
    _partition(root, "alpha", 0)
    (root / "alpha-0" / "partition.metadata").write_bytes(b"")
    log = root / "orders-3" / file_name(0, ".log")
    whole = log.read_bytes()
    start = len(whole) // 3
    log.write_bytes(whole[:start] + bytes(_PAGE) + whole[start + _PAGE :])
    log = root / "orders-1" / file_name(100, ".log")
    whole = log.read_bytes()
    log.write_bytes(whole[: len(whole) // 2] + flipped(whole[len(whole) // 2 :]))
    index = root / "orders-2" / file_name(0, ".index")
    index.write_bytes(b"\xff" * 8 + index.read_bytes()[8:])
    (root / "orders-2" / file_name(100, ".timeindex")).unlink()
    open_since = [data(offset, 2, producer=9, sequence=offset, is_transactional=True) for offset in (0, 2)]
    later = [data(offset, at=TIMESTAMP + offset * _HOUR) for offset in range(4, 40)]
    write_partition(root, segments={0: [*open_since, *later]}, topic="payments", partition=0)
    for number in range(2):
        write_partition(root, segments={0: [data(offset, at=_FAR) for offset in range(5)]}, topic="clicks", partition=number)
    for name in ("payments-0", "clicks-0", "clicks-1"):
        (root / name / "partition.metadata").write_bytes(partition_metadata())
    (root / "old-0.d5f5b3c6c6a84fe9a1c9f0a3a5a1e3d7-delete").mkdir()
    (root / "good-0" / "core.dump").write_bytes(b"core" * 300)
    return root


def _partition(root: Path, topic: str, number: int) -> None:
    value = b"0123456789abcdef" * 12
    segments = {
        base: [data(offset, 5, value=value, at=TIMESTAMP + offset) for offset in range(base, base + 100, 5)] for base in (0, 100)
    }
    write_partition(root, segments=segments, topic=topic, partition=number)
    (root / f"{topic}-{number}" / "partition.metadata").write_bytes(partition_metadata())
