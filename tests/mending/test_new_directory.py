"""A new directory appears when it is complete, or not at all, and what it is made from stays as it is."""

import _thread
import errno
import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from kdump.binary.source import Source
from kdump.errors import Unreadable, UsageError
from kdump.mending.inputs import Inputs
from kdump.mending.new.new_directory import NewDirectory
from kdump.mending.new.syncing import Syncing
from tests.loops import each
from tests.support import Patch


def test_a_directory_has_its_name_only_when_it_is_placed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with NewDirectory(str(out), []) as directory:
        directory.folder("a-0")
        directory.write("a-0/x", b"first")
        directory.write("a-0/x", b"one")
        directory.sync()
        assert not out.exists() and (tmp_path / "out.incomplete" / "a-0" / "x").read_bytes() == b"one"
        directory.place()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (out / "a-0" / "x").read_bytes() == b"one"


def test_nothing_stays_of_a_directory_that_is_not_placed(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), NewDirectory(str(tmp_path / "out"), []) as directory:
        directory.write("x", b"x")
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["out", "out.incomplete"])
def test_nothing_that_exists_is_overwritten(name: str, tmp_path: Path) -> None:
    (tmp_path / name).symlink_to("nowhere")
    with pytest.raises(UsageError, match=rf"{name} exists"):
        NewDirectory(str(tmp_path / "out"), [])
    assert (tmp_path / name).is_symlink()


def test_a_file_of_an_input_is_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"of the input")
    with NewDirectory(str(tmp_path / "out"), []) as directory:
        directory.link(str(tmp_path / "x"), "x")
        with pytest.raises(OSError, match="symbolic links"):
            directory.write("x", b"new")
    assert (tmp_path / "x").read_bytes() == b"of the input"


def test_what_took_the_name_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="exists by now"), NewDirectory(str(tmp_path / "out"), []) as directory:
        (tmp_path / "out").mkdir()
        directory.place()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("place", ["in/out", "in/deeper/out", "link/out", "in"])
def test_a_directory_is_not_made_inside_an_input(place: str, tmp_path: Path) -> None:
    (tmp_path / "in" / "deeper").mkdir(parents=True)
    (tmp_path / "link").symlink_to("in")
    with pytest.raises(UsageError, match=r"lies inside|exists"):
        NewDirectory(str(tmp_path / place), [str(tmp_path / "in")])
    assert NewDirectory(str(tmp_path / "in2"), [str(tmp_path / "in")]).built == str(tmp_path / "in2.incomplete")


def test_missing_directories_above_are_made_and_removed_again_without_a_result(tmp_path: Path) -> None:
    out = tmp_path / "new" / "deeper" / "out"
    with pytest.raises(KeyboardInterrupt), NewDirectory(str(out), []):
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())
    with NewDirectory(str(out), []) as directory:
        directory.write("x", b"x")
        directory.place()
    assert (out / "x").read_bytes() == b"x"


def test_what_came_into_a_directory_above_meanwhile_stays(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), NewDirectory(str(tmp_path / "a" / "b" / "out"), []):
        (tmp_path / "a" / "of-others").touch()
        raise KeyboardInterrupt
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["of-others"]


@pytest.mark.parametrize("above", ["file", "file/no", "link", "link/no"])
def test_what_is_above_must_be_a_directory_where_it_exists(above: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(UsageError, match=rf"{above.partition('/')[0]} is not a directory"):
        NewDirectory(str(tmp_path / above / "out"), [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


NO_ARCHIVE = "a directory, not an archive"
NAMES = {"": "empty", "-": "a directory, which cannot be written to stdout"}
NAMES |= dict.fromkeys(("out.tgz", "new/out.tar.gz", "OUT.ZIP"), NO_ARCHIVE)


@each("name, message", NAMES.items())
def test_a_name_must_be_that_of_a_directory(name: str, message: str, tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=message):
        NewDirectory(name, [])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("most", [None, 0, 1000])
@pytest.mark.parametrize("size", [0, 1, (3 << 20) + 1, 7000])
def test_a_file_has_all_bytes_however_few_are_taken(most: int | None, size: int, tmp_path: Path, monkeypatch: Patch) -> None:
    """Without `most`, it copies as much as it likes, with 0 nothing at all, and else up to N bytes."""
    write, copy = os.write, getattr(os, "copy_file_range", None)

    def some(source: int, target: int, count: int, position: int) -> int:
        if not most or copy is None:
            raise OSError(18, "Invalid cross-device link")
        return copy(source, target, min(count, most), position)  # type: ignore[no-any-return]

    if most is not None:
        monkeypatch.setattr(os, "copy_file_range", some, raising=False)
        monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[: 1 << 16]))
    data = os.urandom(size)
    (tmp_path / "x").write_bytes(data)
    with Source(str(tmp_path / "x")) as source, NewDirectory(str(tmp_path / "out"), []) as directory:
        directory.clone(source, "y")
        with directory.create("z") as file:
            file.copy(source, size // 2, size)
            file.write(data)
        assert file.size == size - size // 2 + size
        directory.place()
    assert (tmp_path / "out" / "y").read_bytes() == data
    assert (tmp_path / "out" / "z").read_bytes() == data[size // 2 :] + data


@pytest.mark.parametrize(
    ("change", "is_seen"),
    [
        (lambda path: path.read_bytes(), False),
        (lambda path: path.with_name("other").write_bytes(b"x"), True),
        (lambda path: path.rename(path.with_name("other")), True),
        (lambda path: path.unlink(), True),
        (lambda path: path.write_bytes(b"longer"), True),
        (lambda path: _rewrite(path, 5), True),
        (lambda path: _rewrite(path, 7, os.rename), True),
        (lambda path: path.parent.rename(path.parent.with_name("moved")), True),
    ],
)
def test_whatever_happens_to_an_input_is_seen(change: Callable[[Path], object], is_seen: bool, tmp_path: Path) -> None:
    path = tmp_path / "in" / "x"
    path.parent.mkdir()
    path.write_bytes(b"x")
    os.utime(path, ns=(0, 7))
    inputs = Inputs()
    inputs.note_directory(str(path.parent))
    with Source(str(path)) as source:
        inputs.note(source)
    change(path)
    with pytest.raises(Unreadable) if is_seen else nullcontext():
        inputs.require_unchanged()


def _rewrite(path: Path, time_ns: int, rename: Callable[[str, str], None] | None = None) -> None:
    """Write as many other bytes, or as many into another file of the same time."""
    if rename is not None:
        rename(str(path), str(path.parent.parent / "old"))
    path.write_bytes(b"y")
    os.utime(path, ns=(0, time_ns))


def test_a_file_that_shrinks_is_not_cloned(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(bytes(100))
    with Source(str(path)) as source, NewDirectory(str(tmp_path / "out"), []) as directory:
        os.truncate(path, 50)
        with pytest.raises(Unreadable) as caught:
            directory.clone(source, "x")
    assert caught.value.code == "file-shrank"


def test_a_disk_that_is_full_is_an_error_of_the_output(tmp_path: Path, monkeypatch: Patch) -> None:
    def full(*_arguments: object) -> int:
        raise OSError(28, "No space left on device")

    (tmp_path / "x").write_bytes(bytes(100))
    monkeypatch.setattr(os, "copy_file_range", full, raising=False)
    new = NewDirectory(str(tmp_path / "out"), [])
    with Source(str(tmp_path / "x")) as source, pytest.raises(OSError, match="No space"), new as directory:
        directory.clone(source, "x")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("has_threads", [True, False])
def test_all_files_are_synced_before_the_folders(has_threads: bool, tmp_path: Path, monkeypatch: Patch) -> None:
    synced: list[str] = []

    def note(descriptor: int) -> None:
        synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")))

    monkeypatch.setattr(os, "fsync", note)
    if not has_threads:
        monkeypatch.setattr(_thread, "start_new_thread", _cannot_start)
    with NewDirectory(str(tmp_path / "new" / "deeper" / "out"), []) as directory:
        directory.folder("a-0")
        names = [f"{row}.log" for row in range(40)]
        for name in names:
            directory.write(f"a-0/{name}", b"x")
        directory.sync()
        assert sorted(synced[:-2]) == sorted(names)
        assert synced[-2:] == ["a-0", "out.incomplete"]
        synced.clear()
        directory.place()
    assert synced == ["deeper", "new", tmp_path.name]  # the folders that hold a new name


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
def test_all_files_are_synced_once_and_closed(start: object, size: int, tmp_path: Path, monkeypatch: Patch) -> None:
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


@each("most, held, synced_at_once", [(4 * (40 + 16), 40, 41 - 16), (24, 16, 1)])
def test_small_files_are_synced_together_and_leave_most_descriptors_free(
    most: int, held: int, synced_at_once: int, tmp_path: Path, monkeypatch: Patch
) -> None:
    """Those that are not synced at once wait for the thread; where descriptors are few, no more wait than before."""
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    monkeypatch.setattr(_thread, "start_new_thread", _cannot_start)
    monkeypatch.setattr(os, "sysconf", {"SC_OPEN_MAX": most}.__getitem__)
    descriptors = _opened(tmp_path, held + 1)
    syncing = Syncing()
    for descriptor in descriptors[:held]:
        syncing.close(descriptor, 100)
    assert synced == []
    syncing.close(descriptors[held], 100)
    assert len(synced) == synced_at_once
    syncing.finish()
    assert sorted(synced) == descriptors


@pytest.mark.parametrize("size", [0, 1 << 20])
@pytest.mark.parametrize("name", ["fsync", "close"])
def test_what_syncing_or_closing_reports_is_raised(name: str, size: int, tmp_path: Path, monkeypatch: Patch) -> None:
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
