"""What is removed when a process ends, and what is said where that fails."""

import os
from pathlib import Path
from unittest import mock

import pytest

from kdump.workers import unfinished


def test_what_was_made_is_removed_at_the_end_and_what_was_not_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unfinished, "_paths", set())
    made, foreign = tmp_path / "made", tmp_path / "foreign"
    foreign.touch()
    with unfinished.Making(str(made)):
        made.mkdir()
    with pytest.raises(FileExistsError), unfinished.Making(str(foreign)):
        foreign.touch(exist_ok=False)
    unfinished.remove_all()
    assert list(tmp_path.iterdir()) == [foreign]


def test_a_link_is_removed_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    folder, link = tmp_path / "folder", tmp_path / "link"
    folder.mkdir()
    (folder / "x").touch()
    link.symlink_to(folder)
    with mock.patch.object(os, "unlink", wraps=os.unlink, side_effect=[OSError, mock.DEFAULT]):  # it fails once
        assert unfinished.remove(str(link)) and not link.is_symlink() and (folder / "x").exists()
    assert unfinished.remove(str(folder)) and unfinished.remove(str(folder)) and not folder.exists()


def test_a_complete_file_whose_other_name_stays_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unfinished.require_removed(str(tmp_path / "none"))
    monkeypatch.setattr(unfinished, "remove", lambda _path: False)
    with pytest.raises(OSError, match=r"it is complete, but .* beside it cannot be removed"):
        unfinished.require_removed(str(tmp_path / "x"))
