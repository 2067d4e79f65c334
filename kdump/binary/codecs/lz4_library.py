"""The blocks of lz4, with one interface: by the package lz4 or, where it is missing, by cramjam.

lz4 has no packages for some Pythons and for musl; both packages are bindings of the same C library.
"""

from __future__ import annotations

from functools import cache

from kdump.binary.codecs.packages import package
from kdump.binary.codecs.xxhash import xxhash32
from kdump.errors import MissingPackage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    class Library(Protocol):
        errors: tuple[type[Exception], ...]
        """What both functions raise for blocks that are damaged, or hold more than they may."""

        def decompress(self, block: bytes | memoryview, room: int, /) -> bytes:
            """The contents of a block of a frame whose blocks hold at most `room` bytes."""

        def compress(self, block: bytes, /) -> bytes: ...


_MAGIC = b"\x04\x22\x4d\x18"
_FLAGS = 0x60  # version 1, independent blocks
_END = bytes(4)


@cache
def library() -> Library:
    """The library that is installed. Raises MissingPackage, and as `loading`."""
    try:
        return OfLz4(package("lz4", "lz4", "lz4.block"))
    except MissingPackage:
        try:
            return OfCramjam(package("lz4", "cramjam", "cramjam"))
        except MissingPackage:
            pass
        raise


class OfLz4:
    """The package lz4."""

    def __init__(self, module: Any) -> None:  # the package has no annotations
        self.decompress = module.decompress
        self.errors: tuple[type[Exception], ...] = (module.LZ4BlockError, ValueError, OverflowError)
        self._compress = module.compress

    def compress(self, block: bytes) -> bytes:
        return bytes(self._compress(block, store_size=False))


class OfCramjam:
    """The package cramjam. A block becomes a frame for it: where a block is damaged, it would look for a size before it."""

    def __init__(self, module: Any) -> None:  # the package has no annotations
        self._of_frame = module.lz4.decompress
        self._compress = module.lz4.compress_block
        self.errors: tuple[type[Exception], ...] = (module.DecompressionError,)

    def decompress(self, block: bytes | memoryview, room: int) -> bytes:
        frame = (_header(room), len(block).to_bytes(4, "little"), block, _END)
        return bytes(self._of_frame(b"".join(frame)))

    def compress(self, block: bytes) -> bytes:
        return bytes(self._compress(block, store_size=False))


@cache
def _header(room: int) -> bytes:
    """The header of a frame whose blocks have this size, which is 64 KiB or 4, 16 or 64 times that."""
    descriptor = bytes((_FLAGS, (room.bit_length() - 9) // 2 << 4))
    return _MAGIC + descriptor + bytes((xxhash32(descriptor) >> 8 & 0xFF,))
