"""Several processes at one log: whatever becomes of them, what is printed is what one process prints."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from campaigns.commands import processes_of
from kdump.binary.source import Source
from kdump.dropin import parallel_text
from kdump.errors import Unreadable
from kdump.output.blocks import Blocks
from kdump.output.kafka.native_lines import KernelText
from kdump.workers import cores
from tests import kernels
from tests.builders.records import batch, record
from tests.kernels import Sizes
from tests.loops import each
from tests.lost_workers import lose_a_worker
from tests.support import HANG, Patch, wait_until, with_interrupts

pytestmark = pytest.mark.both_kernels

LOG_NAME = "00000000000000000000.log"
SEVERAL = Sizes(stretch=20_000, out=3000)
MANY_STRETCHES = Sizes(stretch=4_000, out=3000)  # so that each process has much to say

PROGRAM = """
import functools
import sys
from kdump.cli import dropin
from kdump.cli.main import main
from kdump.dropin.parallel_text import ParallelTuning
from kdump.dropin.tuning import Tuning

least = dict.fromkeys(ParallelTuning().min_bytes, 1)
parallel = ParallelTuning(min_bytes=least, unit_bytes=50_000, slot_bytes=8192)
dropin.main = functools.partial(dropin.main, tuning=Tuning(min_jobs_bytes=1, parallel=parallel))
sys.argv[0] = "kdump"
sys.exit(main())
"""
"""kdump, for which small logs are worth several processes, that have little memory."""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log in which every hundredth offset is missing."""
    path = tmp_path / LOG_NAME
    count = 4000
    path.write_bytes(b"".join(batch(records=[record(value=b"v" * 40)], base_offset=row + row // 100) for row in range(count)))
    return path


def _start(log: Path, stdout: int) -> "subprocess.Popen[bytes]":
    """kdump in a session of its own, at work at much data."""
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "--jobs", "3", "--deep-iteration", "--files", ",".join([str(log)] * 200)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=with_interrupts,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)},
    )


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up in /proc")


@pytest.mark.slow
@pytest.mark.parametrize("message", [1, 2, 5, 9])
@pytest.mark.parametrize("way", [[], ["--deep-iteration"]], ids=["shallow", "deep"])
def test_no_kill_loses_or_doubles_anything(log: Path, monkeypatch: Patch, message: int, way: list[str]) -> None:
    """The process that writes takes one stretch, so that the others have enough to say, whoever is faster on this machine."""
    wanted = kernels.printed([*way, "--files", log])
    lost = lose_a_worker(monkeypatch, after=message)
    assert kernels.printed([*way, "--files", log], MANY_STRETCHES) == wanted
    assert True in lost


def test_text_of_a_stretch_that_was_written_already_does_not_come_again(log: Path, monkeypatch: Patch) -> None:
    """The other processes have all the stretches, and one dies in the middle of the first."""
    wanted = kernels.printed(["--deep-iteration", "--files", log])
    writer = os.getpid()
    left_out = []
    say, take_stretch, leave_out = parallel_text._SharedOutlet._say, parallel_text.Worker.take_stretch, Blocks.leave_out

    def take_none_here(worker: parallel_text.Worker) -> bool:
        return os.getpid() != writer and take_stretch(worker)

    def say_once(outlet: parallel_text._SharedOutlet, *what: int) -> None:
        say(outlet, *what)
        if outlet._stretch[0] == 0:
            assert what[0] == parallel_text._MORE
            os.kill(os.getpid(), signal.SIGKILL)

    def noting_leave_out(blocks: Blocks, size: int) -> None:
        left_out.append(size)
        leave_out(blocks, size)

    monkeypatch.setattr(parallel_text.Worker, "take_stretch", take_none_here)
    monkeypatch.setattr(parallel_text._SharedOutlet, "_say", say_once)
    monkeypatch.setattr(Blocks, "leave_out", noting_leave_out)
    assert kernels.printed(["--deep-iteration", "--files", log], SEVERAL._replace(out=400)) == wanted
    assert left_out
    assert left_out[0] > 0


@each("what", ["fork", "pipe"])
def test_one_process_does_it_where_there_can_be_no_others(log: Path, monkeypatch: Patch, what: str) -> None:
    wanted = kernels.printed(["--deep-iteration", "--files", log])

    def fails() -> None:
        raise BlockingIOError("there are too many")

    monkeypatch.setattr(os, what, fails)
    assert kernels.printed(["--deep-iteration", "--files", log], SEVERAL) == wanted


def test_an_error_in_another_process_is_met_again_by_the_one_that_writes(log: Path, monkeypatch: Patch) -> None:
    wanted = kernels.printed(["--deep-iteration", "--files", log])
    writer = os.getpid()
    show = parallel_text.Worker._show

    def fails_elsewhere(worker: parallel_text.Worker, start: int, end: int) -> int:
        if os.getpid() != writer:
            raise MemoryError
        return show(worker, start, end)

    monkeypatch.setattr(parallel_text.Worker, "_show", fails_elsewhere)
    before = len(os.listdir("/dev/fd"))
    assert kernels.printed(["--deep-iteration", "--files", log], SEVERAL) == wanted
    assert len(os.listdir("/dev/fd")) == before


def test_text_before_what_cannot_be_read_is_written_first(log: Path, monkeypatch: Patch) -> None:
    read, read_into = Source.read, Source.read_into
    bad = log.stat().st_size // 2

    def check(source: Source, position: int, size: int) -> None:
        if position <= bad < position + size:
            raise Unreadable("file-io-error", "Input/output error", path=source.path, position=position)

    def failing_read(source: Source, position: int, count: int) -> bytes:
        check(source, position, count)
        return read(source, position, count)

    def failing_read_into(source: Source, buffer: memoryview, position: int) -> int:
        check(source, position, len(buffer))
        return read_into(source, buffer, position)

    monkeypatch.setattr(Source, "read", failing_read)
    monkeypatch.setattr(Source, "read_into", failing_read_into)
    monkeypatch.setattr(KernelText, "bulk_renderer", lambda text, source: None)  # it reads without the source
    by_one = kernels.printed(["--deep-iteration", "--files", log], Sizes(window=10_000))
    printed = kernels.printed(["--deep-iteration", "--files", log], SEVERAL._replace(window=10_000))
    assert (printed.exit_code, printed.stderr.count(b"Input/output error")) == (by_one.exit_code, 1)
    assert len(printed.stdout) > 0.4 * len(kernels.printed(["--deep-iteration", "--files", log, "--max-bytes", str(bad)]).stdout)
    assert by_one.stdout.startswith(printed.stdout) or printed.stdout.startswith(by_one.stdout)


@needs_proc
def test_a_full_disk_ends_all_processes(log: Path) -> None:
    with open("/dev/full", "wb") as full:
        run = _start(log, full.fileno())
    _, stderr = run.communicate(timeout=HANG)
    assert (run.returncode, stderr) == (4, b"kdump: cannot write the output: No space left on device\n")
    wait_until(lambda: not processes_of(run.pid))


@needs_proc
def test_a_reader_that_has_seen_enough_ends_all_processes_quietly(log: Path) -> None:
    run = _start(log, subprocess.PIPE)
    assert run.stdout is not None
    assert run.stderr is not None
    run.stdout.read(500_000)
    run.stdout.close()
    assert run.stderr.read() == b""
    run.stderr.close()
    assert run.wait(timeout=HANG) == 0
    wait_until(lambda: not processes_of(run.pid))


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="asks which cores there are")
@each(
    ("last_minute", "running", "jobs"),
    [
        (0.0, b"0.00 0.00 0.00 1/200 4711", 4),
        (9.5, b"9.50 2.00 1.00 1/200 4711", 4),  # they have ended
        (0.2, b"0.20 0.00 0.00 4/200 4711", 4),  # they are not what goes on here
        *((1.8, b"1.80 1.00 1.00 2/200 4711", 4), (3.0, b"3.00 1.00 1.00 4/200 4711", 2), (8.0, b"8.00 8.00 8.00 9/200 4711", 1)),
        (2.0, b"", 3),  # a system that does not tell who is running now
    ],
)
def test_busy_cores_are_left_out(monkeypatch: Patch, tmp_path: Path, last_minute: float, running: bytes, jobs: int) -> None:
    told = tmp_path / "loadavg"
    told.write_bytes(running)
    monkeypatch.setattr(cores, "_LOAD", str(told))
    monkeypatch.setattr(os, "getloadavg", lambda: (last_minute, 0.0, 0.0))
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2, 3})

    assert cores.jobs_here() == jobs


def test_all_cores_are_used_where_the_system_does_not_say_who_is_running(monkeypatch: Patch) -> None:
    def fails() -> tuple[float, float, float]:
        raise OSError("Load averages are unobtainable")

    monkeypatch.setattr(os, "getloadavg", fails)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    assert cores.jobs_here() == 3
