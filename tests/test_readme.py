"""What README.md and the pages of docs/ show after `$ ` is what kdump prints."""

import os
import re
import subprocess
import sys
from difflib import SequenceMatcher
from pathlib import Path

import pytest

from tests.cookbook_fleet import write_cookbook_fleet
from tests.loops import each
from tests.registries import unpack
from tools.screens import Screen, screens_of

ROOT = Path(__file__).parent.parent
REMAKE = "KDUMP_REMAKE_SCREENS"
"""Set to write the screens again, with what kdump prints now. The tests then fail; read what changed in the diff."""

SCREENS = [screen for page in (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))) for screen in screens_of(page)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the commands run: beside the files of this repository, three brokers, and the log directory of a schema registry."""
    here = tmp_path_factory.mktemp("screens")
    write_cookbook_fleet(here / "brokers")
    for name in ("examples", "golden_outputs"):
        (here / name).symlink_to(ROOT / name)
    unpack(here)
    (here / "schemas-a").rename(here / "registry")
    return here


def test_pages_show_screens() -> None:
    pages = {screen.page.name for screen in SCREENS}
    assert pages >= {"drop-in.md", "commands.md", "check.md", "forecast.md", "find.md", "mend.md", "fleet.md"}


@each("screen", SCREENS, ids=[f"{screen.page.stem}: {screen.command}" for screen in SCREENS])
def test_a_page_shows_what_is_printed(screen: Screen, folder: Path) -> None:
    program, *arguments = screen.command.split()
    assert program == "kdump"
    if "scan" in arguments:
        pytest.importorskip("pyarrow")
    printed = subprocess.run(
        [sys.executable, "-m", "kdump", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    ).stdout
    if REMAKE in os.environ:
        _remake(screen, printed)
        pytest.fail(f"{screen.page.name} was written, not compared: unset {REMAKE}, and read what changed")
    assert screen.shows(printed), printed


def test_lines_that_are_left_out_may_be_any_and_others_not() -> None:
    def shows(shown: str, printed: str) -> bool:
        return Screen(ROOT, "kdump", shown).shows(printed)

    assert shows("a\n...\nd 1.2 s\n", "a\nb\nc\nd 3.4 s\n")
    assert shows("a\n...\nd\n", "a\nd\n")
    assert not shows("a\n...\nd\n", "a\nb\nd\ne\n")
    assert not shows("a\nd\n", "a\nb\nd\n")


def _remake(screen: Screen, printed: str) -> None:
    before = f"$ {screen.command}\n"
    text = screen.page.read_text()
    if not screen.shows(printed):
        screen.page.write_text(text.replace(before + screen.shown, before + _remade(screen.shown, printed)))


def _remade(shown: str, printed: str) -> str:
    """What is printed now, without the parts that the old screen left out: its parts are found where they are most alike."""
    if "..." not in shown.splitlines():
        return printed
    lines, at, remade = printed.splitlines(), 0, []
    parts = [part for part in re.split(r"^(\.\.\.)\n", shown, flags=re.MULTILINE) if part]
    for number, part in enumerate(parts):
        if part == "...":
            remade.append(part)
            continue
        count = len(part.splitlines())
        starts = range(at, max(len(lines) - count, at) + 1) if number else range(1)
        start = max(starts, key=lambda start: SequenceMatcher(None, part, "\n".join(lines[start : start + count])).ratio())
        at = len(lines) if part is parts[-1] else start + count
        remade += lines[start:at]
    return "\n".join(remade) + "\n"
