"""Every example in docs/library.md runs, and prints what the page shows after it."""

import contextlib
import io
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import kdump

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
