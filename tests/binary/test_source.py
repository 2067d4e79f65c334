"""A file as windows of bytes: opened only for reading, and never trusted to be a file."""

import os
import socket
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdump.binary.source import Source
from kdump.errors import Unreadable
from tests.support import HANG, opened


def _code_of(path: Path) -> str:
    with pytest.raises(Unreadable) as caught:
        Source(str(path))
    assert caught.value.path == str(path)
    return caught.value.code


def test_a_file_is_read_by_position(tmp_path: Path) -> None:
    path = tmp_path / "five.log"
    path.write_bytes(b"abcde")
    with Source(str(path)) as source:
        assert source.size == 5
        assert source.read(1, 3) == b"bcd"
        assert source.read(0, 5) == b"abcde"


def test_only_at_the_end_of_the_file_are_there_fewer_bytes(tmp_path: Path) -> None:
    path = tmp_path / "five.log"
    path.write_bytes(b"abcde")
    with Source(str(path)) as source:
        assert source.read(3, 100) == b"de"
        assert source.read(5, 1) == b""
        assert source.read(1 << 40, 1) == b""


@given(st.binary(max_size=50), st.integers(0, 60), st.integers(0, 60))
def test_any_window_is_a_slice_of_the_file(data: bytes, position: int, count: int) -> None:
    with opened(data) as source:
        assert source.read(position, count) == data[position : position + count]


def test_bytes_that_come_in_pieces_are_put_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(bytes(range(100)))
    whole_pread = os.pread
    monkeypatch.setattr(os, "pread", lambda descriptor, count, position: whole_pread(descriptor, min(count, 7), position))
    with Source(str(path)) as source:
        assert source.read(10, 60) == bytes(range(10, 70))
        assert source.read(90, 60) == bytes(range(90, 100))


def test_a_missing_file_is_missing(tmp_path: Path) -> None:
    assert _code_of(tmp_path / "none.log") == "file-missing"


def test_a_file_below_a_file_is_missing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert _code_of(tmp_path / "file" / "a.log") == "file-missing"


def test_a_link_to_nowhere_is_missing_and_a_circle_of_links_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "nowhere.log").symlink_to(tmp_path / "none")
    (tmp_path / "circle.log").symlink_to(tmp_path / "circle.log")
    assert _code_of(tmp_path / "nowhere.log") == "file-missing"
    assert _code_of(tmp_path / "circle.log") == "file-io-error"


def test_a_link_to_a_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"abc")
    (tmp_path / "link.log").symlink_to("a.log")
    with Source(str(tmp_path / "link.log")) as source:
        assert source.read(0, 3) == b"abc"


def test_a_directory_is_reported_apart(tmp_path: Path) -> None:
    assert _code_of(tmp_path) == "file-is-directory"


def test_a_fifo_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "fifo.log"
    os.mkfifo(path)
    codes: list[str] = []
    thread = threading.Thread(target=lambda: codes.append(_code_of(path)), daemon=True)
    thread.start()
    thread.join(timeout=HANG)
    assert codes == ["file-not-regular"]


def test_a_device_and_a_socket_are_refused(tmp_path: Path) -> None:
    assert _code_of(Path("/dev/zero")) == "file-not-regular"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        assert _code_of(tmp_path / "socket") == "file-io-error"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_reported_apart(tmp_path: Path) -> None:
    path = tmp_path / "secret.log"
    path.touch(mode=0)
    assert _code_of(path) == "file-permission"


def test_a_refused_permission_is_reported_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    assert _code_of(tmp_path / "secret.log") == "file-permission"


def test_a_disk_that_fails_while_it_is_read_names_the_position(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(bytes(100))

    def fail(*_arguments: object) -> bytes:
        raise OSError(5, "Input/output error")

    with Source(str(path)) as source:
        monkeypatch.setattr(os, "pread", fail)
        with pytest.raises(Unreadable) as caught:
            source.read(64, 10)
    assert (caught.value.code, caught.value.position) == ("file-io-error", 64)
    assert str(caught.value) == f"{path}, byte 64: Input/output error"


@pytest.mark.parametrize(("position", "count"), [(0, 100), (0, 11), (50, 10), (99, 100)])
def test_a_file_truncated_while_it_is_read_is_unreadable_beyond_its_end(tmp_path: Path, position: int, count: int) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(bytes(100))
    with Source(str(path)) as source:
        os.truncate(path, 10)
        assert source.size == 100
        for read in (source.read, lambda at, size: source.read_into(memoryview(bytearray(size)), at)):
            with pytest.raises(Unreadable, match="was cut to 10 bytes while it was read") as caught:
                read(position, count)
            assert caught.value.code == "file-shrank"
        assert source.read(0, 10) == bytes(10)


def test_reading_past_the_end_of_a_file_gives_what_there_is(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"0123456789")
    with Source(str(path)) as source:
        assert source.read(4, 100) == b"456789"
        assert source.read(10, 5) == source.read(50, 5) == b""
        assert source.read_into(memoryview(bytearray(20)), 4) == 6


def test_a_file_that_grows_while_it_is_read_keeps_its_size(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(bytes(100))
    with Source(str(path)) as source:
        with path.open("ab") as file:
            file.write(bytes(100))
        assert source.size == 100


def test_a_refused_file_leaves_no_descriptor_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(10):
        _code_of(tmp_path)
    assert len(os.listdir("/proc/self/fd")) == before
