"""Directories of several brokers, as they lie beside one another after their files were collected."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from .files import checkpoint, file_name, write_partition
from .records import TIMESTAMP, batch, record

Segments = Mapping[int, Sequence[bytes]]
Partitions = Mapping[str, Segments]
"""Segments by the directory of their partition: `{"orders-3": {0: [batch(...)]}}`."""


def write_fleet(
    folder: Path,
    brokers: Mapping[str, Partitions],
    *,
    cleaned: Mapping[str, Mapping[str, int]] | None = None,
    has_indexes: bool = True,
) -> Path:
    """Write the log directories `broker=1`, `broker=2`, ..., and return where they lie.

    `cleaned` says for brokers up to which offset their cleaners came, by partition: their cleaner-offset-checkpoint.
    Without indexes there are logs only, whose offsets may be anything.
    """
    shutil.rmtree(folder, ignore_errors=True)
    for broker, partitions in brokers.items():
        directory = folder / f"broker={broker}"
        directory.mkdir(parents=True)
        for name, segments in partitions.items():
            topic, partition = _split(name)
            if has_indexes:
                write_partition(directory, segments=segments, topic=topic, partition=partition)
                continue
            (directory / name).mkdir()
            for base_offset, appends in segments.items():
                (directory / name / file_name(base_offset, ".log")).write_bytes(b"".join(appends))
        if cleaned is not None and broker in cleaned:
            entries = [(*_split(name), offset) for name, offset in cleaned[broker].items()]
            (directory / "cleaner-offset-checkpoint").write_bytes(checkpoint(entries=entries))
    return folder


def _split(name: str) -> tuple[str, int]:
    topic, _, partition = name.rpartition("-")
    return topic, int(partition)


def data(
    offset: int,
    count: int = 1,
    *,
    value: bytes = b"value",
    epoch: int = 0,
    at: int = TIMESTAMP,
    key: bytes | None = None,
    producer: int = -1,
    sequence: int = -1,
    is_transactional: bool = False,
    delete_horizon_ms: int | None = None,
) -> bytes:
    """A batch of `count` records from an offset on."""
    has_producer = producer >= 0
    return batch(
        records=[record(key=key, value=value, timestamp=at) for _ in range(count)],
        base_offset=offset,
        base_timestamp=at if delete_horizon_ms is None else delete_horizon_ms,
        max_timestamp=at,
        partition_leader_epoch=epoch,
        producer_id=producer,
        producer_epoch=0 if has_producer else -1,
        base_sequence=sequence if has_producer else -1,
        is_transactional=is_transactional,
        delete_horizon_ms=delete_horizon_ms,
    )


def flipped(whole: bytes, at: int = -1) -> bytes:
    """A batch with one bit flipped, by default in its last byte: its payload is damaged, its header is not."""
    damaged = bytearray(whole)
    damaged[at] ^= 1
    return bytes(damaged)
