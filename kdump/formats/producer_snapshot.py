"""The producer snapshot (`.snapshot`): what the broker knows of every producer at an offset."""

from __future__ import annotations

from struct import Struct

from kdump.binary.checksums import crc32c_for, of_range
from kdump.errors import CorruptData
from kdump.tables import Int16, Int32, Int64, Row, Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from kdump.binary.source import Source

VERSION = 1

HEADER = Struct(">hIi")  # version, crc, number of entries
ENTRY = Struct(">qhiqiqiq")
CRC_COVERS_FROM = 6
_HEADER_UP_TO_CRC = Struct(">hI")
_COUNT = Struct(">i")
_PRODUCER_ID = Struct(f">q{ENTRY.size - 8}x")
_ENTRIES_AT_ONCE = 4096
_FIELDS = (
    ("producer_id", 8),
    ("epoch", 2),
    ("last_sequence", 4),
    ("last_offset", 8),
    ("offset_delta", 4),
    ("timestamp", 8),
    ("coordinator_epoch", 4),
    ("current_txn_first_offset", 8),
)


class ProducerState(Row):
    """The state of one producer: its last batch, and the transaction it has open.

    `last_offset` is -1 where no batch is known, `coordinator_epoch` where no marker was written, `current_txn_first_offset`
    where no transaction is open. `offset_delta` is the last offset of the batch less its first, `timestamp` is in milliseconds
    since 1970.

    Kafka: ProducerStateManager, since 0.11.0 (KIP-98).
    """

    producer_id: Int64
    producer_epoch: Int16
    last_sequence: Int32
    last_offset: Int64
    offset_delta: Int32
    timestamp: Int64
    coordinator_epoch: Int32
    current_txn_first_offset: Int64


def read(source: Source, *, checks_version_first: bool = True) -> Iterator[Table[ProducerState]]:
    """The producers of a snapshot, in the file's order. Nothing is returned unless the whole file is valid.

    A reader that does not check the version first reports a fault of the layout before one of the version.

    Raises CorruptData with the codes `snapshot-version-unknown`, `snapshot-truncated` or `snapshot-entry-truncated` (with the
    field that is cut), `snapshot-count-null`, `snapshot-count-negative`, `snapshot-count-too-high` or `snapshot-crc-mismatch`.
    """
    count = _checked_count(source, checks_version_first)
    return entries(source, count)


def _checked_count(source: Source, checks_version_first: bool) -> int:
    """The number of entries, after everything else was checked."""
    header = source.read(0, HEADER.size)

    def corrupt(code: str, message: str, **values: Any) -> CorruptData:
        return CorruptData(code, message, path=source.path, **values)

    if len(header) < 2:
        raise corrupt("snapshot-truncated", "the file ends inside its version", field="version")
    version = int.from_bytes(header[:2], "big", signed=True)
    unknown_version = corrupt("snapshot-version-unknown", f"version {version} is not known, only {VERSION} is", version=version)
    if version != VERSION and checks_version_first:
        raise unknown_version
    for field, end in (("crc", 6), ("producer_entries", 10)):
        if len(header) < end:
            raise corrupt("snapshot-truncated", f"the file ends inside its {field}", field=field)
    stored_crc: int
    count: int
    _, stored_crc, count = HEADER.unpack(header)
    room = source.size - HEADER.size
    if count < 0:
        code = "snapshot-count-null" if count == -1 else "snapshot-count-negative"
        raise corrupt(code, f"the file says it has {count} entries", count=count)
    if count > room:
        raise corrupt("snapshot-count-too-high", f"the file says it has {count} entries", count=count, room=room)
    if count * ENTRY.size > room:
        field = _field_at(room % ENTRY.size)
        raise corrupt("snapshot-entry-truncated", f"the file ends inside an entry, at its {field}", field=field)
    if version != VERSION:
        raise unknown_version
    computed_crc = of_range(source, CRC_COVERS_FROM, source.size, crc32c_for(source.size))
    if stored_crc != computed_crc:
        message = f"stored CRC {stored_crc}, computed {computed_crc}"
        raise corrupt("snapshot-crc-mismatch", message, stored=stored_crc, computed=computed_crc)
    return count


def entries(source: Source, count: int) -> Iterator[Table[ProducerState]]:
    """The first `count` producers, which must be in the file; nothing is checked."""
    position, end = HEADER.size, HEADER.size + count * ENTRY.size
    while position < end:
        window = source.read(position, min(_ENTRIES_AT_ONCE * ENTRY.size, end - position))
        yield Table.of(ProducerState, list(ENTRY.iter_unpack(window)))
        position += len(window)


def ids(source: Source) -> Iterator[int]:
    """The ids of the producers, as many as the header counts and the file has; nothing else is checked."""
    header = source.read(0, HEADER.size)
    _, _, count = HEADER.unpack(header) if len(header) == HEADER.size else (0, 0, 0)
    position, end = HEADER.size, min(source.size, HEADER.size + count * ENTRY.size)
    while position < end:
        window = source.read(position, min(_ENTRIES_AT_ONCE * ENTRY.size, end - position))
        window = window[: len(window) // ENTRY.size * ENTRY.size]
        if not window:
            return  # an entry is cut off
        for (producer_id,) in _PRODUCER_ID.iter_unpack(window):
            yield producer_id
        position += len(window)


def packed(producers: Sequence[tuple[int, ...]]) -> bytes:
    """The bytes of a snapshot of these producers: values in the order of ProducerState, one after the other as they are given."""
    body = _COUNT.pack(len(producers)) + b"".join(ENTRY.pack(*producer) for producer in producers)
    return _HEADER_UP_TO_CRC.pack(VERSION, crc32c_for(len(body))(body, 0)) + body


def _field_at(position: int) -> str:
    """The field of an entry that this byte belongs to."""
    for field, size in _FIELDS:
        if position < size:
            return field
        position -= size
    return _FIELDS[-1][0]
