"""Writes batches again with some of their records, as the log cleaner does: offsets, times, producer and codec stay.

Kafka: MemoryRecords.filterTo, MemoryRecordsBuilder.
"""

from __future__ import annotations

from kdump.binary import codecs
from kdump.binary.arithmetic import as_int64
from kdump.binary.batch_header import (
    ATTRIBUTES,
    BASE_OFFSET,
    BASE_TIMESTAMP,
    BATCH_HEADER,
    COMPRESSION_MASK,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    MAGIC,
    MAX_TIMESTAMP,
    RECORD_COUNT,
    TIMESTAMP_TYPE_BIT,
    TRANSACTIONAL_BIT,
)
from kdump.binary.kernel import TIMESTAMP_DELTA, read_varint
from kdump.binary.varints import varint
from kdump.formats.batch_writer import with_crc, with_length
from kdump.formats.message_set import Message, unwrap
from kdump.formats.record import MAX_RECORD_HEADERS, BatchRecords
from kdump.formats.record_batch import NO_TIMESTAMP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kdump.binary.kernel import Buffer, RecordTuple

    Keeps = Callable[[int, int, bytes | None], bool]
    """Whether a record is kept, by its offset, its timestamp in milliseconds, and its key."""

_KEPT_OF_EMPTY = TIMESTAMP_TYPE_BIT | TRANSACTIONAL_BIT | CONTROL_BIT
_AFTER_ATTRIBUTES = 6  # of a message: checksum, magic, attributes
_NULL = b"\xff\xff\xff\xff"


class Selection:
    """Which records of a batch are kept: a flag for each in order, and what the header needs of those that are."""

    def __init__(self) -> None:
        self.flags = bytearray()
        self.kept = 0
        self.first_offset = self.last_offset = -1
        self.first_timestamp = self.max_timestamp = NO_TIMESTAMP

    def add(self, offset: int, timestamp: int, *, is_kept: bool) -> None:
        """Add the next record."""
        self.flags.append(is_kept)
        if is_kept:
            if not self.kept:
                self.first_offset, self.first_timestamp = offset, timestamp
            self.kept += 1
            self.last_offset = offset
            self.max_timestamp = max(self.max_timestamp, timestamp)

    @property
    def count(self) -> int:
        """The number of records in the batch."""
        return len(self.flags)


# --- magic 2


def select(header: Sequence[int], batch: bytes, keeps: Keeps) -> Selection:
    """Ask of each record of a batch of magic 2 whether it is kept. Raises CorruptData as `BatchRecords`."""
    selection = Selection()
    append_time = header[MAX_TIMESTAMP] if header[ATTRIBUTES] & TIMESTAMP_TYPE_BIT else None
    for rows in BatchRecords(header, batch, max_headers=MAX_RECORD_HEADERS).parts():
        for timestamp_delta, offset_delta, _, _, _, key, _ in rows:
            offset = as_int64(header[BASE_OFFSET] + offset_delta)
            timestamp = as_int64(header[BASE_TIMESTAMP] + timestamp_delta) if append_time is None else append_time
            selection.add(offset, timestamp, is_kept=keeps(offset, timestamp, None if key is None else bytes(key)))
    return selection


def retained(header: Sequence[int], batch: bytes, selection: Selection) -> bytes:
    """A batch of magic 2 with the selected records, at least one.

    The range of offsets, the producer, the leader epoch and the attributes stay. The base timestamp is that of the first record
    unless it is a delete horizon; the largest timestamp is that of the records. Raises CorruptData as `BatchRecords`.
    """
    fields = list(header)
    if not header[ATTRIBUTES] & DELETE_HORIZON_BIT:
        fields[BASE_TIMESTAMP] = selection.first_timestamp
    fields[MAX_TIMESTAMP] = header[MAX_TIMESTAMP] if header[ATTRIBUTES] & TIMESTAMP_TYPE_BIT else selection.max_timestamp
    fields[RECORD_COUNT] = selection.kept
    pieces = _encoded(header, batch, selection, fields[BASE_TIMESTAMP])
    return packed(fields, codecs.compressed(header[ATTRIBUTES] & COMPRESSION_MASK, pieces, header[MAGIC]))


def emptied(header: Sequence[int]) -> bytes:
    """A batch of magic 2 without its records, which keeps the state of its producer and the range of offsets."""
    fields = list(header)
    fields[ATTRIBUTES] &= _KEPT_OF_EMPTY
    fields[BASE_TIMESTAMP] = NO_TIMESTAMP
    fields[RECORD_COUNT] = 0
    return packed(fields, b"")


def packed(header: Sequence[int], payload: bytes) -> bytes:
    """A batch of magic 2 with this payload, compressed or not; its length and its CRC follow, whatever the header says."""
    return with_crc(with_length(BATCH_HEADER.pack(*header) + payload))


def _encoded(header: Sequence[int], batch: bytes, selection: Selection, base_timestamp: int) -> Iterator[bytes]:
    """The selected records of a batch, with their times relative to this base timestamp."""
    append_time = header[MAX_TIMESTAMP] if header[ATTRIBUTES] & TIMESTAMP_TYPE_BIT else None
    flags = iter(selection.flags)
    part = bytearray()

    def encode(data: Buffer, start: int, end: int, rows: list[RecordTuple]) -> None:
        for row in rows:
            length, body = read_varint(data, start, end)
            start = body + length
            if next(flags):
                timestamp = header[BASE_TIMESTAMP] + row[TIMESTAMP_DELTA] if append_time is None else append_time
                _, after_timestamp = read_varint(data, body + 1, end, 10)
                record = b"\0" + varint(as_int64(timestamp - base_timestamp)) + data[after_timestamp:start]
                part.extend(varint(len(record)) + record)

    for _ in BatchRecords(header, batch, with_data=False, max_headers=MAX_RECORD_HEADERS, examine=encode).parts():
        yield bytes(part)
        part.clear()


# --- magic 0 and 1


def select_messages(wrapper: Message, keeps: Keeps) -> Selection:
    """Ask of each message in a wrapper, or of a single message, whether it is kept. Raises CorruptData as `unwrap`."""
    selection = Selection()
    append_time = wrapper.timestamp if wrapper.magic and wrapper.data[5] & TIMESTAMP_TYPE_BIT else None
    for message in unwrap(wrapper) if wrapper.codec else [wrapper]:
        timestamp = message.timestamp if append_time is None or not message.magic else append_time
        selection.add(message.offset, timestamp, is_kept=keeps(message.offset, timestamp, message.key))
    return selection


def retained_wrapper(wrapper: Message, selection: Selection) -> bytes:
    """A wrapper with the selected messages, at least one: its offset is that of the last, its timestamp the largest.

    Raises CorruptData as `unwrap`.
    """
    base = selection.first_offset if wrapper.magic else 0
    value = codecs.compressed(wrapper.codec, _entries(wrapper, selection, base), wrapper.magic)
    time = b""
    if wrapper.magic:
        is_append_time = wrapper.data[5] & TIMESTAMP_TYPE_BIT
        time = (wrapper.timestamp if is_append_time else selection.max_timestamp).to_bytes(8, "big", signed=True)
    data = bytes(wrapper.data[:_AFTER_ATTRIBUTES]) + time + _NULL + len(value).to_bytes(4, "big") + value
    return with_crc(message_entry(selection.last_offset, data))


def message_entry(offset: int, data: bytes | memoryview) -> bytes:
    """A message of magic 0 or 1 as it stands in a log: offset, size, and its bytes from the checksum on."""
    return offset.to_bytes(8, "big", signed=True) + len(data).to_bytes(4, "big") + data


def _entries(wrapper: Message, selection: Selection, base: int) -> Iterator[bytes]:
    for message, is_kept in zip(unwrap(wrapper), selection.flags, strict=True):
        if is_kept:
            yield message_entry(message.offset - base, message.data)
