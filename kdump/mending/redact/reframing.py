"""Compresses redacted bytes into a payload that ends, or fails, as the one that they come from: with new frames around them.

Several payloads are tried; the one is taken that readers and checks cannot tell from the original. None holds a byte of it that
may be content.
"""

from __future__ import annotations

import zlib

from kdump.binary import codecs
from kdump.binary.codecs import lz4, snappy, zstd, zstd_frame
from kdump.binary.codecs.xxhash import xxhash32
from kdump.mending.redact.contents import FILLER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kdump.binary.codecs import Payload

_START_SIZES = {codecs.GZIP: 10, codecs.SNAPPY: 16, codecs.LZ4: 7, codecs.ZSTD: 6}
"""How many of the first bytes of a payload cannot be content if they look like a frame of its codec."""

_MOST_FRAMES = 100  # a payload may have millions, but more than one are more than one

_MOST_TRAILING = 4  # bytes; with fewer, a reader of snappy does not see another block

_GZIP_TRAILER_SIZE = 8
_EMPTY_DEFLATE_BLOCK = b"\0\0\0\xff\xff"
_BAD_DEFLATE_BLOCK = b"\x07"  # a last block of the kind that does not exist
_LZ4_DESCRIPTOR_AT, _LZ4_CONTENT_SIZE_SIZE = 4, 8
_LZ4_BLOCK_CHECKSUM, _LZ4_CONTENT_CHECKSUM = 0x10, 0x04  # bits of the flags
_BAD_SNAPPY_BLOCKS = (b"\x05\x01\x01", b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff\x0f")  # a copy of nothing; sizes forged
_BAD_SNAPPY_SIZES = (b"\xff\xff\xff\xfe", b"\x7f\xff\xff\xff")
_SNAPPY_HEADER_SIZE = 16
_ZSTD_HEADER = zstd_frame.MAGIC + b"\0\x58"  # a window, no content size, no checksum
_ZSTD_HUGE_WINDOW = zstd_frame.MAGIC + b"\0\xff"
_ZSTD_CHECKSUM = 0x04  # bit of the descriptor
_ZSTD_READ_SIZE = 512  # what is damaged takes with it what was read along with it
_EMPTY_ZSTD_BLOCK, _LAST_ZSTD_BLOCK, _BAD_ZSTD_BLOCK = b"\0\0\0", b"\1\0\0", b"\7\0\0"
_CUT_ZSTD_BLOCK = (1 << 16 << 3 | 2 << 1).to_bytes(3, "little")
_DAMAGED_ZSTD_BLOCK = (4 << 3 | 2 << 1 | 1).to_bytes(3, "little") + 4 * FILLER  # a compressed one that is not
_SOME = 12 * FILLER


def reframed(codec: int, payload: bytes, found: Payload, plain: bytes, magic: int, *, limit: int) -> bytes:
    """The bytes `plain` in frames that end or fail as those of `payload`, from which `found` was decompressed."""
    frames = codecs.inspect_frames(codec, payload)
    if found.error is None and frames.count == 1 and frames.end == len(payload) and not frames.is_raw:
        return codecs.compressed(codec, [plain], magic)
    wanted = _appearance(codec, payload, found)
    best: tuple[list[bool], bytes] = ([], b"")
    for candidate in _candidates(codec, payload, found, plain, magic):
        seen = _appearance(codec, candidate, codecs.decompress(codec, candidate, magic, limit=limit))
        if seen == wanted:
            return candidate
        best = max(best, ([one == other for one, other in zip(seen, wanted, strict=True)], candidate), key=lambda pair: pair[0])
    return best[1]


def _appearance(codec: int, payload: bytes, found: Payload) -> tuple[object, ...]:
    """What readers and checks see of a payload, in order of importance."""
    frames = codecs.inspect_frames(codec, payload)
    error = found.error
    return (
        None if error is None else error.code,
        error is not None and "claimed" in error.values,
        error is not None and "checksum" in error.message,
        codec == codecs.LZ4 and lz4.has_legacy_header(payload),
        frames.window > zstd_frame.MAX_WINDOW,
        frames.is_raw,
        len(found.data),
        bool(frames.count),
        min(len(payload) - frames.end, _MOST_TRAILING if codec == codecs.SNAPPY else 1),
        min(frames.count, _MOST_FRAMES),
        found.whole_blocks,
        None if error is None else error.values.get("cause"),
    )


def _candidates(codec: int, payload: bytes, found: Payload, plain: bytes, magic: int) -> Iterator[bytes]:
    frames = codecs.inspect_frames(codec, payload)
    is_framed = codecs.resembles(payload) == codecs.CODECS[codec]
    start = payload[: _START_SIZES[codec]] if is_framed else b""
    rest = FILLER * (len(payload) - len(start))
    if found.error is None or plain:
        trailing = FILLER * (len(payload) - frames.end if frames.count else 0)
        if frames.is_raw:
            yield snappy.raw_block(plain)
        whole = _in_frames(codec, plain, frames.count, magic)
        yield whole + trailing
        if trailing:
            yield whole + payload[frames.end : frames.end + 1] + trailing[1:]
        if trailing and codec == codecs.ZSTD:  # another frame begins, and its first block is cut off
            yield whole + (_ZSTD_HEADER + _CUT_ZSTD_BLOCK + trailing)[: len(trailing)]
    if found.error is not None:
        yield from _DAMAGED[codec](payload, found, plain, magic)
    yield start + rest
    yield rest + FILLER * len(start)


def _in_frames(codec: int, plain: bytes, count: int, magic: int) -> bytes:
    """The bytes in this number of frames, at least one; readers of LZ4 only see the first."""
    count = max(1, min(count, _MOST_FRAMES))
    sizes = [len(plain), *[0] * (count - 1)] if codec == codecs.LZ4 else _shares(len(plain), count)
    written, position = [], 0
    for size in sizes:
        written.append(codecs.compressed(codec, [plain[position : position + size]], magic))
        position += size
    return b"".join(written)


def _shares(size: int, count: int) -> list[int]:
    return [size * (row + 1) // count - size * row // count for row in range(count)]


# --- damage, by codec


def _damaged_gzip(payload: bytes, found: Payload, plain: bytes, magic: int) -> Iterator[bytes]:
    """Members before the damaged one hold what was read before it."""
    count = codecs.inspect_frames(codecs.GZIP, payload).count
    before = _in_frames(codecs.GZIP, plain[: found.whole_blocks], count, magic) if count else b""
    data = plain[found.whole_blocks :] if count else plain
    member = codecs.compressed(codecs.GZIP, [data], magic)
    deflater = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    header = member[: _START_SIZES[codecs.GZIP]]
    unfinished = header + deflater.compress(data) + deflater.flush(zlib.Z_SYNC_FLUSH)
    yield before + unfinished
    yield before + unfinished + 4 * _EMPTY_DEFLATE_BLOCK  # readers look for no member in a few bytes
    yield before + member[: -_GZIP_TRAILER_SIZE // 2]
    yield before + member[:-_GZIP_TRAILER_SIZE] + bytes(byte ^ 0xFF for byte in member[-_GZIP_TRAILER_SIZE:])
    yield before + unfinished + _BAD_DEFLATE_BLOCK + _SOME


def _damaged_lz4(payload: bytes, found: Payload, plain: bytes, magic: int) -> Iterator[bytes]:
    """The first frame, with or without its end; checksums where the original has them."""
    end_mark = bytes(4)
    written = codecs.compressed(codecs.LZ4, [plain], magic)
    yield written[: -len(end_mark)]
    bad = len(_SOME).to_bytes(4, "little") + _SOME
    yield written[: -len(end_mark)] + bad
    yield written[: -len(end_mark)] + bad + end_mark
    yield written[: -len(end_mark)] + (1 << 24).to_bytes(4, "little") + _SOME  # no block is so large
    flags = payload[_LZ4_DESCRIPTOR_AT : _LZ4_DESCRIPTOR_AT + 1]
    for flag in (_LZ4_BLOCK_CHECKSUM, _LZ4_CONTENT_CHECKSUM):
        if not flags or not flags[0] & flag:
            continue
        frame = _lz4_with_checksums(written, flag, magic)
        stored = (len(_SOME) | 0x80000000).to_bytes(4, "little") + _SOME
        if flag == _LZ4_BLOCK_CHECKSUM:
            yield frame + stored
            yield frame + stored + bytes(4)
            yield frame + stored + bytes(4) + end_mark
        yield frame + end_mark
    if flags:  # a header that is bad as a whole, with a content size, which may be content
        described = payload[_LZ4_DESCRIPTOR_AT : _LZ4_DESCRIPTOR_AT + 2] + _LZ4_CONTENT_SIZE_SIZE * FILLER
        legacy = lz4.header_checksum(lz4.MAGIC + described)
        wrong = lz4.header_checksum(described) ^ 0xFF
        for checksum in (legacy, wrong):
            yield lz4.MAGIC + described + bytes([checksum]) + _SOME


def _lz4_with_checksums(frame: bytes, flag: int, magic: int) -> bytes:
    """A frame of `codecs.compressed` with this flag, up to its end mark."""
    descriptor = bytes([frame[_LZ4_DESCRIPTOR_AT] | flag, frame[_LZ4_DESCRIPTOR_AT + 1]])
    hashed = descriptor if magic else lz4.MAGIC + descriptor
    written = [lz4.MAGIC, descriptor, bytes([lz4.header_checksum(hashed)])]
    position = _START_SIZES[codecs.LZ4]
    while size := int.from_bytes(frame[position : position + 4], "little") & 0x7FFFFFFF:
        block = frame[position + 4 : position + 4 + size]
        checksum = xxhash32(block).to_bytes(4, "little") if flag == _LZ4_BLOCK_CHECKSUM else b""
        written += [frame[position : position + 4], block, checksum]
        position += 4 + size
    return b"".join(written)


def _damaged_snappy(payload: bytes, found: Payload, plain: bytes, magic: int) -> Iterator[bytes]:
    """Blocks in xerial's framing, then one that fails."""
    written = codecs.compressed(codecs.SNAPPY, [plain], magic)
    trailing = min(len(payload) - codecs.inspect_frames(codecs.SNAPPY, payload).end, _MOST_TRAILING)
    yield written + (2 * len(_SOME)).to_bytes(4, "big") + _SOME  # reaches past the end
    for block in _BAD_SNAPPY_BLOCKS:
        yield written + len(block).to_bytes(4, "big") + block
        yield written + len(block).to_bytes(4, "big") + block + _SOME
        yield written + len(block).to_bytes(4, "big") + block + _SOME[:trailing]
        yield block + _SOME  # without framing
    for size in _BAD_SNAPPY_SIZES:
        yield written + size + _SOME
    yield written + snappy.MAGIC + FILLER
    yield written + snappy.MAGIC + bytes(_SNAPPY_HEADER_SIZE - len(snappy.MAGIC))


def _damaged_zstd(payload: bytes, found: Payload, plain: bytes, magic: int) -> Iterator[bytes]:
    """Whole frames hold what was read, or a damaged one at the end does."""
    count = codecs.inspect_frames(codecs.ZSTD, payload).count
    whole = _in_frames(codecs.ZSTD, plain, count, magic) if count else b""
    unfinished = _unfinished_zstd(b"" if count else plain, magic)
    yield whole + unfinished
    yield whole + _SOME
    yield whole + unfinished + _BAD_ZSTD_BLOCK
    yield _unfinished_zstd(plain, magic) + _BAD_ZSTD_BLOCK
    before = _in_frames(codecs.ZSTD, plain, count - 1, magic) if count > 1 else b""
    last = _unfinished_zstd(b"" if count > 1 else plain, magic)
    yield before + last + _DAMAGED_ZSTD_BLOCK
    yield before + last + _DAMAGED_ZSTD_BLOCK + _SOME
    yield before + _with_zstd_checksum(last) + _LAST_ZSTD_BLOCK + _SOME[: zstd_frame.CHECKSUM_SIZE]
    yield whole + _ZSTD_HUGE_WINDOW + _SOME


def _unfinished_zstd(plain: bytes, magic: int) -> bytes:
    """A frame without its last block, so long that what follows is not read along with it."""
    if not plain:
        return _ZSTD_HEADER
    frame = bytearray(zstd.compressed([plain], magic))
    position = at = zstd_frame.header_size(frame[zstd_frame.MAGIC_AND_DESCRIPTOR_SIZE - 1])
    while at < len(frame):
        position = at
        header = int.from_bytes(frame[at : at + zstd_frame.BLOCK_HEADER_SIZE], "little")
        at += zstd_frame.BLOCK_HEADER_SIZE + (1 if header >> 1 & 3 == zstd_frame.RUN_BLOCK else header >> 3)
    frame[position] &= ~1  # of the last block
    missing = -len(frame) % _ZSTD_READ_SIZE
    return bytes(frame) + _EMPTY_ZSTD_BLOCK * -(-missing // len(_EMPTY_ZSTD_BLOCK))


def _with_zstd_checksum(frame: bytes) -> bytes:
    """A frame whose header says that a checksum comes at the end."""
    at = zstd_frame.MAGIC_AND_DESCRIPTOR_SIZE - 1
    return frame[:at] + bytes([frame[at] | _ZSTD_CHECKSUM]) + frame[at + 1 :]


_DAMAGED: dict[int, Callable[[bytes, Payload, bytes, int], Iterator[bytes]]] = {
    codecs.GZIP: _damaged_gzip,
    codecs.SNAPPY: _damaged_snappy,
    codecs.LZ4: _damaged_lz4,
    codecs.ZSTD: _damaged_zstd,
}
