"""The framings in which Kafka's compressed payloads appear on disk, with the oddities of clients past and present."""

import struct
import zlib
from collections.abc import Callable
from typing import Literal

import lz4.block  # the package has no annotations
import snappy  # the package has no annotations
import zstandard

from .checksums import xxhash32

Codec = Literal["none", "gzip", "snappy", "lz4", "zstd"]
Compressor = Callable[[bytes], bytes]

CODEC_IDS: dict[Codec, int] = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}

XERIAL_MAGIC = b"\x82SNAPPY\x00"
LZ4_MAGIC = b"\x04\x22\x4d\x18"


def compress(data: bytes, *, codec: Codec, magic: int = 2) -> bytes:
    """The payload a Java client writes for this codec in a batch of this magic."""
    compressors: dict[Codec, Compressor] = {
        "none": bytes,
        "gzip": gzip_members,
        "snappy": snappy_xerial,
        "lz4": lambda plain: lz4_frame(plain, is_header_checksum_broken=magic == 0),
        "zstd": zstd_frames,
    }
    return compressors[codec](data)


def gzip_members(
    data: bytes,
    *,
    member_count: int = 1,
    level: int = zlib.Z_DEFAULT_COMPRESSION,
    has_trailer: bool = True,
    trailing: bytes = b"",
) -> bytes:
    """A gzip stream of one or several members; `has_trailer=False` leaves CRC and size off the last one."""
    members = [_gzip_member(part, level=level) for part in _parts(data, count=member_count)]
    if not has_trailer:
        members[-1] = members[-1][:-8]
    return b"".join(members) + trailing


def snappy_blocks(payload: bytes) -> list[bytes]:
    """The compressed blocks of a payload: after the header of a Java client with their sizes, else one without any."""
    if not payload.startswith(XERIAL_MAGIC):
        return [payload]
    blocks, position = [], 16
    while position < len(payload):
        size = int.from_bytes(payload[position : position + 4], "big", signed=True)
        blocks.append(payload[position + 4 : position + 4 + size])
        position += 4 + max(0, size)
    return blocks


def snappy_xerial(
    data: bytes,
    *,
    block_size: int = 32 * 1024,
    is_header_repeated: bool = False,
    version: int = 1,
    compatible_version: int = 1,
    trailing: bytes = b"",
) -> bytes:
    """Snappy blocks after the xerial header; `is_header_repeated` puts the header before every block.

    `block_size` counts uncompressed bytes (old producers: 1024).
    """
    header = XERIAL_MAGIC + struct.pack(">ii", version, compatible_version)
    blocks = [snappy_raw(block) for block in _blocks(data, size=block_size)]
    framed = [struct.pack(">i", len(block)) + block for block in blocks]
    separator = header if is_header_repeated else b""
    return header + separator.join(framed) + trailing


def snappy_raw(data: bytes) -> bytes:
    """One raw Snappy block without any framing, as librdkafka writes it."""
    return bytes(snappy.compress(data))


def lz4_frame(
    data: bytes,
    *,
    is_header_checksum_broken: bool = False,
    has_content_size: bool = False,
    has_block_checksums: bool = False,
    has_content_checksum: bool = False,
    is_stored: bool = False,
    has_dependent_blocks: bool = False,
    block_size_code: int = 4,
    flags: int | None = None,
    content_size: int | None = None,
    block_checksum: int | None = None,
    content_checksum: int | None = None,
    header_checksum: int | None = None,
    has_end_mark: bool = True,
    trailing: bytes = b"",
) -> bytes:
    """One LZ4 frame: as Java clients write it, or with any part added, wrong or missing.

    `is_header_checksum_broken` gives the checksum that messages of magic 0 carry. `is_stored` leaves the blocks
    uncompressed. `block_size_code` is 4 (64 KiB) to 7 (4 MiB). `flags` and the four values at the end replace what
    would be written there; the checksums among them appear only where their `has_...` asks for them.
    """
    # FLG: bits 6-7 version (01), 5 independent blocks, 4 block checksums, 3 content size, 2 content checksum,
    # 1 reserved, 0 dictionary id.
    computed_flags = (
        1 << 6 | (not has_dependent_blocks) << 5 | has_block_checksums << 4 | has_content_size << 3 | has_content_checksum << 2
    )
    descriptor = struct.pack("<BB", computed_flags if flags is None else flags, block_size_code << 4)
    if has_content_size:
        descriptor += struct.pack("<Q", len(data) if content_size is None else content_size)
    # Magic 0: the checksum takes in the four bytes of the frame's magic, which the LZ4 format leaves out.
    hashed = LZ4_MAGIC + descriptor if is_header_checksum_broken else descriptor
    computed_checksum = xxhash32(hashed) >> 8 & 0xFF
    frame = LZ4_MAGIC + descriptor + bytes([computed_checksum if header_checksum is None else header_checksum])

    for position, block in _lz4_blocks(data, block_size_code=block_size_code):
        dictionary = data[max(0, position - 64 * 1024) : position] if has_dependent_blocks else b""
        frame += _lz4_block(
            block, dictionary=dictionary, is_stored=is_stored, has_checksum=has_block_checksums, checksum=block_checksum
        )
    if has_end_mark:
        frame += bytes(4)
    if has_content_checksum:
        frame += struct.pack("<I", xxhash32(data) if content_checksum is None else content_checksum)
    return frame + trailing


def zstd_frames(
    data: bytes,
    *,
    frame_count: int = 1,
    level: int = 3,
    has_content_size: bool = False,
    has_checksum: bool = False,
    trailing: bytes = b"",
) -> bytes:
    """One or several Zstandard frames: without the content size (Java, librdkafka) or with it (Python clients)."""
    parts = _parts(data, count=frame_count)
    frames = [_zstd_frame(part, level=level, has_content_size=has_content_size, has_checksum=has_checksum) for part in parts]
    return b"".join(frames) + trailing


def _gzip_member(data: bytes, *, level: int) -> bytes:
    deflate = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
    # Magic, method (8 deflate), flags, modification time, extra flags, operating system.
    header = struct.pack("<2sBBIBB", b"\x1f\x8b", 8, 0, 0, 0, 255)  # as Java writes it since JDK 16
    trailer = struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)
    return header + deflate.compress(data) + deflate.flush() + trailer


def _lz4_blocks(data: bytes, *, block_size_code: int) -> list[tuple[int, bytes]]:
    # Outside 4 to 7 there is no size; such frames exist to be refused, whatever their blocks.
    size = 1 << (8 + 2 * min(max(block_size_code, 4), 7))
    return [(position, data[position : position + size]) for position in range(0, len(data), size)]


def _lz4_block(block: bytes, *, dictionary: bytes, is_stored: bool, has_checksum: bool, checksum: int | None) -> bytes:
    body = bytes(lz4.block.compress(block, store_size=False, dict=dictionary))
    size_field = len(body)
    if is_stored or len(body) >= len(block):
        body = block
        size_field = len(body) | 1 << 31
    framed = struct.pack("<I", size_field) + body
    if has_checksum:
        framed += struct.pack("<I", xxhash32(body) if checksum is None else checksum)
    return framed


def _zstd_frame(data: bytes, *, level: int, has_content_size: bool, has_checksum: bool) -> bytes:
    compressor = zstandard.ZstdCompressor(
        level=level, write_checksum=has_checksum, write_content_size=has_content_size, write_dict_id=False
    )
    if has_content_size:
        return compressor.compress(data)
    # Streaming: told the size, zstd would choose a smaller window than Kafka's clients do.
    stream = compressor.compressobj()
    return stream.compress(data) + stream.flush()


def _blocks(data: bytes, *, size: int) -> list[bytes]:
    return [data[position : position + size] for position in range(0, len(data), size)]


def _parts(data: bytes, *, count: int) -> list[bytes]:
    """`data` in `count` parts of about one size; the last ones may be empty."""
    size = -(-len(data) // count)
    return [data[row * size : (row + 1) * size] for row in range(count)]
