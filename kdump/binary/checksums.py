"""Checksums: CRC-32C of batches of magic 2 and of producer snapshots, CRC-32 of older messages."""

from __future__ import annotations

import sys
from zlib import crc32

from kdump.binary import kernel
from kdump.binary.installing import how_to_install
from kdump.binary.loading import loading
from kdump.binary.source import WINDOW_SIZE
from kdump.errors import MissingPackage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.binary.reference import Checksum
    from kdump.binary.source import Readable

__all__ = ["Checksum", "crc32", "crc32c_for", "of_range"]

_POLYNOMIAL = 0x82F63B78  # Castagnoli, reflected
_MIN_PACKAGE_BYTES = 32 << 10  # our loop takes 2 ms for these; to import the package takes 35 ms


def crc32c_for(byte_count: int) -> Checksum:
    """The fastest function for CRC-32C for this many bytes; a few bytes are not worth importing the package."""
    if kernel.native is not None:
        native: Checksum = kernel.native.crc32c
        return native
    if byte_count <= _MIN_PACKAGE_BYTES and "crc32c" not in sys.modules:
        return _table_crc32c()
    try:
        with loading("crc32c"):
            from crc32c import crc32c
    except ImportError as missing:
        raise MissingPackage(
            'checksums without the C kernel need the package "crc32c"', remedy=how_to_install("crc32c")
        ) from missing
    return crc32c


def of_range(source: Readable, start: int, end: int, checksum: Checksum, crc: int = 0, *, window_size: int = WINDOW_SIZE) -> int:
    """The checksum over a range of a file, read in windows and continued from `crc`. It ends early if the file does."""
    while start < end:
        window = source.read(start, min(window_size, end - start))
        if not window:
            break
        crc = checksum(window, crc)
        start += len(window)
    return crc


def _table_crc32c() -> Checksum:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ _POLYNOMIAL if crc & 1 else crc >> 1
        table.append(crc)

    def table_crc32c(data: bytes | memoryview, crc: int = 0, /) -> int:
        crc ^= 0xFFFFFFFF
        for byte in data:
            crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
        return crc ^ 0xFFFFFFFF

    return table_crc32c
