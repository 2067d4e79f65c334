"""Record batches of all magics, and the records, control records and messages in them."""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from .checksums import crc32c
from .compression import CODEC_IDS, Codec, Compressor, compress

TimestampType = Literal["CreateTime", "LogAppendTime"]
HeaderField = tuple[str | bytes | None, bytes | None]

TIMESTAMP = 1_700_000_000_000  # the time of everything that is not given one
NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1


class ControlType(IntEnum):
    """The types of control records. Kafka: ControlRecordType."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4


# --- integers of variable size -----------------------------------------------------------------------------------


def varint(value: int, *, size_in_bytes: int | None = None) -> bytes:
    """A zig-zag varint of 32 bits; `size_in_bytes` pads it to more bytes than it needs."""
    return unsigned_varint((value << 1 ^ value >> 31) & 0xFFFFFFFF, size_in_bytes=size_in_bytes)


def varlong(value: int, *, size_in_bytes: int | None = None) -> bytes:
    """A zig-zag varint of 64 bits; `size_in_bytes` pads it to more bytes than it needs."""
    return unsigned_varint((value << 1 ^ value >> 63) & 0xFFFFFFFFFFFFFFFF, size_in_bytes=size_in_bytes)


def unsigned_varint(value: int, *, size_in_bytes: int | None = None) -> bytes:
    """A varint without zig-zag; `size_in_bytes` pads it to more bytes than it needs."""
    groups = [value & 0x7F]
    while value := value >> 7:
        groups.append(value & 0x7F)
    if size_in_bytes is not None:
        groups += [0] * (size_in_bytes - len(groups))
    return bytes(group | 0x80 for group in groups[:-1]) + bytes(groups[-1:])


# --- magic 2 -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Record:
    """A record of magic 2, to be put in a batch.

    `timestamp` is absolute, `timestamp_delta` relative to the batch; with neither, the record has the batch's base
    timestamp. `offset_delta` defaults to the record's place in the batch. The lengths and `headers_count` replace
    what would be written: a number as a varint, bytes as they are. `trailing` stands between the headers and the
    end of the record and is counted by its length.
    """

    key: bytes | None = None
    value: bytes | None = None
    headers: Sequence[HeaderField] = ()
    timestamp: int | None = None
    timestamp_delta: int | None = None
    offset_delta: int | None = None
    attributes: int = 0
    length: int | bytes | None = None
    key_length: int | bytes | None = None
    value_length: int | bytes | None = None
    headers_count: int | bytes | None = None
    trailing: bytes = b""


record = Record  # so that a test reads: batch(records=[record(key=b"k")])


def batch(
    *,
    records: Sequence[Record | bytes] = (),
    base_offset: int = 0,
    batch_length: int | None = None,
    partition_leader_epoch: int = 0,
    magic: int = 2,
    crc: int | None = None,
    attributes: int | None = None,
    codec: Codec = "none",
    timestamp_type: TimestampType = "CreateTime",
    is_transactional: bool = False,
    is_control: bool = False,
    delete_horizon_ms: int | None = None,
    last_offset_delta: int | None = None,
    base_timestamp: int | None = None,
    max_timestamp: int | None = None,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    records_count: int | None = None,
    trailing: bytes = b"",
    compressor: Compressor | None = None,
    payload: bytes | None = None,
) -> bytes:
    """A record batch of magic 2 (or above); every field not given follows from the records.

    Records given as bytes are written as they are. `trailing` follows the last record, inside the compression.
    `compressor` replaces the usual framing of `codec`, `payload` everything after the header, and `attributes` all
    the flags, but not what they would have done to the other fields. Without records there is no payload, whatever
    the codec. The base timestamp is the delete horizon if there is one, else that of the first record.
    """
    if base_timestamp is None:
        base_timestamp = _base_timestamp(records) if delete_horizon_ms is None else delete_horizon_ms
    if max_timestamp is None:
        timestamps = [_timestamp(record, base_timestamp) for record in records if isinstance(record, Record)]
        max_timestamp = max(timestamps, default=base_timestamp)
    if last_offset_delta is None:
        last_offset_delta = max((_offset_delta(record, row) for row, record in enumerate(records)), default=0)
    if payload is None:
        encoded = [encode_record(record, row=row, base_timestamp=base_timestamp) for row, record in enumerate(records)]
        plain = b"".join(encoded) + trailing
        payload = _compressed(plain, codec=codec, magic=magic, compressor=compressor) if plain else b""
    if attributes is None:
        attributes = (
            CODEC_IDS[codec]
            | (timestamp_type == "LogAppendTime") << 3
            | is_transactional << 4
            | is_control << 5
            | (delete_horizon_ms is not None) << 6
        )
    if records_count is None:
        records_count = len(records)
    after_crc = (
        struct.pack(">H", attributes & 0xFFFF)  # i16
        + struct.pack(">i", last_offset_delta)
        + struct.pack(">q", base_timestamp)
        + struct.pack(">q", max_timestamp)
        + struct.pack(">q", producer_id)
        + struct.pack(">h", producer_epoch)
        + struct.pack(">i", base_sequence)
        + struct.pack(">i", records_count)
        + payload
    )
    if crc is None:
        crc = crc32c(after_crc)
    after_length = struct.pack(">ibI", partition_leader_epoch, magic, crc) + after_crc
    if batch_length is None:
        batch_length = len(after_length)
    return struct.pack(">qi", base_offset, batch_length) + after_length


def encode_record(record: Record | bytes, *, row: int = 0, base_timestamp: int = TIMESTAMP) -> bytes:
    """The bytes of a record that stands at `row` of a batch, its length in front."""
    if isinstance(record, bytes):
        return record
    body = (
        struct.pack(">B", record.attributes & 0xFF)
        + varlong(_timestamp(record, base_timestamp) - base_timestamp)
        + varint(_offset_delta(record, row))
        + _sized(record.key, length=record.key_length)
        + _sized(record.value, length=record.value_length)
        + _varint_or(record.headers_count, len(record.headers))
        + b"".join(_header_field(key, value) for key, value in record.headers)
        + record.trailing
    )
    return _varint_or(record.length, len(body)) + body


def _base_timestamp(records: Sequence[Record | bytes]) -> int:
    first = records[0] if records else None
    if isinstance(first, Record) and first.timestamp is not None:
        return first.timestamp - (first.timestamp_delta or 0)
    return TIMESTAMP


def _timestamp(record: Record, base_timestamp: int) -> int:
    if record.timestamp_delta is not None:
        return base_timestamp + record.timestamp_delta
    return base_timestamp if record.timestamp is None else record.timestamp


def _offset_delta(record: Record | bytes, row: int) -> int:
    return row if isinstance(record, bytes) or record.offset_delta is None else record.offset_delta


def _header_field(key: str | bytes | None, value: bytes | None) -> bytes:
    return _sized(key.encode() if isinstance(key, str) else key) + _sized(value)


def _sized(data: bytes | None, *, length: int | bytes | None = None) -> bytes:
    return _varint_or(length, -1 if data is None else len(data)) + (data or b"")


def _varint_or(given: int | bytes | None, value: int) -> bytes:
    if isinstance(given, bytes):
        return given
    return varint(value if given is None else given)


def _compressed(plain: bytes, *, codec: Codec, magic: int, compressor: Compressor | None) -> bytes:
    return compress(plain, codec=codec, magic=magic) if compressor is None else compressor(plain)


# --- control records ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Voter:
    """A voter of the KRaft quorum."""

    voter_id: int = 1
    voter_directory_id: bytes = bytes(16)


def control_record(*, control_type: int, value: bytes | None = b"", key_version: int = 0, key_size: int | None = None) -> Record:
    """A control record of any type; `key_size` cuts its key, or fills it up with zeros, to that many bytes."""
    key = struct.pack(">hh", key_version, control_type)
    if key_size is not None:
        key = key[:key_size].ljust(key_size, b"\x00")
    return Record(key=key, value=value)


def abort_record(*, coordinator_epoch: int = 0, key_size: int | None = None) -> Record:
    """The marker that ends a transaction by aborting it. Kafka: EndTxnMarker."""
    return control_record(control_type=ControlType.ABORT, value=struct.pack(">hi", 0, coordinator_epoch), key_size=key_size)


def commit_record(*, coordinator_epoch: int = 0, version: int = 0, key_version: int = 0) -> Record:
    """The marker that ends a transaction by committing it. Kafka: EndTxnMarker."""
    value = struct.pack(">hi", version, coordinator_epoch)
    return control_record(control_type=ControlType.COMMIT, value=value, key_version=key_version)


def leader_change_record(
    *,
    voters: Sequence[Voter] = (Voter(),),
    granting_voters: Sequence[Voter] = (Voter(),),
    version: int = 0,
    message_version: int | None = None,
) -> Record:
    """A leader change by the voter 1; `message_version` is the schema's (1: with directory ids), `version` the field's value."""
    if message_version is None:
        message_version = 1 if version >= 1 else 0
    has_directory_id = message_version >= 1

    def write(voter: Voter) -> bytes:
        return struct.pack(">i", voter.voter_id) + (voter.voter_directory_id if has_directory_id else b"") + _NO_TAGS

    value = (
        struct.pack(">hi", version, 1)
        + _compact_array([write(voter) for voter in voters])
        + _compact_array([write(voter) for voter in granting_voters])
        + _NO_TAGS
    )
    return control_record(control_type=ControlType.LEADER_CHANGE, value=value)


def snapshot_header_record(*, last_contained_log_timestamp: int = TIMESTAMP) -> Record:
    """The first record of a KRaft snapshot. Kafka: SnapshotHeaderRecord."""
    value = struct.pack(">hq", 0, last_contained_log_timestamp) + _NO_TAGS
    return control_record(control_type=ControlType.SNAPSHOT_HEADER, value=value)


def snapshot_footer_record() -> Record:
    """The last record of a KRaft snapshot. Kafka: SnapshotFooterRecord."""
    return control_record(control_type=ControlType.SNAPSHOT_FOOTER, value=struct.pack(">h", 0) + _NO_TAGS)


def transaction_marker(
    *,
    is_commit: bool = True,
    base_offset: int = 0,
    producer_id: int = 1,
    producer_epoch: int = 0,
    coordinator_epoch: int = 0,
    timestamp: int = TIMESTAMP,
    partition_leader_epoch: int = 0,
    codec: Codec = "none",
) -> bytes:
    """The control batch with which the coordinator ends a producer's transaction."""
    marker = commit_record if is_commit else abort_record
    return batch(
        records=[marker(coordinator_epoch=coordinator_epoch)],
        base_offset=base_offset,
        partition_leader_epoch=partition_leader_epoch,
        base_timestamp=timestamp,
        is_transactional=True,
        is_control=True,
        codec=codec,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
    )


_NO_TAGS = b"\x00"


def _compact_array(elements: Sequence[bytes]) -> bytes:
    return unsigned_varint(len(elements) + 1) + b"".join(elements)


# --- magic 0 and 1 -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message of magic 0 or 1, to be put in a message set or in a wrapper.

    `offset` is absolute and defaults to the one after the message before. Magic 0 has no timestamp. `size`, `crc`,
    `attributes` and the lengths replace what would be written.
    """

    key: bytes | None = None
    value: bytes | None = None
    magic: int = 1
    offset: int | None = None
    timestamp: int = TIMESTAMP
    timestamp_type: TimestampType = "CreateTime"
    codec: Codec = "none"
    attributes: int | None = None
    key_length: int | None = None
    value_length: int | None = None
    crc: int | None = None
    size: int | None = None


message = Message  # so that a test reads: message_set(messages=[message(key=b"k")])


def message_set(*, messages: Sequence[Message | bytes], base_offset: int = 0) -> bytes:
    """Uncompressed messages, one after the other; entries given as bytes are written as they are."""
    offsets = _offsets(messages, base_offset)
    return b"".join(encode_message(message, offset=offset) for message, offset in zip(messages, offsets, strict=True))


def wrapper(
    *,
    messages: Sequence[Message | bytes] = (),
    magic: int = 1,
    codec: Codec = "gzip",
    base_offset: int = 0,
    inner_offsets: Literal["relative", "absolute"] | Sequence[int] | None = None,
    offset: int | None = None,
    timestamp: int | None = None,
    timestamp_type: TimestampType = "CreateTime",
    attributes: int | None = None,
    key: bytes | None = None,
    trailing: bytes = b"",
    compressor: Compressor | None = None,
    payload: bytes | None = None,
    has_null_value: bool = False,
    key_length: int | None = None,
    value_length: int | None = None,
    crc: int | None = None,
    size: int | None = None,
) -> bytes:
    """A message whose value is a compressed message set.

    The offsets of the messages are absolute here and count from `base_offset`; they are written as this magic has
    them (0: absolute, 1: relative to `base_offset`), as `inner_offsets` says, or as the numbers given there.
    Entries given as bytes, say a nested wrapper, count for one offset and keep the one they have. `offset` is that
    of the last message and `timestamp` the greatest of them unless given. `trailing` follows the last message,
    inside the compression; `compressor` replaces the usual framing of `codec`, and `payload` the whole value.
    """
    offsets = _offsets(messages, base_offset)
    if inner_offsets is None:
        inner_offsets = "absolute" if magic == 0 else "relative"
    if isinstance(inner_offsets, str):
        first = base_offset if inner_offsets == "relative" else 0
        inner_offsets = [absolute - first for absolute in offsets]
    if payload is None:
        placed = zip(messages, inner_offsets, strict=True)
        plain = b"".join(encode_message(message, offset=inner) for message, inner in placed) + trailing
        payload = _compressed(plain, codec=codec, magic=magic, compressor=compressor)
    if timestamp is None:
        timestamps = [message.timestamp for message in messages if isinstance(message, Message) and message.magic > 0]
        timestamp = max(timestamps, default=TIMESTAMP)
    outer = Message(
        key=key,
        value=None if has_null_value else payload,
        magic=magic,
        timestamp=timestamp,
        timestamp_type=timestamp_type,
        codec=codec,
        attributes=attributes,
        key_length=key_length,
        value_length=value_length,
        crc=crc,
        size=size,
    )
    if offset is None:
        offset = offsets[-1] if offsets else base_offset
    return encode_message(outer, offset=offset)


def encode_message(message: Message | bytes, *, offset: int = 0) -> bytes:
    """The entry of a message: offset, size and the message itself."""
    if isinstance(message, bytes):
        return message
    attributes = message.attributes
    if attributes is None:
        is_append_time = message.magic > 0 and message.timestamp_type == "LogAppendTime"
        attributes = CODEC_IDS[message.codec] | is_append_time << 3
    after_crc = (
        struct.pack(">bB", message.magic, attributes & 0xFF)
        + (struct.pack(">q", message.timestamp) if message.magic > 0 else b"")
        + _sized_by_i32(message.key, length=message.key_length)
        + _sized_by_i32(message.value, length=message.value_length)
    )
    crc = zlib.crc32(after_crc) if message.crc is None else message.crc
    body = struct.pack(">I", crc) + after_crc
    return struct.pack(">qi", offset, len(body) if message.size is None else message.size) + body


def _offsets(messages: Sequence[Message | bytes], base_offset: int) -> list[int]:
    offsets: list[int] = []
    following = base_offset
    for message in messages:
        given = None if isinstance(message, bytes) else message.offset
        offsets.append(following if given is None else given)
        following = offsets[-1] + 1
    return offsets


def _sized_by_i32(data: bytes | None, *, length: int | None) -> bytes:
    if length is None:
        length = -1 if data is None else len(data)
    return struct.pack(">i", length) + (data or b"")
