"""Corrects the fields of whole batches that follow from the others: length and checksum. Copies are returned."""

from __future__ import annotations

from kdump.binary.batch_header import (
    CRC_AT,
    CRC_COVERS_FROM,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAGIC_AT,
    MESSAGE_CRC_AT,
    MESSAGE_CRC_COVERS_FROM,
)
from kdump.binary.checksums import crc32, crc32c_for


def with_length(data: bytes | bytearray | memoryview) -> bytes:
    """A batch, or a message of magic 0 or 1, whose length field counts the bytes that it has."""
    batch = bytearray(data)
    batch[LENGTH_AT:LOG_OVERHEAD] = (len(batch) - LOG_OVERHEAD).to_bytes(4, "big")
    return bytes(batch)


def with_crc(data: bytes | bytearray | memoryview, *, is_message: bool = False) -> bytes:
    """A batch, or a message of magic 0 or 1, with the checksum of its bytes. What is in a wrapper `is_message` by its place."""
    batch = bytearray(data)
    if batch[MAGIC_AT] >= 2 and not is_message:
        at, crc = CRC_AT, crc32c_for(len(batch))(bytes(batch[CRC_COVERS_FROM:]))
    else:
        at, crc = MESSAGE_CRC_AT, crc32(bytes(batch[MESSAGE_CRC_COVERS_FROM:]))
    batch[at : at + 4] = crc.to_bytes(4, "big")
    return bytes(batch)
