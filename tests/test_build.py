"""What is tested and released: the tools that CI has are pinned, and recipes have what kdump needs."""

import re
import tomllib
from pathlib import Path

from tools.release import RECIPES, recipes

ROOT = Path(__file__).parent.parent
CONSTRAINTS = ".ci/constraints.txt"
TOOLS_OF_RELEASES = ".ci/release.txt"


def test_every_tool_of_ci_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    names = [re.split(r"[\[<>=]", requirement)[0] for requirement in extras["test"] + extras["docs"]]
    of_kdump = {"kafka-kdump", *(re.split(r"[<>=]", requirement)[0] for requirement in project["dependencies"])}
    pinned = re.findall(r"^([a-z0-9-]+)==[\d.]+$", (ROOT / CONSTRAINTS).read_text(), re.MULTILINE)
    assert sorted(pinned) == sorted(set(names) - of_kdump)


def test_whatever_ci_installs_with_tools_is_pinned() -> None:
    places = [ROOT / ".ci" / "run", *(ROOT / ".github" / "workflows").iterdir()]
    installed = [line for place in places for line in place.read_text().splitlines() if "pip install" in line]
    assert len(installed) > 3
    of_tools = (f"-c {CONSTRAINTS}", f"-r {TOOLS_OF_RELEASES}")
    rest = [line for line in installed if not any(pinned in line for pinned in of_tools)]
    # what is released, as users install it, and other versions on purpose
    assert [line for line in rest if "wheelhouse" not in line and "uv pip install ${{ matrix.versions }}" not in line] == []


def test_tools_that_build_releases_are_pinned() -> None:
    lines = (ROOT / TOOLS_OF_RELEASES).read_text().splitlines()
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[\d.]+|#.*", line)] == []


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
