"""Finds the batches with a correct CRC in a log, even after damage; shares no code with kdump."""

import gzip
import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

import crc32c
import lz4.block
import snappy

from tests.builders.compression import snappy_blocks

MAGIC_POSITION = 16
LOG_OVERHEAD = 12  # offset and size, which the size does not count
SMALLEST = {0: 14, 1: 22, 2: 49}


class Batch(NamedTuple):
    """A batch, or a message of magic 0 or 1 with the messages it wraps."""

    content: bytes
    first_offset: int
    last_offset: int
    record_count: int
    max_timestamp: int


def intact(log: bytes) -> Iterator[Batch]:
    """Yield the intact batches of a log in order.

    What stands in a damaged wrapper is none, where its size leads to an intact batch or to the end.
    """
    position = 0
    while position + LOG_OVERHEAD + SMALLEST[0] <= len(log):
        end = _end(log, position)
        if end and _is_intact(log[position:end]):
            yield _batch(log[position:end], log[position + MAGIC_POSITION])
            position = end
        elif end and log[position + MAGIC_POSITION] < 2 and log[position + 17] & 7 and _leads_on(log, end):
            position = end
        else:
            position += 1


def _end(log: bytes, position: int) -> int:
    """Where the batch at this position ends, by its size; 0 if that is impossible."""
    magic = log[position + MAGIC_POSITION]
    size = int.from_bytes(log[position + 8 : position + 12], "big", signed=True)
    end = position + LOG_OVERHEAD + size
    return end if magic <= 2 and SMALLEST[magic] <= size and end <= len(log) else 0


def _leads_on(log: bytes, end: int) -> bool:
    if end == len(log):
        return True
    following = _end(log, end) if end + LOG_OVERHEAD + SMALLEST[0] <= len(log) else 0
    return following > 0 and _is_intact(log[end:following])


def _is_intact(content: bytes) -> bool:
    if content[MAGIC_POSITION] == 2:
        return int.from_bytes(content[17:21], "big") == crc32c.crc32c(content[21:])
    return int.from_bytes(content[12:16], "big") == zlib.crc32(content[16:])


def _batch(content: bytes, magic: int) -> Batch:
    (offset,) = struct.unpack_from(">q", content)
    if magic == 2:
        last_delta, _, max_timestamp = struct.unpack_from(">iqq", content, 23)
        (count,) = struct.unpack_from(">i", content, 57)
        return Batch(content, offset, offset + last_delta, count, max_timestamp)
    timestamp = struct.unpack_from(">q", content, 18)[0] if magic == 1 else -1
    inside = _offsets_inside(content, magic) if content[17] & 7 else []
    first = offset - (inside[-1] - inside[0]) if inside else offset
    return Batch(content, first, offset, max(len(inside), 1), timestamp)


def _offsets_inside(content: bytes, magic: int) -> list[int]:
    """The offsets of the messages in a wrapper, as they stand there; none if it cannot be opened."""
    start = 26 if magic == 1 else 18
    start += 4 + max(int.from_bytes(content[start : start + 4], "big", signed=True), 0)
    payload, offsets, position = content[start + 4 :], [], 0
    try:
        data = _OPEN[content[17] & 7](payload)
    except Exception:  # of each codec, another one
        return []
    while position + LOG_OVERHEAD <= len(data):
        offset, size = struct.unpack_from(">qi", data, position)
        if size < SMALLEST[0]:
            return []  # readers refuse it
        position += LOG_OVERHEAD + size
        if position <= len(data):
            offsets.append(offset)
    is_ordered = not offsets or 0 <= offsets[0] <= offsets[-1]
    return offsets if is_ordered else []


def _snappy(payload: bytes) -> bytes:
    return b"".join(bytes(snappy.uncompress(block)) for block in snappy_blocks(payload))


def _lz4(payload: bytes) -> bytes:
    """Blocks of a frame, whose header has another checksum in magic 0."""
    position, data = 7 + 8 * bool(payload[4] & 8), b""
    while size := int.from_bytes(payload[position : position + 4], "little"):
        is_stored, size = bool(size >> 31), size & 0x7FFFFFFF
        block = payload[position + 4 : position + 4 + size]
        data += block if is_stored else lz4.block.decompress(block, uncompressed_size=4 << 20)
        position += 4 + size + 4 * bool(payload[4] & 16)
    return data


_OPEN = {1: gzip.decompress, 2: _snappy, 3: _lz4}
