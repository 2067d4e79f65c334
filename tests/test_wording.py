"""Pages, docstrings and comments use plain English, with none of the idioms on a list."""

import pytest

from tools import wording


def test_no_checked_file_has_an_idiom_that_has_a_plainer_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert wording.run([]) == 0, capsys.readouterr().out


def test_the_checked_folders_exist() -> None:
    assert [folder for folder in wording.FOLDERS if not (wording.ROOT / folder).exists()] == []
