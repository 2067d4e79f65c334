"""Digests and identities of files."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from kdump.binary.source import WINDOW_SIZE

if TYPE_CHECKING:
    from kdump.binary.source import Source


def digest(source: Source) -> str:
    """The SHA-256 of a file in hexadecimal. Raises Unreadable."""
    hashed, position = hashlib.sha256(), 0
    window = memoryview(bytearray(WINDOW_SIZE))
    while position < source.size:
        size = source.read_into(window[: min(WINDOW_SIZE, source.size - position)], position)
        hashed.update(window[:size])
        position += size
    return hashed.hexdigest()


def identity(source: Source) -> tuple[int, ...]:
    """What changes if a file is replaced or written to."""
    status = source.status()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
