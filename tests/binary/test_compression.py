"""Compressed payloads: what Kafka accepts, what it refuses, and bounds for all that is hostile."""

import gzip
import random
import struct
import tracemalloc
import zlib
from collections.abc import Callable
from functools import partial
from unittest import mock

import pytest
import snappy
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from kdump.binary.codecs import (
    CODECS,
    GZIP,
    LZ4,
    SNAPPY,
    ZSTD,
    BatchDecompressor,
    LongPayload,
    Payload,
    decompress,
    inspect_frames,
    lz4,
    opened,
    resembles,
    zstd_frame,
)
from kdump.binary.codecs.quirks import CodecQuirks
from kdump.errors import CorruptData
from tests.builders.compression import (
    LZ4_MAGIC,
    XERIAL_MAGIC,
    Codec,
    compress,
    gzip_members,
    lz4_frame,
    snappy_raw,
    snappy_xerial,
    zstd_frames,
)
from tests.builders.records import varint
from tests.loops import each, examples

pytestmark = pytest.mark.both_kernels

_NO_MEMORY = {
    GZIP: (zlib, "decompressobj", zlib.error("Error -4 while decompressing data")),
    SNAPPY: (snappy, "uncompress", MemoryError()),
    ZSTD: (zstandard, "ZstdDecompressor", zstandard.ZstdError("zstd decompressor error: Allocation error : not enough memory")),
}


@pytest.mark.parametrize("codec", _NO_MEMORY, ids=["gzip", "snappy", "zstd"])
def test_a_codec_without_memory_does_not_blame_the_payload(codec: int, monkeypatch: pytest.MonkeyPatch) -> None:
    compressed = {GZIP: gzip.compress(TEXT), SNAPPY: snappy_xerial(TEXT), ZSTD: zstandard.compress(NOISE)}[codec]
    module, name, error = _NO_MEMORY[codec]
    fails = mock.Mock(side_effect=error)
    if codec == ZSTD:
        fails = mock.Mock(**{"return_value.decompressobj.return_value": mock.Mock(eof=False, decompress=fails)})
    elif codec == GZIP:
        fails = mock.Mock(return_value=mock.Mock(eof=False, decompress=fails))
    monkeypatch.setattr(module, name, fails)
    with pytest.raises(MemoryError):
        decompress(codec, compressed, 2)


TEXT = b"the quick brown fox jumps over the lazy dog " * 40
NOISE = random.Random(1).randbytes(100_000)
CODES = {
    *("frame-bad-header", "frame-damaged", "frame-truncated", "frame-ends-early", "frame-checksum-mismatch"),
    *("frame-block-size", "frame-block-too-large", "frame-first-block-size", "frame-negative-size", "frame-checksum-cut"),
    "decompression-limit",
}
COMPRESSING: list[Codec] = ["gzip", "snappy", "lz4", "zstd"]


def _code(payload: Payload | LongPayload) -> str:
    return "" if payload.error is None else payload.error.code


def _said(payload: Payload) -> tuple[str, str]:
    """The code and the message of the error of a payload."""
    assert payload.error is not None
    return payload.error.code, payload.error.message


def _read(codec: int, compressed: bytes, magic: int = 2) -> bytes:
    payload = decompress(codec, compressed, magic)
    assert payload.error is None
    return bytes(payload.data)


# --- all codecs


@each("codec", COMPRESSING)
@each("magic", [0, 1, 2])
@each("data", [b"a", TEXT, bytes(300_000), NOISE], ids=["a", "text", "zeros", "noise"])
def test_what_a_java_client_compresses_comes_out_again(codec: Codec, magic: int, data: bytes) -> None:
    assert _read(CODECS.index(codec), compress(data, codec=codec, magic=magic), magic) == data


@given(
    st.binary(min_size=1, max_size=3000),
    st.sampled_from(
        [
            *((GZIP, one) for one in (partial(gzip_members, member_count=3), partial(gzip_members, level=0), gzip.compress)),
            *((SNAPPY, one) for one in (partial(snappy_xerial, block_size=100), snappy_raw)),
            (SNAPPY, partial(snappy_xerial, block_size=100, is_header_repeated=True)),
            *((LZ4, partial(lz4_frame, has_content_size=True)), (LZ4, partial(lz4_frame, has_block_checksums=True))),
            (LZ4, partial(lz4_frame, has_content_checksum=True)),
            *((LZ4, partial(lz4_frame, is_stored=True)), (LZ4, partial(lz4_frame, block_size_code=7))),
            *((ZSTD, partial(zstd_frames, frame_count=3)), (ZSTD, partial(zstd_frames, level=19))),
            (ZSTD, partial(zstd_frames, has_content_size=True, has_checksum=True)),
        ]
    ),
)
def test_any_bytes_come_out_of_every_framing(data: bytes, framing: tuple[int, Callable[[bytes], bytes]]) -> None:
    codec, compressor = framing
    assert _read(codec, compressor(data)) == data


@st.composite
def _mutated(draw: st.DrawFn) -> tuple[int, bytes, int]:
    codec = draw(st.sampled_from(COMPRESSING))
    magic = draw(st.sampled_from([0, 1, 2]))
    data = draw(st.sampled_from([b"a", TEXT, bytes(20_000), NOISE[:3000]]) | st.binary(max_size=500))
    compressed = bytearray(compress(data, codec=codec, magic=magic))
    for _ in range(draw(st.integers(1, 4))):
        if compressed:
            # headers deserve more damage than what follows
            place = draw(st.integers(0, min(30, len(compressed) - 1)) | st.integers(0, len(compressed) - 1))
            compressed[place] = draw(st.integers(0, 255))
    if draw(st.booleans()):
        del compressed[draw(st.integers(0, len(compressed))) :]
    return CODECS.index(codec), bytes(compressed), magic


@given(_mutated())
def test_any_damage_gives_data_or_an_error_and_nothing_else(mutated: tuple[int, bytes, int]) -> None:
    payload = decompress(*mutated, limit=1 << 20)
    assert _code(payload) in {"", *CODES}
    assert payload.whole_blocks <= len(payload.data) <= (1 << 20) + (16 << 10)


@given(st.sampled_from([GZIP, SNAPPY, LZ4, ZSTD]), st.binary(max_size=100), st.sampled_from([0, 1, 2]))
def test_any_bytes_as_compressed_give_data_or_an_error(codec: int, compressed: bytes, magic: int) -> None:
    assert _code(decompress(codec, compressed, magic, limit=1 << 20)) in {"", *CODES}


@given(st.lists(_mutated(), min_size=1, max_size=3))
def test_what_is_decompressed_whole_is_sound_and_the_same(mutated: list[tuple[int, bytes, int]]) -> None:
    whole = BatchDecompressor(1 << 20)  # one for all, as for a log
    for codec, compressed, _ in mutated:
        data = whole.decompress(codec, memoryview(compressed))
        if data is not None:
            payload = decompress(codec, compressed, 2, limit=1 << 20)
            assert (_code(payload), bytes(payload.data)) == ("", bytes(data))


@each("codec", COMPRESSING)
@each("data", [b"ab", TEXT, bytes(200_000), NOISE * 8], ids=["ab", "text", "zeros", "noise"])
def test_what_a_java_client_compresses_is_decompressed_whole(codec: Codec, data: bytes) -> None:
    compressed = compress(data, codec=codec)
    whole = BatchDecompressor(1 << 20)
    for _ in range(2):
        found = whole.decompress(CODECS.index(codec), compressed)
        assert found is not None
        assert bytes(found) == data
    assert BatchDecompressor(len(data) - 1).decompress(CODECS.index(codec), compressed) is None


@each("data", [b"a", b"ab", TEXT, bytes(200_000), NOISE * 8], ids=["a", "ab", "text", "zeros", "noise"])
def test_a_raw_block_of_snappy_is_decompressed_whole(data: bytes) -> None:
    """As clients in other languages write it."""
    compressed = snappy_raw(data)
    found = BatchDecompressor(1 << 20).decompress(SNAPPY, compressed)
    assert found is not None
    assert bytes(found) == data == _read(SNAPPY, compressed)
    assert BatchDecompressor(1 << 20, takes_raw_blocks=False).decompress(SNAPPY, compressed) is None
    if len(data) > 1:
        assert BatchDecompressor(len(data) - 1).decompress(SNAPPY, compressed) is None


@each("compressed", [b"", b"\0", snappy_raw(TEXT)[:-1], snappy_raw(TEXT) + b"\0", snappy_raw(bytes(130))])
def test_what_is_no_raw_block_of_snappy_for_all_releases_is_not_decompressed_whole(compressed: bytes) -> None:
    """A block of 130 bytes starts as the framing does."""
    found = BatchDecompressor(1 << 20).decompress(SNAPPY, compressed)
    assert found is None or not found and compressed == b"\0"


@each(
    "compressed",
    [
        gzip_members(TEXT, member_count=2),
        gzip_members(TEXT, trailing=b"more"),
        lz4_frame(b"", block_size_code=4)[:7] + lz4_frame(NOISE, block_size_code=5, is_stored=True)[7:],
        *(lz4_frame(TEXT, trailing=b"more"), lz4_frame(TEXT, has_end_mark=False), lz4_frame(TEXT, has_block_checksums=True)),
        *(lz4_frame(TEXT, header_checksum=1), lz4_frame(TEXT)[:-5]),
    ],
)
def test_a_frame_that_is_not_plain_is_not_decompressed_whole(compressed: bytes) -> None:
    whole = BatchDecompressor(1 << 20)
    codec, plain = (LZ4, lz4_frame(TEXT)) if compressed.startswith(lz4.MAGIC) else (GZIP, gzip_members(TEXT))
    assert whole.decompress(codec, plain) == TEXT  # a frame that begins as it does was plain
    assert whole.decompress(codec, compressed) is None
    assert whole.decompress(codec, plain) == TEXT


@each("codec", COMPRESSING)
def test_a_stream_cut_anywhere_keeps_what_is_before_the_cut(codec: Codec) -> None:
    data = NOISE[:70_000]
    compressed = compress(data, codec=codec)
    for size in [0, 1, 5, 6, 7, 10, 15, 16, 17, 20, 1000, 33_000, 66_000, len(compressed) - 1]:
        payload = decompress(CODECS.index(codec), compressed[:size], 2)
        assert data.startswith(payload.data)
        if size not in (0, 16, 17) or codec not in ("snappy", "zstd"):
            assert payload.error is not None, size


@each(
    ("codec", "whole"),
    [
        (GZIP, gzip_members(TEXT, member_count=3)),
        (SNAPPY, snappy_xerial(TEXT) + snappy_xerial(NOISE) + snappy_xerial(b"")),
        (LZ4, lz4_frame(TEXT) + lz4_frame(NOISE, has_content_size=True, has_block_checksums=True) + lz4_frame(TEXT)),
        (LZ4, lz4_frame(TEXT, has_content_checksum=True) * 3),
        (ZSTD, zstd_frames(TEXT, frame_count=2) + zstd_frames(NOISE, has_content_size=True, has_checksum=True)),
    ],
)
def test_frames_are_counted_up_to_the_first_that_is_not_whole(codec: int, whole: bytes) -> None:
    for payload, count in ((whole, 3), (whole + b"rest", 3), (whole * 2, 6)):
        found = inspect_frames(codec, payload)
        assert (found.count, found.end, found.is_raw) == (count, len(whole) * count // 3, False)
    assert inspect_frames(codec, whole[:-1]).count == 2
    assert (resembles(whole), resembles(whole[:1] + b"?" * 20)) == (CODECS[codec], None)


def test_a_raw_block_of_snappy_and_the_window_of_a_zstd_frame_are_told() -> None:
    whole = snappy_xerial(TEXT) * 3
    assert (inspect_frames(SNAPPY, whole).end, inspect_frames(SNAPPY, whole).count) == (len(whole), 3)
    raw = inspect_frames(SNAPPY, snappy_raw(TEXT))
    assert (raw.count, raw.end, raw.is_raw) == (1, len(snappy_raw(TEXT)), True)
    assert inspect_frames(ZSTD, zstd_frames(NOISE, has_content_size=True)).window == len(NOISE)


def _stored(size: int) -> bytes:
    """A gzip stream with N bytes in a stored block, before what is no block."""
    block = b"\x00" + struct.pack("<HH", size, size ^ 0xFFFF) + NOISE[:size]
    return gzip_members(b"")[:10] + block + b"\x07" + bytes(50)


def _changed(compressed: bytes, place: int) -> bytes:
    changed = bytearray(compressed)
    changed[place] ^= 1
    return bytes(changed)


_GZIP_PARTS = b"\x1f\x8b\x08\x1e" + bytes(6) + b"\x03\x00abc" + b"name\x00" + b"comment\x00"
_GZIP_HEADER = _GZIP_PARTS + (zlib.crc32(_GZIP_PARTS) & 0xFFFF).to_bytes(2, "little")
_OF_VERSION_0 = snappy_xerial(TEXT, version=0, compatible_version=-1)
_OF_4_GIB = b"\xff\xff\xff\xff\x0f" + b"\x00a"  # a block of snappy, as it says
_EXTRA_FIELD = b"\x1f\x8b\x08\4" + bytes(6) + b"\3\0abc" + gzip_members(TEXT)[10:]
_SKIPPABLE = b"\x50\x2a\x4d\x18" + struct.pack("<I", 3) + b"abc"


@each(
    ("codec", "compressed", "code", "data"),
    [
        (GZIP, gzip_members(TEXT, member_count=3), "", TEXT),
        (GZIP, gzip_members(TEXT, trailing=b"garbage"), "", TEXT),
        (GZIP, gzip_members(TEXT, trailing=b"garbage" * 10), "", TEXT),
        (GZIP, _EXTRA_FIELD, "", TEXT),
        # Java looks for a member in more than 26 bytes, those of the trailer among them
        (GZIP, gzip_members(TEXT, trailing=gzip_members(b"")[:10] + bytes(8)), "", TEXT),
        (GZIP, gzip_members(TEXT, trailing=gzip_members(b"")[:10] + bytes(9)), "frame-damaged", TEXT),
        (GZIP, gzip_members(TEXT, has_trailer=False), "frame-ends-early", TEXT),
        (GZIP, _changed(gzip_members(TEXT), -8), "frame-checksum-mismatch", TEXT),  # the checksum
        (GZIP, _changed(gzip_members(TEXT), -1), "frame-checksum-mismatch", TEXT),  # the size
        (GZIP, _GZIP_HEADER + gzip_members(TEXT)[10:], "", TEXT),
        (GZIP, _stored(1000), "frame-damaged", NOISE[:1000]),  # the very last byte before the damage is there
        (GZIP, _stored(8192 - 15), "frame-damaged", NOISE[: 8192 - 15]),  # up to a border of the pieces that are read
        (SNAPPY, snappy_raw(TEXT), "", TEXT),
        (SNAPPY, snappy_xerial(TEXT, block_size=1024), "", TEXT),  # as old producers write it
        (SNAPPY, snappy_xerial(TEXT) + snappy_xerial(NOISE), "", TEXT + NOISE),
        (SNAPPY, b"", "frame-bad-header", b""),
        (SNAPPY, b"\x05\xff\xff\xff", "frame-bad-header", b""),
        (SNAPPY, _OF_VERSION_0, "", TEXT),  # versions are examined in further headers only
        (SNAPPY, snappy_xerial(NOISE) + _OF_VERSION_0, "frame-damaged", NOISE),
        (SNAPPY, snappy_xerial(NOISE) + snappy_xerial(TEXT, version=7, compatible_version=-1), "", NOISE + TEXT),
        (SNAPPY, _OF_4_GIB, "frame-bad-header", b""),
        (SNAPPY, XERIAL_MAGIC + struct.pack(">iii", 1, 1, len(_OF_4_GIB)) + _OF_4_GIB, "frame-negative-size", b""),
        (SNAPPY, snappy_xerial(TEXT) + struct.pack(">i", -1), "frame-block-size", TEXT),
        (SNAPPY, snappy_xerial(TEXT) + struct.pack(">i", 0x7FFFFFFF), "frame-block-too-large", TEXT),
        (SNAPPY, snappy_xerial(TEXT) + struct.pack(">i", 7) + _OF_4_GIB, "frame-damaged", TEXT),  # a first one may not be so
        (SNAPPY, snappy_xerial(TEXT) + struct.pack(">i", 5) + b"abcd", "frame-truncated", TEXT),
        (SNAPPY, snappy_xerial(TEXT) + struct.pack(">i", 4) + b"\x0a\xff\xff\xff", "frame-damaged", TEXT),
        (SNAPPY, snappy_xerial(TEXT) + XERIAL_MAGIC, "frame-damaged", TEXT),
        (LZ4, lz4_frame(TEXT, trailing=b"garbage"), "", TEXT),
        (LZ4, lz4_frame(TEXT) + lz4_frame(NOISE), "", TEXT),
        (LZ4, lz4_frame(TEXT, has_content_size=True, content_size=7), "", TEXT),
        (LZ4, lz4_frame(TEXT, has_content_checksum=True, content_checksum=7), "", TEXT),  # not checked, but must be there
        (LZ4, lz4_frame(TEXT, has_content_checksum=True)[:-1], "frame-checksum-cut", TEXT),
        (LZ4, lz4_frame(TEXT, has_block_checksums=True, block_checksum=7), "frame-checksum-mismatch", b""),
        (LZ4, lz4_frame(TEXT, has_end_mark=False), "frame-truncated", TEXT),
        (LZ4, lz4_frame(b"", block_size_code=4)[:7] + lz4_frame(bytes(100_000), block_size_code=5)[7:], "frame-damaged", b""),
        (ZSTD, zstd_frames(TEXT, frame_count=3), "", TEXT),
        (ZSTD, zstd_frames(TEXT, trailing=b"garbage"), "frame-damaged", TEXT),
        (ZSTD, _changed(zstd_frames(TEXT, has_checksum=True), -1), "frame-damaged", None),
        (ZSTD, b"\x28\xb5\x2f\xfd\x00" + bytes([30 << 3]) + b"\x01\x00\x00", "frame-damaged", b""),  # a window of a TiB
        (ZSTD, b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", 1 << 60) + b"\x09\x00\x00a", "frame-damaged", b""),
        (ZSTD, _SKIPPABLE + zstd_frames(TEXT), "", TEXT),
    ],
    quick=40,
)
def test_a_payload_is_read_up_to_what_is_wrong_in_it(codec: int, compressed: bytes, code: str, data: bytes | None) -> None:
    payload = decompress(codec, compressed, 2)
    assert _code(payload) == code
    assert data is None or bytes(payload.data) == data
    if compressed == _stored(1000):
        assert payload.whole_blocks == 0  # Kafka loses what the read that fails had decoded
    again = opened(codec, compressed, 2, max_held=0)  # which is decompressed for each reading
    whole = b"".join(map(bytes, again.pieces(again.size)))
    assert (whole, again.whole_blocks, _code(again)) == (bytes(payload.data), payload.whole_blocks, code)


# --- gzip


@each(
    ("codec", "compressed", "message"),
    [
        *((GZIP, data, "the gzip header is cut off") for data in (b"", b"\x1f", b"\x1f\x8b\x08\x00")),
        (GZIP, b"PK" + bytes(20), "Not in GZIP format"),
        (GZIP, b"\x1f\x8b\x07" + bytes(20), "Unsupported compression method"),
        (GZIP, b"\x1f\x8b\x08\x02" + bytes(20), "Corrupt GZIP header"),
        (GZIP, b"\x1f\x8b\x08\x04" + bytes(6) + b"\xff\xff" + bytes(9), "the gzip header is cut off"),
        (GZIP, b"\x1f\x8b\x08\x08" + bytes(6) + b"name without end", "the gzip header is cut off"),
        (LZ4, LZ4_MAGIC, "Stream ended prematurely"),
        (LZ4, b"\x05" + lz4_frame(TEXT)[1:], "Stream unsupported (invalid magic bytes)"),
        (LZ4, lz4_frame(TEXT, flags=0x62), "Reserved bits must be 0"),
        (LZ4, lz4_frame(TEXT, flags=0x61), "Reserved bits must be 0"),
        (LZ4, lz4_frame(TEXT, has_dependent_blocks=True), "Dependent block stream is unsupported"),
        (LZ4, lz4_frame(TEXT, flags=0xA0), "Version 2 is unsupported"),
        (LZ4, lz4_frame(TEXT, block_size_code=3), "Block size value must be between 4 and 7"),
        (LZ4, lz4_frame(TEXT, has_content_size=True)[:10], "Stream ended prematurely"),
    ],
)
def test_a_header_that_kafka_does_not_take_is_refused(codec: int, compressed: bytes, message: str) -> None:
    assert _said(decompress(codec, compressed, 2)) == ("frame-bad-header", message)


# --- snappy


OF_0_9 = CodecQuirks(lz4_is_padded=True, lz4_is_plain=True, xerial="one stream")
OF_0_10_0_0 = CodecQuirks(lz4_is_padded=True, lz4_is_plain=False, xerial="any header")
OF_0_10_2_2 = CodecQuirks(lz4_is_padded=False, lz4_is_plain=False, xerial="streams")


def test_0_9_takes_one_snappy_stream_of_a_known_version() -> None:
    of_two, after_none = (snappy_xerial(first) + snappy_xerial(then) for first, then in ((TEXT, NOISE), (b"", TEXT)))
    assert _code(decompress(SNAPPY, snappy_xerial(TEXT), 0, quirks=OF_0_9)) == ""
    assert _code(decompress(SNAPPY, snappy_xerial(TEXT, version=0), 0, quirks=OF_0_9)) == "frame-bad-header"
    payload = decompress(SNAPPY, of_two, 0, quirks=OF_0_9)
    assert (_code(payload), bytes(payload.data)) == ("frame-block-size", TEXT)
    payload = decompress(SNAPPY, after_none, 0, quirks=OF_0_9)
    assert (_code(payload), payload.error and payload.error.values["size"]) == ("frame-first-block-size", -2108469695)


def test_0_10_0_0_takes_no_bytes_of_a_block_that_are_not_there() -> None:
    cut = lz4_frame(TEXT)[:-6]  # the end of the frame, and two bytes of its block
    for quirks in (OF_0_10_0_0, OF_0_10_2_2):
        payload = decompress(LZ4, cut, 1, quirks=quirks)
        assert (_code(payload), payload.data) == ("frame-truncated", b"")


def test_0_10_0_0_takes_any_snappy_header_that_begins_with_the_right_byte() -> None:
    odd = b"\x82snappy." + bytes(8) + snappy_xerial(TEXT)[16:]
    assert bytes(decompress(SNAPPY, odd, 1, quirks=OF_0_10_0_0).data) == TEXT
    assert [_code(decompress(SNAPPY, odd, 1, quirks=later)) for later in (OF_0_10_2_2, None)] == ["frame-bad-header"] * 2


@each(
    ("flags", "message"),
    [
        *((0x61, "Preset dictionary is unsupported"), (0x62, "Reserved1 field must be 0")),
        *((0x6C, "Content checksum is unsupported"), (0x68, "Content size is unsupported")),
        *((0x40, "Dependent block stream is unsupported"), (0xA0, "Version 2 is unsupported")),
    ],
)
def test_0_9_refuses_what_the_header_of_an_lz4_frame_may_ask_for(flags: int, message: str) -> None:
    payload = decompress(LZ4, lz4_frame(TEXT, flags=flags, is_header_checksum_broken=True), 0, quirks=OF_0_9)
    assert _said(payload) == ("frame-bad-header", message)


def test_0_9_wants_the_header_checksum_of_early_writers() -> None:
    early, right = lz4_frame(TEXT, is_header_checksum_broken=True), lz4_frame(TEXT)
    assert bytes(decompress(LZ4, early, 0, quirks=OF_0_9).data) == TEXT
    assert _code(decompress(LZ4, right, 0, quirks=OF_0_9)) == "frame-bad-header"
    assert bytes(decompress(LZ4, right, 1, quirks=OF_0_10_0_0).data) == TEXT
    assert _code(decompress(LZ4, early, 1, quirks=OF_0_10_0_0)) == "frame-bad-header"


def test_before_0_10_2_2_what_is_missing_of_a_number_in_an_lz4_frame_is_taken_for_set_bits() -> None:
    without_checksum = lz4_frame(TEXT, has_content_checksum=True)[:-4]
    assert _code(decompress(LZ4, without_checksum, 1, quirks=OF_0_10_0_0)) == ""
    assert _code(decompress(LZ4, without_checksum, 1, quirks=OF_0_10_2_2)) == "frame-checksum-cut"
    of_6_bytes = lz4_frame(TEXT)[:6]
    assert _code(decompress(LZ4, of_6_bytes, 0, quirks=OF_0_10_0_0)) == "frame-damaged"
    assert _code(decompress(LZ4, of_6_bytes, 0, quirks=OF_0_10_2_2)) == "frame-bad-header"


# --- lz4


def test_the_broken_lz4_header_checksum_of_magic_0_is_accepted_in_magic_0_only_and_the_right_one_in_all() -> None:
    broken = lz4_frame(TEXT, is_header_checksum_broken=True)
    assert _read(LZ4, broken, 0) == _read(LZ4, lz4_frame(TEXT), 0) == TEXT
    for magic in (1, 2):
        assert _said(decompress(LZ4, broken, magic)) == ("frame-bad-header", "Stream frame descriptor corrupted")


def test_an_lz4_block_larger_than_its_frame_allows_is_refused() -> None:
    header = lz4_frame(b"")[:7]
    payload = decompress(LZ4, header + struct.pack("<I", 65_537) + bytes(65_537), 2)
    assert _said(payload)[1] == "Block size 65537 exceeded max: 65536"


# --- zstd


OF_3_4 = CodecQuirks(zstd_wants_whole_magic=True)
OF_2_7 = CodecQuirks(zstd_by_record=True, zstd_wants_whole_magic=True)
OF_2_6 = CodecQuirks(zstd_by_record=True, zstd_wants_whole_blocks=True, zstd_wants_whole_magic=True)
OF_2_4 = CodecQuirks(zstd_by_record=True, zstd_loses_last_read=True, zstd_wants_whole_blocks=True, zstd_wants_whole_magic=True)
OF_2_2 = CodecQuirks(
    zstd_by_record=True,
    zstd_starts_anew=True,
    zstd_loses_last_read=True,
    zstd_wants_whole_blocks=True,
    zstd_trusts_block_sizes=True,
    zstd_wants_whole_magic=True,
)
OLD_ZSTD = [OF_3_4, OF_2_7, OF_2_6, OF_2_4, OF_2_2]
ZSTD_FRAME_HEADER = b"\x28\xb5\x2f\xfd\x00\x00"  # no content size, no checksum, a window of 1 KiB
RECORD = zstd_frames(b"\x08abcd")  # a length of 4, and as many bytes


def _zstd_read_by(old: CodecQuirks | None, compressed: bytes) -> tuple[str, bytes]:
    payload = decompress(ZSTD, compressed, 2, quirks=old)
    return _code(payload), bytes(payload.data)


SECOND, THIRD = zstd_frames(b"\x08efgh"), zstd_frames(b"\x08ijkl")
IN_READS = RECORD + zstd_frames(b"\x08") + zstd_frames(b"efgh")
CUT_FIRST = ZSTD_FRAME_HEADER + b"\x28\0\0\x08abcd" + b"\x21\0\0"
HALF = RECORD + ZSTD_FRAME_HEADER + b"\x18\0\0\x08ef" + b"\x21\0\0g"  # blocks of 3 plain bytes, and of 1 of 4
OF_1025_BYTES = RECORD + ZSTD_FRAME_HEADER + b"\x0c\x20\0" + b"junk"  # a compressed block of more than its window


@each(
    ("what", "old", "compressed", "code", "data"),
    [
        # The length is a read; with it goes the second frame, but for its last byte, which no frame begins with.
        ("before 2.3 they start again with each read", OF_2_2, RECORD + SECOND, "", b"\x08abcd\x08"),
        ("from 2.3 on they go on", OF_2_4, RECORD + SECOND, "", b"\x08abcd\x08efgh"),
        ("they trip over a frame without its start", OF_2_2, RECORD + SECOND + THIRD, "frame-damaged", b"\x08abcd\x08"),
        ("they find a frame where a read ends", OF_2_2, IN_READS, "", b"\x08abcd\x08efgh"),
        ("of a cut frame after another 2.7 has all", OF_2_7, HALF, "", b"\x08abcd\x08efg"),
        ("2.6 has whole blocks", OF_2_6, HALF, "", b"\x08abcd\x08ef"),
        ("2.4 loses the last read", OF_2_4, HALF, "", b"\x08abcd\x08"),
        ("2.4 looks at the size of a cut block", OF_2_4, OF_1025_BYTES, "frame-damaged", b"\x08abcd"),
        ("before 2.4 they do not", OF_2_2, OF_1025_BYTES, "", b"\x08abcd"),
        *(("a first frame that is cut is an error", old, CUT_FIRST, "frame-truncated", b"\x08abcd") for old in OLD_ZSTD[1:]),
        ("since 3.5 they see a few bytes after a frame", None, RECORD + b"junk", "frame-damaged", b"\x08abcd"),
        *(("before 3.5 they do not", old, RECORD + b"junk", "", b"\x08abcd") for old in OLD_ZSTD),
        *(("but they see five", old, RECORD + b"junky", "frame-damaged", b"\x08abcd") for old in OLD_ZSTD),
        *(("and they see what stands alone", old, b"junk", "frame-truncated", b"") for old in OLD_ZSTD),
        *(("they read a sound frame as all do", old, zstd_frames(NOISE, has_checksum=True), "", NOISE) for old in OLD_ZSTD),
    ],
    quick=30,
)
def test_old_readers_read_more_or_less_of_zstd_frames(
    what: str, old: CodecQuirks | None, compressed: bytes, code: str, data: bytes
) -> None:
    assert _zstd_read_by(old, compressed) == (code, data)


@each("old", [OF_3_4, OF_2_7, OF_2_6, OF_2_4])
def test_later_readers_follow_zstd_frames_from_a_block_of_input_to_the_next(old: CodecQuirks) -> None:
    records = b"".join(varint(len(NOISE)) + NOISE for _ in range(4))
    for frame_count in (2, 3, 7):
        frames = zstd_frames(records, frame_count=frame_count, has_checksum=frame_count == 3)
        assert _zstd_read_by(old, frames) == ("", records)


@each(
    ("sizes", "code"),
    [  # as the tool of 2.3.1 does: its buffer has room for 2064 bytes, and is filled again where fewer than 1024 are left
        *(((2064,), ""), ((2065,), "frame-damaged"), ((1040, 1025), "frame-damaged"), ((1041, 1025), ""))
    ],
)
def test_readers_before_2_4_take_zstd_blocks_larger_than_the_window(sizes: tuple[int, ...], code: str) -> None:
    lasts = [*[False] * (len(sizes) - 1), True]
    blocks = b"".join((size << 3 | last).to_bytes(3, "little") + bytes(size) for size, last in zip(sizes, lasts, strict=True))
    payload = decompress(ZSTD, ZSTD_FRAME_HEADER + blocks, 2, quirks=OF_2_2)
    assert _code(payload) == code
    assert code or bytes(payload.data) == bytes(sum(sizes))
    assert _code(decompress(ZSTD, ZSTD_FRAME_HEADER + blocks, 2, quirks=OF_2_4)) == "frame-damaged"


def test_a_forged_length_of_a_record_does_not_take_an_old_reader_of_zstd_beyond_its_limit() -> None:
    bomb = zstd_frames(b"\xfe\xff\xff\xff\x0f" + bytes(4 << 20)) + RECORD
    assert _code(decompress(ZSTD, bomb, 2, limit=1 << 20, quirks=OF_2_7)) == "decompression-limit"


# --- bombs

SMALL = 1 << 20


def _lz4_bomb(size: int) -> bytes:
    frame = lz4_frame(bytes(4 << 20), block_size_code=7, has_end_mark=False)
    return frame[:7] + frame[7:] * (size >> 22) + bytes(4)


def _snappy_bomb(size: int) -> bytes:
    block = snappy_raw(bytes(32 << 10))
    framed = struct.pack(">i", len(block)) + block
    return XERIAL_MAGIC + struct.pack(">ii", 1, 1) + framed * (size >> 15)


def _gzip_bomb(size: int) -> bytes:
    deflate = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(deflate.compress(bytes(1 << 20)) for _ in range(size >> 20)) + deflate.flush()


_ZSTD = zstandard.ZstdCompressor(level=1, write_content_size=False)
BOMBS = [(GZIP, _gzip_bomb), (SNAPPY, _snappy_bomb), (LZ4, _lz4_bomb), (ZSTD, lambda size: _ZSTD.compress(bytes(size)))]


@each(("codec", "bomb"), BOMBS, ids=CODECS[1:])
def test_a_bomb_ends_at_the_limit(codec: int, bomb: Callable[[int], bytes]) -> None:
    payload = decompress(codec, bomb(64 << 20), 2, limit=SMALL)
    assert _code(payload) == "decompression-limit"
    assert len(payload.data) <= SMALL


def test_a_payload_of_just_the_limit_is_whole() -> None:
    for codec in COMPRESSING:
        compressed = compress(bytes(SMALL), codec=codec)
        assert _code(decompress(CODECS.index(codec), compressed, 2, limit=SMALL)) == ""
        assert _code(decompress(CODECS.index(codec), compressed, 2, limit=SMALL - 1)) == "decompression-limit"
    payload = decompress(SNAPPY, snappy_raw(bytes(16 << 20)), 2, limit=SMALL)
    assert _code(payload) in ("decompression-limit", "frame-bad-header")
    assert not payload.data


# --- the result


def test_a_payload_keeps_its_salvage_after_its_whole_blocks() -> None:
    payload = Payload(bytearray(b"abc"), CorruptData("frame-damaged", "damaged", salvaged=b"de"))
    assert (bytes(payload.data), payload.whole_blocks) == (b"abcde", 3)
    assert payload.error is not None and "salvaged" not in payload.error.values


@examples(200)
@given(st.randoms(use_true_random=False))
def test_small_snappy_blocks_give_at_once_what_they_give_one_by_one(chance: random.Random) -> None:
    parts = []
    for _ in range(chance.choice((1, 3, 200))):
        data = chance.randbytes(chance.choice((0, 1, 2, 59, 60, 61, 62, chance.randrange(300))))
        block = snappy.compress(data if chance.random() < 0.8 else bytes(len(data)))
        parts.append(len(block).to_bytes(4, "big") + block)
    payload = bytearray(XERIAL_MAGIC + b"\0\0\0\1\0\0\0\1" + b"".join(parts))
    if chance.random() < 0.5:
        payload[chance.randrange(16, len(payload))] ^= 1 << chance.randrange(8)
    if chance.random() < 0.3:
        del payload[chance.randrange(17, len(payload)) :]
    one_by_one = decompress(SNAPPY, bytes(payload), 2)
    at_once = BatchDecompressor(chance.choice((100, 1 << 20))).decompress(SNAPPY, bytes(payload))
    assert at_once is None or one_by_one.error is None and at_once == one_by_one.data


@pytest.mark.slow
@each("count", [1, 4095, 4096, 30_000])
def test_many_small_blocks_of_an_lz4_frame_take_the_memory_of_their_bytes(count: int) -> None:
    contents = bytes(number & 0xFF for number in range(2 * count))
    blocks = [b"\1\0\0\0" + contents[at : at + 1] for at in range(0, len(contents), 2)]
    frame = memoryview(b"".join(blocks) + bytes(4))
    tracemalloc.start()
    try:
        joined = lz4.joined_blocks(frame, 0, 4, 0, len(contents), lambda block, _most: bytes([block[0], block[0] + 1]))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert joined == contents
    assert peak < 4 * len(contents) + (1 << 19)


@each("size", [0, 255, 256, 65_791, 65_792, 200_000])
@each("has_checksum", [True, False])
def test_the_sizes_of_a_zstd_frame_are_what_was_written(size: int, has_checksum: bool) -> None:
    written = zstandard.ZstdCompressor(write_content_size=True, write_checksum=has_checksum).compress(bytes(size))
    assert zstd_frame.sizes(written) == zstd_frame.sizes(written + b"more") == (len(written), size)
    assert zstd_frame.sizes(written[:-1]) == (0, size)
    assert zstd_frame.sizes(b"") == zstd_frame.sizes(b"zstd...") == (0, -1)
    stream = zstandard.ZstdCompressor().compressobj()
    unsized = stream.compress(bytes(size)) + stream.flush()
    assert zstd_frame.sizes(unsized) == (len(unsized), -1 if size else 0)


def test_blocks_that_are_too_large_and_second_members_are_not_decompressed_whole() -> None:
    """A reader that goes block by block refuses the one, and puts the payload of the other together."""
    whole = BatchDecompressor(1 << 20)
    header = lz4_frame(b"")[:7]
    for size in (65_536, 65_537):
        frame = header + struct.pack("<I", 1 << 31 | size) + bytes(size) + bytes(4)
        assert whole.decompress(LZ4, frame) == (bytes(size) if size <= 65_536 else None)
    assert whole.decompress(GZIP, compress(TEXT, codec="gzip") * 2) is None
