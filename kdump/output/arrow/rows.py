"""The tables of the pipeline: the row classes whose columns make up each table, and where a row is from.

This module does not import Arrow, so the columns of a table are known without it.
"""

from __future__ import annotations

from kdump.checks.finding import Finding
from kdump.errors import UsageError, unknown_name
from kdump.formats.offset_index import OffsetIndexEntry
from kdump.formats.producer_snapshot import ProducerState
from kdump.formats.record import Record
from kdump.formats.record_batch import RecordBatch
from kdump.formats.time_index import TimeIndexEntry
from kdump.formats.transaction_index import AbortedTransaction
from kdump.tables import Bool, Int8, Int16, Int32, Int64, Row, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.messages.kafka_json import Json
    from kdump.tables import Column


class Place(Row):
    """Where a row is from: the broker, the partition and the file; `segment_base` is the number in the file's name."""

    broker: Text | None
    topic: Text | None
    partition: Int32 | None
    segment_base: Int64 | None
    path: Text


class FileDetails(Row):
    """A file as its directory lists it: `kind` is its suffix without the dot, or its whole name if it has no suffix.

    `state` is what a broker is about to do with it (deleted, cleaned, swap, delete, future, stray), or why it is not read
    (not-regular, link-outside); null for all others. `allocated` is the space it takes on disk.
    """

    kind: Text
    size: Int64
    allocated: Int64
    modified_ms: Int64 | None
    state: Text | None


class BatchDetails(Row):
    """Further fields of a batch header, and the status of the batch (intact, salvaged, damaged).

    `uncompressed_size` is the size of its records, if it was asked for; `isvalid` and `status` are null if checksums were not.
    """

    isvalid: Bool | None
    base_timestamp: Int64 | None
    attributes: Int16
    uncompressed_size: Int64 | None
    status: Text | None


class BatchPosition(Row):
    """The byte at which the batch of a record starts."""

    position: Int64


class RecordDetails(Row):
    """Fields of the batch of a record, and the status of both. Keys and values that are too long are cut."""

    is_key_truncated: Bool
    is_value_truncated: Bool
    timestamp_type: Text
    magic: Int8
    compresscodec: Text
    producer_id: Int64 | None
    producer_epoch: Int16 | None
    partition_leader_epoch: Int32 | None
    is_transactional: Bool | None
    is_control: Bool | None
    control_type: Text | None
    status: Text


class DecodedDetails(Row):
    """Keys and values decoded by their schemas, as JSON; which schemas these are, and why something was not decoded."""

    decoded_key: Json | None
    decoded_value: Json | None
    key_schema: Json | None
    value_schema: Json | None
    decode_error: Text | None


class EntryNumber(Row):
    """Which entry of its file this is, counted from 0."""

    entry: Int32


class Checkpoint(Row):
    """The offset of a partition in a checkpoint file of a log directory; `kind` is the name of the file."""

    kind: Text
    offset: Int64


class Segment(Row):
    """Totals of a log: one row for each.

    Offsets, timestamps, epochs and `records` are those of batches that are not damaged. `records` is counted in headers, and null
    if old messages do not say. `digest` is a hash of offsets, leader epochs, checksums and whether these are right: if it is the
    same for two replicas, so are their batches. Batches and bytes add up to the whole file, as `kdump check` counts them.
    """

    size: Int64
    first_offset: Int64 | None
    last_offset: Int64 | None
    batches: Int64
    records: Int64 | None
    min_timestamp: Int64 | None
    max_timestamp: Int64 | None
    first_leader_epoch: Int32 | None
    last_leader_epoch: Int32 | None
    batches_salvaged: Int64
    batches_damaged: Int64
    crc_failures: Int64
    damaged_ranges: Int64
    bytes_intact: Int64
    bytes_salvaged: Int64
    bytes_damaged: Int64
    bytes_zero: Int64
    bytes_not_examined: Int64
    valid_bytes: Int64
    digest: Int64


class Unread(Row):
    """What could not be read and from which byte on, in a row that replaces it; null in all other rows."""

    error: Text | None


TABLES: dict[str, tuple[type[Row], ...]] = {
    "files": (Place, FileDetails),
    "batches": (Place, RecordBatch, BatchDetails),
    "records": (Place, BatchPosition, Record, RecordDetails),
    "index": (Place, EntryNumber, OffsetIndexEntry),
    "timeindex": (Place, EntryNumber, TimeIndexEntry),
    "txn_index": (Place, EntryNumber, AbortedTransaction),
    "producers": (Place, EntryNumber, ProducerState),
    "segments": (Place, Segment),
    "checkpoints": (Place, Checkpoint),
    "findings": (Place, Finding),
}
"""The row classes of each table. A column that several of them have is there once, as the last of them declares it."""


def columns_of(
    table: str, keys: Sequence[str] = (), *, with_error: bool = False, with_decoded: bool = False
) -> tuple[Column, ...]:
    """The columns of a table, or those with these names (upper or lower case), in the order given.

    With `with_decoded`, records also have keys and values decoded by their schemas.
    With `with_error`, some rows stand for what could not be read: the table has a column `error`, and all columns may be null
    but those that say where a row is from. Raises UsageError for an unknown table or column, and if `error` is needed but not
    among the names.
    """
    if table not in TABLES:
        raise unknown_name(f"there is no table {table!r}", table, TABLES)
    classes = (*TABLES[table], *((DecodedDetails,) if with_decoded else ()), *((Unread,) if with_error else ()))
    columns = {column.name: column for row_class in classes for column in row_class.schema}
    ordered = {column.name: columns[column.name] for row_class in classes for column in row_class.schema}
    if with_error:
        places = {column.name for column in Place.schema}
        ordered = {name: column if name in places else column.nullable() for name, column in ordered.items()}
    if not keys:
        return tuple(ordered.values())
    by_key = {column.key.lower(): column for column in ordered.values()}
    unknown = [key for key in keys if key.lower() not in by_key]
    if unknown:
        names = [column.key for column in ordered.values()]
        raise unknown_name(f"the table {table} has no column {unknown[0]!r}", unknown[0], names, "it has")
    if with_error and "error" not in map(str.lower, keys):
        raise UsageError("rows for what could not be read need the column error", remedy="add it to the columns")
    return tuple(by_key[key.lower()] for key in keys)
