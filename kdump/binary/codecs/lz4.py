"""lz4: the first frame, read as Kafka reads it; anything after it is ignored."""

from __future__ import annotations

from functools import lru_cache

from kdump.binary.codecs.blocks import blocks_of
from kdump.binary.codecs.frames import Frames
from kdump.binary.codecs.lz4_library import library
from kdump.binary.codecs.quirks import NEWEST
from kdump.binary.codecs.xxhash import xxhash32
from kdump.errors import CorruptData, MissingPackage, Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from kdump.binary.codecs.quirks import CodecQuirks
    from kdump.binary.reference import Buffer

MAGIC = b"\x04\x22\x4d\x18"

_STORED = 0x80000000  # of a block's size: the block is not compressed
_HEADER_SIZE = 7  # without content size
_CONTENT_SIZE_SIZE = 8
_CHECKSUM_SIZE = 4
_HAS_CONTENT_CHECKSUM, _HAS_CONTENT_SIZE, _HAS_BLOCK_CHECKSUM = 0x04, 0x08, 0x10
_WRITTEN_DESCRIPTOR = b"\x60\x40"  # version 1, independent blocks; blocks of up to 64 KiB
_WRITTEN_BLOCK = 64 << 10
_FEATURES_OF_LATER_READERS = (
    (0x01, "Preset dictionary is unsupported"),
    (0x02, "Reserved1 field must be 0"),
    (0x04, "Content checksum is unsupported"),
    (0x08, "Content size is unsupported"),
)


def decompressed(compressed: bytes, magic: int, _limit: int, quirks: CodecQuirks | None) -> Iterator[bytes]:
    """The blocks of the first frame. Its content size and checksum, and everything after it, are skipped."""
    lz4 = library()
    quirks = quirks or NEWEST
    position, max_block_size, has_block_checksum, has_content_checksum = _parsed_header(compressed, magic, quirks)
    end = len(compressed)
    if quirks.lz4_is_padded:
        compressed += b"\xff\xff\xff\xff\xff"  # the header's checksum, and the size of a block
    while True:
        if position + 4 > len(compressed):
            raise CorruptData("frame-truncated", "Stream ended prematurely", cause="lz4")
        size = int.from_bytes(compressed[position : position + 4], "little")
        is_stored = size >= _STORED
        size &= ~_STORED
        position += 4
        if size == 0:
            if has_content_checksum and position + 4 > len(compressed):
                raise CorruptData("frame-checksum-cut", "the content checksum is cut off", cause="lz4-underflow")
            return
        if size > max_block_size:
            message = f"Block size {size} exceeded max: {max_block_size}"
            raise CorruptData("frame-damaged", message, cause="lz4", claimed=size)
        if position + size > end:
            raise CorruptData("frame-truncated", "Stream ended prematurely", cause="lz4")
        block = compressed[position : position + size]
        position += size
        if is_stored:
            data = block
        else:
            try:
                data = lz4.decompress(block, max_block_size)
            except lz4.errors as error:
                raise CorruptData("frame-damaged", "an lz4 block is damaged", cause="lz4-block") from error
        if has_block_checksum:
            if position + 4 > len(compressed):
                raise CorruptData("frame-checksum-cut", "a block checksum is cut off", cause="lz4-underflow")
            if int.from_bytes(compressed[position : position + 4], "little") != xxhash32(block):
                raise CorruptData("frame-checksum-mismatch", "Block checksum mismatch", cause="lz4")
            position += 4
        yield data


def _parsed_header(compressed: bytes, magic: int, quirks: CodecQuirks) -> tuple[int, int, bool, bool]:
    """Where the blocks start, how large one may be, and whether blocks and content have checksums."""

    def bad(what: str, cause: str = "lz4", **values: Any) -> CorruptData:
        return CorruptData("frame-bad-header", what, cause=cause, **values)

    is_padded = quirks.lz4_is_padded
    is_plain = quirks.lz4_is_plain
    if len(compressed) < 6:  # magic, FLG, BD; Kafka trips over a missing checksum later
        raise bad("Stream ended prematurely")
    if not compressed.startswith(MAGIC):
        raise bad("Stream unsupported (invalid magic bytes)")
    ends_early = "lz4-underflow" if magic else "lz4-skips-checksum"
    if len(compressed) < 7 and not is_padded:
        raise bad("Stream ended prematurely", ends_early, end=7, limit=6)
    flags, block_descriptor = compressed[4:6]
    if is_plain:
        for bit, feature in _FEATURES_OF_LATER_READERS:
            if flags & bit:
                raise bad(feature, "lz4-runtime")
    if flags & 0x03:
        raise bad("Reserved bits must be 0", "lz4-runtime")
    if not flags & 0x20:
        raise bad("Dependent block stream is unsupported", "lz4-runtime")
    if flags >> 6 != 1:
        raise bad(f"Version {flags >> 6} is unsupported", "lz4-runtime")
    if block_descriptor & 0x0F:
        raise bad("Reserved2 field must be 0", "lz4-runtime")
    block_size = block_descriptor >> 4 & 7
    if block_size < 4:
        raise bad("Block size value must be between 4 and 7", "lz4-runtime")
    if block_descriptor & 0x80:
        raise bad("Reserved3 field must be 0", "lz4-runtime")
    end = 6
    if flags & 0x08:  # content size
        end += 8
        if end > len(compressed):
            raise bad("Stream ended prematurely")
    if end >= len(compressed) and not is_padded:
        raise bad("the header is cut off", ends_early, end=end + 1, limit=end)
    checksum = compressed[end] if end < len(compressed) else 0xFF
    # Magic 0 was written with a wrong header checksum for years, so Kafka does not look at it there.
    if (magic > 0 or is_plain) and checksum != header_checksum(compressed[0 if is_plain else 4 : end]):
        raise bad("Stream frame descriptor corrupted")
    return end + 1, 1 << (8 + 2 * block_size), bool(flags & 0x10), bool(flags & 0x04)


class BatchDecompressor:
    """One frame at a time, without checksums of blocks and without anything after it."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._header = b""  # as most frames of a log begin, and what that says
        self._parsed = (0, 0, False, False)
        self._block: Callable[[bytes | memoryview, int], bytes] | None = None  # its package is imported with the first payload
        self._errors: tuple[type[Exception], ...] = ()

    def decompress(self, compressed: bytes | memoryview) -> bytes | None:
        """The payload, or None if it is not one regular, valid frame or larger than the limit."""
        if self._block is None:
            try:
                lz4 = library()
            except (MissingPackage, Unreadable):
                return None
            self._block, self._errors = lz4.decompress, lz4.errors
        if compressed[:_HEADER_SIZE] != self._header:
            self._parse_header(bytes(compressed))
        position, max_block_size, has_block_checksum, has_content_checksum = self._parsed
        if not position or has_block_checksum:
            return None
        checksum_size = _CHECKSUM_SIZE * has_content_checksum
        try:
            return joined_blocks(compressed, position, max_block_size, checksum_size, self._limit, self._block)
        except self._errors:
            return None

    def _parse_header(self, compressed: bytes) -> None:
        self._header, self._parsed = b"", (0, 0, False, False)
        try:
            parsed = _parsed_header(compressed, 2, NEWEST)
        except CorruptData:
            return
        self._parsed = parsed
        if parsed[0] == _HEADER_SIZE:
            self._header = compressed[:_HEADER_SIZE]


def joined_blocks(
    frame: bytes | memoryview,
    position: int,
    max_block_size: int,
    checksum_size: int,
    limit: int,
    decompress: Callable[[bytes | memoryview, int], bytes],
) -> bytes | None:
    """The contents of a frame whose blocks have no checksums, from the first one on.

    None if a block is too large, if the frame does not end, after a checksum of this size, where its bytes do, or if its contents
    are larger than `limit`. Raises what `decompress` raises.
    """
    view = memoryview(frame)
    end = len(frame)
    first: bytes | memoryview = b""
    whole = bytearray()  # unless the first block is all: many blocks may be as small as a byte
    while size := int.from_bytes(view[position : position + 4], "little"):
        is_stored = size >= _STORED
        size &= ~_STORED
        position += 4 + size
        if size > max_block_size or position + 4 > end:
            return None
        block: bytes | memoryview = view[position - size : position]
        if not is_stored:
            block = decompress(block, max_block_size)
        limit -= len(block)
        if limit < 0:
            return None
        if first or whole:
            whole += first
            whole += block
            first = b""
        else:
            first = block
    if position + 4 + checksum_size != end:
        return None
    return bytes(whole or first)


def compressed(pieces: Iterable[Buffer], magic: int) -> bytes:
    """One frame of independent blocks of up to 64 KiB, without checksums of blocks and content."""
    lz4 = library()
    descriptor = _WRITTEN_DESCRIPTOR
    hashed = descriptor if magic else MAGIC + descriptor  # as clients before magic 1 computed it (KIP-57)
    written = [MAGIC, descriptor, bytes([header_checksum(hashed)])]
    for block in blocks_of(pieces, _WRITTEN_BLOCK):
        data = lz4.compress(block)
        size = len(data)
        if size >= len(block):
            data, size = block, len(block) | _STORED
        written += [size.to_bytes(4, "little"), data]
    return b"".join((*written, bytes(4)))


def inspect_frames(payload: bytes) -> Frames:
    """The frames of a payload, up to the first incomplete one."""
    count = position = 0
    while payload.startswith(MAGIC, position) and position + _HEADER_SIZE <= len(payload):
        flags = payload[position + 4]
        at = position + _HEADER_SIZE + (_CONTENT_SIZE_SIZE if flags & _HAS_CONTENT_SIZE else 0)
        while True:
            size = int.from_bytes(payload[at : at + 4], "little") & ~_STORED
            at += 4
            if not size or at > len(payload):
                break
            at += size + (4 if flags & _HAS_BLOCK_CHECKSUM else 0)
        at += 4 if flags & _HAS_CONTENT_CHECKSUM else 0
        if at > len(payload):
            break
        count += 1
        position = at
    return Frames(count, position)


def has_legacy_header(payload: bytes) -> bool:
    """Whether the header's checksum also covers the frame's magic, as clients before magic 1 wrote it (KIP-57)."""
    if not payload.startswith(MAGIC) or len(payload) < _HEADER_SIZE:
        return False
    end = _HEADER_SIZE - 1 + (_CONTENT_SIZE_SIZE if payload[4] & _HAS_CONTENT_SIZE else 0)
    if end >= len(payload):
        return False
    stored = payload[end]
    return stored != header_checksum(payload[4:end]) and stored == header_checksum(payload[:end])


@lru_cache(maxsize=64)
def header_checksum(described: bytes) -> int:
    """The checksum in a frame's header of these bytes of it, which are the same in most frames."""
    return xxhash32(described) >> 8 & 0xFF
