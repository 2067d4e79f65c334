"""Values of Kafka's message schemas, one after the other."""

import struct

from .records import unsigned_varint


def int8(value: int) -> bytes:
    return struct.pack(">b", value)


def int16(value: int) -> bytes:
    return struct.pack(">h", value)


def int32(value: int) -> bytes:
    return struct.pack(">i", value)


def int64(value: int) -> bytes:
    return struct.pack(">q", value)


def string(text: str) -> bytes:
    """A string of a version that is not flexible."""
    return int16(len(text.encode())) + text.encode()


def sized(data: bytes) -> bytes:
    """Bytes of a version that is not flexible."""
    return int32(len(data)) + data


def compact_string(text: str) -> bytes:
    return unsigned_varint(len(text.encode()) + 1) + text.encode()


def tagged(**fields: bytes) -> bytes:
    """The tagged fields of a flexible version, as `_0=...`."""
    written = [unsigned_varint(int(tag[1:])) + unsigned_varint(len(data)) + data for tag, data in fields.items()]
    return unsigned_varint(len(written)) + b"".join(written)


UUID = struct.pack(">qq", 1, 2)
"""Shown as AAAAAAAAAAEAAAAAAAAAAg."""
