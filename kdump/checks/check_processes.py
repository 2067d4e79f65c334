"""Runs checks in worker processes: a crash of a native codec costs one file, and several cores can work.

Workers send their rows file by file, and these are passed on in the order of the jobs. If a worker dies, its last position says
at which file; another worker does the job again, without that file.
"""

from __future__ import annotations

import os
import stat
import time
from contextlib import closing

from kdump.binary import system
from kdump.binary.source import NoSource
from kdump.checks.check import run
from kdump.checks.context import FileContext
from kdump.checks.finding import ByteCoverage
from kdump.checks.live_source import Watch
from kdump.checks.rules import import_ordinary
from kdump.errors import Unreadable
from kdump.formats import file_name
from kdump.tables import Declared
from kdump.workers.pool import Died, NoWorker, Pool
from kdump.workers.process import signal_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from kdump.checks.finding import Emit
    from kdump.checks.jobs import Job
    from kdump.checks.settings import Settings
    from kdump.tables import Row
    from kdump.workers.pool import Outlet, Worker

    Do = Callable[[Job, Settings, Emit, Watch], object]

_MAX_CRASHES = 16  # of one job, after which it is given up
_GRACE_SECONDS = 5.0  # seconds beyond the time limit, before a process that does not answer is ended
_SIGKILL = 9


class Progress(Declared):
    """The progress of a run."""

    total: int
    bytes: int = 0
    files: int = 0


class Isolation:
    """Runs `jobs` in up to `processes` worker processes at a time; in this process where none can be started.

    `do` does one of them, as `kdump.checks.check.run`. `on_wait` is called periodically while there is nothing to do.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        settings: Settings,
        *,
        processes: int = 1,
        do: Do = run,
        on_wait: Callable[[Progress], None] | None = None,
    ) -> None:
        self._jobs = jobs
        self._do = do
        self._settings = settings
        self._processes = min(processes, len(jobs))
        self._on_wait = on_wait
        self._last_signs: dict[Worker, tuple[float, int, bytes]] = {}
        self.progress = Progress(sum(map(size_of, jobs)))

    def results(self) -> Generator[tuple[Job, list[Row]]]:
        """The rows of each job, in the order of the jobs; a job may have several lists."""
        if self._processes > 1:
            import_ordinary()
        attempts = map(_Attempt, self._jobs)
        with Pool(self._work, self._processes, on_wait=self._look) as pool:
            try:
                for attempt, message in pool.results(attempts, in_order=True):
                    if isinstance(message, Died):
                        yield attempt.job, self._rows_of_crash(attempt, message, pool)
                    else:
                        path, rows = message
                        attempt.reported.add(path)
                        yield attempt.job, rows
            except NoWorker as error:
                for job in (error.task.job, *(attempt.job for attempt in attempts)):
                    yield job, self._rows_of(job)

    def _rows_of(self, job: Job) -> list[Row]:
        """Do a job in this process, which a crash of a codec would end."""
        rows: list[Row] = []
        self._do(job, self._settings, rows.append, Watch())
        return rows

    def _work(self, attempt: _Attempt, outlet: Outlet) -> None:
        reporter = _Reporter(attempt, outlet)
        self._do(attempt.job, self._settings, reporter.emit, reporter)
        reporter.send_rows()

    def _rows_of_crash(self, attempt: _Attempt, died: Died, pool: Pool) -> list[Row]:
        """What a dead worker has found, after which the rest of its job is done again without the file that it was reading.

        SIGKILL comes from outside, for example when memory runs out: the file is tried once more before it is left out.
        """
        path, reason = os.fsdecode(died.text), died.how
        if died.code is not None:
            reason = signal_name(-died.code) if died.code < 0 else f"exit code {died.code}"
        if died.code == -_SIGKILL and path not in attempt.tried_again:
            attempt.tried_again.add(path)
            pool.again(attempt)
            return []
        if path and path not in attempt.skipped and len(attempt.skipped) < _MAX_CRASHES:
            attempt.skipped.add(path)
            pool.again(attempt)
            return _crash_rows(path, died.numbers[0], reason, self._settings)
        return _crash_rows(attempt.job.path, 0, reason, self._settings)

    def _look(self, workers: list[Worker]) -> None:
        """Note how far workers are, and kill those that do not answer."""
        places = [worker.place.numbers() for worker in workers]
        self.progress.bytes = sum(position + size for position, size, _ in places)
        self.progress.files = sum(files for _, _, files in places)
        if self._on_wait is not None:
            self._on_wait(self.progress)
        if self._settings.time_limit is not None:
            for worker in workers:
                if worker.run is not None and worker.is_heard:
                    self._end_if_stuck(worker, 2 * self._settings.time_limit + _GRACE_SECONDS)

    def _end_if_stuck(self, worker: Worker, seconds: float) -> None:
        """Kill a worker if it has been checking one file for so long."""
        now, files, path = time.monotonic(), worker.place.numbers()[2], worker.place.text()
        since, *last = self._last_signs.get(worker, (now, 0, b""))
        if last != [files, path]:
            self._last_signs[worker] = now, files, path
        elif now - since > seconds:
            worker.kill(f"it did not finish within {seconds:g} s, and was killed")


def rows_of(
    jobs: Sequence[Job], settings: Settings, do: Do, processes: int, on_wait: Callable[[Progress], None] | None
) -> Generator[tuple[Job, Row]]:
    """The rows of all jobs, each with its job. With `processes`, these do the jobs; close this to end them."""
    if not processes:
        for job in jobs:
            rows: list[Row] = []
            do(job, settings, rows.append, Watch())
            yield from ((job, row) for row in rows)
        return
    with closing(Isolation(jobs, settings, processes=processes, do=do, on_wait=on_wait).results()) as results:
        for job, rows in results:
            yield from ((job, row) for row in rows)


class _Attempt:
    """A job, and what earlier attempts to do it met.

    Files that are `reported` were finished before a crash; they are checked again because others are compared with them. Those
    that are `skipped` are not. At those of `tried_again` a worker was killed from outside.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self.reported: set[str] = set()
        self.skipped: set[str] = set()
        self.tried_again: set[str] = set()


class _Reporter(Watch):
    """Sends the parent process the position of this one, and its findings after each file."""

    def __init__(self, attempt: _Attempt, outlet: Outlet) -> None:
        self.skipped = frozenset(attempt.skipped)
        self._reported = attempt.reported
        self._outlet = outlet
        self._rows: list[Row] = []
        self._path = ""
        _, self._size, self._files = outlet.place.numbers()

    def emit(self, row: Row) -> None:
        if not self._path or self._path not in self._reported:
            self._rows.append(row)

    def begin(self, path: str) -> None:
        self._path = path
        self._outlet.place.put_text(os.fsencode(path))
        self.at(0)

    def at(self, position: int) -> None:
        self._outlet.place.put(position, self._size, self._files)

    def end(self, size: int) -> None:
        self.send_rows()
        self._path = ""
        self._size += size
        self._files += 1
        self._outlet.place.put_text(b"")
        self.at(0)

    def send_rows(self) -> None:
        if self._rows:
            self._outlet.send((self._path, self._rows))
            self._rows.clear()


def _crash_rows(path: str, position: int, reason: str, settings: Settings) -> list[Row]:
    """The finding that a worker died at this file, and the report of the file."""
    rows: list[Row] = []
    status = _status(path)
    is_file = status is not None and stat.S_ISREG(status.st_mode)
    size = status.st_size if status is not None and is_file else 0
    source = NoSource(path)
    source.size = size
    file_type = file_name.suffix(os.path.basename(path)).removeprefix(".") or os.path.basename(path)
    context = FileContext(source, path, file_type if is_file else "directory", settings, rows.append)
    where = f" at byte {position:,}" if position else ""
    message = f"The process that checked it died{where}: {reason}. All other files were checked."
    context.report("check-crashed", position, size, message, found=reason)
    if is_file:
        coverage = ByteCoverage(size)
        rows.append(coverage.report(path, context.file_type, size))
    return rows


def _status(path: str) -> os.stat_result | None:
    """The status of a path, None also if the system does not say it."""
    try:
        return system.status(path)
    except Unreadable:
        return None


def size_of(job: Job) -> int:
    """The total size of the files of a job, as their directory entries show it."""
    try:
        if job.kind == job.FILE:
            status = system.status(job.path)
            return status.st_size if status is not None else 0
        return sum(status.st_size for entry, status in system.file_statuses(job.path) if not entry.is_link)
    except Unreadable:
        return 0
