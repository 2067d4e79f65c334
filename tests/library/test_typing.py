"""A user's type checker knows the exact types of the library."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.loops import each

from . import user_examples
from .test_documentation import PAGE, ROOT

HERE = Path(__file__).parent


@each("example", user_examples.EXAMPLES)
def test_examples_of_users_run(example: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    example()


@pytest.mark.slow
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
