"""What README.md shows after `$ ` is what kdump prints."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def _examples() -> list[tuple[str, str]]:
    """Every command that the README shows, with the text after it."""
    examples = []
    for block in re.findall(r"^```\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL):
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = example.partition("\n")
            examples.append((command, shown))
    return examples


def test_the_readme_shows_examples() -> None:
    assert len(_examples()) > 5


@pytest.mark.parametrize(("command", "shown"), _examples(), ids=[command for command, _ in _examples()])
def test_the_readme_shows_what_is_printed(command: str, shown: str) -> None:
    program, *arguments = command.split()
    assert program == "kdump"
    done = subprocess.run(
        [sys.executable, "-m", "kdump", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    pattern = "".join(r"(?:.*\n)*" if line == "..." else re.escape(line) + "\n" for line in shown.splitlines())
    assert re.fullmatch(pattern, done.stdout), done.stdout
