"""What a release must agree with, and the recipes that are made of it."""

import re
import tomllib
from pathlib import Path

from tools.release import RECIPES, recipes

ROOT = Path(__file__).parent.parent


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
