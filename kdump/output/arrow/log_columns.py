"""The columns of batches and of records for Arrow, made from the chunks of a log."""

from __future__ import annotations

from kdump.binary.batch_header import ATTRIBUTES, BASE_TIMESTAMP, MESSAGE_ATTRIBUTES
from kdump.binary.columns_reference import RECORD_COLUMNS
from kdump.formats import record_batch
from kdump.formats.record_columns import RecordColumns
from kdump.messages import control_records
from kdump.output.arrow.builder import Constant, Packed, Spread, cut
from kdump.output.arrow.rows import RecordDetails
from kdump.reading.items import INTACT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any

    from kdump.formats.log import Chunk
    from kdump.formats.record import Record, RecordChunk
    from kdump.tables import Column, Table

    Columns = dict[str, Any]

_OF_BATCH = [name for name in RecordDetails.column_names if name in record_batch.RecordBatch.column_names]
"""The columns of a record that are those of its batch."""

_FEW_RECORDS = 8  # cost less as objects, which can be joined with others, than as arrays of their own

UNREADABLE = "damaged"
"""The status of a record whose own checksum is wrong, or whose key or value reaches past its end."""


def batch_columns(chunk: Chunk, status: str | None, uncompressed_sizes: Sequence[int | None] | None = None) -> Columns:
    """All columns of batches but those that say where a batch is from. All have this status."""
    base_timestamps: Any = Constant(None)
    if chunk.is_legacy:
        attributes = [header[MESSAGE_ATTRIBUTES] for header in chunk.headers]
    else:
        attributes = [header[ATTRIBUTES] for header in chunk.headers]
        base_timestamps = [header[BASE_TIMESTAMP] for header in chunk.headers]
    return {
        **chunk.batches.columns,
        "attributes": attributes,
        "base_timestamp": base_timestamps,
        "uncompressed_size": Constant(None) if uncompressed_sizes is None else uncompressed_sizes,
        "status": Constant(status),
    }


def packed_batch_columns(numbers: Mapping[str, bytes]) -> Columns:
    """The columns of intact batches of magic 2 that do not follow from their attributes, given those of BATCH_COLUMNS."""
    columns: Columns = {name: Packed(column) for name, column in numbers.items()}
    return columns | {"delete_horizon_ms": Constant(None), "isvalid": Constant(True), "status": Constant(INTACT)}


def columns_of_attributes(attributes: Sequence[int]) -> dict[str, Sequence[Any]]:
    """The columns of batches that follow from their attributes."""
    is_transactional, is_control, _, timestamp_type, codec = record_batch.columns_of_attributes(attributes)
    return {
        "is_transactional": is_transactional,
        "is_control": is_control,
        "timestamp_type": timestamp_type,
        "compresscodec": codec,
    }


def packed(columns: Sequence[Column]) -> list[str]:
    """Which columns of records the kernel is to make, if these columns of their table are wanted."""
    names = {column.name for column in columns}
    return [name for name in RECORD_COLUMNS if name in names]


def record_columns(part: RecordChunk, status: str, max_value_bytes: int, wanted: Collection[str] = RECORD_COLUMNS) -> Columns:
    """All columns of records but those that say where a record is from. Their batches have this `status`.

    Of RECORD_COLUMNS, only those that are `wanted` need be there.
    """
    batches = part.batches
    columns: Columns = {
        **_own_columns(part.records, max_value_bytes, wanted),
        "position": Spread(batches["position"], part.counts),
        "status": Constant(status),
    }
    for name in _OF_BATCH:
        columns[name] = Spread(batches[name], part.counts)
    if part.magics:
        columns["magic"] = part.magics
        columns["status"] = part.statuses(status, UNREADABLE)
    columns["control_type"] = _control_types(part)
    return columns


def _own_columns(records: Table[Record], max_value_bytes: int, wanted: Collection[str]) -> Columns:
    """The columns of records that their batches do not say, and whether keys and values were cut."""
    made = records.columns
    if not isinstance(made, RecordColumns):
        columns: Columns = {**made}
    else:  # a column that is read as values costs an object for each
        is_small = len(records) <= _FEW_RECORDS
        columns = {
            name: list(made[name]) if is_small else Packed(made.buffers(name)) for name in RECORD_COLUMNS if name in wanted
        }
        columns["crc"] = columns["isvalid"] = Constant(None)
        if made.largest <= max_value_bytes:
            return {**columns, "is_key_truncated": Constant(False), "is_value_truncated": Constant(False)}
    keys, keys_cut = cut(list(records["key"]), records["key_size"], max_value_bytes)
    values, values_cut = cut(list(records["value"]), records["value_size"], max_value_bytes)
    return {**columns, "key": keys, "value": values, "is_key_truncated": keys_cut, "is_value_truncated": values_cut}


def _control_types(part: RecordChunk) -> object:
    """The type of each control record: its name, or its number if it has none; None for all other records."""
    is_control = part.batches["is_control"]
    if True not in is_control:
        return Constant(None)
    types: list[str | None] = []
    row = 0
    for controls, count in zip(is_control, part.counts, strict=True):
        keys = part.records["key"][row : row + count]
        types += [_control_type(key) for key in keys] if controls else [None] * count
        row += count
    return types


def _control_type(key: object) -> str | None:
    if not isinstance(key, bytes | bytearray) or len(key) < 4:
        return None
    number = int.from_bytes(key[2:4], "big", signed=True)
    return control_records.NAMES[number] if 0 <= number < len(control_records.NAMES) else str(number)
