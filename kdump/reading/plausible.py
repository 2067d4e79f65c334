"""Whether bytes may be the header of a batch, judging by its fields."""

from __future__ import annotations

from kdump.binary.batch_header import (
    BATCH_HEADER,
    BATCH_HEADER_SIZE,
    COMPRESSION_MASK,
    HEADER_UP_TO_MAGIC,
    LOG_OVERHEAD,
    MAGIC_AT,
    MESSAGE_ATTRIBUTES_AT,
    MESSAGE_HEADER,
    MESSAGE_HEADER_SIZE,
    MESSAGE_TIMESTAMP_AT,
    MIN_BATCH_LENGTH,
    MIN_RECORD_OVERHEAD,
    batch_length,
)

LONGEST_BATCH = 1 << 27
"""No batch is believed to be larger: Kafka's default limit is 1 MiB."""

_USUAL_SIZE = 1 << 20  # Kafka's default limit


def is_plausible(header_bytes: bytes, rest: int) -> bool:
    """Whether this may be the header of a batch; `rest` bytes are left in the file."""
    if len(header_bytes) < MESSAGE_HEADER_SIZE:
        return False
    offset, length, _, magic = MESSAGE_HEADER.unpack_from(header_bytes)[:4]
    if offset < 0 or length > rest - LOG_OVERHEAD:
        return False
    if magic in (0, 1):
        return _is_plausible_message(header_bytes, length)
    if magic != 2 or len(header_bytes) < BATCH_HEADER_SIZE or length < MIN_BATCH_LENGTH:
        return False
    return _has_plausible_fields(header_bytes, length)


def _has_plausible_fields(header_bytes: bytes, length: int) -> bool:
    """Whether the fields of a batch of magic 2, except offset, length and magic, are plausible if it has this length."""
    _, _, leader_epoch, _, _, attributes, last_delta, _, _, _, _, _, count = BATCH_HEADER.unpack(header_bytes)
    if not 0 <= attributes < 0x80 or attributes & COMPRESSION_MASK > 4 or last_delta < 0 or leader_epoch < -1 or count < 0:
        return False
    return bool(attributes & COMPRESSION_MASK) or count <= (length - MIN_BATCH_LENGTH) // 7


def holds_header(header_bytes: bytes, rest: int) -> bool:
    """Whether a batch of this length would hold its header and end within the `rest` of the file."""
    if len(header_bytes) < (BATCH_HEADER_SIZE if header_bytes[MAGIC_AT] >= 2 else MIN_RECORD_OVERHEAD + LOG_OVERHEAD):
        return False
    smallest = MIN_BATCH_LENGTH if header_bytes[MAGIC_AT] >= 2 else MIN_RECORD_OVERHEAD
    return smallest <= batch_length(header_bytes) <= rest - LOG_OVERHEAD


def may_be_header(header_bytes: bytes, rest: int) -> bool:
    """Whether this may be the header of a batch if its CRC fits: plausible, except where other writers differ from Kafka.

    A header that claims a large batch must be plausible in every field: in random bytes, every 12,000th position looks like a
    header by length and magic alone, and each would cost a CRC over the claimed size.
    """
    return holds_header(header_bytes, rest) and (batch_length(header_bytes) <= _USUAL_SIZE or is_plausible(header_bytes, rest))


def _is_plausible_message(header_bytes: bytes, length: int) -> bool:
    key_at = MESSAGE_HEADER_SIZE if header_bytes[MAGIC_AT] else MESSAGE_TIMESTAMP_AT  # magic 1 has a timestamp before the key
    fixed_size = key_at + 8 - LOG_OVERHEAD  # with the sizes of key and value
    if length < fixed_size or header_bytes[MESSAGE_ATTRIBUTES_AT] & COMPRESSION_MASK > 4:
        return False
    key_size = int.from_bytes(header_bytes[key_at : key_at + 4], "big", signed=True)
    return -1 <= key_size <= length - fixed_size


def is_likely(header_bytes: bytes) -> bool:
    """Whether the fields of a candidate fit together as those of what Kafka and its clients write, as far as these bytes say."""
    length = batch_length(header_bytes)
    if len(header_bytes) < BATCH_HEADER_SIZE:
        return True
    if header_bytes[MAGIC_AT] >= 2:
        return _has_plausible_fields(header_bytes, length)
    if not _is_plausible_message(header_bytes, length):
        return False
    value_at = value_size_at(header_bytes)
    return value_at + 4 > BATCH_HEADER_SIZE or is_size_of_value(header_bytes, header_bytes[value_at : value_at + 4])


def contents_in_header(header_bytes: bytes) -> int:
    """Where in a header what it holds may start: the value of a message that ends where its value does; else nowhere."""
    if len(header_bytes) < BATCH_HEADER_SIZE or header_bytes[MAGIC_AT] >= 2 or not is_likely(header_bytes):
        return BATCH_HEADER_SIZE
    return value_size_at(header_bytes) + 4


def value_size_at(header_bytes: bytes) -> int:
    """Where the size of its value stands in this message of magic 0 or 1, if the size of its key is right."""
    key_at = MESSAGE_HEADER_SIZE if header_bytes[MAGIC_AT] else MESSAGE_TIMESTAMP_AT
    return key_at + 4 + max(0, int.from_bytes(header_bytes[key_at : key_at + 4], "big", signed=True))


def is_size_of_value(header_bytes: bytes, value_size_bytes: bytes) -> bool:
    """Whether this message of magic 0 or 1 ends where a value of this size does, as every message does that was ever written."""
    value_size = int.from_bytes(value_size_bytes, "big", signed=True)
    end = value_size_at(header_bytes) + 4 + max(0, value_size)
    return value_size >= -1 and end == batch_length(header_bytes) + LOG_OVERHEAD


def is_header_but_for(header_bytes: bytes, rest: int) -> bool:
    """Whether this may be the header of a batch with one wrong field: its offset, its length or its magic.

    `rest` bytes are left in the file; if the file cuts the header off, the existing bytes count.
    """
    padded = header_bytes.ljust(BATCH_HEADER_SIZE, b"\x00")
    if _has_plausible_fields(padded, LONGEST_BATCH - 1):
        return len(header_bytes) == len(padded) or header_bytes[MAGIC_AT] < 2 or rest > HEADER_UP_TO_MAGIC
    return is_message_but_for(padded)


def is_message_but_for(header_bytes: bytes) -> bool:
    """The same for a message of magic 0 or 1 whose offset or length may be wrong."""
    padded = header_bytes.ljust(BATCH_HEADER_SIZE, b"\x00")
    return padded[MAGIC_AT] in (0, 1) and _is_plausible_message(padded, LONGEST_BATCH - 1)
