"""Files on devices with errors."""

import errno
import os
from pathlib import Path

import pytest

from kdump.binary.tolerant_source import TolerantSource
from kdump.errors import Unreadable

BLOCK = 4096
PREAD, PREADV = os.pread, os.preadv


def _fail(monkeypatch: pytest.MonkeyPatch, *blocks: int) -> None:
    """Reads that start in one of these blocks fail, others end before the first of them."""

    def pread(descriptor: int, count: int, position: int) -> bytes:
        for block in blocks:
            start = block * BLOCK
            if start <= position < start + BLOCK:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            if position < start < position + count:
                count = start - position
        return PREAD(descriptor, count, position)

    monkeypatch.setattr(os, "pread", pread)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.log"
    path.write_bytes(b"x" * (4 * BLOCK) + b"y" * 100)
    return path


def test_blocks_that_cannot_be_read_are_zeros_and_are_listed_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fail(monkeypatch, 1, 2)
    with TolerantSource(str(file)) as source:
        for _ in range(2):
            data = source.read(0, 1 << 20)
            assert data == b"x" * BLOCK + bytes(2 * BLOCK) + b"x" * BLOCK + b"y" * 100
            assert source.read(BLOCK, 10) == bytes(10)  # a part of what was found before
        assert source.bad_ranges == [(BLOCK, 3 * BLOCK)]
    with TolerantSource(str(file)) as source:
        buffer = bytearray(b"z" * 20)
        assert source.read_into(memoryview(buffer), BLOCK + 10) == 20
        assert buffer == bytes(20)
        assert source.bad_ranges == [(BLOCK + 10, BLOCK + 30)], "only the requested part"


def test_a_sound_device_has_no_bad_ranges(file: Path) -> None:
    with TolerantSource(str(file)) as source:
        assert source.read(4 * BLOCK, 1000) == b"y" * 100
        assert source.read(1 << 20, 10) == b""
        assert source.bad_ranges == []


def test_a_file_that_becomes_shorter_is_not_a_failing_device(file: Path) -> None:
    with TolerantSource(str(file)) as source:
        os.truncate(file, 10)
        with pytest.raises(Unreadable, match="was cut to 10 bytes") as caught:
            source.read(0, 100)
        assert (caught.value.code, source.bad_ranges) == ("file-shrank", [])


def test_a_read_that_gives_nothing_before_the_end_of_the_file_is_a_bad_range(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        os, "pread", lambda descriptor, count, position: PREAD(descriptor, max(0, min(count, BLOCK - position)), position)
    )
    with TolerantSource(str(file)) as source:
        assert source.read(0, 2 * BLOCK) == b"x" * BLOCK + bytes(BLOCK)
        assert source.bad_ranges == [(BLOCK, 2 * BLOCK)]
        buffer = bytearray(b"z" * 2 * BLOCK)
        monkeypatch.setattr(
            os, "preadv", lambda descriptor, into, position: min(BLOCK - position, PREADV(descriptor, into, position))
        )
        source.read_plainly(memoryview(buffer), 0)
        assert buffer == b"x" * BLOCK + bytes(BLOCK), "nothing that the caller had is left"
