"""What the system is asked, and what is made of its failures."""

import errno
import os
from glob import glob
from pathlib import Path
from unittest import mock

import pytest

from kdump.binary import exchange, system
from kdump.errors import Unreadable
from tests.support import let_fail

PATTERNS = (
    *("*", "*.log", "a*/*.log", "*/b/*", "*/", "?/b*", "[ab]/x.log", ".*", "*/.h*", "a/b/../*", "./a/*", "none/*", "*/none"),
    *("link/*", "**/x.log"),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("a/x.log", "a/b/y.log", "b/x.log", "x.log", ".hidden/x.log", "a/.h", "a/b/z"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "dangling.log").symlink_to("nowhere")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_match_as_those_of_glob(folder: Path, pattern: str) -> None:
    assert system.matching(pattern) == sorted(glob(pattern))
    assert system.matching(f"{folder}/{pattern}") == sorted(glob(f"{folder}/{pattern}"))


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("{a,b}/x.log", ["a/x.log", "b/x.log"]),
        ("{a/b,b}/*.log", ["a/b/y.log", "b/x.log"]),
        ("{a,{b,link}}/{x,y}.log", ["a/x.log", "b/x.log", "link/x.log"]),
        *(("{,a/}x.log", ["a/x.log", "x.log"]), ("{x,*}.log", ["dangling.log", "x.log"]), ("{nowhere,gone}/x.log", [])),
    ],
)
def test_braces_in_patterns_are_alternatives(folder: Path, pattern: str, found: list[str]) -> None:
    """As in a shell, and in the paths of Spark's own formats."""
    assert system.has_magic(pattern)
    assert system.matching(pattern) == found
    assert system.matching(f"{folder}/{pattern}") == [f"{folder}/{one}" for one in found]


@pytest.mark.parametrize("name", ["{a}", "{}", "a}b{c", "{a,b", "a,b}"])
def test_other_braces_are_those_of_names(folder: Path, name: str) -> None:
    (folder / f"{name}.log").touch()
    assert not system.has_magic(name)
    assert system.matching(f"{name}.*") == [f"{name}.log"]


def test_a_directory_that_cannot_be_listed_is_not_taken_for_an_empty_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    let_fail(monkeypatch, "listdir", "a")
    with pytest.raises(Unreadable, match="a: Input/output error"):
        system.matching("*/*.log")
    assert system.matching("b/*.log") == ["b/x.log"]


def test_a_directory_that_vanishes_matches_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "listdir", lambda path: os.scandir(f"{path}/gone"))
    assert system.matching("a/*") == []


@pytest.mark.parametrize(("number", "is_answer"), [(errno.ENOENT, True), (errno.EACCES, True), (errno.EIO, False)])
def test_a_lock_that_cannot_be_opened_is_not_taken_for_none(
    folder: Path, number: int, is_answer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "open", mock.Mock(side_effect=OSError(number, os.strerror(number))))
    if is_answer:
        assert system.is_locked("a/.lock") is False
        return
    with pytest.raises(Unreadable, match="Input/output error"):
        system.is_locked("a/.lock")


def test_an_exchange_that_fails_leaves_both_directories(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "_exchanged", lambda *_: False)
    before = sorted(map(str, folder.rglob("*")))
    let_fail(monkeypatch, "rename", "a")
    with pytest.raises(OSError, match="Input/output"):
        exchange.exchange("a", "b")
    assert sorted(map(str, folder.rglob("*"))) == before


def test_two_directories_change_their_names(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for one_step in (True, False):
        if not one_step:
            monkeypatch.setattr(exchange, "_exchanged", lambda *_: False)
        before = [sorted(os.listdir(name)) for name in ("a", "b")]
        exchange.exchange("a", "b")
        assert [sorted(os.listdir(name)) for name in ("b", "a")] == before
        assert not os.path.lexists("b.earlier")


def test_what_has_a_name_is_asked_for_itself_and_for_what_it_leads_to(folder: Path) -> None:
    (folder / "circle").symlink_to("circle")
    (folder / "x.log").write_bytes(b"abc")
    (folder / "to.log").symlink_to("x.log")
    names = ("a", "x.log", "link", "to.log", "dangling.log", "circle", "none", "x.log/y")
    asks = (system.exists, system.is_directory, system.is_file, system.is_link, system.has_name)
    answers = ["".join(str(int(ask(name))) for ask in asks) for name in names]
    assert answers == ["11001", "10101", "11011", "10111", "00011", "00011", "00000", "00000"]
    assert [system.size(name) for name in ("x.log", "to.log", "none")] == [3, 3, 0]
    assert [entry.name for entry in system.entries(".") if system.leads_to_directory(entry)] == [".hidden", "a", "b", "link"]
    assert [(entry.name, status.st_size) for entry, status in system.file_statuses(".")] == [("to.log", 3), ("x.log", 3)]
    assert system.target_of("link") == "a"


@pytest.mark.parametrize(
    ("number", "position", "code"),
    [
        *(
            (errno.ENOENT, 1, "missing"),
            (errno.ENOTDIR, 1, "missing"),
            (errno.EISDIR, 1, "is-directory"),
            (errno.EIO, 1, "io-error"),
        ),
        *(
            (errno.EACCES, 1, "permission"),
            (errno.EPERM, 1, "permission"),
            (errno.ESTALE, 1, "shrank"),
            (errno.ESTALE, 0, "shrank"),
        ),
        (errno.ESTALE, None, "io-error"),
    ],
)
def test_a_failure_has_the_code_of_its_reason(number: int, position: int | None, code: str) -> None:
    fault = system.unreadable("a", OSError(number, os.strerror(number)), position)
    assert (fault.code, fault.path) == (f"file-{code}", "a")
    assert fault.position == (position if code in ("shrank", "io-error") else None)
