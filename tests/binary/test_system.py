"""What the system is asked, and what is made of its failures."""

import errno
import os
from glob import glob
from pathlib import Path
from unittest import mock

import pytest

from kdump.binary import exchange, system
from kdump.errors import Unreadable

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
    listdir = os.listdir

    def fails(path: str) -> list[str]:
        if path == "a":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return listdir(path)

    monkeypatch.setattr(os, "listdir", fails)
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
    rename = os.rename

    def fails(path: str, other: str) -> None:
        if path == "a":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        rename(path, other)

    before = sorted(map(str, folder.rglob("*")))
    monkeypatch.setattr(os, "rename", fails)
    with pytest.raises(OSError, match="Input/output"):
        exchange.exchange("a", "b")
    assert sorted(map(str, folder.rglob("*"))) == before
