"""Headers of record batches (magic 2) and of messages (magic 0 and 1) as one table."""

from __future__ import annotations

from kdump.binary.arithmetic import NO_SEQUENCE, as_int64, increment_sequence
from kdump.binary.batch_header import (
    COMPRESSION_MASK,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    LOG_OVERHEAD,
    MAGIC_AT,
    MESSAGE_HEADER,
    TIMESTAMP_TYPE_BIT,
    TRANSACTIONAL_BIT,
    message_timestamp,
)
from kdump.binary.codecs import CODECS
from kdump.tables import Bool, Int8, Int16, Int32, Int64, Row, Table, Text, UInt32

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from kdump.binary.batch_header import BatchHeader, MessageHeader

    Value = TypeVar("Value")
    Result = TypeVar("Result")

NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1

CREATE_TIME = "CreateTime"
LOG_APPEND_TIME = "LogAppendTime"
NO_TIMESTAMP_TYPE = "NoTimestampType"


class RecordBatch(Row):
    """A record batch, or a message of magic 0 or 1, by its header.

    Messages have only one offset, in `last_offset` (a wrapper has the offset of its last inner message), and a timestamp from
    magic 1 on; their other fields are None.
    `timestamp` is the batch's maxTimestamp in milliseconds since 1970, -1 for none. `position` is where the batch starts in
    the file, `size` counts all its bytes, `crc` is the stored checksum.

    Kafka: DefaultRecordBatch (magic 2, since 0.11.0, KIP-98), LegacyRecord.
    """

    base_offset: Int64 | None
    last_offset: Int64
    count: Int32 | None
    base_sequence: Int32 | None
    last_sequence: Int32 | None
    producer_id: Int64 | None
    producer_epoch: Int16 | None
    partition_leader_epoch: Int32 | None
    is_transactional: Bool | None
    is_control: Bool | None
    delete_horizon_ms: Int64 | None
    position: Int64
    timestamp_type: Text
    timestamp: Int64
    size: Int32
    magic: Int8
    compresscodec: Text
    crc: UInt32
    isvalid: Bool

    @property
    def first_offset(self) -> int:
        """The first offset that a batch claims; of a message, the only one."""
        return self.last_offset if self.base_offset is None else self.base_offset


def table_of_batches(headers: Sequence[BatchHeader], positions: Sequence[int], valid: Sequence[bool]) -> Table[RecordBatch]:
    """Batches of magic 2 whose headers were unpacked, in the order given."""
    (
        base_offset,
        length,
        partition_leader_epoch,
        magic,
        crc,
        attributes,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        count,
    ) = zip(*headers, strict=True)
    rows = len(headers)
    last_offset: Sequence[int] = [base + delta for base, delta in zip(base_offset, last_offset_delta, strict=True)]
    if max(last_offset) > 0x7FFFFFFFFFFFFFFF or min(last_offset) < -0x8000000000000000:
        last_offset = [as_int64(offset) for offset in last_offset]
    if base_sequence.count(NO_SEQUENCE) == rows:
        last_sequence: Sequence[int] = base_sequence
    else:
        last_sequence = [
            NO_SEQUENCE if base == NO_SEQUENCE else increment_sequence(base, delta)
            for base, delta in zip(base_sequence, last_offset_delta, strict=True)
        ]
    is_transactional, is_control, has_horizon, timestamp_type, codec = columns_of_attributes(attributes)
    delete_horizon_ms: Sequence[int | None] = [None] * rows
    if True in has_horizon:
        delete_horizon_ms = [time if has else None for has, time in zip(has_horizon, base_timestamp, strict=True)]
    return Table(
        RecordBatch,
        {
            "base_offset": base_offset,
            "last_offset": last_offset,
            "count": count,
            "base_sequence": base_sequence,
            "last_sequence": last_sequence,
            "producer_id": producer_id,
            "producer_epoch": producer_epoch,
            "partition_leader_epoch": partition_leader_epoch,
            "is_transactional": is_transactional,
            "is_control": is_control,
            "delete_horizon_ms": delete_horizon_ms,
            "position": positions,
            "timestamp_type": timestamp_type,
            "timestamp": max_timestamp,
            "size": mapped(length, LOG_OVERHEAD.__add__),
            "magic": magic,
            "compresscodec": codec,
            "crc": crc,
            "isvalid": valid,
        },
    )


def table_of_messages(headers: Sequence[MessageHeader], positions: Sequence[int], valid: Sequence[bool]) -> Table[RecordBatch]:
    """Messages of magic 0 and 1 whose headers were unpacked, in the order given."""
    offset, length, crc, magic, attributes, timestamp = zip(*headers, strict=True)
    timestamp_type = [
        _timestamp_type(bits) if has_timestamp else NO_TIMESTAMP_TYPE
        for bits, has_timestamp in zip(attributes, magic, strict=True)
    ]
    return Table(
        RecordBatch,
        {
            **dict.fromkeys(RecordBatch.column_names, [None] * len(headers)),
            "last_offset": offset,
            "position": positions,
            "timestamp_type": timestamp_type,
            "timestamp": timestamp,
            "size": mapped(length, LOG_OVERHEAD.__add__),
            "magic": magic,
            "compresscodec": mapped(attributes, codec_name),
            "crc": crc,
            "isvalid": valid,
        },
    )


def message_header(header_bytes: bytes) -> MessageHeader:
    """The header of a message of magic 0 or 1 as the kernel unpacks it: with a timestamp, NO_TIMESTAMP in magic 0."""
    timestamp = message_timestamp(header_bytes) if header_bytes[MAGIC_AT] else NO_TIMESTAMP
    return (*MESSAGE_HEADER.unpack_from(header_bytes), timestamp)


def columns_of_attributes(
    attributes: Sequence[int],
) -> tuple[Sequence[bool], Sequence[bool], Sequence[bool], Sequence[str], Sequence[str]]:
    """Is transactional, is control, has a delete horizon, type of timestamp, codec."""
    first, rows = attributes[0], len(attributes)
    if attributes.count(first) == rows:  # as in most logs
        transactional, control, horizon, time, codec_of_all = _said_by(first)
        return [transactional] * rows, [control] * rows, [horizon] * rows, [time] * rows, [codec_of_all] * rows
    said_by = {bits: _said_by(bits) for bits in set(attributes)}
    is_transactional, is_control, has_horizon, timestamp_type, codec = zip(*map(said_by.__getitem__, attributes), strict=True)
    return is_transactional, is_control, has_horizon, timestamp_type, codec


def _said_by(attributes: int) -> tuple[bool, bool, bool, str, str]:
    return (
        bool(attributes & TRANSACTIONAL_BIT),
        bool(attributes & CONTROL_BIT),
        bool(attributes & DELETE_HORIZON_BIT),
        _timestamp_type(attributes),
        codec_name(attributes),
    )


def mapped(column: Sequence[Value], function: Callable[[Value], Result]) -> Sequence[Result]:
    """`function` of each value, called only once if the column does not vary, as most columns do not."""
    if column.count(column[0]) == len(column):
        return [function(column[0])] * len(column)
    return list(map(function, column))


def codec_name(attributes: int) -> str:
    """The name of the codec in these attributes; `unknown(5)` to `unknown(7)` for unassigned ids."""
    codec = attributes & COMPRESSION_MASK
    return CODECS[codec] if codec < len(CODECS) else f"unknown({codec})"


def _timestamp_type(attributes: int) -> str:
    return LOG_APPEND_TIME if attributes & TIMESTAMP_TYPE_BIT else CREATE_TIME
