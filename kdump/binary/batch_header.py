"""The fields of the headers of record batches and messages: their layouts, and a name for each place.

A `header` is an unpacked tuple, `header_bytes` are its bytes: `header[RECORD_COUNT]` is a field, `header_bytes[MAGIC_AT]` the
byte at a position in the batch.
"""

from __future__ import annotations

from struct import Struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    BatchHeader = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int]
    MessageHeader = tuple[int, int, int, int, int, int]

# --- batches of magic 2

BATCH_HEADER = Struct(">qiibIhiqqqhii")
"""A batch of magic 2: baseOffset, batchLength, partitionLeaderEpoch, magic, crc, attributes, lastOffsetDelta, baseTimestamp,
maxTimestamp, producerId, producerEpoch, baseSequence, recordsCount (Kafka: DefaultRecordBatch)."""

(
    BASE_OFFSET,
    LENGTH,
    LEADER_EPOCH,
    MAGIC,
    CRC,
    ATTRIBUTES,
    LAST_OFFSET_DELTA,
    BASE_TIMESTAMP,
    MAX_TIMESTAMP,
    PRODUCER_ID,
    PRODUCER_EPOCH,
    BASE_SEQUENCE,
    RECORD_COUNT,
) = range(13)
"""Where these fields are in a header that was unpacked."""

BATCH_HEADER_SIZE = BATCH_HEADER.size
LOG_OVERHEAD = 12  # offset and length stand before what the length counts
MIN_BATCH_LENGTH = BATCH_HEADER_SIZE - LOG_OVERHEAD

CRC_AT = 17
ATTRIBUTES_AT = 21
LAST_OFFSET_DELTA_AT = 23
CRC_COVERS_FROM = ATTRIBUTES_AT

COMPRESSION_MASK = 0x07
TIMESTAMP_TYPE_BIT = 0x08
TRANSACTIONAL_BIT = 0x10
CONTROL_BIT = 0x20
DELETE_HORIZON_BIT = 0x40  # only the cleaner sets it
ATTRIBUTES_IN_USE = 0x7F


# --- messages of magic 0 and 1

MESSAGE_HEADER = Struct(">qiIbb")
"""A message of magic 0 or 1: offset, size, crc, magic, attributes; magic 1 goes on with the timestamp (Kafka: LegacyRecord)."""

MESSAGE_OFFSET, MESSAGE_LENGTH, MESSAGE_CRC, MESSAGE_MAGIC, MESSAGE_ATTRIBUTES, MESSAGE_TIMESTAMP = range(6)
"""Where these fields are in a header that was unpacked; the timestamp of magic 0 is -1."""

MESSAGE_CRC_AT = 12
MESSAGE_ATTRIBUTES_AT = 17
MESSAGE_TIMESTAMP_AT = 18  # of magic 1; of magic 0 the size of the key is there
MESSAGE_CRC_COVERS_FROM = 16
MESSAGE_HEADER_SIZE = 26  # up to the timestamp of magic 1


# --- what all have

LENGTH_AT = 8
MAGIC_AT = 16

HEADER_UP_TO_MAGIC = MAGIC_AT + 1
"""The first bytes of every batch have one shape, up to its magic."""

MIN_RECORD_OVERHEAD = 14
"""No batch and no message is shorter than this, not counting its offset and length (those of magic 1 have 22 bytes or more)."""


def batch_offset(data: bytes | bytearray | memoryview, position: int = 0) -> int:
    """The offset at the start of the header at this position; a message has no other."""
    return int.from_bytes(data[position : position + LENGTH_AT], "big", signed=True)


def batch_length(data: bytes | bytearray | memoryview, position: int = 0) -> int:
    """The length field of the header at this position, which excludes the offset and the length itself. It may be negative."""
    return int.from_bytes(data[position + LENGTH_AT : position + LOG_OVERHEAD], "big", signed=True)


def batch_size(data: bytes | bytearray | memoryview, position: int = 0) -> int:
    """The size of the batch by the header at this position: its length field plus the offset and the length itself."""
    return LOG_OVERHEAD + batch_length(data, position)


def codec_id(data: bytes | bytearray | memoryview, position: int = 0) -> int:
    """The codec id in the header at this position, of a batch or a message."""
    at = ATTRIBUTES_AT + 1 if data[position + MAGIC_AT] >= 2 else MESSAGE_ATTRIBUTES_AT
    return data[position + at] & COMPRESSION_MASK


def is_wrapper(header_bytes: bytes) -> bool:
    """Whether these are the first bytes of a compressed message of magic 0 or 1."""
    return len(header_bytes) > MESSAGE_ATTRIBUTES_AT and header_bytes[MAGIC_AT] < 2 and codec_id(header_bytes) > 0


def message_timestamp(data: bytes | bytearray | memoryview, position: int = 0) -> int:
    """The timestamp in the header of a message of magic 1 at this position."""
    at = position + MESSAGE_TIMESTAMP_AT
    return int.from_bytes(data[at : at + 8], "big", signed=True)


def stored_crc(data: bytes | bytearray | memoryview, position: int = 0) -> int:
    """The checksum in the header at this position, of a batch or a message."""
    at = position + (CRC_AT if data[position + MAGIC_AT] >= 2 else MESSAGE_CRC_AT)
    return int.from_bytes(data[at : at + 4], "big")
