"""The questions of docs/spark.md are asked as they stand there, and answered as they are there."""

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cookbook_fleet import write_cookbook_fleet
from tests.sessions import why_no_spark

pytestmark = [pytest.mark.spark, pytest.mark.skipif(bool(why_no_spark()), reason=why_no_spark())]

DOCUMENT = Path(__file__).parents[2] / "docs" / "spark.md"
REMAKE = "KDUMP_REMAKE_COOKBOOK"
"""Set to write the answers in the document again: they are kdump's own. The test then fails; read what changed in the diff."""

BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The paths that the document names, and where they are here."""
    brokers = write_cookbook_fleet(tmp_path_factory.mktemp("cookbook") / "brokers")
    scan = brokers.parent / "scan"
    command = [sys.executable, "-m", "kdump", "scan", str(brokers), "--tables-to", str(scan), "--engine", "local"]
    # it forks, which threads do not bear
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1, done.stderr
    assert "replica-divergence" in done.stdout
    return {"/data/brokers": str(brokers), "/data/scan": str(scan)}


def test_every_question_is_answered_as_the_document_says(places: dict[str, str], spark: Any) -> None:
    text = DOCUMENT.read_text()
    names: dict[str, Any] = {"spark": spark}
    answers: list[tuple[str, str]] = []
    for code, told in BLOCK.findall(text):
        here = code
        for path, place in places.items():
            here = here.replace(path, place)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(here, names)
        found = out.getvalue()
        for path, place in places.items():
            found = found.replace(place, path)
        answers.append((told, "".join(line.rstrip() + "\n" for line in found.rstrip().splitlines())))
    if REMAKE in os.environ:
        remade = iter(found for _, found in answers)
        DOCUMENT.write_text(BLOCK.sub(lambda block: _with_answer(block, next(remade)), text))
        pytest.fail(f"{DOCUMENT.name} was written, not compared: unset {REMAKE}, and read what changed")
    assert [found for told, found in answers if told] == [told for told, _ in answers if told]


def test_there_are_ten_questions_and_each_has_an_answer() -> None:
    sections = re.split(r"^## (?=\d+\. )", DOCUMENT.read_text(), flags=re.MULTILINE)[1:]
    assert [int(section.split(".")[0]) for section in sections] == list(range(1, 11))
    for section in sections:
        ((_, told),) = BLOCK.findall(section)
        assert told.count("\n") >= 5


def _with_answer(block: re.Match[str], found: str) -> str:
    return f"```python\n{block.group(1)}```\n" + (f"\n```text\n{found}```\n" if block.group(2) is not None else "")
