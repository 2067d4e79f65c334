"""Pages, docstrings and comments use plain English, with none of the idioms on a list."""

from pathlib import Path

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


@pytest.mark.parametrize("line", ["from the beginning", "unlawful", "the caller told us", "renewed", "as many bytes"])
def test_other_words_are_not_taken_for_idioms(line: str) -> None:
    assert list(wording.found(line)) == []


def test_a_found_idiom_is_reported_with_its_place_and_a_plainer_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(wording, "ROOT", tmp_path)
    monkeypatch.setattr(wording, "FOLDERS", ("docs", "README.md"))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("Fine.\nRead it anew.\n")
    (tmp_path / "docs" / "faults.md").write_text("lawful\n")
    (tmp_path / "README.md").write_text("Fine.\n")
    (tmp_path / "other.md").write_text("in vain\n")
    assert wording.run([]) == 1
    assert capsys.readouterr().out == 'docs/page.md:2: "anew": say again\n'
    assert wording.run([str(tmp_path / "README.md"), str(tmp_path / "other.md")]) == 0
    assert wording.run([str(tmp_path / "docs" / "page.md")]) == 1
