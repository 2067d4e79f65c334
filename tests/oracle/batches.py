"""Finds the batches with a correct CRC in a log, even after damage; shares no code with kdump."""

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

import crc32c

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
    """Yield the intact batches of a log in order."""
    position = 0
    while position + LOG_OVERHEAD + SMALLEST[0] <= len(log):
        magic = log[position + MAGIC_POSITION]
        size = int.from_bytes(log[position + 8 : position + 12], "big", signed=True)
        end = position + LOG_OVERHEAD + size
        if magic <= 2 and SMALLEST[magic] <= size and end <= len(log):
            content = log[position:end]
            if (_is_intact_v2 if magic == 2 else _is_intact_v0_or_v1)(content):
                yield _batch(content, magic)
                position = end
                continue
        position += 1


def _is_intact_v2(content: bytes) -> bool:
    return int.from_bytes(content[17:21], "big") == crc32c.crc32c(content[21:])


def _is_intact_v0_or_v1(content: bytes) -> bool:
    return int.from_bytes(content[12:16], "big") == zlib.crc32(content[16:])


def _batch(content: bytes, magic: int) -> Batch:
    (offset,) = struct.unpack_from(">q", content)
    if magic == 2:
        last_delta, _, max_timestamp = struct.unpack_from(">iqq", content, 23)
        (count,) = struct.unpack_from(">i", content, 57)
        return Batch(content, offset, offset + last_delta, count, max_timestamp)
    timestamp = struct.unpack_from(">q", content, 18)[0] if magic == 1 else -1
    return Batch(content, offset, offset, 1, timestamp)
