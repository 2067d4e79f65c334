"""The files beside a log, and whole partition directories."""

import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from .checksums import crc32c
from .records import NO_TIMESTAMP, TIMESTAMP

NO_OFFSET = -1

OFFSET_INDEX_ENTRY_SIZE = 8
TIME_INDEX_ENTRY_SIZE = 12


def offset_index(
    *, entries: Sequence[tuple[int, int]] = (), base_offset: int = 0, zero_entry_count: int = 0, trailing: bytes = b""
) -> bytes:
    """An offset index of (offset, position) entries; `zero_entry_count` adds the tail of a preallocated file."""
    # i32 relative offset, i32 position
    written = [struct.pack(">ii", offset - base_offset, position) for offset, position in entries]
    return b"".join(written) + bytes(zero_entry_count * OFFSET_INDEX_ENTRY_SIZE) + trailing


def time_index(
    *, entries: Sequence[tuple[int, int]] = (), base_offset: int = 0, zero_entry_count: int = 0, trailing: bytes = b""
) -> bytes:
    """A time index of (timestamp, offset) entries; `zero_entry_count` adds the tail of a preallocated file."""
    # i64 timestamp, i32 relative offset
    written = [struct.pack(">qi", timestamp, offset - base_offset) for timestamp, offset in entries]
    return b"".join(written) + bytes(zero_entry_count * TIME_INDEX_ENTRY_SIZE) + trailing


def transaction_index(*, entries: Sequence[bytes] = (), trailing: bytes = b"") -> bytes:
    """A transaction index of entries made by `aborted_transaction`."""
    return b"".join(entries) + trailing


def aborted_transaction(
    *, producer_id: int = 1, first_offset: int = 0, last_offset: int = 0, last_stable_offset: int = 0, version: int = 0
) -> bytes:
    """One entry of a transaction index. Kafka: AbortedTxn."""
    return struct.pack(">hqqqq", version, producer_id, first_offset, last_offset, last_stable_offset)


def producer_snapshot(
    *,
    entries: Sequence[bytes] = (),
    version: int = 1,
    crc: int | None = None,
    entry_count: int | None = None,
    trailing: bytes = b"",
) -> bytes:
    """A producer snapshot of entries made by `producer_entry`; `trailing` is covered by the CRC.

    Kafka writes an `entry_count` of -1 for null.
    """
    count = len(entries) if entry_count is None else entry_count
    after_crc = struct.pack(">i", count) + b"".join(entries) + trailing
    return struct.pack(">hI", version, crc32c(after_crc) if crc is None else crc) + after_crc


def producer_entry(
    *,
    producer_id: int = 1,
    producer_epoch: int = 0,
    last_sequence: int = 0,
    last_offset: int = 0,
    offset_delta: int = 0,
    timestamp: int = TIMESTAMP,
    coordinator_epoch: int = -1,
    current_txn_first_offset: int = NO_OFFSET,
) -> bytes:
    """One entry of a producer snapshot; a `last_offset` of -1 says that no batch of the producer is known."""
    return (
        struct.pack(">q", producer_id)
        + struct.pack(">h", producer_epoch)
        + struct.pack(">i", last_sequence)
        + struct.pack(">q", last_offset)
        + struct.pack(">i", offset_delta)
        + struct.pack(">q", timestamp)
        + struct.pack(">i", coordinator_epoch)
        + struct.pack(">q", current_txn_first_offset)
    )


def checkpoint(*, entries: Sequence[tuple[str | int, ...]] = (), version: int = 0, entry_count: int | None = None) -> bytes:
    """A text checkpoint: entries (epoch, start offset) for leader epochs, (topic, partition, offset) for the others."""
    lines = [str(version), str(len(entries) if entry_count is None else entry_count)]
    lines += [" ".join(str(field) for field in entry) for entry in entries]
    return "".join(f"{line}\n" for line in lines).encode()


def partition_metadata(*, topic_id: str = "AAAAAAAAAAAAAAAAAAAAAQ", version: int = 0) -> bytes:
    """The file `partition.metadata`; the topic id is a UUID in base64url."""
    return f"version: {version}\ntopic_id: {topic_id}".encode()


def file_name(offset: int, suffix: str) -> str:
    """The name of a file that belongs to this offset: `file_name(5, ".log")` is `00000000000000000005.log`."""
    return f"{offset:020d}{suffix}"


def write_log(folder: Path, *parts: bytes, base_offset: int = 0) -> Path:
    path = folder / file_name(base_offset, ".log")
    path.write_bytes(b"".join(parts))
    return path


def write_partition(
    folder: Path,
    *,
    segments: Mapping[int, Sequence[bytes]],
    topic: str = "topic",
    partition: int = 0,
    index_interval_bytes: int = 4096,
    segment_index_bytes: int | None = None,
    aborted_transactions: Mapping[int, Sequence[bytes]] | None = None,
    producer_snapshots: Mapping[int, Sequence[bytes]] | None = None,
    leader_epochs: Sequence[tuple[int, int]] | None = None,
) -> Path:
    """Write a partition directory in `folder`, as a broker leaves it, and return its path.

    `segments` maps base offsets to appends: each a batch, a wrapper or a message set. The indexes are those that a
    broker of 3.0 or later would have made of these appends, so `index_interval_bytes=0` gives every append but the
    first an entry. After a crash the last segment's indexes still have their preallocated size and lack the closing
    time entry: give that size as `segment_index_bytes`.
    `aborted_transactions` maps base offsets of segments to entries of their transaction index, `producer_snapshots`
    the offsets of snapshots to their entries; `leader_epochs` defaults to what the batches say.
    """
    directory = folder / f"{topic}-{partition}"
    directory.mkdir(parents=True)
    for base_offset, appends in segments.items():
        allocated = segment_index_bytes if base_offset == max(segments) else None
        offset_entries, time_entries = _index_entries(
            appends, index_interval_bytes=index_interval_bytes, is_closed=allocated is None
        )
        offset_index_file = offset_index(
            entries=offset_entries,
            base_offset=base_offset,
            zero_entry_count=max((allocated or 0) // OFFSET_INDEX_ENTRY_SIZE - len(offset_entries), 0),
        )
        time_index_file = time_index(
            entries=time_entries,
            base_offset=base_offset,
            zero_entry_count=max((allocated or 0) // TIME_INDEX_ENTRY_SIZE - len(time_entries), 0),
        )
        (directory / file_name(base_offset, ".log")).write_bytes(b"".join(appends))
        (directory / file_name(base_offset, ".index")).write_bytes(offset_index_file)
        (directory / file_name(base_offset, ".timeindex")).write_bytes(time_index_file)
    for base_offset, entries in (aborted_transactions or {}).items():
        (directory / file_name(base_offset, ".txnindex")).write_bytes(transaction_index(entries=entries))
    for offset, entries in (producer_snapshots or {}).items():
        (directory / file_name(offset, ".snapshot")).write_bytes(producer_snapshot(entries=entries))
    if leader_epochs is None:
        leader_epochs = _leader_epochs(segments)
    (directory / "leader-epoch-checkpoint").write_bytes(checkpoint(entries=leader_epochs))
    (directory / "partition.metadata").write_bytes(partition_metadata())
    return directory


class _Entry(NamedTuple):
    """What the indexes and the leader epochs need to know of a batch or a message."""

    base_offset: int
    last_offset: int
    max_timestamp: int
    partition_leader_epoch: int


def _index_entries(
    appends: Sequence[bytes], *, index_interval_bytes: int, is_closed: bool
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The (offset, position) and (timestamp, offset) entries a broker adds while it appends and when it closes."""
    offset_entries: list[tuple[int, int]] = []
    time_entries: list[tuple[int, int]] = []
    position = 0
    bytes_since_entry = 0
    greatest = (NO_TIMESTAMP, NO_OFFSET)

    def add_time_entry() -> None:
        previous_timestamp = time_entries[-1][0] if time_entries else NO_TIMESTAMP
        if greatest[0] > previous_timestamp:
            time_entries.append(greatest)

    for append in appends:
        last_offset = None
        for entry in _entries(append):
            last_offset = entry.last_offset
            if entry.max_timestamp > greatest[0]:
                greatest = (entry.max_timestamp, entry.last_offset)
        if bytes_since_entry > index_interval_bytes and last_offset is not None:
            offset_entries.append((last_offset, position))
            add_time_entry()
            bytes_since_entry = 0
        bytes_since_entry += len(append)
        position += len(append)
    if is_closed:
        add_time_entry()
    return offset_entries, time_entries


def _leader_epochs(segments: Mapping[int, Sequence[bytes]]) -> list[tuple[int, int]]:
    epochs: list[tuple[int, int]] = []
    for _, appends in sorted(segments.items()):
        for append in appends:
            for entry in _entries(append):
                if entry.partition_leader_epoch > (epochs[-1][0] if epochs else -1):
                    epochs.append((entry.partition_leader_epoch, entry.base_offset))
    return epochs


def _entries(append: bytes) -> Iterator[_Entry]:
    """The batches or messages of one append, as far as their headers are whole."""
    position = 0
    while position + 17 < len(append):
        offset, size = struct.unpack_from(">qi", append, position)
        magic = append[position + 16]
        if magic >= 2:
            if position + 61 > len(append):
                return
            (epoch,) = struct.unpack_from(">i", append, position + 12)
            (last_offset_delta,) = struct.unpack_from(">i", append, position + 23)
            (max_timestamp,) = struct.unpack_from(">q", append, position + 35)
            yield _Entry(offset, offset + last_offset_delta, max_timestamp, epoch)
        else:
            timestamp = NO_TIMESTAMP
            if magic == 1 and position + 26 <= len(append):
                (timestamp,) = struct.unpack_from(">q", append, position + 18)
            yield _Entry(offset, offset, timestamp, -1)
        if size < 14:
            return
        position += 12 + size
