"""The short form of the campaign of surroundings: a few commands in each of them."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from campaigns.commands import small_partition
from campaigns.surroundings import SURROUNDINGS, Outcome, can_be_made, run, wrong
from tests.builders.files import file_name
from tests.loops import each

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits and /dev/full are those of Linux")

NAMES = ("check", "log as a table", "drop-in")


@pytest.fixture(scope="module")
def partition(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_partition(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def usual(partition: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """What the commands do in usual surroundings."""
    return {name: run(name, 'exec "$@"', partition, tmp_path_factory.mktemp("usual")) for name in (*NAMES, "scan")}


@pytest.mark.slow
@each("surroundings", SURROUNDINGS)
def test_a_command_works_or_says_what_it_lacks(
    surroundings: str, tmp_path: Path, partition: Path, usual: dict[str, Outcome], all_cases: bool
) -> None:
    """By default two of the commands, in turn."""
    if not can_be_made(surroundings) or surroundings == "full /dev/shm" and tmp_path.is_relative_to("/dev/shm"):
        pytest.skip("this user cannot make them here")
    first = list(SURROUNDINGS).index(surroundings) % 2
    for name in (*NAMES, "scan") if all_cases else (*NAMES, "scan")[first::2]:
        outcome = run(name, SURROUNDINGS[surroundings], partition, tmp_path / "run")
        shutil.rmtree(tmp_path / "run")
        assert wrong(name, surroundings, outcome, usual[name]) is None, (name, outcome)


@pytest.mark.parametrize("name", NAMES)
def test_without_worker_processes_the_answer_is_the_same(
    name: str, tmp_path: Path, partition: Path, usual: dict[str, Outcome]
) -> None:
    outcome = run(name, SURROUNDINGS["no fork"], partition, tmp_path / "run")
    assert outcome == usual[name]


def test_a_scan_says_that_it_has_no_worker_process(tmp_path: Path, partition: Path) -> None:
    outcome = run("scan to tables", SURROUNDINGS["no fork"], partition, tmp_path / "run")
    assert outcome.stderr == "kdump: no worker process can be started: no process; take fewer with --jobs\n"
    assert (outcome.status, list((tmp_path / "run" / "out").iterdir())) == (3, [])


@pytest.mark.parametrize("name", ["log as Parquet", "grep as Parquet", "scan"])
def test_a_package_for_which_there_is_no_memory_is_not_missing(name: str, tmp_path: Path, partition: Path) -> None:
    outcome = run(name, SURROUNDINGS["64 MiB of addresses"], partition, tmp_path / "run")
    assert outcome == Outcome(3, "", "kdump: out of memory while loading the package pyarrow\n")


def test_a_module_for_which_there_is_no_descriptor_is_no_output(tmp_path: Path, partition: Path) -> None:
    outcome = run("log as Parquet", SURROUNDINGS["6 descriptors"], partition, tmp_path / "run")
    assert (outcome.status, outcome.stdout) == (3, "")
    assert re.fullmatch(r"kdump: a part of kdump cannot be loaded: \S+: Too many open files\n", outcome.stderr)


def test_a_report_in_a_file_is_not_all_that_is_said_where_something_was_not_examined(tmp_path: Path, partition: Path) -> None:
    directory = tmp_path / partition.name
    shutil.copytree(partition, directory)
    (directory / file_name(10**6, ".log")).symlink_to("nowhere")
    outcome = run("check to a file", SURROUNDINGS["64 descriptors"], directory, tmp_path / "run")
    report = tmp_path / "run" / "out" / "report"
    assert outcome == Outcome(3, "", f"kdump: not everything could be examined: {report} says why\n")
    assert "A symbolic link to nowhere" in report.read_text()


def test_stdin_needs_a_temporary_directory_and_says_so(tmp_path: Path, partition: Path) -> None:
    outcome = run("check of stdin", SURROUNDINGS["no writable temporary directory"], partition, tmp_path / "run")
    assert (outcome.status, outcome.stdout) == (3, "")
    assert outcome.stderr.startswith("kdump: stdin cannot be kept in a temporary file: No usable temporary directory found")


def test_without_click_what_is_typed_plainly_works(tmp_path: Path, partition: Path, usual: dict[str, Outcome]) -> None:
    assert run("drop-in", SURROUNDINGS["no packages"], partition, tmp_path / "drop-in") == usual["drop-in"]
    for name in ("check", "index", "grep"):
        assert run(name, SURROUNDINGS["no packages"], partition, tmp_path / name).status == 0, name
    other = "import sys; sys.modules['click'] = None; from kdump.cli.main import run; run()"
    done = subprocess.run([sys.executable, "-c", other, "index", "--output=ndjson", partition], capture_output=True, text=True)
    message = 'kdump: this command needs the package "click"; pip install click. The drop-in form (--files) works without it\n'
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)


@pytest.mark.parametrize("name", ["check", "log", "drop-in"])
def test_without_codecs_the_records_that_cannot_be_read_are_in_the_answer(name: str, tmp_path: Path, partition: Path) -> None:
    outcome = run(f"{name} of compressed batches", SURROUNDINGS["no optional packages"], partition, tmp_path / "run")
    assert outcome.status == (2 if name == "drop-in" else 3)
    assert 'need the package "python-snappy"' in outcome.stdout + outcome.stderr


USUAL = Outcome(0, "clean\n", "")


@each(
    ("surroundings", "outcome", "fault"),
    [
        ("no fork", USUAL, None),
        ("no fork", Outcome(None, "", ""), "hangs"),
        ("no fork", Outcome(0, "", ""), "prints nothing"),
        ("stdout full", Outcome(0, "", ""), None),
        ("no fork", Outcome(3, "", "kdump: no process\n"), None),
        ("no fork", Outcome(3, "", ""), "says nothing, or much"),
        ("stderr closed", Outcome(3, "", ""), None),
        ("no fork", Outcome(4, "", "kdump: one\nkdump: two\n"), "says nothing, or much"),
        ("no fork", Outcome(0, "clean in 0.1 s\n", ""), "gives another answer"),
        ("no packages", Outcome(2, "", 'kdump: it needs the package "click"\n'), None),
        ("no packages", Outcome(2, "", "kdump: no\n"), "does not say what it lacks"),
        ("no fork", Outcome(1, "damaged\n", ""), "exit 1"),
        ("no fork", Outcome(0, "clean\n", "Traceback (most recent call last)\n"), "shows Traceback"),
    ],
)
def test_an_outcome_is_wrong_if_it_misleads(surroundings: str, outcome: Outcome, fault: str | None) -> None:
    assert wrong("check", surroundings, outcome, USUAL) == fault
