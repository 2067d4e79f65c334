"""Files under examination, as they are read where devices give all bytes, and where they do not."""

import errno
import os
import socket
import threading
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdump.binary.source import Source
from kdump.binary.tolerant_source import TolerantSource
from kdump.errors import Unreadable
from tests.support import HANG, opened


def _code_of(path: Path) -> str:
    with pytest.raises(Unreadable) as caught:
        Source(str(path))
    assert caught.value.path == str(path)
    return caught.value.code


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.log"
    path.write_bytes(bytes(range(100)))
    return path


@given(st.binary(max_size=50), st.integers(0, 60) | st.just(1 << 40), st.integers(0, 60))
def test_any_window_is_a_slice_of_the_file(data: bytes, position: int, count: int) -> None:
    found = data[position : position + count]
    with opened(data) as source:
        assert (source.size, source.read(position, count)) == (len(data), found)
        assert source.read_into(memoryview(bytearray(count)), position) == len(found)


def test_bytes_that_come_in_pieces_are_put_together(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole_pread = os.pread
    monkeypatch.setattr(os, "pread", lambda descriptor, count, position: whole_pread(descriptor, min(count, 7), position))
    with Source(str(file)) as source:
        assert source.read(10, 60) == bytes(range(10, 70))
        assert source.read(90, 60) == bytes(range(90, 100))


def test_what_is_no_file_that_can_be_read_is_refused_with_a_code_for_each_reason(file: Path, tmp_path: Path) -> None:
    (tmp_path / "nowhere.log").symlink_to(tmp_path / "none")
    (tmp_path / "circle.log").symlink_to(tmp_path / "circle.log")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        codes = {
            **dict.fromkeys(("none.log", "a.log/b.log", "nowhere.log"), "file-missing"),
            **dict.fromkeys(("circle.log", "socket"), "file-io-error"),
            "": "file-is-directory",
            "/dev/zero": "file-not-regular",
        }
        assert {name: _code_of(tmp_path / name) for name in codes} == codes
    (tmp_path / "link.log").symlink_to("a.log")
    with Source(str(tmp_path / "link.log")) as source:
        assert source.read(0, 3) == bytes(range(3))


def test_a_fifo_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "fifo.log"
    os.mkfifo(path)
    codes: list[str] = []
    thread = threading.Thread(target=lambda: codes.append(_code_of(path)), daemon=True)
    thread.start()
    thread.join(timeout=HANG)
    assert codes == ["file-not-regular"]


def test_a_refused_permission_is_reported_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "open", mock.Mock(side_effect=PermissionError(13, "Permission denied")))
    assert _code_of(tmp_path / "secret.log") == "file-permission"


def test_a_disk_that_fails_while_it_is_read_names_the_position(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Source(str(file)) as source:
        monkeypatch.setattr(os, "pread", mock.Mock(side_effect=OSError(5, "Input/output error")))
        with pytest.raises(Unreadable) as caught:
            source.read(64, 10)
    assert (caught.value.code, caught.value.position) == ("file-io-error", 64)
    assert str(caught.value) == f"{file}, byte 64: Input/output error"


@pytest.mark.parametrize(("position", "count"), [(0, 100), (0, 11), (50, 10), (99, 100)])
def test_a_file_truncated_while_it_is_read_is_unreadable_beyond_its_end(file: Path, position: int, count: int) -> None:
    with Source(str(file)) as source:
        os.truncate(file, 10)
        assert source.size == 100
        for read in (source.read, lambda at, size: source.read_into(memoryview(bytearray(size)), at)):
            with pytest.raises(Unreadable, match="was cut to 10 bytes while it was read") as caught:
                read(position, count)
            assert (caught.value.code, caught.value.position) == ("file-shrank", max(position, 10))
        assert source.read(0, 10) == bytes(range(10))


def test_a_file_that_grows_while_it_is_read_keeps_its_size(file: Path) -> None:
    with Source(str(file)) as source:
        with file.open("ab") as growing:
            growing.write(bytes(100))
        assert source.size == 100


def test_a_refused_file_leaves_no_descriptor_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(10):
        _code_of(tmp_path)
    assert len(os.listdir("/proc/self/fd")) == before


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
def device(tmp_path: Path) -> Path:
    path = tmp_path / "a.log"
    path.write_bytes(b"x" * (4 * BLOCK) + b"y" * 100)
    return path


def test_blocks_that_cannot_be_read_are_zeros_and_are_listed_once(device: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fail(monkeypatch, 1, 2)
    with TolerantSource(str(device)) as source:
        for _ in range(2):
            data = source.read(0, 1 << 20)
            assert data == b"x" * BLOCK + bytes(2 * BLOCK) + b"x" * BLOCK + b"y" * 100
            assert source.read(BLOCK, 10) == bytes(10)  # a part of what was found before
        assert source.bad_ranges == [(BLOCK, 3 * BLOCK)]
    with TolerantSource(str(device)) as source:
        buffer = bytearray(b"z" * 20)
        assert source.read_into(memoryview(buffer), BLOCK + 10) == 20
        assert buffer == bytes(20)
        assert source.bad_ranges == [(BLOCK + 10, BLOCK + 30)], "only the requested part"


def test_a_sound_device_has_no_bad_ranges(device: Path) -> None:
    with TolerantSource(str(device)) as source:
        assert source.read(4 * BLOCK, 1000) == b"y" * 100
        assert source.read(1 << 20, 10) == b""
        assert source.bad_ranges == []


def test_a_file_that_becomes_shorter_is_not_a_failing_device(device: Path) -> None:
    with TolerantSource(str(device)) as source:
        os.truncate(device, 10)
        with pytest.raises(Unreadable, match="was cut to 10 bytes") as caught:
            source.read(0, 100)
        assert (caught.value.code, source.bad_ranges) == ("file-shrank", [])


def test_a_read_that_gives_nothing_before_the_end_of_the_file_is_a_bad_range(
    device: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        os, "pread", lambda descriptor, count, position: PREAD(descriptor, max(0, min(count, BLOCK - position)), position)
    )
    with TolerantSource(str(device)) as source:
        assert source.read(0, 2 * BLOCK) == b"x" * BLOCK + bytes(BLOCK)
        assert source.bad_ranges == [(BLOCK, 2 * BLOCK)]
        buffer = bytearray(b"z" * 2 * BLOCK)
        monkeypatch.setattr(
            os, "preadv", lambda descriptor, into, position: min(BLOCK - position, PREADV(descriptor, into, position))
        )
        source.read_plainly(memoryview(buffer), 0)
        assert buffer == b"x" * BLOCK + bytes(BLOCK), "nothing that the caller had is left"
