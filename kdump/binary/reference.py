"""The inner loops over windows of bytes: plain Python that owns all behaviour.

The loops know layouts, but neither releases nor wording. They leave irregular data to the caller: they stop before it, or
return a code for it.
"""

from __future__ import annotations

from struct import Struct
from zlib import crc32

from kdump.binary.arithmetic import as_int64
from kdump.binary.batch_header import (
    ATTRIBUTES,
    BATCH_HEADER,
    BATCH_HEADER_SIZE,
    COMPRESSION_MASK,
    CRC,
    CRC_COVERS_FROM,
    LENGTH,
    LOG_OVERHEAD,
    MAGIC,
    MESSAGE_CRC_COVERS_FROM,
    MESSAGE_HEADER,
    MESSAGE_HEADER_SIZE,
    MESSAGE_TIMESTAMP_AT,
    MIN_BATCH_LENGTH,
    MIN_RECORD_OVERHEAD,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, Protocol

    from kdump.binary.batch_header import BatchHeader, MessageHeader

    Buffer = bytes | bytearray | memoryview
    Headers = tuple[tuple[bytes, bytes | None], ...]
    RecordTuple = tuple[int, int, int, int, Headers, Buffer | None, Buffer | None]
    MessageTuple = tuple[int, int, int | None, int | None, None, None, bytes | None, bytes | None, int, bool]

    class Checksum(Protocol):
        """The checksum of these bytes, continued from `crc`."""

        def __call__(self, data: bytes | memoryview, crc: int = 0, /) -> int: ...


TIMESTAMP_DELTA: Final = 0  # where these fields are in a RecordTuple
OFFSET_DELTA: Final = 1
HEADERS: Final = 4

CONTENTS_OFFSET: Final = 0  # of a MessageTuple

_TIMESTAMP = Struct(">q")
_EXTENT = Struct(">qi4xb6xi")  # offset, length, magic, and what is the last offset delta from magic 2 on
_SIZE = Struct(">i")
_LENGTH = Struct(">8xi4xb")  # length and magic of the same
_unpack_length = _LENGTH.unpack_from
_unpack_batch = BATCH_HEADER.unpack_from
_unpack_message = MESSAGE_HEADER.unpack_from
_unpack_extent = _EXTENT.unpack_from
_unpack_timestamp = _TIMESTAMP.unpack_from
_unpack_size = _SIZE.unpack_from

_NO_HEADERS: Headers = ()

MAX_HEADERS = 0x7FFFFFFF
"""So many headers may a record say it has."""

HEADERS_NOT_HELD = "headers-not-held"
"""The code of a record with more headers than are held at once."""

_SKIPPED_HEADERS = 1 << 10  # at once

_NUMBERS = tuple([(byte & 0x7F) >> 1 ^ -(byte & 1) for byte in range(0x100)])
"""What a zig-zag varint of one byte says; `_NUMBERS[first] + second * _STEPS[first]` is what one of two bytes says."""

_STEPS = (64, -64) * 0x80


def walk_batches(
    window: Buffer, start: int, max_codec: int, crc32c: Checksum | None
) -> tuple[list[BatchHeader], list[int], list[bool], int]:
    """Walk the regular batches of magic 2 (and higher) from `start` to the first irregular or incomplete one.

    A codec above `max_codec` is irregular. Returns the headers, where each batch starts in the window, whether its checksum
    fits, and where the walk ended. Without `crc32c`, all checksums are known to fit.
    """
    headers: list[BatchHeader] = []
    starts: list[int] = []
    valid: list[bool] = []
    view = memoryview(window)
    size = len(window)
    last_header = size - BATCH_HEADER_SIZE
    while start <= last_header:
        header = _unpack_batch(window, start)
        length = header[LENGTH]
        end = start + LOG_OVERHEAD + length
        if header[MAGIC] < 2 or length < MIN_BATCH_LENGTH or end > size or header[ATTRIBUTES] & COMPRESSION_MASK > max_codec:
            break
        headers.append(header)
        starts.append(start)
        valid.append(crc32c is None or crc32c(view[start + CRC_COVERS_FROM : end]) == header[CRC])
        start = end
    return headers, starts, valid, start


def walk_messages(
    window: Buffer, start: int, min_magic: int, max_codec: int
) -> tuple[list[MessageHeader], list[int], list[bool], int]:
    """Walk the regular messages of magic 0 and 1 from `start` to the first irregular or incomplete one.

    A magic below `min_magic` or a codec above `max_codec` is irregular. A header ends with the timestamp; magic 0 has none,
    which is -1.
    """
    headers: list[MessageHeader] = []
    starts: list[int] = []
    valid: list[bool] = []
    view = memoryview(window)
    size = len(window)
    last_header = size - MESSAGE_HEADER_SIZE
    while start <= last_header:
        offset, length, crc, magic, attributes = _unpack_message(window, start)
        end = start + LOG_OVERHEAD + length
        if not min_magic <= magic <= 1 or length < MIN_RECORD_OVERHEAD or end > size or attributes & COMPRESSION_MASK > max_codec:
            break
        timestamp = _unpack_timestamp(window, start + MESSAGE_TIMESTAMP_AT)[0] if magic else -1
        headers.append((offset, length, crc, magic, attributes, timestamp))
        starts.append(start)
        valid.append(crc32(view[start + MESSAGE_CRC_COVERS_FROM : end]) == crc)
        start = end
    return headers, starts, valid, start


def walk_contents(
    data: Buffer, start: int, end: int, base_offset: int, timestamp: int | None, max_count: int, rows: list[MessageTuple]
) -> tuple[int, int]:
    """Walk the regular messages between `start` and `end` that are not compressed and have the magic of the first.

    They are appended to `rows`: offset (from `base_offset` on), timestamp (the given one, or its own; -1 for none), sizes of key
    and value (-1 for null), two fields that messages lack, key, value, CRC, and whether that fits. A key or value that reaches
    past its message is not regular. Walks `max_count` at most. Returns where the next message starts, and the magic, or -1.
    """
    found = -1
    while max_count > 0 and end - start >= MESSAGE_TIMESTAMP_AT:
        offset, length, crc, magic, attributes = _unpack_message(data, start)
        next_start = start + LOG_OVERHEAD + length
        key_at = start + (MESSAGE_HEADER_SIZE if magic else MESSAGE_TIMESTAMP_AT)
        if magic not in (0, 1) or found not in (-1, magic) or attributes & COMPRESSION_MASK:
            break
        if not key_at + 4 <= next_start <= end:
            break
        (key_size,) = _unpack_size(data, key_at)
        value_at = key_at + 4 + max(key_size, 0)
        if key_size < -1 or value_at + 4 > next_start:
            break
        (value_size,) = _unpack_size(data, value_at)
        if value_size < -1 or value_size > next_start - value_at - 4:
            break
        key = bytes(data[key_at + 4 : value_at]) if key_size >= 0 else None
        value = bytes(data[value_at + 4 : value_at + 4 + value_size]) if value_size >= 0 else None
        own = timestamp
        if not magic:
            own = -1
        elif own is None:
            (own,) = _unpack_timestamp(data, start + MESSAGE_TIMESTAMP_AT)
        is_valid = crc32(memoryview(data)[start + MESSAGE_CRC_COVERS_FROM : next_start]) == crc
        rows.append((as_int64(base_offset + offset), own, key_size, value_size, None, None, key, value, crc, is_valid))
        start, found, max_count = next_start, magic, max_count - 1
    return start, found


def walk_extents(window: bytes, start: int, window_position: int) -> tuple[list[int], list[int], int]:
    """Walk the regular batches and messages of any magic from `start` to the first irregular or incomplete one.

    Returns where each one starts in the file, its last offset, and where the walk ended.
    """
    positions: list[int] = []
    last_offsets: list[int] = []
    size = len(window)
    last_header = size - _EXTENT.size
    while start <= last_header:
        offset, length, magic, last_offset_delta = _unpack_extent(window, start)
        end = start + LOG_OVERHEAD + length
        if end > size or magic < 0:
            break
        if magic >= 2:
            if length < MIN_BATCH_LENGTH:
                break
            offset += last_offset_delta
            if not -0x8000000000000000 <= offset < 0x8000000000000000:
                break
        elif length < 15:  # room for what was unpacked
            break
        positions.append(window_position + start)
        last_offsets.append(offset)
        start = end
    return positions, last_offsets, start


def walk_starts(window: bytes, start: int) -> tuple[list[int], int]:
    """As `walk_extents`, only where batches start in the window, whatever their last offsets."""
    starts: list[int] = []
    size = len(window)
    last_header = size - _EXTENT.size
    append = starts.append
    while start <= last_header:
        length, magic = _unpack_length(window, start)
        if magic < 0 or length < MIN_BATCH_LENGTH and (magic >= 2 or length < 15):
            break
        append(start)
        start += LOG_OVERHEAD + length
    if start > size:
        start = starts.pop()
    return starts, start


def extent_at(window: bytes, start: int) -> tuple[int, int, int]:
    """Size, last offset and magic of the batch or message at `start`, taken as they stand; 27 bytes must be there."""
    offset, length, magic, last_offset_delta = _unpack_extent(window, start)
    return length + LOG_OVERHEAD, offset + last_offset_delta if magic >= 2 else offset, magic


def walk_records(
    data: Buffer,
    position: int,
    end: int,
    count: int,
    pause: int,
    limits_records: bool,
    rows: list[RecordTuple],
    with_data: bool = True,
    max_headers: int = MAX_HEADERS,
) -> tuple[int, str, dict[str, int]]:
    """Walk `count` records of magic 2, or fewer once one ends at or after `pause`.

    Varints of one or two bytes, which nearly all are, are read inline: a call would double the cost of a record.
    Each appends to `rows`: timestamp delta, offset delta, key and value size as stored, headers, key, value.
    `limits_records`: a record's fields end with the record, as in a compressed batch, not with the batch.
    Without `with_data`, keys and values are skipped and None. No more than `max_headers` are held: the record that would exceed
    it is bad, with the code `headers-not-held`. If it is negative, headers are skipped, and empty.
    Returns the position after the last valid record and, if the next one is bad, the code and values of its fault.
    """
    append = rows.append
    number, step = _NUMBERS, _STEPS
    key: Buffer | None = None
    value: Buffer | None = None
    try:
        for _ in range(count):
            start = position
            # the length of the record
            byte = data[position]
            if byte < 0x80:
                length = number[byte]
                position += 1
            elif (second := data[position + 1]) < 0x80:
                length = number[byte] + second * step[byte]
                position += 2
            else:
                length, position = read_varint(data, position, end)
            record_end = position + length
            if not position <= record_end <= end:
                if position > end:
                    raise IndexError
                if record_end > end:
                    return start, "record-length-past-end", {"size": length, "remaining": end - position}
                if limits_records:
                    return start, "record-length-negative", {"size": length}
            limit = record_end if limits_records else end
            try:
                # attributes (unused), timestamp delta, offset delta
                byte = data[position + 1]
                if byte < 0x80:
                    timestamp_delta = number[byte]
                    position += 2
                elif (second := data[position + 2]) < 0x80:
                    timestamp_delta = number[byte] + second * step[byte]
                    position += 3
                else:
                    timestamp_delta, position = read_varint(data, position + 1, limit, 10)
                byte = data[position]
                if byte < 0x80:
                    offset_delta = number[byte]
                    position += 1
                elif (second := data[position + 1]) < 0x80:
                    offset_delta = number[byte] + second * step[byte]
                    position += 2
                else:
                    offset_delta, position = read_varint(data, position, limit)
                # key
                byte = data[position]
                if byte < 0x80:
                    key_size = number[byte]
                    position += 1
                elif (second := data[position + 1]) < 0x80:
                    key_size = number[byte] + second * step[byte]
                    position += 2
                else:
                    key_size, position = read_varint(data, position, limit)
                if with_data:
                    key = data[position : position + key_size] if key_size >= 0 else None
                if key_size > 0:
                    position += key_size
                # value
                byte = data[position]
                if byte < 0x80:
                    value_size = number[byte]
                    position += 1
                elif (second := data[position + 1]) < 0x80:
                    value_size = number[byte] + second * step[byte]
                    position += 2
                else:
                    value_size, position = read_varint(data, position, limit)
                if with_data:
                    value = data[position : position + value_size] if value_size >= 0 else None
                if value_size > 0:
                    position += value_size
                # headers
                byte = data[position]
                position += 1
                if position > limit:
                    raise IndexError
                if byte == 0:
                    headers = _NO_HEADERS
                else:
                    if byte < 0x80:
                        header_count = number[byte]
                    else:
                        header_count, position = read_varint(data, position - 1, limit)
                    if header_count < 0:
                        return start, "header-count-negative", {"count": header_count}
                    if header_count > limit - position:
                        values = {"count": header_count, "position": position, "limit": limit}
                        return start, "header-count-too-high", values
                    if max_headers < 0:
                        position, code, values = _skip_headers(data, position, limit, header_count)
                        headers = _NO_HEADERS
                    elif header_count > max_headers:
                        return start, HEADERS_NOT_HELD, {"count": header_count}
                    else:
                        headers, position, code, values = read_headers(data, position, limit, header_count)
                    if code:
                        return start, code, values
                    max_headers -= header_count if max_headers >= 0 else 0
            except (IndexError, VarintTooLong):
                return start, "record-structure-invalid", {}
            if position != record_end:
                return start, "record-body-mismatch", {"size": length, "read": position - record_end + length}
            append((timestamp_delta, offset_delta, key_size, value_size, headers, key, value))
            if position >= pause:
                break
    except IndexError:
        return start, "record-count-too-high", {}
    except VarintTooLong as error:
        return start, "record-length-varint-too-long", {"value": error.value}
    return position, "", {}


def read_headers(data: Buffer, position: int, limit: int, count: int) -> tuple[Headers, int, str, dict[str, int]]:
    """The headers of a record, the position after them and, if one is bad, the code of its fault with values.

    Raises IndexError and VarintTooLong as `read_varint`, and IndexError where a value reaches past `limit`.
    """
    headers: list[tuple[bytes, bytes | None]] = []
    for _ in range(count):
        if position < limit and (byte := data[position]) < 0x80:
            size = _NUMBERS[byte]
            position += 1
        else:
            size, position = read_varint(data, position, limit)
        if size < 0:
            return (), position, "header-key-null", {"size": size}
        if position + size > limit:
            return (), position, "header-key-past-end", {"offset": position, "size": size, "length": limit}
        key = bytes(data[position : position + size])
        position += size
        if position < limit and (byte := data[position]) < 0x80:
            size = _NUMBERS[byte]
            position += 1
        else:
            size, position = read_varint(data, position, limit)
        value = None
        if size >= 0:
            if position + size > limit:
                raise IndexError
            value = bytes(data[position : position + size])
            position += size
        headers.append((key, value))
    return tuple(headers), position, "", {}


def _skip_headers(data: Buffer, position: int, limit: int, count: int) -> tuple[int, str, dict[str, int]]:
    """As `read_headers`, but nothing is kept of them."""
    while count:
        some = min(count, _SKIPPED_HEADERS)
        _, position, code, values = read_headers(data, position, limit, some)
        if code:
            return position, code, values
        count -= some
    return position, "", {}


def fault_of_headers(data: Buffer, position: int, limit: int, count: int) -> tuple[str, dict[str, int]]:
    """The first fault of a record's headers when their count is impossible."""
    try:
        _, _, code, values = read_headers(data, position, limit, count)
    except (IndexError, VarintTooLong):
        return "record-structure-invalid", {}
    return code, values


class VarintTooLong(Exception):
    """A varint is too long; `value` is what had been read by then."""

    def __init__(self, value: int, size: int) -> None:
        super().__init__(value)
        self.value = value
        self.size = size


def read_varint(data: Buffer, position: int, end: int, size: int = 5) -> tuple[int, int]:
    """A zig-zag varint of at most `size` bytes (5 for 32 bits, 10 for 64), and the position after it.

    Raises IndexError where it reaches past `end`, VarintTooLong where it does not end in time.
    """
    value = shift = 0
    for at in range(position, position + size):
        if at >= end:
            raise IndexError
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            mask = 0xFFFFFFFF if size == 5 else 0xFFFFFFFFFFFFFFFF
            value &= mask
            return value >> 1 ^ -(value & 1), at + 1
        shift += 7
    raise VarintTooLong(value & (0xFFFFFFFF if size == 5 else 0xFFFFFFFFFFFFFFFF), size)
