"""The producer snapshot (`.snapshot`): what the broker knows of every producer at an offset."""

from __future__ import annotations

from struct import Struct

from kdump.binary.checksums import crc32c_for
from kdump.errors import CorruptData
from kdump.tables import Int16, Int32, Int64, Row, Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kdump.binary.source import Source

VERSION = 1

_HEADER = Struct(">hIi")  # version, crc, number of entries
_ENTRY = Struct(">qhiqiqiq")
_CRC_COVERS_FROM = 6
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


def read(source: Source, *, checks_version_first: bool = True) -> Table[ProducerState]:
    """The producers of a snapshot, in the file's order.

    A reader that does not check the version first finds fault with the layout before it does with the version.

    Raises CorruptData with the codes `snapshot-version-unknown`, `snapshot-truncated` (with the field that is cut),
    `snapshot-count-negative`, `snapshot-count-too-high` or `snapshot-crc-mismatch`.
    """
    data = source.read(0, source.size)

    def corrupt(code: str, message: str, **values: Any) -> CorruptData:
        return CorruptData(code, message, path=source.path, **values)

    if len(data) < 2:
        raise corrupt("snapshot-truncated", "the file ends inside its version", field="version")
    version = int.from_bytes(data[:2], "big", signed=True)
    unknown_version = corrupt("snapshot-version-unknown", f"version {version} is not known, only {VERSION} is", version=version)
    if version != VERSION and checks_version_first:
        raise unknown_version
    for field, end in (("crc", 6), ("producer_entries", 10)):
        if len(data) < end:
            raise corrupt("snapshot-truncated", f"the file ends inside its {field}", field=field)
    stored_crc, count = _HEADER.unpack_from(data)[1:]
    room = len(data) - _HEADER.size
    if count < 0:
        code = "snapshot-count-null" if count == -1 else "snapshot-count-negative"
        raise corrupt(code, f"the file says it has {count} entries", count=count)
    if count > room:
        raise corrupt("snapshot-count-too-high", f"the file says it has {count} entries", count=count, room=room)
    if count * _ENTRY.size > room:
        field = _field_at(room % _ENTRY.size)
        raise corrupt("snapshot-truncated", f"the file ends inside an entry, at its {field}", field=field, is_entry=True)
    if version != VERSION:
        raise unknown_version
    computed_crc = crc32c_for(len(data))(memoryview(data)[_CRC_COVERS_FROM:])
    if stored_crc != computed_crc:
        message = f"stored CRC {stored_crc}, computed {computed_crc}"
        raise corrupt("snapshot-crc-mismatch", message, stored=stored_crc, computed=computed_crc)
    end = _HEADER.size + count * _ENTRY.size
    return Table.of(ProducerState, list(_ENTRY.iter_unpack(memoryview(data)[_HEADER.size : end])))


def _field_at(position: int) -> str:
    """The field of an entry that holds this byte of it."""
    for field, size in _FIELDS:
        if position < size:
            return field
        position -= size
    return _FIELDS[-1][0]
