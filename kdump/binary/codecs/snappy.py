"""snappy: blocks in the framing of xerial's SnappyOutputStream, which Kafka's Java clients write, or one raw block."""

from __future__ import annotations

from struct import Struct

from kdump.binary.codecs.blocks import blocks_of
from kdump.binary.codecs.faults import raise_if_out_of_memory, too_large
from kdump.binary.codecs.frames import Frames
from kdump.binary.codecs.packages import package
from kdump.binary.codecs.quirks import NEWEST
from kdump.errors import CorruptData

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kdump.binary.codecs.quirks import CodecQuirks
    from kdump.binary.reference import Buffer

MAGIC = b"\x82SNAPPY\0"

_HEADER_SIZE = 16  # magic, version, lowest compatible version; the last is ignored
_unpack_size = Struct(">i").unpack_from
_JAVA_OUTPUT = 2 << 10  # Kafka takes the output of snappy in blocks of this size
_MAX_BLOCK_SIZE = 512 << 20
_MAX_RATIO = 64  # a copy of 3 bytes makes at most 64
_ROOM = 256 << 10
_WRITTEN_HEADER = MAGIC + b"\0\0\0\1\0\0\0\1"  # version, lowest compatible version
_WRITTEN_BLOCK = 32 << 10


def decompressed(compressed: bytes, _magic: int, limit: int, quirks: CodecQuirks | None) -> Iterator[bytes]:
    """Blocks in the framing of xerial's SnappyOutputStream; without its magic, one raw block."""
    if not compressed:
        raise CorruptData("frame-bad-header", "the snappy payload is empty", cause="snappy-empty")
    xerial = (quirks or NEWEST).xerial
    magic = MAGIC[:1] if xerial == "any header" else MAGIC
    if len(compressed) < _HEADER_SIZE or not compressed.startswith(magic):
        try:
            yield _block(compressed, limit, package("snappy", "python-snappy", "snappy").uncompress)
        except CorruptData as error:
            error.values = {
                "cause": "snappy-negative" if error.code == "frame-negative-size" else "snappy",
                "size": error.values.get("size"),
            }
            error.code = "frame-bad-header"
            raise
        return
    if xerial == "one stream":
        _check_xerial_version(compressed, 0, "frame-bad-header")
    given, is_first, uncompress = 0, True, None
    try:
        for block in _xerial_blocks(compressed, xerial):
            uncompress = uncompress or package("snappy", "python-snappy", "snappy").uncompress
            data = _block(block, limit, uncompress)
            given += len(data)
            is_first = False
            yield data
    except CorruptData as error:
        if error.code == "frame-negative-size" and not is_first:  # Java has memory by then, and asks for no more
            error.code = "frame-damaged"
            error.values["claimed"] = error.values["size"] + (1 << 32)
        error.values["lost"] = given % _JAVA_OUTPUT
        raise


def _check_xerial_version(compressed: bytes, position: int, code: str) -> None:
    version = int.from_bytes(compressed[position + 8 : position + 12], "big", signed=True)
    if version < 1:
        raise CorruptData(code, f"snappy framing of version {version}", cause="snappy-version", version=version)


def _xerial_blocks(compressed: bytes, xerial: str) -> Iterator[bytes]:
    position, end = _HEADER_SIZE, len(compressed)
    while position + 4 <= end:
        (size,) = _unpack_size(compressed, position)
        if size < 0 and compressed.startswith(MAGIC[:4], position) and xerial != "one stream":  # another stream begins
            if position + _HEADER_SIZE > end:
                raise CorruptData("frame-damaged", "the header of a further snappy stream is cut off", cause="snappy-header-cut")
            if compressed[position : position + 8] != MAGIC:
                return
            _check_xerial_version(compressed, position, "frame-damaged")  # that of the first header may be any
            position += _HEADER_SIZE
            continue
        position += 4
        if size == 1 and position < end and not compressed[position] and position > _HEADER_SIZE + 4:
            position += 1  # a block of nothing, after the first
            continue
        if not 0 <= size <= _MAX_BLOCK_SIZE:
            is_first = position == _HEADER_SIZE + 4  # Java asks for memory for it, which later blocks have already
            code = "frame-block-too-large" if size > 0 else "frame-first-block-size" if is_first else "frame-block-size"
            raise CorruptData(code, f"a snappy block says it is {size} bytes long", cause="snappy-size", size=size)
        if position + size > end:
            raise CorruptData("frame-truncated", "a snappy block reaches past the end", cause="snappy")
        yield compressed[position : position + size]
        position += size


def _block(block: bytes, limit: int, uncompress: Callable[[bytes], bytes]) -> bytes:
    size = block[0] if block else 0  # the block says first how long it becomes
    if size >= 0x80:
        size = shift = 0
        for byte in block[:5]:
            size |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
    if size > 0x7FFFFFFF:
        raise CorruptData("frame-negative-size", f"a snappy block claims {size} bytes", cause="snappy", size=size - (1 << 32))
    if size > _MAX_RATIO * len(block):  # the claim is forged
        raise CorruptData("frame-damaged", f"a snappy block of {len(block)} bytes claims {size}", cause="snappy", claimed=size)
    if size > limit:
        raise too_large(limit)
    try:
        data = uncompress(block)
    except Exception as error:  # the package raises what its engine raises, a different class with each
        raise_if_out_of_memory(error)
        raise CorruptData(
            "frame-damaged", f"a snappy block is damaged: {error or 'it cannot be decompressed'}", cause="snappy"
        ) from error
    return data if isinstance(data, bytes) else bytes(data)


class BatchDecompressor:
    """One xerial stream or raw block at a time, into a buffer that grows with the payloads and is valid until the next call."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._room = bytearray()

    def decompress_any(self, compressed: bytes | memoryview) -> memoryview | None:
        """The payload of a stream or of a block; None if it is none, or not for all releases, or larger than the limit."""
        if not compressed or compressed[:1] == MAGIC[:1]:
            return self.decompress(compressed)
        return self._decompressed(memoryview(compressed), 0, is_framed=False)

    def decompress(self, compressed: bytes | memoryview) -> memoryview | None:
        """The payload, or None if it is not one valid stream or larger than the limit."""
        if compressed[: len(MAGIC)] != MAGIC or len(compressed) < _HEADER_SIZE:
            return None
        return self._decompressed(memoryview(compressed), _HEADER_SIZE, is_framed=True)

    def _decompressed(self, view: memoryview, position: int, *, is_framed: bool) -> memoryview | None:
        try:
            from cramjam import snappy  # what python-snappy is made of, without its copies
        except ImportError:
            return None
        end, given = len(view), 0
        size = end
        room = memoryview(self._room)
        length_of, decompress_into = snappy.decompress_raw_len, snappy.decompress_raw_into
        try:
            while position < end:
                if is_framed:
                    (size,) = _unpack_size(view, position)
                    position += 4
                    if size < 0:
                        return None
                    if size == 1 and not view[position]:  # a block of nothing
                        position += 1
                        continue
                block = view[position : position + size]
                position += size
                if position > end:
                    return None
                wanted = length_of(block)
                if wanted > _MAX_RATIO * size or wanted > self._limit - given:
                    self._room = bytearray()
                    return None
                if given + wanted > len(room):
                    self._room = bytearray(min(max(2 * (given + wanted), _ROOM), self._limit))
                    larger = memoryview(self._room)
                    larger[:given] = room[:given]
                    room = larger
                given += decompress_into(block, room[given : given + wanted])
        except Exception:  # the class of the package's error differs between its versions
            return None
        return memoryview(self._room)[:given]


def raw_block(data: bytes) -> bytes:
    """One block without framing, as clients write it that are not Java's."""
    return bytes(package("snappy", "python-snappy", "snappy").compress(data))


def compressed(pieces: Iterable[Buffer], _magic: int) -> bytes:
    """One xerial stream, in blocks of 32 KiB."""
    written = [_WRITTEN_HEADER]
    for block in blocks_of(pieces, _WRITTEN_BLOCK):
        data = raw_block(block)
        written += [len(data).to_bytes(4, "big"), data]
    return b"".join(written)


def inspect_frames(payload: bytes) -> Frames:
    """The xerial streams of a payload, up to the first incomplete one; without their magic, one raw block."""
    if len(payload) < _HEADER_SIZE or not payload.startswith(MAGIC):
        return Frames(1, len(payload), is_raw=True)
    count, position = 1, _HEADER_SIZE
    last = len(payload) - 4
    while position <= last:
        (size,) = _unpack_size(payload, position)
        if size < 0:
            if not payload.startswith(MAGIC, position) or position + _HEADER_SIZE > len(payload):
                break
            count += 1
            position += _HEADER_SIZE
        elif position + size > last:
            break
        else:
            position += 4 + size
    return Frames(count, position)
