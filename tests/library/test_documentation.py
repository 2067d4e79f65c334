"""Examples run and print what docs/library.md shows, and a user's type checker knows the exact types of the library."""

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import kdump
from tests.loops import each

from . import user_examples

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "library.md").read_text()


class Example(NamedTuple):
    """A block of Python, and the text block after it."""

    code: str
    shown: str


def _examples() -> list[Example]:
    pattern = r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?"
    return [Example(*found) for found in re.findall(pattern, PAGE, re.MULTILINE | re.DOTALL)]


def test_every_example_runs_and_prints_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {}  # the examples go on from one to the next
    for example in _examples():
        stdout = io.StringIO()
        with contextlib.redirect_stdout(stdout):
            exec(compile(example.code, "docs/library.md", "exec"), names)
        assert stdout.getvalue() == example.shown, example.code


def test_no_block_of_code_is_left_out() -> None:
    assert len(_examples()) == PAGE.count("```python") == PAGE.count("```text") >= 9
    assert PAGE.count("```") == 4 * len(_examples())


def test_the_page_names_all_that_the_package_offers() -> None:
    assert [name for name in kdump.__all__ if not re.search(rf"\b{name}\b", PAGE)] == []


HERE = Path(__file__).parent


@each("example", user_examples.EXAMPLES)
def test_examples_of_users_run(example: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    example()


@pytest.mark.slow
@pytest.mark.all_cases
def test_mypy_strict_accepts_examples_and_refuses_mistakes(tmp_path: Path) -> None:
    mistakes = (HERE / "user_mistakes.txt").read_text()
    (tmp_path / "mistakes.py").write_text(mistakes)
    (tmp_path / "examples.py").write_text((HERE / "user_examples.py").read_text())
    (tmp_path / "page.py").write_text("\n".join(re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)))
    (tmp_path / "mypy.ini").write_text("[mypy]\n")  # no settings of ours
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "mistakes.py", "examples.py", "page.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    expected = [(number, code) for number, line in enumerate(mistakes.splitlines(), 1) for code in re.findall(r"# E: (.*)", line)]
    found = re.findall(r"^(\w+)\.py:(\d+): error: .*\[([\w-]+)\]$", done.stdout, re.MULTILINE)
    assert [line for line in found if line[0] != "mistakes"] == [], done.stdout
    assert [(int(number), code) for _, number, code in found] == expected, done.stdout
    assert len(expected) == 11
