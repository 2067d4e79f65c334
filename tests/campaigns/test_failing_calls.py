"""The short form of the campaign that fails calls of the system: some calls of each command."""

import random
import shutil
import sys
from pathlib import Path

import pytest

from tests.campaigns import failing_calls
from tests.campaigns.failing_calls import COMMANDS, FAILURES, Case, Failure, Outcome

FAILURES_OF_A_COMMAND = 6
LAST_CALL = 24

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux" or shutil.which("cc") is None, reason="a library is compiled, and preloaded"),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return failing_calls.build(tmp_path_factory.mktemp("library"))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_call_that_fails_changes_no_answer_without_a_word(name: str, tmp_path: Path, library: Path) -> None:
    chance = random.Random(name)
    case = chance.choice(list(failing_calls.cases(tmp_path, names=[name])))
    reference = failing_calls.run(case, library)
    for failure in chance.sample(FAILURES, FAILURES_OF_A_COMMAND):
        number = chance.randrange(1, LAST_CALL)
        outcome = failing_calls.run(case, library, failure, number)
        if outcome.failed:
            wrong = failing_calls.fault(case, reference, outcome, failure)
            assert wrong is None, f"{case.name}, call {number}: {failure}: {wrong}: {outcome}"


CASE = Case("check, sound", ("check", "PARTITION"), Path())
CLEAN = Outcome(0, b"clean\n", b"", {}, ())


@pytest.mark.parametrize(
    ("outcome", "wrong"),
    [
        (CLEAN, None),
        (CLEAN._replace(exit=None), "hangs"),
        (CLEAN._replace(leftover=(17,)), "leaves a process"),
        (CLEAN._replace(exit=-11), "killed by signal 11"),
        (CLEAN._replace(stderr=b"Traceback (most recent call last):\n"), "shows 'Traceback'"),
        (CLEAN._replace(stderr=b"kdump: internal error: x\n"), "shows 'internal error'"),
        (CLEAN._replace(stdout=b"less\n"), "another answer with exit 0"),
        (CLEAN._replace(exit=1, stdout=b"damaged\n"), "blames the data"),
        (CLEAN._replace(exit=2, stderr=b"usage\n"), "exit 2"),
        (CLEAN._replace(exit=3), "says nothing"),
        (CLEAN._replace(exit=3, stderr=b"kdump: cannot be read\n"), None),
        (
            CLEAN._replace(exit=4, stderr=b"kdump: disk full\n", files={"report.json": b"{"}),
            "leaves report.json, which is not whole",
        ),
    ],
)
def test_an_outcome_is_bad_if_it_misleads(outcome: Outcome, wrong: str | None) -> None:
    assert failing_calls.fault(CASE, CLEAN, outcome, Failure("pread", "5")) == wrong


def test_each_kind_of_call_is_counted_and_fails(tmp_path: Path, library: Path) -> None:
    (case, _) = failing_calls.cases(tmp_path, names=["check to file"])
    for call in ("open", "pread", "stat", "fstat", "opendir", "readdir", "write", "mmap", "malloc"):
        failure = Failure(call, "5")
        assert failing_calls.run(case, library, failure).calls > 0, call
        assert failing_calls.run(case, library, failure, 1).failed == 1, call
