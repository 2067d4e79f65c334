"""What compressed payloads look like from outside: their frames, what follows them, what sizes they claim."""

from __future__ import annotations

import zlib

from kdump.binary.codecs import GZIP, LZ4, SNAPPY, ZSTD
from kdump.binary.compression import xxhash32

_GZIP_MAGIC = b"\x1f\x8b"
_LZ4_MAGIC = b"\x04\x22\x4d\x18"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_XERIAL_MAGIC = b"\x82SNAPPY\0"
_XERIAL_HEADER_SIZE = 16
_ZSTD_BLOCK_RLE = 1  # one byte, however often it is repeated
_OUTPUT = 1 << 20

MAX_WINDOW = 1 << 27
"""Kafka's zstd opens no frame with a larger window."""


class Frames:
    """`count` frames (members, streams) of one codec; the first `end` bytes of the payload are theirs.

    `is_raw` is true for snappy without the framing of Java's clients. `window` is the largest that a zstd frame asks for.
    """

    __slots__ = ("count", "end", "is_raw", "window")

    def __init__(self, count: int, end: int, *, is_raw: bool = False, window: int = 0) -> None:
        self.count = count
        self.end = end
        self.is_raw = is_raw
        self.window = window


def look(codec: int, payload: bytes) -> Frames:
    """The frames of a payload, as far as they are whole."""
    return _LOOKS[codec](payload)


def resembles(payload: bytes) -> str | None:
    """The codec whose frames begin as these bytes do, if one can be told."""
    for magic, name in ((_GZIP_MAGIC, "gzip"), (_LZ4_MAGIC, "lz4"), (_ZSTD_MAGIC, "zstd"), (_XERIAL_MAGIC, "snappy")):
        if payload.startswith(magic):
            return name
    return None


def has_legacy_lz4_header(payload: bytes) -> bool:
    """Whether the checksum of an LZ4 header takes in the frame's magic, as that of clients before magic 1 did (KIP-57)."""
    if not payload.startswith(_LZ4_MAGIC) or len(payload) < 7:
        return False
    end = 14 if payload[4] & 0x08 else 6
    if end >= len(payload):
        return False
    stored = payload[end]
    return stored != xxhash32(payload[4:end]) >> 8 & 0xFF and stored == xxhash32(payload[:end]) >> 8 & 0xFF


def _gzip(payload: bytes) -> Frames:
    count = position = 0
    while payload.startswith(_GZIP_MAGIC, position):
        inflater = zlib.decompressobj(16 + zlib.MAX_WBITS)
        pending = payload[position:]
        try:
            while pending and not inflater.eof:
                inflater.decompress(pending, _OUTPUT)
                pending = inflater.unconsumed_tail
        except zlib.error:
            break
        if not inflater.eof:
            break
        count += 1
        position = len(payload) - len(inflater.unused_data)
    return Frames(count, position)


def _snappy(payload: bytes) -> Frames:
    if len(payload) < _XERIAL_HEADER_SIZE or not payload.startswith(_XERIAL_MAGIC):
        return Frames(1, len(payload), is_raw=True)
    count, position = 1, _XERIAL_HEADER_SIZE
    while position + 4 <= len(payload):
        if payload.startswith(_XERIAL_MAGIC, position) and position + _XERIAL_HEADER_SIZE <= len(payload):
            count += 1
            position += _XERIAL_HEADER_SIZE
            continue
        size = int.from_bytes(payload[position : position + 4], "big", signed=True)
        if size < 0 or position + 4 + size > len(payload):
            break
        position += 4 + size
    return Frames(count, position)


def _lz4(payload: bytes) -> Frames:
    count = position = 0
    while payload.startswith(_LZ4_MAGIC, position) and position + 7 <= len(payload):
        flags = payload[position + 4]
        at = position + (15 if flags & 0x08 else 7)
        while True:
            size = int.from_bytes(payload[at : at + 4], "little") & 0x7FFFFFFF
            at += 4
            if not size or at > len(payload):
                break
            at += size + (4 if flags & 0x10 else 0)
        at += 4 if flags & 0x04 else 0
        if at > len(payload):
            break
        count += 1
        position = at
    return Frames(count, position)


def _zstd(payload: bytes) -> Frames:
    count = position = window = 0
    while position < len(payload):
        end, frame_window = _zstd_frame(payload, position)
        window = max(window, frame_window)
        if not end:
            break
        count += 1
        position = end
    return Frames(count, position, window=window)


def _zstd_frame(payload: bytes, start: int) -> tuple[int, int]:
    """Where the frame that starts here ends, 0 if it is none or not whole, and the window it asks for (RFC 8878)."""
    if not payload.startswith(_ZSTD_MAGIC, start) or start + 6 > len(payload):
        return 0, 0
    descriptor = payload[start + 4]
    is_single_segment = descriptor & 0x20
    content_size_size = (1 if is_single_segment else 0, 2, 4, 8)[descriptor >> 6]
    position = start + 5
    window = 0
    if not is_single_segment:
        base = 1 << (10 + (payload[position] >> 3))
        window = base + (base >> 3) * (payload[position] & 7)
        position += 1
    position += (0, 1, 2, 4)[descriptor & 3]  # the id of a dictionary
    if is_single_segment:
        window = int.from_bytes(payload[position : position + content_size_size], "little")
    position += content_size_size
    is_last = 0
    while not is_last:
        if position + 3 > len(payload):
            return 0, window
        header = int.from_bytes(payload[position : position + 3], "little")
        is_last = header & 1
        position += 3 + (1 if header >> 1 & 3 == _ZSTD_BLOCK_RLE else header >> 3)
    position += 4 if descriptor & 4 else 0  # a checksum
    return (position if position <= len(payload) else 0), window


_LOOKS = {GZIP: _gzip, SNAPPY: _snappy, LZ4: _lz4, ZSTD: _zstd}
