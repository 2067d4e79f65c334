"""The short forms of the campaign that disturbs commands, and what it takes for wrong."""

import errno
import io
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

pytest.importorskip("pyarrow", reason="tables need the package pyarrow")

import pyarrow.parquet as pq

from campaigns import commands, disturbed
from campaigns.commands import Bench, Outcome, Run, processes_of
from campaigns.disturbed import FAILURES, HANDLED, SURROUNDINGS, Failure, Runs, can_be_made, in_surroundings
from tests.builders.files import file_name
from tests.loops import each, of_all_cases
from tests.support import Patch

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="a library is preloaded, processes are found in /proc"
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("bench"))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return disturbed.build(tmp_path_factory.mktemp("library"))


@pytest.mark.slow
@each("name", list(commands.COMMANDS)[::6], share=3)  # the campaign runs all
def test_a_call_that_fails_changes_no_answer_silently(name: str, bench: Bench, library: Path) -> None:
    chance = random.Random(name)
    kind = chance.choice(("sound", "damaged"))
    reference = disturbed.failing(bench, library, name, kind)
    for failure in chance.sample(FAILURES, 2):
        number = chance.randrange(1, 24)
        _assert_no_fault(name, reference, disturbed.failing(bench, library, name, kind, failure, number), failure)


def _assert_no_fault(name: str, reference: Outcome, outcome: Outcome, failure: Failure) -> None:
    fault = disturbed.fault_of_call(commands.COMMANDS[name], reference, outcome, failure) if outcome.failed else None
    assert fault is None, f"{name}, {failure}: {fault}: {outcome}"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["log", "log deep", "log csv"])
def test_a_listing_goes_on_after_a_block_that_cannot_be_read(name: str, bench: Bench, library: Path) -> None:
    whole = disturbed.failing(bench, library, name, "sound").stdout.splitlines()
    outcome = disturbed.failing(bench, library, name, "sound", Failure("sector", "5"), 6)
    assert outcome.exit == 3
    lost = [line for line in whole if line not in outcome.stdout.splitlines()]
    assert 9 <= len(lost) <= 12 * 11  # of each of 3 logs 3 batches of 10 records touch the block, and one more is in doubt
    for base_offset in (0, 400, 800):
        assert f"{base_offset:020d}.log: bytes 20480 to 24575 cannot be read from the device" in outcome.stderr


@pytest.mark.slow
def test_a_scan_goes_on_after_a_block_that_cannot_be_read(bench: Bench, library: Path) -> None:
    outcome = disturbed.failing(bench, library, "scan tables", "sound", Failure("sector", "5"), 6)
    assert outcome.exit == 3
    tables = {name: pq.read_table(io.BytesIO(data)) for name, data in outcome.files.items() if name.endswith(".parquet")}
    batches = [row for name, table in tables.items() if name.startswith("tables/batches/") for row in table.to_pylist()]
    whole = {row["baseOffset"] for row in batches if row["status"] in ("intact", "salvaged")}
    assert whole == {offset for offset in range(0, 1200, 10) if offset % 400 not in (90, 100, 110)}
    findings = [row for name, table in tables.items() if name.startswith("tables/findings/") for row in table.to_pylist()]
    missing = [(row["start"], row["end"]) for row in findings if row["code"] == "scan-rows-missing"]
    assert missing == [(20480, 24576)] * 3


@pytest.mark.slow
@each("call", ["open", "opendir", "stat"], share=3)
@each("name", ["check log directory", "check pattern", "scan json", "grep expression"])
def test_no_call_that_fails_makes_a_directory_look_clean_or_damaged(name: str, call: str, bench: Bench, library: Path) -> None:
    failure = Failure(call, str(errno.EIO))
    reference = disturbed.failing(bench, library, name, "sound", failure)
    assert reference.exit == 0
    for number in range(1, reference.calls + 1, 1 + reference.calls // 4):
        _assert_no_fault(name, reference, disturbed.failing(bench, library, name, "sound", failure, number), failure)


@pytest.mark.slow
def test_no_command_waits_for_a_thread_that_has_no_memory(bench: Bench, library: Path) -> None:
    failure = Failure("mmap", str(errno.ENOMEM), all_from_there=True)
    for name in ("slice compressed", "recover", "reindex"):
        reference = disturbed.failing(bench, library, name, "sound")
        _assert_no_fault(name, reference, disturbed.failing(bench, library, name, "sound", failure, 1), failure)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scan", "check"])
def test_an_unbuffered_stdout_that_takes_half_gets_all(name: str, bench: Bench, library: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    reference = disturbed.failing(bench, library, name, "sound")
    outcome = disturbed.failing(bench, library, name, "sound", Failure("write", "short", all_from_there=True), 1)
    assert outcome.failed
    assert (outcome.exit, outcome.stdout) == (reference.exit, reference.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["check", *map(of_all_cases, ["log csv", "grep"]), "recover text", "drop-in"])
def test_a_file_that_changes_meanwhile_changes_no_answer_silently(name: str, bench: Bench, library: Path) -> None:
    runs = Runs(bench, name, library)
    for hold in disturbed.holds(runs, 3, random.Random(name)):
        outcome = runs.run(hold)
        fault = disturbed.fault_of_change(hold, runs.before, runs.after(hold), outcome) if outcome.failed else None
        assert fault is None, f"{hold}: {fault}: {outcome}"


_ENDLESS = """
import os, time
from unittest import mock
from kdump.cli.main import run
command = os.getpid()

def endless(*_, **__):
    if {crashes} and os.getppid() == command:
        os._exit(1)
    time.sleep(1_000_000)

with mock.patch("{endless}", endless):
    run()
"""


class Case(NamedTuple):
    """A command that does not end, and what is so when a signal may come."""

    command: str
    is_under_way: Callable[[Run], object]
    endless: str = ""
    """A function of kdump that never returns, if one is needed."""
    crashes: bool = False
    """Whether this function ends the process if that is a worker of the command, and not one of a worker."""


def _has_processes(count: int) -> Callable[[Run], bool]:
    return lambda run: len(processes_of(run.process.pid)) == count


TWO, THREE = _has_processes(2), _has_processes(3)
_TO_TABLES = "--tables-to OUT/tables PARTITION"
CASES = {
    "check": Case("check --rate 1 PARTITION", TWO),
    "check to a file": Case(
        "check --rate 1 --output ndjson -o OUT/report PARTITION", lambda run: TWO(run) and list(run.out.iterdir())
    ),
    "log to a file": Case("log --rate 1 -o OUT/batches PARTITION", lambda run: list(run.out.iterdir())),
    "log of stdin": Case("log --rate 1 -", lambda run: list(run.tmp.glob("*/*"))),
    "scan": Case(f"scan --engine local --jobs 2 {_TO_TABLES}", THREE, "kdump.pipeline.tasks.attempt"),
    "scan after a crash, with checks in processes of their own": Case(
        f"scan --engine local --jobs 1 --tables findings {_TO_TABLES}", THREE, "kdump.pipeline.reading.run", crashes=True
    ),
    "grep": Case(
        "grep --jobs 2 --prove-absent --certificate OUT/certificate 'no such key' PARTITION",
        THREE,
        "kdump.searching.parallel._searched_here",
    ),
    "drop-in": Case("--files LOGS --print-data-log --jobs 3", THREE, "kdump.dropin.parallel_text.Worker.take_stretch"),
}


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return disturbed.large_partition(tmp_path_factory.mktemp("data"))


def _ending(bench: Bench, long: Path, name: str, number: signal.Signals, *, to_all: bool = False) -> Outcome:
    """How a command ends that is sent a signal when it is under way."""
    case = CASES[name]
    program = ("-c", _ENDLESS.format(endless=case.endless, crashes=case.crashes)) if case.endless else ("-m", "kdump")
    send = disturbed.sender(number, to_all=to_all, when=case.is_under_way)
    return bench.run(name, partition=long, command=case.command, program=program, meanwhile=send)


@each("name", CASES, share=5)
@each("number", HANDLED)
@each("to_all", [False, True], ids=["to-one", "to-all"])
def test_a_signal_ends_all_and_leaves_nothing(name: str, number: signal.Signals, to_all: bool, bench: Bench, long: Path) -> None:
    outcome = _ending(bench, long, name, number, to_all=to_all)
    assert outcome == Outcome(128 + number, outcome.stdout, outcome.stderr)
    words = {signal.SIGINT: "interrupted", signal.SIGTERM: "interrupted by SIGTERM", signal.SIGHUP: "interrupted by SIGHUP"}
    assert re.fullmatch(f"kdump: {words[number]}( after 0 files, .*)?\n", outcome.stderr)


@each("name", CASES)
def test_no_worker_outlives_a_command_that_is_killed(name: str, bench: Bench, long: Path) -> None:
    outcome = _ending(bench, long, name, signal.SIGKILL)
    assert (outcome.exit, outcome.stderr, outcome.leftover) == (-signal.SIGKILL, "", ())
    assert all("incomplete" in name for name in outcome.files)


_SIGNAL_DURING_FORK = """
import os, signal
from kdump.cli.main import run
os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGINT))
run()
"""


@pytest.mark.parametrize("name", ["check", "scan"])
def test_a_signal_during_a_fork_is_not_lost(name: str, bench: Bench, long: Path) -> None:
    outcome = bench.run(name, partition=long, command=CASES[name].command, program=("-c", _SIGNAL_DURING_FORK))
    assert outcome == Outcome(130, outcome.stdout, outcome.stderr)
    # Python prints what a hook raises, and goes on
    assert re.fullmatch("kdump: interrupted( after 0 files, .*)?\n", outcome.stderr)


_SIGNAL_DURING_TEXT = """
import signal
from unittest import mock
from kdump.cli.main import run
with mock.patch("kdump.cli.scanning.run.scan_paths", lambda _: exec("signal.raise_signal(signal.SIGHUP)")):
    run()
"""


def test_a_signal_while_python_makes_a_class_of_text_gives_its_exit_code(bench: Bench, long: Path, tmp_path: Path) -> None:
    (tmp_path / "interrupted.py").write_text(_SIGNAL_DURING_TEXT)
    program = (str(tmp_path / "interrupted.py"),)
    outcome = bench.run("scan", partition=long, command=CASES["scan"].command, program=program)
    assert outcome == Outcome(129, "", "kdump: interrupted by SIGHUP\n")


def test_nohup_keeps_a_command_going(bench: Bench, long: Path) -> None:
    program = "import signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN); from kdump.cli.main import run; run()"

    def send(run: Run) -> None:
        disturbed.sender(signal.SIGHUP, when=TWO)(run)
        run.process.send_signal(signal.SIGTERM)

    outcome = bench.run("check", partition=long, command=CASES["check"].command, program=("-c", program), meanwhile=send)
    assert (outcome.exit, outcome.stderr.split(" after ")[0].strip()) == (143, "kdump: interrupted by SIGTERM")


NAMES = ("check", "log table", "drop-in deep", "scan")


@pytest.fixture(scope="module")
def usual(bench: Bench) -> dict[str, Outcome]:
    """What the commands do in usual surroundings."""
    return {name: bench.run(name) for name in NAMES}


@pytest.mark.slow
@each("surroundings", SURROUNDINGS, share=6)
def test_a_command_works_or_says_what_it_lacks(surroundings: str, bench: Bench, usual: dict[str, Outcome]) -> None:
    """Two of the commands, in turn; the campaign runs all."""
    if not can_be_made(surroundings) or surroundings == "full /dev/shm" and bench.root.is_relative_to("/dev/shm"):
        pytest.skip("this user cannot make them here")
    first = list(SURROUNDINGS).index(surroundings) % 2
    for name in NAMES[first::2]:
        outcome = in_surroundings(bench, name, surroundings)
        fault = disturbed.fault_of_surroundings(commands.COMMANDS[name], surroundings, outcome, usual[name])
        assert fault is None, (name, outcome)


@pytest.mark.parametrize("name", NAMES[:3])
def test_without_worker_processes_the_answer_is_the_same(name: str, bench: Bench, usual: dict[str, Outcome]) -> None:
    assert in_surroundings(bench, name, "no fork") == usual[name]


@each(
    ("name", "surroundings", "said"),
    [
        ("scan tables", "no fork", "no worker process can be started: no process; take fewer with --jobs"),
        *(
            (name, "64 MiB of addresses", "out of memory while loading the package pyarrow")  # which is not missing
            for name in ("log parquet", "grep parquet", "scan")
        ),
        ("log parquet", "6 descriptors", r"a part of kdump cannot be loaded: \S+: Too many open files"),
        (
            "check stdin",
            "no writable temporary directory",
            "stdin cannot be kept in a temporary file: No usable temporary directory found.*",
        ),
    ],
)
def test_what_a_command_lacks_is_said_in_a_sentence(name: str, surroundings: str, said: str, bench: Bench) -> None:
    outcome = in_surroundings(bench, name, surroundings)
    assert outcome.exit == 3 and re.fullmatch(f"kdump: {said}\n", outcome.stderr), outcome
    assert outcome.stdout == "" or name == "scan tables"
    assert (outcome.files, outcome.leftover, outcome.temporary) == ({}, (), ()) or name == "check stdin"


def test_a_report_in_a_file_is_not_all_that_is_said_where_something_was_not_examined(bench: Bench, tmp_path: Path) -> None:
    directory = tmp_path / "topic-0"
    shutil.copytree(bench.partitions["sound"], directory)
    (directory / file_name(10**6, ".log")).symlink_to("nowhere")
    outcome = in_surroundings(bench, "check to file", "64 descriptors", directory)
    said = f"kdump: not everything could be examined: {bench.folder / 'out' / 'report.json'} says why\n"
    assert (outcome.exit, outcome.stdout, outcome.stderr) == (3, "", said)
    assert b"A symbolic link to nowhere" in outcome.files["report.json"]


def test_without_click_what_is_typed_plainly_works(bench: Bench, usual: dict[str, Outcome]) -> None:
    assert in_surroundings(bench, "drop-in deep", "no packages") == usual["drop-in deep"]
    for name in ("check", "index", "grep"):
        assert in_surroundings(bench, name, "no packages").exit == 0, name
    other = "import sys; sys.modules['click'] = None; from kdump.cli.main import run; run()"
    command = [sys.executable, "-c", other, "index", "--output=ndjson", str(bench.partitions["sound"])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    message = 'kdump: this command needs the package "click"; pip install click. The drop-in form (--files) works without it\n'
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)


@pytest.mark.parametrize("name", ["check", "log", "drop-in"])
def test_without_codecs_the_records_that_cannot_be_read_are_in_the_answer(name: str, bench: Bench) -> None:
    outcome = in_surroundings(bench, f"{name} compressed", "no optional packages")
    assert outcome.exit == (2 if name == "drop-in" else 3)
    assert 'need the package "python-snappy"' in outcome.said
