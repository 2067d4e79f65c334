"""Compressed payloads, taken apart as Kafka does it and never beyond a bound.

The packages do the work; the framings around them are read here, because Kafka reads them in ways of its own: it ignores
some damage that the packages refuse, and refuses some that they ignore.
Each decoder yields the payload piece by piece, so that what is good before the damage can be used.
"""

from __future__ import annotations

import zlib

from kdump.binary.codecs import GZIP, LZ4, SNAPPY, ZSTD
from kdump.errors import CorruptData, MissingPackage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType
    from typing import Any

MAX_PAYLOAD = 256 << 20
"""How many bytes one payload may decompress to, unless the caller says otherwise."""

_OFTEN_WANTED = 1 << 20
_JAVA_INPUT = 8 << 10  # Kafka gives gzip its input in pieces of this size
_JAVA_OUTPUT = 16 << 10  # and takes its output, and that of zstd, in pieces of this size: an error takes its piece with it


class Payload:
    """A decompressed payload: its bytes, and what ended it before its time, if anything did.

    Of the bytes, a reader that takes blocks, as Kafka does, sees only the first `whole_blocks` before it meets the error.
    """

    __slots__ = ("data", "error", "whole_blocks")

    def __init__(self, data: bytes | bytearray, error: CorruptData | None = None) -> None:
        self.data = data
        self.error = error
        self.whole_blocks = len(data)
        if error is not None:
            self.whole_blocks -= error.values.pop("lost", 0)
            self.data += error.values.pop("salvaged", b"")


class OldReader:
    """How readers of old releases of Kafka took frames, where later ones do otherwise.

    `lz4_is_padded`: what is missing of a number in an lz4 frame is taken for set bits. `lz4_is_plain`: its header may ask for
    nothing but checksums of blocks, and has the checksum of early writers, which takes the magic bytes in. `xerial`: `one stream`
    of snappy blocks, whose version is looked at; `any header` that begins with the right byte; or `streams`, as later.

    `zstd_by_record`: zstd frames are read by a byte or a record at a time; the next four matter then only.
    `zstd_starts_anew`: after a first frame, each read begins at what the one before it left of the input.
    `zstd_loses_last_read`: what a read gave is lost if it meets the end of the input.
    `zstd_wants_whole_blocks`: nothing comes out of a plain block that is cut off.
    `zstd_trusts_block_sizes`: a block may be larger than the window, as far as the buffer has room.
    `zstd_wants_whole_magic`: fewer bytes than begin a frame are cut off, even if no frame begins so.
    """

    __slots__ = (
        "lz4_is_padded",
        "lz4_is_plain",
        "xerial",
        "zstd_by_record",
        "zstd_loses_last_read",
        "zstd_starts_anew",
        "zstd_trusts_block_sizes",
        "zstd_wants_whole_blocks",
        "zstd_wants_whole_magic",
    )

    def __init__(
        self,
        *,
        lz4_is_padded: bool = False,
        lz4_is_plain: bool = False,
        xerial: str = "streams",
        zstd_by_record: bool = False,
        zstd_starts_anew: bool = False,
        zstd_loses_last_read: bool = False,
        zstd_wants_whole_blocks: bool = False,
        zstd_trusts_block_sizes: bool = False,
        zstd_wants_whole_magic: bool = False,
    ) -> None:
        self.lz4_is_padded = lz4_is_padded
        self.lz4_is_plain = lz4_is_plain
        self.xerial = xerial
        self.zstd_by_record = zstd_by_record
        self.zstd_starts_anew = zstd_starts_anew
        self.zstd_loses_last_read = zstd_loses_last_read
        self.zstd_wants_whole_blocks = zstd_wants_whole_blocks
        self.zstd_trusts_block_sizes = zstd_trusts_block_sizes
        self.zstd_wants_whole_magic = zstd_wants_whole_magic


_NEWEST = OldReader()


def decompress(codec: int, compressed: bytes, magic: int, *, limit: int = MAX_PAYLOAD, old: OldReader | None = None) -> Payload:
    """Decompress the payload of a batch or wrapper message of this magic, as far as it is sound.

    The error of the result has the code `frame-bad-header` (nothing could be opened), `frame-damaged`, `frame-truncated` (or
    `frame-ends-early`, where Kafka takes it for the end), `frame-block-size`, `frame-first-block-size`,
    `frame-block-too-large`, `frame-negative-size`, `frame-checksum-mismatch`, `frame-checksum-cut` or `decompression-limit`.
    Raises MissingPackage where the package of the codec is not installed.
    """
    data = bytearray()
    try:
        for piece in pieces(codec, compressed, magic, limit=limit, old=old):
            data += piece
    except CorruptData as error:
        return Payload(data, error)
    return Payload(data)


def pieces(
    codec: int, compressed: bytes, magic: int, *, limit: int = MAX_PAYLOAD, old: OldReader | None = None
) -> Iterator[bytes]:
    """The decompressed payload, piece by piece.

    Raises CorruptData with the codes that `decompress` names. Among its values, `salvaged` is what the erring piece still gave,
    and `lost` how many bytes before it a reader that takes blocks, as Kafka does, has lost by then.
    """
    left = limit
    for piece in _DECODERS[codec](compressed, magic, limit, old):
        left -= len(piece)
        if left < 0:
            raise _too_large(limit)
        yield piece


class WholeDecompressor:
    """Decompresses payloads of batches of magic 2 in a few calls each, where they are sound and plain. One for each thread.

    What it gives equals what `pieces` give, and is to be used before the next is asked for; what is damaged, or framed in an
    unusual way, is theirs alone.
    """

    __slots__ = ("_inflate", "_limit", "_lz4_header", "_lz4_parsed", "_room", "_zstd")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._zstd: Any = None
        self._inflate: ModuleType | None = None
        self._lz4_header = b""  # as most frames of a log begin, and what that says
        self._lz4_parsed = (0, 0, False, False)
        self._room = bytearray()

    def decompress(self, codec: int, compressed: bytes | memoryview) -> bytes | memoryview | None:
        """The payload, or None where it is not plain, not sound, or larger than the limit."""
        if not self._room:
            self._room = bytearray(_SNAPPY_ROOM)
            # glibc keeps memory of sizes that were given back once; else it may get it from the system again for each batch
            bytearray(_OFTEN_WANTED)
        return _WHOLE[codec](self, compressed) if codec in _WHOLE else None

    def _gzip(self, compressed: bytes | memoryview) -> bytes | None:
        if compressed[:4] != b"\x1f\x8b\x08\0":  # a header without further fields
            return None
        if self._inflate is None:
            try:
                from isal import isal_zlib

                self._inflate = isal_zlib  # twice as fast, where it is installed
            except ImportError:
                self._inflate = zlib
        inflater = self._inflate.decompressobj(16 + zlib.MAX_WBITS)
        try:
            data: bytes = inflater.decompress(compressed, self._limit)
        except self._inflate.error:
            return None
        return data if inflater.eof and not inflater.unused_data else None

    def _zstandard(self, compressed: bytes | memoryview) -> bytes | None:
        try:
            import zstandard
        except ImportError:
            return None
        if self._zstd is None:
            self._zstd = zstandard.ZstdDecompressor(max_window_size=_ZSTD_MAX_WINDOW)
        try:
            parameters = zstandard.get_frame_parameters(compressed)
            if parameters.content_size > self._limit and parameters.content_size != zstandard.CONTENTSIZE_UNKNOWN:
                return None
            room = min(self._limit, max(_ZSTD_ROOM, 16 * len(compressed)))
            data: bytes = self._zstd.decompress(compressed, max_output_size=room)
            first_block = zstandard.frame_header_size(compressed)
        except zstandard.ZstdError:
            return None
        # zstandard's allow_extra_data=False does not see what is behind a frame that does not say how much it holds
        end = _end_of_zstd_blocks(compressed, first_block) + 4 * parameters.has_checksum
        return data if end == len(compressed) else None

    def _snappy(self, compressed: bytes | memoryview) -> memoryview | None:
        if compressed[: len(_XERIAL_MAGIC)] != _XERIAL_MAGIC or len(compressed) < _XERIAL_HEADER_SIZE:
            return None
        try:
            from cramjam import snappy  # what python-snappy is made of, without its copies
        except ImportError:
            return None
        view = memoryview(compressed)
        position, end, given = _XERIAL_HEADER_SIZE, len(compressed), 0
        try:
            while position < end:
                size = int.from_bytes(view[position : position + 4], "big")
                position += 4
                block = view[position : position + size]
                position += size
                if position > end:
                    return None
                wanted = snappy.decompress_raw_len(block)
                if wanted > min(_SNAPPY_MAX_RATIO * size, self._limit - given):
                    return None
                if given + wanted > len(self._room):
                    self._room = self._room[:given] + bytearray(2 * (given + wanted) - given)
                given += snappy.decompress_raw_into(block, memoryview(self._room)[given : given + wanted])
        except Exception:  # the package raises an error of its own, a different class with each of its versions
            return None
        return memoryview(self._room)[:given]

    def _lz4(self, compressed: bytes | memoryview) -> bytes | None:
        try:
            import lz4.block
        except ImportError:
            return None
        if compressed[:_LZ4_HEADER_SIZE] != self._lz4_header:
            self._parse_lz4_header(bytes(compressed))
        position, max_block_size, has_block_checksum, has_content_checksum = self._lz4_parsed
        if not position or has_block_checksum:
            return None
        view = memoryview(compressed)
        end, left = len(compressed), self._limit
        blocks = []
        while size := int.from_bytes(view[position : position + 4], "little"):
            is_stored = size >= _LZ4_STORED
            size &= ~_LZ4_STORED
            position += 4 + size
            if size > max_block_size or position + 4 > end:
                return None
            block: bytes | memoryview = view[position - size : position]
            if not is_stored:
                try:
                    block = lz4.block.decompress(block, uncompressed_size=max_block_size)
                except (lz4.block.LZ4BlockError, ValueError, OverflowError):
                    return None
            left -= len(block)
            if left < 0:
                return None
            blocks.append(block)
        if position + 4 + 4 * has_content_checksum != end:
            return None
        return blocks[0] if len(blocks) == 1 and isinstance(blocks[0], bytes) else b"".join(blocks)

    def _parse_lz4_header(self, compressed: bytes) -> None:
        self._lz4_header, self._lz4_parsed = b"", (0, 0, False, False)
        try:
            parsed = _lz4_header(compressed, 2, None)
        except CorruptData:
            return
        self._lz4_parsed = parsed
        if parsed[0] == _LZ4_HEADER_SIZE:
            self._lz4_header = compressed[:_LZ4_HEADER_SIZE]


_WHOLE: dict[int, Callable[[WholeDecompressor, bytes | memoryview], bytes | memoryview | None]] = {
    GZIP: WholeDecompressor._gzip,
    SNAPPY: WholeDecompressor._snappy,
    LZ4: WholeDecompressor._lz4,
    ZSTD: WholeDecompressor._zstandard,
}


def _end_of_zstd_blocks(frame: bytes | memoryview, position: int) -> int:
    """The position after the blocks of a sound frame, the first of which is at `position`."""
    is_last = 0
    while not is_last:
        header = int.from_bytes(frame[position : position + 3], "little")
        is_last, kind, size = header & 1, header >> 1 & 3, header >> 3
        position += 3 + (1 if kind == _ZSTD_RUN else size)
        is_last |= position > len(frame)
    return position


def _gzip(compressed: bytes, _magic: int, _limit: int, _old: OldReader | None) -> Iterator[bytes]:
    """Members one after the other; what follows the last and is no member is ignored, as Kafka does."""
    position = _gzip_header_end(compressed, 0)
    while True:
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        crc = size = calls = 0
        # Kafka fills its input buffer at multiples of its size; a member may start inside one
        piece_end = _first_piece_end(compressed, position)
        pending = compressed[position:piece_end]
        while not inflater.eof:
            if not pending:
                if piece_end >= len(compressed):
                    raise CorruptData("frame-ends-early", "the gzip stream ends early", cause="gzip-truncated")
                pending = compressed[piece_end : piece_end + _JAVA_INPUT]
                piece_end += len(pending)
            try:
                piece = inflater.decompress(pending, _JAVA_OUTPUT)
            except zlib.error as error:
                salvaged = _inflated_before_damage(compressed, position, calls)
                message = str(error).rpartition(": ")[2]  # zlib's own words
                raise CorruptData("frame-damaged", message, cause="gzip", salvaged=salvaged) from error
            pending = inflater.unconsumed_tail
            calls += 1
            crc = zlib.crc32(piece, crc)
            size += len(piece)
            yield piece
        trailer = piece_end - len(inflater.unused_data)
        for start, computed in ((trailer, crc), (trailer + 4, size & 0xFFFFFFFF)):
            if start + 4 > len(compressed):
                raise CorruptData("frame-ends-early", "the gzip trailer is cut off", cause="gzip-eof")
            if int.from_bytes(compressed[start : start + 4], "little") != computed:
                raise CorruptData("frame-checksum-mismatch", "Corrupt GZIP trailer", cause="gzip")
        # Java looks for another member if more input is to come, or its buffer still holds more than 26 bytes, trailer included
        if piece_end >= len(compressed) and len(inflater.unused_data) <= 26:
            return
        try:
            position = _gzip_header_end(compressed, trailer + 8)
        except CorruptData:
            return


def _first_piece_end(compressed: bytes, member: int) -> int:
    return min(len(compressed), (member // _JAVA_INPUT + 1) * _JAVA_INPUT)


def _inflated_before_damage(compressed: bytes, member: int, calls: int) -> bytes:
    """What a damaged member still gives after so many calls: an erring call gives nothing, so it gets its input by the byte."""
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    piece_end = _first_piece_end(compressed, member)
    pending = compressed[member:piece_end]
    salvaged = bytearray()
    try:
        while calls >= 0:
            if not pending:
                pending = compressed[piece_end : piece_end + _JAVA_INPUT]
                piece_end += len(pending)
            if calls > 0:
                inflater.decompress(pending, _JAVA_OUTPUT)
                pending = inflater.unconsumed_tail
            calls -= 1
        for byte in range(len(pending)):
            salvaged += inflater.decompress(pending[byte : byte + 1])
    except zlib.error:
        pass
    return bytes(salvaged)


def _gzip_header_end(compressed: bytes, start: int) -> int:
    """The position after a member's header (RFC 1952)."""

    def bad(what: str) -> CorruptData:
        return CorruptData("frame-bad-header", what, cause="gzip")

    if len(compressed) < start + 2:
        raise CorruptData("frame-bad-header", "the gzip header is cut off", cause="gzip-eof")
    if compressed[start : start + 2] != b"\x1f\x8b":
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


_XERIAL_MAGIC = b"\x82SNAPPY\0"
_JAVA_SNAPPY_OUTPUT = 2 << 10  # Kafka takes the output of snappy in pieces of this size
_XERIAL_MAX_BLOCK = 512 << 20
_SNAPPY_ROOM = 256 << 10
_SNAPPY_MAX_RATIO = 64  # a copy of 3 bytes makes at most 64
_XERIAL_HEADER_SIZE = 16  # magic, version, lowest compatible version; nobody looks at the last


def _snappy(compressed: bytes, _magic: int, limit: int, old: OldReader | None) -> Iterator[bytes]:
    """Blocks in the framing of xerial's SnappyOutputStream; without its magic, one raw block."""
    if not compressed:
        raise CorruptData("frame-bad-header", "the snappy payload is empty", cause="snappy-empty")
    xerial = old.xerial if old else "streams"
    magic = _XERIAL_MAGIC[:1] if xerial == "any header" else _XERIAL_MAGIC
    if len(compressed) < _XERIAL_HEADER_SIZE or not compressed.startswith(magic):
        try:
            yield _snappy_block(compressed, limit)
        except CorruptData as error:
            cause = "snappy-negative" if error.code == "frame-negative-size" else "snappy"
            raise CorruptData("frame-bad-header", error.message, cause=cause, size=error.values.get("size")) from error
        return
    if xerial == "one stream":
        _check_xerial_version(compressed, 0, "frame-bad-header")
    given, is_first = 0, True
    try:
        for block in _xerial_blocks(compressed, xerial):
            piece = _snappy_block(block, limit)
            given += len(piece)
            is_first = False
            yield piece
    except CorruptData as error:
        if error.code == "frame-negative-size" and not is_first:  # Java has memory by then, and asks for no more
            error.code = "frame-damaged"
            error.values["claimed"] = error.values["size"] + (1 << 32)
        error.values["lost"] = given % _JAVA_SNAPPY_OUTPUT
        raise


def _check_xerial_version(compressed: bytes, position: int, code: str) -> None:
    version = int.from_bytes(compressed[position + 8 : position + 12], "big", signed=True)
    if version < 1:
        raise CorruptData(code, f"snappy framing of version {version}", cause="snappy-version", version=version)


def _xerial_blocks(compressed: bytes, xerial: str) -> Iterator[bytes]:
    position = _XERIAL_HEADER_SIZE
    while position + 4 <= len(compressed):
        if compressed[position : position + 4] == _XERIAL_MAGIC[:4] and xerial != "one stream":  # another stream begins
            if position + _XERIAL_HEADER_SIZE > len(compressed):
                raise CorruptData("frame-damaged", "the header of a further snappy stream is cut off", cause="snappy-header-cut")
            if compressed[position : position + 8] != _XERIAL_MAGIC:
                return
            _check_xerial_version(compressed, position, "frame-damaged")  # that of the first header may be any
            position += _XERIAL_HEADER_SIZE
            continue
        size = int.from_bytes(compressed[position : position + 4], "big", signed=True)
        position += 4
        if not 0 <= size <= _XERIAL_MAX_BLOCK:
            is_first = position == _XERIAL_HEADER_SIZE + 4  # Java asks for memory for it, which later blocks have already
            code = "frame-block-too-large" if size > 0 else "frame-first-block-size" if is_first else "frame-block-size"
            raise CorruptData(code, f"a snappy block says it is {size} bytes long", cause="snappy-size", size=size)
        if position + size > len(compressed):
            raise CorruptData("frame-truncated", "a snappy block reaches past the end", cause="snappy")
        yield compressed[position : position + size]
        position += size


def _snappy_block(block: bytes, limit: int) -> bytes:
    try:
        import snappy
    except ImportError as error:
        raise _missing("snappy", "python-snappy") from error

    size = shift = 0
    for byte in block[:5]:  # the block says first how long it becomes
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if size > 0x7FFFFFFF:
        raise CorruptData("frame-negative-size", f"a snappy block claims {size} bytes", cause="snappy", size=size - (1 << 32))
    if size > _SNAPPY_MAX_RATIO * len(block):  # the claim is forged
        raise CorruptData("frame-damaged", f"a snappy block of {len(block)} bytes claims {size}", cause="snappy", claimed=size)
    if size > limit:
        raise _too_large(limit)
    try:
        return bytes(snappy.uncompress(block))
    except Exception as error:  # the package raises what its engine raises, a different class with each
        raise CorruptData("frame-damaged", f"a snappy block is damaged: {error}", cause="snappy") from error


_LZ4_MAGIC = b"\x04\x22\x4d\x18"
_LZ4_STORED = 0x80000000
_LZ4_HEADER_SIZE = 7  # without content size
_LZ4_FEATURES = (
    (0x01, "Preset dictionary is unsupported"),
    (0x02, "Reserved1 field must be 0"),
    (0x04, "Content checksum is unsupported"),
    (0x08, "Content size is unsupported"),
)


def _lz4(compressed: bytes, magic: int, _limit: int, old: OldReader | None) -> Iterator[bytes]:
    """The blocks of the first frame. Its content size and checksum are skipped, and so is all that follows it."""
    try:
        import lz4.block
    except ImportError as error:
        raise _missing("lz4", "lz4") from error

    position, max_block_size, has_block_checksum, has_content_checksum = _lz4_header(compressed, magic, old)
    end = len(compressed)
    if old is not None and old.lz4_is_padded:
        compressed += b"\xff\xff\xff\xff\xff"  # the header's checksum, and the size of a block
    while True:
        if position + 4 > len(compressed):
            raise CorruptData("frame-truncated", "Stream ended prematurely", cause="lz4")
        size = int.from_bytes(compressed[position : position + 4], "little")
        is_stored = size >= _LZ4_STORED
        size &= ~_LZ4_STORED
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
            piece = block
        else:
            try:
                piece = lz4.block.decompress(block, uncompressed_size=max_block_size)
            except (lz4.block.LZ4BlockError, ValueError, OverflowError) as error:
                raise CorruptData("frame-damaged", f"an lz4 block is damaged: {error}", cause="lz4-block") from error
        if has_block_checksum:
            if position + 4 > len(compressed):
                raise CorruptData("frame-checksum-cut", "a block checksum is cut off", cause="lz4-underflow")
            if int.from_bytes(compressed[position : position + 4], "little") != xxhash32(block):
                raise CorruptData("frame-checksum-mismatch", "Block checksum mismatch", cause="lz4")
            position += 4
        yield piece


def _lz4_header(compressed: bytes, magic: int, old: OldReader | None) -> tuple[int, int, bool, bool]:
    """Where the blocks begin, how large one may be, whether blocks and content have checksums."""

    def bad(what: str, cause: str = "lz4", **values: Any) -> CorruptData:
        return CorruptData("frame-bad-header", what, cause=cause, **values)

    is_padded = old is not None and old.lz4_is_padded
    is_plain = old is not None and old.lz4_is_plain
    if len(compressed) < 6:  # magic, FLG, BD; Kafka trips over a missing checksum later
        raise bad("Stream ended prematurely")
    if not compressed.startswith(_LZ4_MAGIC):
        raise bad("Stream unsupported (invalid magic bytes)")
    ends_early = "lz4-underflow" if magic else "lz4-skips-checksum"
    if len(compressed) < 7 and not is_padded:
        raise bad("Stream ended prematurely", ends_early, end=7, limit=6)
    flags, block_descriptor = compressed[4:6]
    if is_plain:
        for bit, feature in _LZ4_FEATURES:
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
    if (magic > 0 or is_plain) and checksum != xxhash32(compressed[0 if is_plain else 4 : end]) >> 8 & 0xFF:
        raise bad("Stream frame descriptor corrupted")
    return end + 1, 1 << (8 + 2 * block_size), bool(flags & 0x10), bool(flags & 0x04)


_PRIME_1, _PRIME_2, _PRIME_3, _PRIME_4, _PRIME_5 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1
_U32 = 0xFFFFFFFF


def xxhash32(data: bytes) -> int:
    """The checksum of LZ4 frames: xxHash, 32 bits, seed 0."""
    size = len(data)
    position = 0
    if size >= 16:
        lanes = [_PRIME_1 + _PRIME_2 & _U32, _PRIME_2, 0, -_PRIME_1 & _U32]
        for position in range(0, size - 15, 16):
            for lane in range(4):
                start = position + 4 * lane
                mixed = lanes[lane] + int.from_bytes(data[start : start + 4], "little") * _PRIME_2 & _U32
                lanes[lane] = _rotated(mixed, 13) * _PRIME_1 & _U32
        position += 16
        accumulated = sum(_rotated(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True))
    else:
        accumulated = _PRIME_5
    accumulated = accumulated + size & _U32
    while position + 4 <= size:
        word = int.from_bytes(data[position : position + 4], "little")
        accumulated = _rotated(accumulated + word * _PRIME_3 & _U32, 17) * _PRIME_4 & _U32
        position += 4
    for byte in data[position:]:
        accumulated = _rotated(accumulated + byte * _PRIME_5 & _U32, 11) * _PRIME_1 & _U32
    accumulated = (accumulated ^ accumulated >> 15) * _PRIME_2 & _U32
    accumulated = (accumulated ^ accumulated >> 13) * _PRIME_3 & _U32
    return accumulated ^ accumulated >> 16


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & _U32


_ZSTD_INPUT = 512  # of so few bytes, even a bomb makes no more than some 16 MiB
_ZSTD_BOMB_INPUT = 32  # what it gets from then on
_JAVA_ZSTD_INPUT = 131_075  # zstd's own recommendation, which the Java library follows
_ZSTD_MAX_WINDOW = 1 << 27
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_MAGIC_AND_DESCRIPTOR = 5
_ZSTD_SKIPPABLE = b"\x2a\x4d\x18"  # of its magic, after a byte from 0x50 to 0x5f
_ZSTD_SKIPPABLE_HEADER = 8
_ZSTD_BLOCK_HEADER = 3
_ZSTD_CHECKSUM = 4
_ZSTD_MAX_BLOCK = 128 << 10
_ZSTD_WINDOW_OF_MAX_BLOCK = 7 << 3  # as the header says it: the exponent, above 10, and eighths
_ZSTD_OVERLENGTH = 16  # what the library's buffer has beyond a window and a block
_ZSTD_PLAIN, _ZSTD_RUN, _ZSTD_RESERVED = 0, 1, 3  # kinds of blocks: bytes as they are; one byte, repeated; none
_ZSTD_ROOM = 256 << 10


def _zstd(compressed: bytes, _magic: int, limit: int, old: OldReader | None) -> Iterator[bytes]:
    """Frames one after the other, to the end."""
    try:
        import zstandard
    except ImportError as error:
        raise _missing("zstd", "zstandard") from error

    old = old or _NEWEST
    if old.zstd_by_record:
        yield from _zstd_by_record(compressed, limit, old)
        return
    position = 0
    input_size = _ZSTD_INPUT
    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_MAX_WINDOW)
    last_block = (len(compressed) - 1) // _JAVA_ZSTD_INPUT
    is_finished = False
    while position < len(compressed):
        if old.zstd_wants_whole_magic and len(compressed) - position < _ZSTD_MAGIC_AND_DESCRIPTOR:
            if is_finished:
                return
            raise _zstd_cut_off()
        frame = decompressor.decompressobj()
        given = 0
        while not frame.eof:
            if position >= len(compressed):
                if is_finished:
                    return
                raise _zstd_cut_off()
            try:
                piece = frame.decompress(compressed[position : position + input_size])
            except zstandard.ZstdError as error:
                raise _zstd_damaged(error, lost=given % _JAVA_OUTPUT) from error
            position += input_size
            given += len(piece)
            if len(piece) > 1000 * input_size:
                input_size = _ZSTD_BOMB_INPUT
            yield piece
        position = min(position, len(compressed)) - len(frame.unused_data)
        # Once a frame has ended in the last block of input, the Java library does not miss the end of what follows it
        is_finished = (position - 1) // _JAVA_ZSTD_INPUT == last_block


def _zstd_cut_off() -> CorruptData:
    return CorruptData("frame-truncated", "Truncated source", cause="zstd")


def _zstd_damaged(error: object, lost: int = 0) -> CorruptData:
    return CorruptData("frame-damaged", f"the zstd stream is damaged: {error}", cause="zstd", lost=lost)


def _zstd_by_record(compressed: bytes, limit: int, old: OldReader) -> Iterator[bytes]:
    """What a reader of records gets that asks for a byte of a record's length at a time, and then for the record at once."""
    whole = WholeDecompressor(limit).decompress(ZSTD, compressed)
    if whole is not None:
        yield bytes(whole)
        return
    stream = _ZstdStream(compressed, limit, old)
    while True:
        length = 0
        for shift in range(0, 35, 7):
            byte = stream.read(1)
            if not byte:
                return
            yield byte
            length |= (byte[0] & 0x7F) << shift
            if byte[0] < 0x80:
                break
        left = length >> 1 ^ -(length & 1)
        while left > 0:
            piece = stream.read(left)
            if not piece:
                return
            yield piece
            left -= len(piece)


class _ZstdStream:
    """zstd frames as the Java library up to 1.4.5 reads them, step by step.

    It loads 128 KiB of input at a time. A frame that ends leaves a mark, which only new input takes away; as long as it is
    there, the end of the input is the end of the stream, wherever it falls.
    """

    def __init__(self, compressed: bytes, limit: int, old: OldReader) -> None:
        self._input = memoryview(compressed)
        self._position = 0
        self._loaded = 0
        self._limit = limit
        self._old = old
        self._wants_input = True
        self._is_finished = True
        self._frame = _ZstdFrame(old)

    def read(self, size: int) -> bytes:
        """At most `size` bytes; none at the end."""
        given: bytes | None = b""
        while given == b"":
            given = self._read(size)
        return given or b""

    def _read(self, size: int) -> bytes | None:
        if self._old.zstd_starts_anew and self._is_finished:
            self._start_frame()
        given = bytearray()
        while len(given) < size:
            if self._wants_more(given) and not self._load():
                return None
            taken, piece, is_over = self._frame.decompress(self._input[self._position : self._loaded], size - len(given))
            self._position += taken
            given += piece
            if len(given) > self._limit:
                raise _too_large(self._limit)
            if is_over:
                self._is_finished = True
                self._wants_input = self._position == self._loaded
                self._start_frame()
                break
            self._wants_input = len(given) < size
            if not piece and not self._old.zstd_loses_last_read:
                break
        return bytes(given)

    def _wants_more(self, given: bytes | bytearray) -> bool:
        if self._old.zstd_loses_last_read:
            return self._position == self._loaded
        return self._wants_input and not given

    def _start_frame(self) -> None:
        self._frame = _ZstdFrame(self._old)

    def _load(self) -> bool:
        """Whether there was more input."""
        if self._loaded == len(self._input):
            if self._is_finished:
                return False
            raise _zstd_cut_off()
        self._loaded = min(self._loaded + _JAVA_ZSTD_INPUT, len(self._input))
        self._is_finished = False
        return True


class _ZstdFrame:
    """Decompresses one frame in zstd's own steps: it matters how far ahead of its output it takes its input.

    It takes a part of the frame at a time (a header, a block), until there is no room for what the last one gives. The last
    byte of the frame it takes when all is given.
    """

    def __init__(self, old: OldReader) -> None:
        import zstandard

        self._frame = zstandard.ZstdDecompressor(max_window_size=_ZSTD_MAX_WINDOW).decompressobj()
        self._error = zstandard.ZstdError
        self._old = old
        self._part = bytearray()
        self._part_size = _ZSTD_MAGIC_AND_DESCRIPTOR
        self._next: Callable[[], None] = self._begin
        self._has_checksum = False
        self._is_last = False
        self._is_plain = False
        self._output = memoryview(b"")
        self._leaves_byte = False
        self._window = self._room = self._window_room = 0  # of a frame whose window is smaller than a block may be

    def decompress(self, data: memoryview, room: int) -> tuple[int, bytes, bool]:
        """How many bytes were taken of `data`, what there was room for of what they give, and whether that was all."""
        taken = 0
        given = bytearray()
        while True:
            piece = self._output[: room - len(given)]
            given += piece
            self._output = self._output[len(piece) :]
            if self._output or not self._part_size:
                break
            more = data[taken : taken + self._part_size - len(self._part)]
            taken += len(more)
            self._part += more
            if len(self._part) == self._part_size:
                self._next()
            elif more and self._is_plain and not self._old.zstd_wants_whole_blocks:
                self._part_size -= len(self._part)
                self._take_part()
            else:
                break
        if self._part_size:
            return taken, bytes(given), False
        if self._output and not self._leaves_byte:
            taken -= 1
            self._leaves_byte = True
        elif not self._output and self._leaves_byte:
            taken += 1
        return taken, bytes(given), not self._output

    def _want(self, size: int, then: Callable[[], None]) -> None:
        self._part_size = size
        self._next = then

    def _take_part(self) -> None:
        try:
            self._output = memoryview(self._frame.decompress(bytes(self._part)))
        except self._error as error:
            raise _zstd_damaged(error) from error
        self._part.clear()

    def _begin(self) -> None:
        if self._part[0] & 0xF0 == 0x50 and self._part[1:4] == _ZSTD_SKIPPABLE:
            self._want(_ZSTD_SKIPPABLE_HEADER, self._begin_skippable)
        elif self._part[:4] != _ZSTD_MAGIC:
            raise _zstd_damaged("no frame begins so")
        else:
            self._has_checksum = bool(self._part[4] & 0x04)
            self._want(_zstd_header_size(self._part[4]), self._header)

    def _begin_skippable(self) -> None:
        size = int.from_bytes(self._part[4:], "little")
        self._want(_ZSTD_SKIPPABLE_HEADER + size, self._end)

    def _header(self) -> None:
        if self._old.zstd_trusts_block_sizes:
            self._widen_window()
        self._take_part()
        self._want(_ZSTD_BLOCK_HEADER, self._block_header)

    def _widen_window(self) -> None:
        """Let blocks be larger than the window, as far as the library's buffer has room: it has that for a window and a block."""
        if self._part[4] & 0x20:  # the frame is one segment, and says no window
            return
        mantissa, exponent = self._part[5] & 7, self._part[5] >> 3
        window = (8 + mantissa) << 7 + exponent
        if window < _ZSTD_MAX_BLOCK:
            self._window = window
            self._room = self._window_room = 2 * window + _ZSTD_OVERLENGTH
            self._part[5] = _ZSTD_WINDOW_OF_MAX_BLOCK

    def _fill_window(self) -> None:
        size = len(self._output)
        if size > self._room:
            raise _zstd_damaged("a block is larger than the window allows")
        self._room -= size
        if self._room < self._window:
            self._room = self._window_room

    def _block_header(self) -> None:
        header = int.from_bytes(self._part, "little")
        self._is_last = bool(header & 1)
        kind, size = header >> 1 & 3, header >> 3
        self._is_plain = kind == _ZSTD_PLAIN
        if kind == _ZSTD_RESERVED or not self._old.zstd_trusts_block_sizes:
            self._take_part()
        self._want(len(self._part) + (1 if kind == _ZSTD_RUN else size), self._block)
        if not self._part_size:
            self._block()

    def _block(self) -> None:
        self._is_plain = False
        if self._part:
            self._take_part()
            if self._window:
                self._fill_window()
        if not self._is_last:
            self._want(_ZSTD_BLOCK_HEADER, self._block_header)
        elif self._has_checksum:
            self._want(_ZSTD_CHECKSUM, self._checksum)
        else:
            self._end()

    def _checksum(self) -> None:
        self._take_part()
        self._end()

    def _end(self) -> None:
        self._part_size = 0


def _zstd_header_size(descriptor: int) -> int:
    """The size of a frame's header, from its magic to its content size, as its descriptor tells it (RFC 8878)."""
    has_window = not descriptor & 0x20
    content_size = (0 if has_window else 1, 2, 4, 8)[descriptor >> 6]
    return _ZSTD_MAGIC_AND_DESCRIPTOR + has_window + (0, 1, 2, 4)[descriptor & 3] + content_size


def _too_large(limit: int) -> CorruptData:
    return CorruptData("decompression-limit", f"the payload decompresses to more than {limit} bytes", limit=limit)


def _missing(codec: str, package: str) -> MissingPackage:
    return MissingPackage(f'{codec} payloads need the package "{package}"', remedy=f"pip install {package}")


_DECODERS: dict[int, Callable[[bytes, int, int, OldReader | None], Iterator[bytes]]] = {
    GZIP: _gzip,
    SNAPPY: _snappy,
    LZ4: _lz4,
    ZSTD: _zstd,
}
