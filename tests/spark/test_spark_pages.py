"""The Python and SQL of pages about Spark run as they stand there, and the questions of docs/spark.md get their answers."""

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
from tests.sessions import JAVA_OPTIONS, ROOT, why_no_spark
from tests.support import HANG, Capture

pytestmark = [pytest.mark.spark, pytest.mark.skipif(bool(why_no_spark()), reason=why_no_spark())]

_BLOCK = re.compile(r"^```(python|sql)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Where the pages' `/data` is here: three brokers."""
    write_cookbook_fleet(tmp_path / "brokers")
    return tmp_path


@pytest.mark.parametrize(
    ("page", "section", "count"), [("spark-sessions.md", "# Spark: releases", 4), ("fleet.md", "## In your own Spark session", 1)]
)
def test_the_code_of_pages_runs(spark: Any, data: Path, capsys: Capture, page: str, section: str, count: int) -> None:
    text = (ROOT / "docs" / page).read_text()
    blocks = _BLOCK.findall(text[text.index(section) :])
    assert len(blocks) == count
    names: dict[str, Any] = {"spark": spark}
    for language, code in blocks:
        here = code.replace("/data/", f"{data}/")
        if language == "sql":
            spark.catalog.dropTempView("batches")  # of another test in this session
            names["spark"].sql(here)
            assert names["spark"].table("batches").count() == 127
        else:
            exec(here, names)
        query = names.pop("query", None)
        if query is not None:
            try:
                query.processAllAvailable()
            finally:
                query.stop()
            newest = 40  # records after the damage in the newest segment of a log wait until it is closed
            assert spark.read.parquet(str(data / "records")).count() == 498 - newest
    assert "orders" in capsys.readouterr().out


_MISTAKES = """
import code

spark.sparkContext.setLogLevel("OFF")
shell = code.InteractiveInterpreter(globals())
for line in (
    'read(spark, "/data/brokers", tabel="records")',
    'read(spark, "/data/brokers", fromTimestamp="yesterday")',
    'spark.read.format("kdump").option("tabel", "records").load("/data/brokers")',
    'spark.read.format("kdump").load("/nowhere")',
):
    print("TYPED", line, file=sys.stderr, flush=True)
    shell.runsource(line)
"""


@pytest.mark.all_cases  # a session of its own
def test_the_program_of_the_page_runs_and_mistakes_look_as_it_says(data: Path, tmp_path: Path) -> None:
    """By the Python of an environment that is not activated."""
    text = (ROOT / "docs" / "spark-sessions.md").read_text()
    job = tmp_path / "job.py"
    program = next(code for language, code in _BLOCK.findall(text) if language == "python")
    job.write_text(("import sys\n" + program + _MISTAKES).replace("/data/", f"{data}/"))
    (tmp_path / "bin").mkdir()
    other = tmp_path / "bin" / "python3"  # one that finds no packages
    other.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    other.chmod(0o755)
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYSPARK_", "SPARK_"))}
    variables |= {"PATH": f"{other.parent}:/usr/bin:/bin", "JAVA_TOOL_OPTIONS": JAVA_OPTIONS}
    command = [sys.executable, str(job)]
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=HANG, check=False)
    assert (done.returncode, re.findall(r"(clicks|orders)\|\s+(\d+)", done.stdout)) == (0, [("clicks", "42"), ("orders", "330")])
    shown = [mistake.splitlines() for mistake in done.stderr.split("TYPED ")[1:]]
    seen = [[line for line in lines if not re.match(r"\s+[\^~]+$|\d\d/", line)] for lines in shown]
    wrong = "kdump.errors.UsageError: there is no option 'tabel'; did you mean table? There are"
    assert [line[: len(wrong)] for line in seen[0][-1:]] == [wrong]
    assert seen[1][-1].startswith("kdump.errors.UsageError: fromTimestamp: 'yesterday' is not a time; write 2026-11-20")
    assert [len(lines) for lines in seen[:2]] == [6, 6]
    by_spark = r"[a-z.]+AnalysisException: \[PYTHON_DATA_SOURCE_ERROR\] Failed to create Python data source instance: "
    assert re.match(by_spark + re.escape(wrong), seen[2][-2])
    assert re.fullmatch(by_spark + "kdump.errors.Unreadable: /nowhere: no such file", seen[3][-2])
    assert [lines[-1] for lines in seen[2:]] == [" SQLSTATE: 38000"] * 2
    assert all(len(lines) <= 12 for lines in seen[2:])


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


@pytest.mark.all_cases
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
