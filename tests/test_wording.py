"""Pages, docstrings and comments use plain English, with none of the idioms on a list."""

import pytest

from tools import wording


def test_no_checked_file_has_an_idiom_that_has_a_plainer_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert wording.run([]) == 0, capsys.readouterr().out


def test_the_checked_folders_exist() -> None:
    assert [folder for folder in wording.FOLDERS if not (wording.ROOT / folder).exists()] == []


@pytest.mark.parametrize(
    ("line", "idiom"),
    [
        ("# The batch in front of the damage.", "in front of"),
        ("Anew, from the start.", "anew"),
        ("# Who calls this gets a table.", "who calls"),
        ("from the begin on", "the begin"),
        ("a lawful marker", "lawful"),
        ("whoever is told of it", "is told"),
    ],
)
def test_an_idiom_is_found_in_its_line(line: str, idiom: str) -> None:
    assert list(wording.found(f"Fine.\n{line}\n")) == [(2, idiom)]
