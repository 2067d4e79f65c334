"""The rows that commands list: those of the file formats, with the status of each and the file it is from.

All rows of a table have one schema, whatever the data: what a row does not have is null.
"""

from __future__ import annotations

import base64
from operator import attrgetter

from kdump.binary.arithmetic import decrement_sequence
from kdump.formats.offset_index import OffsetIndexEntry
from kdump.formats.record_batch import RecordBatch
from kdump.formats.time_index import TimeIndexEntry
from kdump.formats.transaction_index import AbortedTransaction
from kdump.tables import Int16, Int32, Int64, Row, Table, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeVar

    from kdump.decoding.decoded import Decoded
    from kdump.errors import CorruptData
    from kdump.formats.producer_snapshot import ProducerState
    from kdump.formats.record import Record
    from kdump.messages.kafka_json import Json

    RowType = TypeVar("RowType", bound=Row)
    Object = dict[str, str | None]
    Objects = list[Object]

_OF_DECODED = {
    "decoded_key": "key",
    "decoded_value": "value",
    "key_schema": "key_schema",
    "value_schema": "value_schema",
    "decode_error": "error",
}
"""Columns of records, and where their values are in what was decoded."""


class ListedBatch(RecordBatch, kind="batch"):
    """A batch with its `status` (intact, salvaged, damaged) and its file; a damaged range has a position and a size at least."""

    status: Text
    file: Text


class ListedRecord(Row, kind="record"):
    """A record with its `status` and its file; keys and values that are not UTF-8 are in the Base64 columns.

    Each header is an object with `key`, `keyBase64`, `value` and `valueBase64`. The decoded key and value are in
    the decoded columns as JSON, and why it could not in `decode_error`: a code and what is wrong. `key_schema` and
    `value_schema` say which schema of a registry or file they have.
    """

    offset: Int64 | None
    timestamp: Int64 | None
    key_size: Int32 | None
    value_size: Int32 | None
    sequence: Int32 | None
    headers: Objects | None
    key: Text | None
    key_base64: Text | None
    value: Text | None
    value_base64: Text | None
    decoded_key: Json | None
    decoded_value: Json | None
    key_schema: Json | None
    value_schema: Json | None
    decode_error: Text | None
    position: Int64
    status: Text
    file: Text


class ListedIndexEntry(OffsetIndexEntry, kind="index-entry"):
    """An entry of an offset index; `log_offset` is the last offset of the batch there, `status` says whether they agree."""

    log_offset: Int64 | None
    status: Text
    file: Text


class ListedTimeIndexEntry(TimeIndexEntry, kind="timeindex-entry"):
    """An entry of a time index; `log_timestamp` is the largest of the batch that ends at its offset, if one does."""

    log_timestamp: Int64 | None
    status: Text
    file: Text


class ListedTransaction(AbortedTransaction, kind="transaction"):
    """An entry of a transaction index."""

    status: Text
    file: Text


class ListedProducer(Row, kind="producer"):
    """The state of a producer as Kafka's tool names it; without a known batch its fields are null."""

    producer_id: Int64
    producer_epoch: Int16
    coordinator_epoch: Int32
    current_txn_first_offset: Int64 | None
    last_timestamp: Int64
    first_sequence: Int32 | None
    last_sequence: Int32 | None
    last_offset: Int64 | None
    offset_delta: Int32 | None
    timestamp: Int64 | None
    status: Text
    file: Text


class ListedCheckpointOffset(Row, kind="checkpoint-offset"):
    """The offset of a partition in a checkpoint of a log directory, with its line; a line that is not an entry has nothing else.

    The file name says what the offset is: recovery point, high watermark, log start, or the cleaner's progress.
    """

    topic: Text | None
    partition: Int32 | None
    offset: Int64 | None
    line: Int32
    status: Text
    file: Text


class ListedLeaderEpoch(Row, kind="leader-epoch"):
    """A leader epoch and the first offset that was written in it, with its line; a line that is not an entry has nothing else."""

    epoch: Int32 | None
    start_offset: Int64 | None
    line: Int32
    status: Text
    file: Text


def batches(table: Table[RecordBatch], status: str, file: str) -> Table[ListedBatch]:
    """Batches, which all have this status."""
    return Table(ListedBatch, {**table.columns, "status": [status] * len(table), "file": [file] * len(table)})


def damaged_batch(row: Row | None, through: str, start: int, end: int, file: str) -> Table[ListedBatch]:
    """A damaged range as one row. It has the fields of the batch at its start, up to `through`."""
    values: list[Any] = []
    is_sound = row is not None
    for column in RecordBatch.schema:
        values.append(getattr(row, column.name, None) if is_sound else None)
        is_sound = is_sound and column.name != through
    table = Table.of(ListedBatch, [[*values, "damaged", file]])
    return Table(ListedBatch, {**table.columns, "position": [start], "size": [end - start]})


def records(
    table: Table[Record],
    statuses: Sequence[str],
    positions: Sequence[int],
    file: str,
    decoded: Sequence[Decoded] | None = None,
) -> Table[ListedRecord]:
    """Records with their statuses, and the positions of their batches.

    `decoded` has the decoded key and value of each record, None if no decoder was asked.
    """
    nothing = [None] * len(table)
    keys, keys_base64 = _texts(table["key"])
    values, values_base64 = _texts(table["value"])
    return Table(
        ListedRecord,
        {
            **{name: table[name] for name in ("offset", "timestamp", "key_size", "value_size", "sequence")},
            "headers": [None if headers is None else [_header(*header) for header in headers] for headers in table["headers"]],
            "key": keys,
            "key_base64": keys_base64,
            "value": values,
            "value_base64": values_base64,
            **{
                column: nothing if decoded is None else list(map(attrgetter(name), decoded))
                for column, name in _OF_DECODED.items()
            },
            "position": positions,
            "status": statuses,
            "file": [file] * len(table),
        },
    )


def damaged_record(position: int, file: str) -> Table[ListedRecord]:
    """One row for the records of a batch that cannot be read."""
    return Table(ListedRecord, {**_NOTHING, "position": (position,), "status": ("damaged",), "file": (file,)})


_NOTHING = {column.name: (None,) for column in ListedRecord.schema}


def producer(state: ProducerState, file: str) -> list[object]:
    """The values of a ListedProducer."""
    has_batch = state.last_offset >= 0
    return [
        state.producer_id,
        state.producer_epoch,
        state.coordinator_epoch,
        state.current_txn_first_offset if state.current_txn_first_offset >= 0 else None,
        state.timestamp,
        decrement_sequence(state.last_sequence, state.offset_delta) if has_batch else None,
        state.last_sequence if has_batch else None,
        state.last_offset if has_batch else None,
        state.offset_delta if has_batch else None,
        state.timestamp if has_batch else None,
        "intact",
        file,
    ]


def _texts(column: Sequence[bytes | CorruptData | None]) -> tuple[Sequence[str | None], Sequence[str | None]]:
    """Bytes as text if they are UTF-8, and as Base64 if they are not."""
    pairs = [text_or_base64(data) if isinstance(data, bytes | bytearray) else (None, None) for data in column]
    texts, encoded = zip(*pairs, strict=True) if pairs else ((), ())
    return texts, encoded


def text_or_base64(data: bytes | bytearray | None) -> tuple[str | None, str | None]:
    """Bytes as text if they are UTF-8, and as Base64 if they are not; the other is None."""
    if data is None:
        return None, None
    try:
        return data.decode(), None
    except UnicodeDecodeError:
        return None, base64.b64encode(data).decode()


def _header(key: bytes, value: bytes | None) -> Object:
    key_text, key_base64 = text_or_base64(key)
    value_text, value_base64 = text_or_base64(value)
    return {"key": key_text, "keyBase64": key_base64, "value": value_text, "valueBase64": value_base64}
