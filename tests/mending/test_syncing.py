"""Files that are synced by a thread, or without one."""

import _thread
import errno
import os
from pathlib import Path

import pytest

from kdump.mending.new.syncing import Syncing


def _opened(folder: Path, count: int) -> list[int]:
    return [os.open(folder / str(number), os.O_WRONLY | os.O_CREAT) for number in range(count)]


def _is_open(descriptor: int) -> bool:
    return os.path.exists(f"/proc/self/fd/{descriptor}") if os.path.exists("/proc/self/fd") else False


def _never_begins(_run: object, _arguments: object) -> int:
    return 0


def _cannot_start(_run: object, _arguments: object) -> int:
    raise RuntimeError("can't start new thread")


@pytest.mark.parametrize("size", [0, 1 << 20])
@pytest.mark.parametrize("start", [None, _never_begins, _cannot_start])
def test_all_files_are_synced_once_and_closed(start: object, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if start is not None:
        monkeypatch.setattr(_thread, "start_new_thread", start)
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    descriptors = _opened(tmp_path, 40)
    syncing = Syncing()
    syncing.start(descriptors[0])
    for descriptor in descriptors:
        syncing.close(descriptor, size)
    syncing.finish()
    assert len(synced) == 41 and set(descriptors) < set(synced)
    assert not any(map(_is_open, synced))


def test_small_files_are_synced_together_and_leave_most_descriptors_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    monkeypatch.setattr(_thread, "start_new_thread", _cannot_start)
    monkeypatch.setattr(os, "sysconf", {"SC_OPEN_MAX": 4 * (40 + 16)}.__getitem__)
    descriptors = _opened(tmp_path, 41)
    syncing = Syncing()
    for descriptor in descriptors[:40]:
        syncing.close(descriptor, 100)
    assert synced == []
    syncing.close(descriptors[40], 100)
    assert len(synced) == 41 - 16  # the others wait for the thread
    syncing.finish()
    assert sorted(synced) == descriptors


def test_small_files_are_not_held_where_descriptors_are_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    monkeypatch.setattr(_thread, "start_new_thread", _cannot_start)
    monkeypatch.setattr(os, "sysconf", {"SC_OPEN_MAX": 24}.__getitem__)
    syncing = Syncing()
    for descriptor in _opened(tmp_path, 17):
        syncing.close(descriptor, 100)
    assert len(synced) == 1  # no more wait than before
    syncing.finish()


@pytest.mark.parametrize("size", [0, 1 << 20])
@pytest.mark.parametrize("name", ["fsync", "close"])
def test_what_syncing_or_closing_reports_is_raised(name: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    descriptors = _opened(tmp_path, 2)
    do = getattr(os, name)

    def fails(descriptor: int) -> None:
        do(descriptor)
        if descriptor == descriptors[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    syncing = Syncing()
    monkeypatch.setattr(os, name, fails)
    with pytest.raises(OSError, match="No space left"):  # either call may be the one
        for descriptor in descriptors:
            syncing.close(descriptor, size)
        syncing.finish()
    syncing.finish()
