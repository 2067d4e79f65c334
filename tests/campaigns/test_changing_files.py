"""The short form of the campaign that changes files between two calls of a command."""

import random
import shutil
import sys
from pathlib import Path

import pytest

from campaigns import changing_files
from campaigns.changing_files import CHANGES, Hold, Outcome, Runs, fault
from campaigns.failing_calls import COMMANDS, build
from tests.loops import each

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux" or shutil.which("cc") is None, reason="a library is compiled, and preloaded"),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("library"))


@pytest.mark.parametrize("name", ["check", "log csv", "grep", "recover text", "drop-in"])  # the campaign runs all
def test_a_file_that_changes_meanwhile_changes_no_answer_silently(name: str, tmp_path: Path, library: Path) -> None:
    runs = Runs(COMMANDS[name], tmp_path, library)
    try:
        for hold in changing_files.holds(runs, 3, random.Random(name)):
            outcome = runs.run(hold)
            if outcome.was_held:
                wrong = fault(hold, runs.before, runs.after(hold), outcome)
                assert wrong is None, f"{hold}: {wrong}: {outcome}"
    finally:
        runs.close()


def test_a_change_is_made_at_the_call_that_is_held(tmp_path: Path, library: Path) -> None:
    change = next(change for change in CHANGES if change.__name__ == "_gone")
    hold = Hold("open", 1, change, f"{0:020d}.log", 0)
    runs = Runs(COMMANDS["log"], tmp_path, library)
    outcome = runs.run(hold)
    runs.close()
    assert (runs.before.exit, outcome.was_held, outcome.exit) == (0, True, 3)
    assert f"{0:020d}.log: " in outcome.said


CLEAN, GONE = Outcome(0, "clean", {}), Outcome(3, "kdump: a.log: no such file", {})


@each(
    ("outcome", "wrong"),
    [
        (CLEAN, None),
        (GONE, None),
        (CLEAN._replace(exit=None), "hangs"),
        (CLEAN._replace(leftover=(7,)), "leaves a process"),
        (CLEAN._replace(said="Traceback (most recent call last):"), "shows 'Traceback'"),
        (CLEAN._replace(said="less"), "another answer with exit 0 (before: 0, after: 3)"),
        (CLEAN._replace(exit=1, said="damaged"), "another answer with exit 1 (before: 0, after: 3)"),
        (CLEAN._replace(exit=1, said="a.log was cut to 5 bytes while it was read"), None),
        (CLEAN._replace(exit=2, said="usage"), "exit 2"),
        (CLEAN._replace(exit=4, said="full", files={"new/a.log": b""}), "leaves new/a.log, which looks whole"),
        (CLEAN._replace(exit=3, said=""), "says nothing"),
    ],
)
def test_an_outcome_is_bad_if_it_misleads(outcome: Outcome, wrong: str | None) -> None:
    hold = Hold("open", 1, CHANGES[0], "a.log", 0)
    assert fault(hold, CLEAN, GONE, outcome) == wrong
