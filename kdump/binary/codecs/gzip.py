"""gzip: members one after the other (RFC 1952), read in blocks of the sizes that Java reads."""

from __future__ import annotations

import zlib
from functools import cache

from kdump.binary.codecs.faults import raise_if_out_of_memory
from kdump.binary.codecs.frames import Frames
from kdump.errors import CorruptData

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import ModuleType

    from kdump.binary.codecs.quirks import CodecQuirks
    from kdump.binary.reference import Buffer

MAGIC = b"\x1f\x8b"

_REGULAR_HEADER = b"\x1f\x8b\x08\0"  # deflate, without further fields
_REGULAR_HEADER_SIZE = 10
_JAVA_INPUT = 8 << 10  # Kafka gives gzip its input in blocks of this size
_JAVA_OUTPUT = 16 << 10  # and takes its output in blocks of this size: an error takes its block with it
_WRITTEN_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"  # as Java writes it: no time, an unknown operating system (JDK 16 and later)
_INSPECTED = 1 << 20
_FIRST_PIECE, _PIECE = 512, 64 << 10  # of a member that is inspected: what follows a small one is copied with it


def decompressed(compressed: bytes, _magic: int, _limit: int, _quirks: CodecQuirks | None) -> Iterator[bytes]:
    """Members one after the other; what follows the last and is no member is ignored, as Kafka does."""
    position = _header_end(compressed, 0)
    while True:
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        crc = size = calls = 0
        # Kafka fills its input buffer at multiples of its size; a member may start inside one
        block_end = _first_block_end(compressed, position)
        pending = compressed[position:block_end]
        while not inflater.eof:
            if not pending:
                if block_end >= len(compressed):
                    raise CorruptData("frame-ends-early", "the gzip stream ends early", cause="gzip-truncated")
                pending = compressed[block_end : block_end + _JAVA_INPUT]
                block_end += len(pending)
            try:
                block = inflater.decompress(pending, _JAVA_OUTPUT)
            except zlib.error as error:
                raise_if_out_of_memory(error)
                salvaged = _inflated_before_damage(compressed, position, calls)
                message = str(error).rpartition(": ")[2]  # zlib's own words
                raise CorruptData("frame-damaged", message, cause="gzip", salvaged=salvaged) from error
            pending = inflater.unconsumed_tail
            calls += 1
            crc = zlib.crc32(block, crc)
            size += len(block)
            yield block
        trailer = block_end - len(inflater.unused_data)
        for at, computed in ((trailer, crc), (trailer + 4, size & 0xFFFFFFFF)):
            if at + 4 > len(compressed):
                raise CorruptData("frame-ends-early", "the gzip trailer is cut off", cause="gzip-eof")
            if int.from_bytes(compressed[at : at + 4], "little") != computed:
                raise CorruptData("frame-checksum-mismatch", "Corrupt GZIP trailer", cause="gzip")
        # Java looks for another member if more input is to come, or its buffer still holds more than 26 bytes, trailer included
        if block_end >= len(compressed) and len(inflater.unused_data) <= 26:
            return
        try:
            position = _header_end(compressed, trailer + 8)
        except CorruptData:
            return


def _first_block_end(compressed: bytes, member: int) -> int:
    return min(len(compressed), (member // _JAVA_INPUT + 1) * _JAVA_INPUT)


def _inflated_before_damage(compressed: bytes, member: int, calls: int) -> bytes:
    """What a damaged member still yields after N calls. A failing call yields nothing, so its input is fed byte by byte."""
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    block_end = _first_block_end(compressed, member)
    pending = compressed[member:block_end]
    salvaged = bytearray()
    try:
        while calls >= 0:
            if not pending:
                pending = compressed[block_end : block_end + _JAVA_INPUT]
                block_end += len(pending)
            if calls > 0:
                inflater.decompress(pending, _JAVA_OUTPUT)
                pending = inflater.unconsumed_tail
            calls -= 1
        for byte in range(len(pending)):
            salvaged += inflater.decompress(pending[byte : byte + 1])
    except zlib.error:
        pass
    return bytes(salvaged)


def _header_end(compressed: bytes, start: int) -> int:
    """The position after a member's header (RFC 1952)."""
    if compressed.startswith(_REGULAR_HEADER, start) and start + _REGULAR_HEADER_SIZE <= len(compressed):
        return start + _REGULAR_HEADER_SIZE

    def bad(what: str) -> CorruptData:
        return CorruptData("frame-bad-header", what, cause="gzip")

    if len(compressed) < start + 2:
        raise CorruptData("frame-bad-header", "the gzip header is cut off", cause="gzip-eof")
    if compressed[start : start + 2] != MAGIC:
        raise bad("Not in GZIP format")
    if len(compressed) < start + 10:
        raise CorruptData("frame-bad-header", "the gzip header is cut off", cause="gzip-eof")
    if compressed[start + 2] != 8:
        raise bad("Unsupported compression method")
    flags = compressed[start + 3]
    position = start + 10
    if flags & 4:  # FEXTRA
        position += 2 + int.from_bytes(compressed[position : position + 2], "little")
    for flag in (8, 16):  # FNAME, FCOMMENT: text up to a zero byte
        if flags & flag:
            end = compressed.find(b"\0", position)
            position = end + 1 if end >= 0 else len(compressed) + 1
    if flags & 2:  # FHCRC
        stored = int.from_bytes(compressed[position : position + 2], "little")
        if position + 2 <= len(compressed) and stored != zlib.crc32(compressed[start:position]) & 0xFFFF:
            raise bad("Corrupt GZIP header")
        position += 2
    if position > len(compressed):
        raise CorruptData("frame-bad-header", "the gzip header is cut off", cause="gzip-eof")
    return position


@cache  # Python looks for a missing package again with each import
def _inflating_module() -> ModuleType:
    try:
        from isal import isal_zlib  # twice as fast, where it is installed
    except ImportError:
        return zlib
    module: ModuleType = isal_zlib
    return module


class BatchDecompressor:
    """One regular member at a time."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._inflate = _inflating_module()

    def decompress(self, compressed: bytes | memoryview) -> bytes | None:
        """The payload, or None if it is not one valid member or larger than the limit."""
        if compressed[:4] != _REGULAR_HEADER:
            return None
        inflater = self._inflate.decompressobj(16 + zlib.MAX_WBITS)
        try:
            data: bytes = inflater.decompress(compressed, self._limit)
        except self._inflate.error:
            return None
        return data if inflater.eof and not inflater.unused_data else None


def compressed(pieces: Iterable[Buffer], _magic: int) -> bytes:
    """One member."""
    deflater = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    written = [_WRITTEN_HEADER]
    crc = size = 0
    for piece in pieces:
        written.append(deflater.compress(piece))
        crc = zlib.crc32(piece, crc)
        size += len(piece)
    written += [deflater.flush(), crc.to_bytes(4, "little"), (size & 0xFFFFFFFF).to_bytes(4, "little")]
    return b"".join(written)


def inspect_frames(payload: bytes) -> Frames:
    """The members of a payload, up to the first incomplete one."""
    count = position = 0
    while payload.startswith(MAGIC, position):
        inflater = zlib.decompressobj(16 + zlib.MAX_WBITS)
        pending, given, piece = b"", position, _FIRST_PIECE
        try:
            while not inflater.eof and (pending or given < len(payload)):
                if not pending:
                    pending = payload[given : given + piece]
                    given += len(pending)
                    piece = _PIECE
                inflater.decompress(pending, _INSPECTED)
                pending = inflater.unconsumed_tail
        except zlib.error:
            break
        if not inflater.eof:
            break
        position = given - len(inflater.unused_data)
        count += 1
    return Frames(count, position)
