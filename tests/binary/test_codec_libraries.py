"""The libraries of lz4 and zstd that serve where their usual packages are missing give the same, whatever the payload is."""

import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdump.binary import codecs
from kdump.binary.codecs import LZ4, ZSTD, lz4_library, zstd_frame, zstd_library
from kdump.binary.codecs.quirks import CodecQuirks
from kdump.errors import CorruptData, MissingPackage
from tests.builders.compression import compress, lz4_frame, zstd_frames
from tests.loops import each, examples
from tests.support import without_packages

pytestmark = pytest.mark.both_kernels

TEXT = b"the quick brown fox jumps over the lazy dog " * 40
NOISE = random.Random(1).randbytes(100_000)
CONTENTS = [b"", b"a", TEXT, bytes(300_000), NOISE, TEXT * 50 + NOISE]


def _other_libraries() -> AbstractContextManager[None]:
    """As where the packages lz4 and zstandard are missing."""
    return without_packages("lz4", "zstandard")


def _payload(codec: int, payload: bytes, limit: int, quirks: CodecQuirks | None = None) -> tuple[bytes, str, int]:
    """What a payload gives, block by block; the error; and how much of it a reader of whole blocks has."""
    opened = codecs.decompress(codec, payload, 2, limit=limit, quirks=quirks)
    return bytes(opened.data), str(opened.error), opened.whole_blocks


def _whole(codec: int, payload: bytes, limit: int) -> bytes | None:
    data = codecs.BatchDecompressor(limit).decompress(codec, payload)
    return None if data is None else bytes(data)


def _all(codec: int, payload: bytes, limit: int = 1 << 20) -> list[Any]:
    old = CodecQuirks(zstd_by_record=True, zstd_loses_last_read=True, zstd_trusts_block_sizes=True)
    return [_whole(codec, payload, limit), _payload(codec, payload, limit), _payload(codec, payload, limit, old)]


def test_the_usual_packages_are_used_where_they_are_there_and_others_where_they_are_not() -> None:
    def used() -> tuple[type, type]:
        return type(zstd_library.library()), type(lz4_library.library())

    assert used() == (zstd_library.OfZstandard, lz4_library.OfLz4)
    with _other_libraries():
        assert used() == (zstd_library.OfPython, lz4_library.OfCramjam)


def test_without_any_the_usual_package_is_missing() -> None:
    with without_packages("lz4", "zstandard", "cramjam", "zstd of Python"):
        for codec, name in ((LZ4, "lz4"), (ZSTD, "zstandard")):
            with pytest.raises(MissingPackage, match=f'payloads need the package "{name}"'):
                codecs.decompress(codec, compress(TEXT, codec="lz4" if codec == LZ4 else "zstd"), 2)


@each("codec", [LZ4, ZSTD])
@each("data", CONTENTS, ids=["nothing", "a", "text", "zeros", "noise", "both"])
def test_sound_payloads_give_the_same_and_what_the_others_compress_comes_out_again(codec: int, data: bytes) -> None:
    payload = compress(data, codec="lz4" if codec == LZ4 else "zstd")
    expected = _all(codec, payload)
    assert expected[1] == (data, "None", len(data))
    with _other_libraries():
        assert _all(codec, payload) == expected
        written = codecs.compressed(codec, [data[:100], data[100:]], 2)
    assert _payload(codec, written, 1 << 20) == (data, "None", len(data))
    if codec == ZSTD and data:
        assert written == codecs.compressed(codec, [data[:100], data[100:]], 2)


_FRAMES: dict[int, list[Callable[[bytes], bytes]]] = {
    LZ4: [lambda data: compress(data, codec="lz4"), lz4_frame, lambda data: lz4_frame(data, has_block_checksums=True)],
    ZSTD: [
        lambda data: compress(data, codec="zstd"),
        lambda data: zstd_frames(data, has_checksum=True),
        lambda data: zstd_frames(data, frame_count=3),
    ],
}


@examples(300)
@given(st.randoms(use_true_random=False))
def test_damaged_payloads_give_the_same(chance: random.Random) -> None:
    codec = chance.choice([LZ4, ZSTD])
    data = chance.choice([TEXT[:60], TEXT, NOISE[:3000], TEXT * 3 + NOISE[:2000] + bytes(70_000)])
    payload = bytearray(chance.choice(_FRAMES[codec])(data))
    for _ in range(chance.randint(1, 4)):
        payload[chance.randrange(len(payload))] = chance.randrange(256)
    if chance.random() < 0.3:
        del payload[chance.randrange(len(payload)) :]
    limit = chance.choice([100, 1 << 20])
    expected = _all(codec, bytes(payload), limit)
    with _other_libraries():
        assert _all(codec, bytes(payload), limit) == expected


def _single_segment(content_size: int, *blocks: tuple[int, int]) -> bytes:
    """A frame of runs of one byte: the sizes of its blocks, and whether it is the last."""
    runs = [(size << 3 | zstd_frame.RUN_BLOCK << 1 | is_last).to_bytes(3, "little") + b"a" for size, is_last in blocks]
    return zstd_frame.MAGIC + b"\xa0" + content_size.to_bytes(4, "little") + b"".join(runs)


_BLOCK = zstd_frame.MAX_BLOCK_SIZE
_WINDOW_OF_256_MIB = zstd_frame.MAGIC + b"\0" + bytes([18 << 3])
_ONE_BYTE = (1 << 3 | zstd_frame.RUN_BLOCK << 1 | 1).to_bytes(3, "little") + b"a"


@each(
    ("frame", "message"),
    [
        (_WINDOW_OF_256_MIB + _ONE_BYTE, "Frame requires too much memory for decoding"),
        (_single_segment(140 << 20, *[(_BLOCK, 0)] * 1119, (_BLOCK, 1)), "Frame requires too much memory for decoding"),
        (_single_segment(0, (5, 1)), "Data corruption detected"),
        (compress(b"", codec="zstd")[:-1], "Truncated source"),
    ],
    ids=["window", "content", "not-empty", "cut"],
)
def test_frames_that_zstd_refuses_are_not_decompressed_whole_by_either(frame: bytes, message: str) -> None:
    """The library does not look at the window where it knows how much a frame holds and gets room for all of it."""

    def check() -> None:
        assert codecs.BatchDecompressor(1 << 28).decompress(ZSTD, frame) is None
        with pytest.raises(CorruptData, match=message):
            b"".join(codecs.decompressed(ZSTD, frame, 2))

    check()
    with _other_libraries():
        check()


def test_a_damaged_block_of_lz4_has_no_size_before_it() -> None:
    """cramjam looks for one, where it is asked for a block."""
    block = b"\x8be\x00\x00fe13g3\xd0"
    with _other_libraries():
        library = lz4_library.library()
        with pytest.raises(library.errors):
            library.decompress(block, 1 << 18)
