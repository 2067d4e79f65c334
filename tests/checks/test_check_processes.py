"""Checks in processes of their own: what a crash costs, in what order results come."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest

from kdump.checks import check_processes, segment
from kdump.checks.check_processes import Isolation
from kdump.checks.context import FileContext
from kdump.checks.finding import FileReport, Finding
from kdump.checks.jobs import Job, jobs
from kdump.checks.segment_facts import SegmentFacts
from kdump.checks.settings import Settings
from kdump.tables import Row
from kdump.workers.pool import Worker
from tests.builders.files import file_name, write_partition
from tests.builders.records import batch, record

SETTINGS = Settings(now=0)


def _batches(first: int, count: int) -> list[bytes]:
    return [batch(records=[record(value=b"value")], base_offset=first + row) for row in range(count)]


@contextmanager
def _before_each(act: Callable[[FileContext], None]) -> Iterator[None]:
    """Do something in the process that checks a segment, before it does."""
    check = segment.check

    def act_and_check(context: FileContext) -> SegmentFacts:
        act(context)
        return check(context)

    with mock.patch.object(segment, "check", act_and_check):
        yield


def _rows(work: list[Job], settings: Settings = SETTINGS, processes: int = 1) -> list[Row]:
    return [row for _, rows in Isolation(work, settings, processes=processes).results() for row in rows]


def _crashes(rows: list[Row]) -> list[tuple[str, str | None]]:
    return [(row.path.rpartition("/")[2], row.found) for row in rows if isinstance(row, Finding) and row.code == "check-crashed"]


def _examined(rows: list[Row]) -> set[str]:
    return {row.path.rpartition("/")[2] for row in rows if isinstance(row, FileReport) and not row.bytes_not_examined}


@pytest.mark.parametrize("is_once", [True, False])
def test_a_check_that_is_killed_once_is_done_again_and_each_other_crash_is_reported(tmp_path: Path, is_once: bool) -> None:
    directory = write_partition(tmp_path / "data", segments={number: _batches(number, 1) for number in range(6)})

    def die(context: FileContext) -> None:
        done = tmp_path / str(context.base_offset)
        if context.base_offset in (0, 2, 3) and not (is_once and done.exists()):
            done.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    with _before_each(die):
        rows = _rows(jobs(str(directory)))
    assert len(list(tmp_path.iterdir())) == 4
    assert _crashes(rows) == [(file_name(number, ".log"), "SIGKILL") for number in (0, 2, 3)] * (not is_once)
    paths = [row.path for row in rows if isinstance(row, FileReport)]
    assert len(paths) == len(set(paths)) == len(list(directory.iterdir()))  # nothing twice


def test_a_job_in_which_everything_crashes_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_processes, "_MAX_CRASHES", 2)
    directory = write_partition(tmp_path, segments={number: _batches(number, 1) for number in range(4)})
    with _before_each(lambda _: os.kill(os.getpid(), signal.SIGKILL)):
        rows = _rows(jobs(str(directory)))
    assert _crashes(rows) == [*((file_name(number, ".log"), "SIGKILL") for number in range(2)), (directory.name, "SIGKILL")]


def test_a_bug_in_kdump_is_reported_like_a_crash(tmp_path: Path) -> None:
    directory = write_partition(tmp_path, segments={0: _batches(0, 1), 1: _batches(1, 1)})

    def fail(context: FileContext) -> None:
        if context.base_offset == 0:
            raise ZeroDivisionError("division by zero")

    with _before_each(fail):
        rows = _rows(jobs(str(directory)))
    assert _crashes(rows) == [(file_name(0, ".log"), "ZeroDivisionError: division by zero")]
    assert file_name(1, ".log") in _examined(rows)


def test_a_process_that_does_not_answer_is_ended(tmp_path: Path) -> None:
    directory = write_partition(tmp_path, segments={0: _batches(0, 1), 1: _batches(1, 1)})

    def sleep(context: FileContext) -> None:
        if context.base_offset == 0:
            time.sleep(1000)

    end_if_stuck = Isolation._end_if_stuck
    given = set()

    def end_sleeper_soon(run: Isolation, worker: Worker, seconds: float) -> None:
        given.add(seconds)
        end_if_stuck(run, worker, 0.2 if worker.place.text().endswith(file_name(0, ".log").encode()) else seconds)

    with _before_each(sleep), mock.patch.object(Isolation, "_end_if_stuck", end_sleeper_soon):
        rows = _rows(jobs(str(directory)), Settings(now=0, time_limit=100))
    assert given == {205.0}
    assert [name for name, _ in _crashes(rows)] == [file_name(0, ".log")]
    assert file_name(1, ".log") in _examined(rows)


def test_what_was_found_before_a_crash_is_kept_and_reported_once(tmp_path: Path) -> None:
    broken = batch(records=[record(value=b"value")])[:-1] + b"X"
    directory = write_partition(tmp_path, segments={0: [broken], 1: [broken], 2: [broken]})

    def crash(context: FileContext) -> None:
        if context.base_offset == 1:
            context.report("crc-mismatch", 0, 0, "Found before the crash.")
            context.tick(61)
            os.kill(os.getpid(), signal.SIGKILL)

    with _before_each(crash):
        rows = _rows(jobs(str(directory)))
    found = [(row.code, row.path.rpartition("/")[2]) for row in rows if isinstance(row, Finding)]
    assert [(code, name) for code, name in found if code in ("crc-mismatch", "check-crashed")] == [
        ("crc-mismatch", file_name(0, ".log")),
        ("check-crashed", file_name(1, ".log")),
        ("crc-mismatch", file_name(2, ".log")),
    ]
    (one,) = (row for row in rows if isinstance(row, Finding) and row.code == "check-crashed")
    assert (one.file_type, one.start, one.end) == ("log", 61, len(broken))
    assert one.message == "The process that checked it died at byte 61: SIGKILL. All other files were checked."


def test_no_worker_is_left_when_the_caller_ends(tmp_path: Path) -> None:
    for number in range(4):
        write_partition(tmp_path, topic=f"t{number}", segments={0: _batches(0, 1)})

    children: list[int] = []
    fork = os.fork

    def noted_fork() -> int:
        children.append(fork())
        return children[-1]

    with _before_each(lambda context: time.sleep(0 if "t0" in context.path else 1000)), mock.patch.object(os, "fork", noted_fork):
        results = Isolation(jobs(str(tmp_path)), SETTINGS, processes=4).results()
        next(results)
        results.close()
    assert children
    for process in children:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
