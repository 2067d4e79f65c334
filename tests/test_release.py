"""What a release must agree with, and the recipes that are made of it."""

import re
import tomllib
from pathlib import Path

from tools.release import RECIPES, notes, recipes, why_not_ready

ROOT = Path(__file__).parent.parent
CHANGELOG = """# Changelog

## Unreleased

## 1.2.0 - 2026-12-01

### Added

- One thing.

## 1.1.0

- Another.
"""


def test_a_version_that_code_and_changelog_have_is_ready() -> None:
    assert why_not_ready("1.2.0", "1.2.0", CHANGELOG) == []


def test_what_keeps_a_version_from_being_released_is_named() -> None:
    unfinished = CHANGELOG.replace("## Unreleased\n", "## Unreleased\n\n- More.\n")
    assert why_not_ready("1.3", "1.2.0", unfinished) == [
        "'1.3' is no version such as 1.2.3 or 1.2.3rc1",
        "kdump.__version__ is 1.2.0, not 1.3",
        'CHANGELOG.md has nothing under a heading "## 1.3 - DATE"',
        'CHANGELOG.md still has entries under "## Unreleased"',
    ]


def test_notes_are_the_section_of_a_version() -> None:
    assert notes("1.2.0", CHANGELOG) == "### Added\n\n- One thing."
    assert notes("1.1.0", CHANGELOG) == "- Another."


def test_recipes_have_the_version_the_checksum_and_what_kdump_needs() -> None:
    made = recipes("1.2.0", "ab" * 32)
    assert set(made) == set(RECIPES)
    for text in made.values():
        assert "@" not in text.replace("python@3.13", "")
        assert "ab" * 32 in text
        assert "1.2.0" in text
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {re.sub(r"\s*;.*", "", requirement).replace(">=", " >=") for requirement in project["dependencies"]}
    assert needed <= set(re.findall(r"^    - (.*)$", made["recipe.yaml"].partition("  run:")[2], re.MULTILINE))


def test_recipes_and_pages_name_the_repository_of_the_project() -> None:
    home = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Homepage"]
    for text in recipes("1.2.0", "00").values():
        assert re.findall(r"https://github\.com/[\w-]+/[\w-]+", text) == [home] * 2
