"""Writes integers of variable size; `kernel.read_varint` reads them."""

from __future__ import annotations


def varint(value: int) -> bytes:
    """A signed number of up to 64 bits as a zig-zag varint, with as many bytes as it needs. Kafka: ByteUtils.writeVarlong."""
    rest = (value << 1 ^ value >> 63) & 0xFFFFFFFFFFFFFFFF
    written = bytearray()
    while rest > 0x7F:
        written.append(rest & 0x7F | 0x80)
        rest >>= 7
    written.append(rest)
    return bytes(written)
