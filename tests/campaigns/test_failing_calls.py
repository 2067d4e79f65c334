"""The short form of the campaign that fails calls of the system: some calls of each command."""

import errno
import io
import random
import shutil
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from campaigns import failing_calls
from campaigns.failing_calls import COMMANDS, FAILURES, Case, Failure, Outcome
from tests.loops import each

FAILURES_OF_A_COMMAND = 2
LAST_CALL = 24

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux" or shutil.which("cc") is None, reason="a library is compiled, and preloaded"),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return failing_calls.build(tmp_path_factory.mktemp("library"))


@each("name", list(COMMANDS)[::4])  # the campaign runs all
def test_a_call_that_fails_changes_no_answer_silently(name: str, tmp_path: Path, library: Path) -> None:
    chance = random.Random(name)
    case = chance.choice(list(failing_calls.cases(tmp_path, names=[name])))
    reference = failing_calls.run(case, library)
    for failure in chance.sample(FAILURES, FAILURES_OF_A_COMMAND):
        number = chance.randrange(1, LAST_CALL)
        outcome = failing_calls.run(case, library, failure, number)
        if outcome.failed:
            wrong = failing_calls.fault(case, reference, outcome, failure)
            assert wrong is None, f"{case.name}, call {number}: {failure}: {wrong}: {outcome}"


@pytest.mark.parametrize("name", ["log", "log deep", "log csv"])
def test_a_listing_goes_on_after_a_block_that_cannot_be_read(name: str, tmp_path: Path, library: Path) -> None:
    case = next(failing_calls.cases(tmp_path, names=[name]))
    reference = failing_calls.run(case, library)
    outcome = failing_calls.run(case, library, Failure("sector", "5"), 6)
    assert outcome.exit == 3
    shown, whole = outcome.stdout.splitlines(), reference.stdout.splitlines()
    lost = [line for line in whole if line not in shown]
    assert 9 <= len(lost) <= 12 * 11  # of each of 3 logs 3 batches of 10 records touch the block, and one more is in doubt
    for base_offset in (0, 400, 800):
        where = f"{base_offset:020d}.log: bytes 20480 to 24575 cannot be read from the device"
        assert where in outcome.stderr.decode()


def test_a_scan_goes_on_after_a_block_that_cannot_be_read(tmp_path: Path, library: Path) -> None:
    case = next(failing_calls.cases(tmp_path, names=["scan tables"]))
    outcome = failing_calls.run(case, library, Failure("sector", "5"), 6)
    assert outcome.exit == 3
    tables = {name: pq.read_table(io.BytesIO(data)) for name, data in outcome.files.items() if name.endswith(".parquet")}
    batches = [row for name, table in tables.items() if name.startswith("tables/batches/") for row in table.to_pylist()]
    whole = {row["baseOffset"] for row in batches if row["status"] in ("intact", "salvaged")}
    assert whole == {offset for offset in range(0, 1200, 10) if offset % 400 not in (90, 100, 110)}
    findings = [row for name, table in tables.items() if name.startswith("tables/findings/") for row in table.to_pylist()]
    missing = [(row["start"], row["end"]) for row in findings if row["code"] == "scan-rows-missing"]
    assert missing == [(20480, 24576)] * 3


@pytest.mark.parametrize(("failure", "number"), [(Failure("pread", "5"), 2), (Failure("open", "24", True), 1)], ids=str)
def test_a_fork_that_has_loaded_all_fails_as_a_new_process_does(
    failure: Failure, number: int, tmp_path: Path, library: Path
) -> None:
    case = next(failing_calls.cases(tmp_path, names=["grep jobs absent"]))
    server = failing_calls.loaded(case, library)
    for one, at in ((None, 0), (failure, number)):
        outcome = failing_calls.run(case, library, one, at, server)
        expected = failing_calls.run(case, library, one, at)
        assert outcome._replace(calls=0, failed=0) == expected._replace(calls=0, failed=0)
        assert bool(outcome.failed) == bool(one)
    server.close()


@each("call", ["open", "opendir", "stat"])
@each("name", ["check log directory", "check pattern", "scan json", "grep expression"])
def test_no_call_that_fails_makes_a_log_directory_look_clean_or_damaged(
    name: str, call: str, tmp_path: Path, library: Path
) -> None:
    case = next(failing_calls.cases(tmp_path, names=[name]))
    server, failure = failing_calls.loaded(case, library), Failure(call, str(errno.EIO))
    reference = failing_calls.run(case, library, server=server)
    assert reference.exit == 0
    count = failing_calls.run(case, library, failure, server=server).calls
    for number in range(1, count + 1, 1 + count // 10):
        outcome = failing_calls.run(case, library, failure, number, server)
        assert failing_calls.fault(case, reference, outcome, failure) is None, (number, outcome)
    server.close()


def test_no_command_waits_for_a_thread_that_has_no_memory(tmp_path: Path, library: Path) -> None:
    failure, failed = Failure("mmap", str(errno.ENOMEM), all_from_there=True), 0
    for name in ("slice compressed", "recover", "reindex"):
        case = next(failing_calls.cases(tmp_path / name.replace(" ", "-"), names=[name]))
        reference = failing_calls.run(case, library)
        outcome = failing_calls.run(case, library, failure, 1)
        assert failing_calls.fault(case, reference, outcome, failure) is None, (name, outcome.stderr.decode(errors="replace"))
        failed += outcome.failed
    assert failed  # not each run needs more memory than the interpreter has at hand


@pytest.mark.parametrize("name", ["scan", "check"])
def test_an_unbuffered_stdout_that_takes_half_of_each_write_gets_all(
    name: str, tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    case = next(failing_calls.cases(tmp_path, names=[name]))
    reference = failing_calls.run(case, library)
    outcome = failing_calls.run(case, library, Failure("write", "short", all_from_there=True), 1)
    assert outcome.failed
    assert (outcome.exit, outcome.stdout) == (reference.exit, reference.stdout)


CASE = Case("check, sound", ("check", "PARTITION"), Path())
CLEAN = Outcome(0, b"clean\n", b"", {}, ())


@each(
    ("outcome", "wrong"),
    [
        (CLEAN, None),
        (CLEAN._replace(exit=None), "hangs"),
        (CLEAN._replace(leftover=(17,)), "leaves a process"),
        (CLEAN._replace(exit=-11), "killed by signal 11"),
        (CLEAN._replace(stderr=b"Traceback (most recent call last):\n"), "shows 'Traceback'"),
        (CLEAN._replace(stderr=b"Exception ignored in thread started by: <x>\nMemoryError\n"), "shows 'Exception ignored'"),
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


def test_what_an_earlier_command_made_may_stay() -> None:
    before = CLEAN._replace(exit=4, stderr=b"kdump: disk full\n", files={"report.json": b"{}"}, earlier={"report.json": b"{}"})
    reference = CLEAN._replace(files={"report.json": b"{1}"}, earlier=before.earlier)
    assert failing_calls.fault(CASE, reference, before, Failure("write", "28")) is None
    cut = before._replace(files={"report.json": b"{"})
    assert failing_calls.fault(CASE, reference, cut, Failure("write", "28")) == "leaves report.json, which is not whole"


def test_a_process_that_the_c_library_ends_leaves_what_was_made_before() -> None:
    said = b"cannot allocate memory for thread-local data: ABORT\n"
    before = CLEAN._replace(exit=127, stderr=said, files={"tables/0.parquet": b"old"}, earlier={"tables/0.parquet": b"old"})
    assert failing_calls.fault(CASE, CLEAN, before, Failure("malloc", "12")) is None
    half = before._replace(files={"tables/0.parquet": b"ne"})
    assert failing_calls.fault(CASE, CLEAN, half, Failure("malloc", "12")) == "exit 127"


def test_the_reader_of_a_pipe_may_leave_but_the_verdict_stays() -> None:
    found = CLEAN._replace(exit=1)
    unread = Failure("write", str(errno.EPIPE))
    assert failing_calls.fault(CASE, found, found._replace(stdout=b""), unread) is None
    assert failing_calls.fault(CASE, found, CLEAN._replace(stdout=b""), unread) == "the verdict is lost with the pipe"


def test_a_thread_without_memory_is_no_fault_if_the_answer_is_the_same() -> None:
    line = b"Exception ignored in sys.unraisablehook: <bound method X.y of <Z object at 0x7f>>\n"
    bare = b"Exception ignored in: <bound method Thread._bootstrap of <Thread(x, started daemon 1)>>\nMemoryError\n"
    for said in (line, line + b"MemoryError: \n", b"Exception ignored in thread started by: <x>\nMemoryError\n", bare):
        outcome = CLEAN._replace(stderr=said)
        assert failing_calls.fault(CASE, CLEAN, outcome, Failure("mmap", "12")) is None
        assert failing_calls.fault(CASE, CLEAN, outcome._replace(stdout=b"less\n"), Failure("mmap", "12")) is not None


def test_a_worker_process_that_arrow_ends_for_lack_of_memory_is_no_fault_of_the_command() -> None:
    outcome = CLEAN._replace(stderr=b"what():  std::bad_alloc\nFatal Python error: Aborted\n")
    assert failing_calls.fault(CASE, CLEAN, outcome, Failure("malloc", "12")) is None
    assert failing_calls.fault(CASE, CLEAN, outcome, Failure("pread", "5")) == "shows 'Fatal Python error'"
    assert failing_calls.fault(CASE, CLEAN, outcome._replace(stdout=b"less\n"), Failure("malloc", "12")) is not None
    outcome = CLEAN._replace(stderr=b"what():  std::bad_alloc\nFatal Python error: no memory for this thread\n")
    assert failing_calls.fault(CASE, CLEAN, outcome, Failure("malloc", "12")) == "shows 'Fatal Python error'"


def test_each_kind_of_call_is_counted_and_fails(tmp_path: Path, library: Path) -> None:
    (case, _) = failing_calls.cases(tmp_path, names=["check to file"])
    for call in ("open", "pread", "stat", "fstat", "opendir", "readdir", "write", "mmap", "malloc"):
        failure = Failure(call, "5")
        assert failing_calls.run(case, library, failure).calls > 0, call
        assert failing_calls.run(case, library, failure, 1).failed == 1, call
