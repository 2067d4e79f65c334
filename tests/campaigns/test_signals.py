"""The short form of the campaign of signals: each signal at a moment that is waited for, in commands that would never end."""

import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from campaigns.sessions import processes_of
from campaigns.signals import HANDLED, Ending, Run, large_partition, wrong
from tests.loops import each
from tests.support import HANG, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")

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

    command: tuple[str, ...]
    is_under_way: Callable[[Run], object]
    endless: str = ""
    """A function of kdump that never returns, if one is needed."""
    crashes: bool = False
    """Whether this function ends the process if that is a worker of the command, and not one of a worker."""


def _has_processes(count: int) -> Callable[[Run], bool]:
    return lambda run: len(processes_of(run.process.pid)) == count


CASES = {
    "check": Case(("check", "--rate", "1", "PARTITION"), _has_processes(2)),
    "check to a file": Case(
        ("check", "--rate", "1", "--output", "ndjson", "-o", "OUT/report", "PARTITION"),
        lambda run: _has_processes(2)(run) and list(run.out.iterdir()),
    ),
    "log to a file": Case(("log", "--rate", "1", "-o", "OUT/batches", "PARTITION"), lambda run: list(run.out.iterdir())),
    "log of stdin": Case(("log", "--rate", "1", "-"), lambda run: list(run.tmp.glob("*/*"))),
    "scan": Case(
        ("scan", "--engine", "local", "--jobs", "2", "--tables-to", "OUT/tables", "PARTITION"),
        _has_processes(3),
        "kdump.pipeline.tasks.attempt",
    ),
    "scan after a crash, with checks in processes of their own": Case(
        ("scan", "--engine", "local", "--jobs", "1", "--tables", "findings", "--tables-to", "OUT/tables", "PARTITION"),
        _has_processes(3),
        "kdump.pipeline.reading.run",
        crashes=True,
    ),
    "grep": Case(
        ("grep", "--jobs", "2", "--prove-absent", "--certificate", "OUT/certificate", "no such key", "PARTITION"),
        _has_processes(3),
        "kdump.searching.parallel._searched_here",
    ),
    "drop-in": Case(
        ("--files", "LOGS", "--print-data-log", "--jobs", "3"),
        _has_processes(3),
        "kdump.dropin.parallel_text.Worker.take_stretch",
    ),
}


@pytest.fixture(scope="module")
def partition(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return large_partition(tmp_path_factory.mktemp("data"))


def _ending(name: str, folder: Path, partition: Path, number: signal.Signals, *, to_all: bool = False) -> Ending:
    """How a command ends that is sent a signal when it is under way."""
    case = CASES[name]
    program = ("-c", _ENDLESS.format(endless=case.endless, crashes=case.crashes)) if case.endless else ("-m", "kdump")
    run = Run(case.command, partition, folder, program=program)
    wait_until(lambda: case.is_under_way(run) or run.process.poll() is not None)
    (os.killpg if to_all else os.kill)(run.process.pid, number)
    return run.ending(number, HANG)


@each("name", CASES, share=2)
@each("number", HANDLED)
@each("to_all", [False, True], ids=["to-one", "to-all"])
def test_a_signal_ends_all_processes_and_leaves_nothing(
    name: str, number: signal.Signals, to_all: bool, tmp_path: Path, partition: Path
) -> None:
    ending = _ending(name, tmp_path / "run", partition, number, to_all=to_all)
    assert ending == Ending(number, 128 + number, ending.stderr, 0, (), ())
    words = {signal.SIGINT: "interrupted", signal.SIGTERM: "interrupted by SIGTERM", signal.SIGHUP: "interrupted by SIGHUP"}
    assert re.fullmatch(f"kdump: {words[number]}( after 0 files, .*)?\n", ending.stderr)


@each("name", CASES)
def test_no_worker_outlives_a_command_that_is_killed(name: str, tmp_path: Path, partition: Path) -> None:
    ending = _ending(name, tmp_path / "run", partition, signal.SIGKILL)
    assert (ending.status, ending.stderr, ending.processes) == (-signal.SIGKILL, "", 0)
    assert all("incomplete" in file for file, _ in ending.left)


_SIGNAL_DURING_FORK = """
import os, signal
from kdump.cli.main import run
os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGINT))
run()
"""


@pytest.mark.parametrize("name", ["check", "scan"])
def test_a_signal_during_a_fork_is_not_lost(name: str, tmp_path: Path, partition: Path) -> None:
    run = Run(CASES[name].command, partition, tmp_path / "run", program=("-c", _SIGNAL_DURING_FORK))
    ending = run.ending(signal.SIGINT, HANG)
    assert ending == Ending(signal.SIGINT, 130, ending.stderr, 0, (), ())
    assert re.fullmatch(
        "kdump: interrupted( after 0 files, .*)?\n", ending.stderr
    )  # Python prints what a hook raises, and goes on


_SIGNAL_DURING_TEXT = """
import signal
from unittest import mock
from kdump.cli.main import run
with mock.patch("kdump.cli.scanning.run.scan_paths", lambda _: exec("signal.raise_signal(signal.SIGHUP)")):
    run()
"""


def test_a_signal_while_python_makes_a_class_of_text_gives_its_exit_code(tmp_path: Path, partition: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "interrupted.py").write_text(_SIGNAL_DURING_TEXT)
    ending = Run(CASES["scan"].command, partition, folder, program=("-m", "interrupted")).ending(signal.SIGHUP, HANG)
    assert ending == Ending(signal.SIGHUP, 129, "kdump: interrupted by SIGHUP\n", 0, (), ())


def test_nohup_keeps_a_command_going(tmp_path: Path, partition: Path) -> None:
    program = "import signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN); from kdump.cli.main import run; run()"
    run = Run(CASES["check"].command, partition, tmp_path / "run", program=("-c", program))
    wait_until(lambda: len(processes_of(run.process.pid)) == 2)
    run.process.send_signal(signal.SIGHUP)
    run.process.send_signal(signal.SIGTERM)
    ending = run.ending(signal.SIGTERM, HANG)
    assert (ending.status, ending.stderr.split(" after ")[0].strip()) == (143, "kdump: interrupted by SIGTERM")


REFERENCE = Ending(signal.SIGKILL, 1, "", 0, (("report", 10),), ())
ENDED = Ending(signal.SIGTERM, 143, "kdump: interrupted by SIGTERM\n", 0, (), ())


@each(
    ("ending", "fault"),
    [
        (ENDED, None),
        (ENDED._replace(status=None), "goes on"),
        (ENDED._replace(processes=1), "leaves a process"),
        (ENDED._replace(left=(("report", 9),)), "leaves report, which looks whole"),
        (ENDED._replace(left=(("report", 10),)), None),
        (ENDED._replace(left=(("report.incomplete-7", 9),)), "leaves report.incomplete-7"),
        (ENDED._replace(left_in_tmp=("kdump-stdin-x",)), "leaves kdump-stdin-x"),
        (ENDED._replace(status=130), "exit 130"),
        (ENDED._replace(stderr=""), "says something else"),
        (ENDED._replace(stderr="Traceback\n" + ENDED.stderr), "says something else"),
        (ENDED._replace(status=1, stderr="", left=(("report", 10),)), None),
        (ENDED._replace(status=1), "ends well, and differs"),
        (ENDED._replace(status=-15, stderr=""), None),
        (ENDED._replace(number=signal.SIGINT, status=1, stderr="Traceback\n  line 1, in run\n"), "exit 1"),
        (ENDED._replace(number=signal.SIGINT, status=1, stderr="Traceback\n  line 1, in main\n"), None),
        (ENDED._replace(number=signal.SIGKILL, status=-9, stderr="", left=(("report.incomplete-7", 9),)), None),
        (ENDED._replace(number=signal.SIGKILL, status=0, stderr=""), "exit 0"),
    ],
)
def test_an_ending_is_wrong_if_something_is_left_over_or_misreported(ending: Ending, fault: str | None) -> None:
    reference = REFERENCE._replace(status=2) if ", in run" in ending.stderr else REFERENCE
    assert wrong(ending, reference) == fault
