"""Runs checks in worker processes: a crash of a native codec costs one file, and several cores can work.

Jobs go to a worker by the chunk, because a fork costs more than a small file. Workers send their rows file by file, and these are
passed on in the order of the jobs. If a worker dies, a page of shared memory says at which file; another worker does the rest of
its chunk, without that file.
"""

from __future__ import annotations

import marshal
import os
import select
import stat
import struct
import time

from kdump.binary import system
from kdump.binary.source import NoSource
from kdump.checks.check import run
from kdump.checks.context import FileContext
from kdump.checks.finding import ByteCoverage, FileReport, Finding, Start
from kdump.checks.live_source import Watch
from kdump.checks.rules import import_ordinary
from kdump.errors import Unreadable
from kdump.formats import file_name
from kdump.workers.last_position import LastPosition
from kdump.workers.process import FAILED, kill, start, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from typing import Any

    from kdump.checks.finding import Emit
    from kdump.checks.jobs import Job
    from kdump.checks.settings import Settings
    from kdump.tables import Row

    Do = Callable[[Job, Settings, Emit, Watch], None]

_CHUNK_BYTES = 64 << 20  # bytes of files
_CHUNK_JOBS = 64
_MAX_WAITING_ROWS = 20_000  # rows that may wait for their turn; processes that have more to say wait, too
_MAX_CRASHES = 16  # of one job, after which it is given up
_READ_BYTES = 1 << 18
_POLL_SECONDS = 0.1  # seconds between two checks of everyone's progress
_GRACE_SECONDS = 5.0  # seconds beyond the time limit, before a process that does not answer is ended

_FRAME = struct.Struct(">I")
_LAST_POSITION_BYTES = 8192  # of three numbers and a path
_SIGKILL = 9


_ROWS: tuple[type[Row], ...] = (Finding, FileReport, Start)
"""What processes send to each other, by the module marshal: pickle takes long to import."""


class Progress:
    """The progress of a run."""

    __slots__ = ("bytes", "files", "total")

    def __init__(self, total: int) -> None:
        self.total = total
        self.bytes = 0
        self.files = 0


class Isolation:
    """Runs `jobs` in up to `processes` worker processes at a time; in this process where none can be started.

    `do` does one of them, as `kdump.checks.check.run`, and may also emit rows of `others`, of plain values. `on_wait` is called
    periodically while there is nothing to do.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        settings: Settings,
        *,
        processes: int = 1,
        do: Do = run,
        on_wait: Callable[[Progress], None] | None = None,
        others: Sequence[type[Row]] = (),
    ) -> None:
        self._jobs = jobs
        self._classes = (*_ROWS, *others)
        self._do = do
        self._settings = settings
        self._processes = max(processes, 1)
        self._on_wait = on_wait
        sizes = [size_of(job) for job in jobs]
        self.progress = Progress(sum(sizes))
        self._waiting = _chunks(sizes)
        self._workers: list[_Worker] = []
        self._rows: dict[int, list[Row]] = {}  # results received but not yet passed on, by job number
        self._row_count = 0
        self._reported: dict[int, set[str]] = {}  # files whose rows were received, by the number of an unfinished job
        self._skipped: dict[int, set[str]] = {}
        self._tried_again: set[tuple[int, str]] = set()  # jobs and files at which a process was killed from outside
        self._done: set[int] = set()
        self._through = [0, 0]  # bytes and files of processes that have ended
        self._turn = 0

    def results(self) -> Generator[tuple[Job, list[Row]]]:
        """The rows of each job, in the order of the jobs; a job may have several lists."""
        try:
            while self._turn < len(self._jobs):
                self._start_workers()
                self._collect()
                while self._turn < len(self._jobs):
                    rows = self._rows.pop(self._turn, [])
                    self._row_count -= len(rows)
                    if rows:
                        yield self._jobs[self._turn], rows
                    if self._turn not in self._done:
                        break
                    self._done.discard(self._turn)
                    self._turn += 1
        finally:
            for worker in self._workers:
                worker.end()

    def _start_workers(self) -> None:
        if len(self._waiting) > 1:
            import_ordinary()
        while self._waiting and len(self._workers) < self._processes:
            numbers = self._waiting.pop(0)
            jobs = {number: self._jobs[number] for number in numbers}
            skipped = {path for number in numbers for path in self._skipped.get(number, ())}
            reported = {path for number in numbers for path in self._reported.get(number, ())}
            try:
                self._workers.append(_Worker(jobs, self._settings, self._do, skipped, reported, self._classes))
            except OSError:  # the machine has no process or no descriptor for another worker
                if not self._workers and (skipped or reported):
                    raise  # a worker died at these jobs: this process must not
                if not self._workers:
                    self._work_here(jobs)
                else:
                    self._waiting.insert(0, numbers)
                break

    def _work_here(self, jobs: dict[int, Job]) -> None:
        """Do jobs in this process, which a crash of a codec would end."""
        for number, job in jobs.items():
            rows: list[Row] = []
            self._do(job, self._settings, rows.append, Watch())
            self._add(number, rows)
            self._finish(number)

    def _collect(self) -> None:
        """Wait for a moment, and receive what the workers have sent."""
        readable = [worker for worker in self._workers if self._row_count < _MAX_WAITING_ROWS or worker.left[:1] == [self._turn]]
        ready, _, _ = select.select([worker.descriptor for worker in readable], [], [], _POLL_SECONDS)
        for worker in list(self._workers):
            if worker.descriptor in ready:
                self._receive(worker)
            elif self._settings.time_limit is not None and worker in readable:
                worker.end_if_stuck(2 * self._settings.time_limit + _GRACE_SECONDS)
        states = [worker.state() for worker in self._workers]
        self.progress.bytes = self._through[0] + sum(position + size for position, size, _, _ in states)
        self.progress.files = self._through[1] + sum(files for _, _, files, _ in states)
        if self._on_wait is not None:
            self._on_wait(self.progress)

    def _receive(self, worker: _Worker) -> None:
        for kind, number, value in worker.messages():
            if kind == "rows":
                path, rows = value
                self._add(number, [self._classes[number].of_values(values) for number, values in rows])
                self._reported.setdefault(number, set()).add(path)
            elif kind == "done":
                worker.left.remove(number)
                self._finish(number)
            else:
                worker.reason = value
        if not worker.is_over:
            return
        self._workers.remove(worker)
        worker.end()
        position, size, files, path = worker.state()
        self._through[0] += size
        self._through[1] += files
        if worker.left:
            self._handle_crash(worker, position, path)

    def _handle_crash(self, worker: _Worker, position: int, path: str) -> None:
        """A worker died at the first of its remaining jobs: repeat that job without the file it was reading, then do the rest.

        SIGKILL comes from outside, for example when memory runs out: the file is tried once more before it is left out.
        """
        number = worker.left[0]
        if worker.is_killed and (number, path) not in self._tried_again:
            self._tried_again.add((number, path))
            self._waiting.insert(0, worker.left)
            return
        skipped = self._skipped.setdefault(number, set())
        if path and path not in skipped and len(skipped) < _MAX_CRASHES:
            self._add(number, _crash_rows(path, position, worker.reason, self._settings))
            skipped.add(path)
            self._waiting.insert(0, worker.left)
            return
        self._add(number, _crash_rows(self._jobs[number].path, 0, worker.reason, self._settings))
        self._finish(number)
        if worker.left[1:]:
            self._waiting.insert(0, worker.left[1:])

    def _add(self, number: int, rows: list[Row]) -> None:
        self._rows.setdefault(number, []).extend(rows)
        self._row_count += len(rows)

    def _finish(self, number: int) -> None:
        self._done.add(number)
        self._reported.pop(number, None)
        self._skipped.pop(number, None)


class _Worker:
    """One worker process, and what it has sent so far. `left` are the numbers of its remaining jobs."""

    def __init__(
        self,
        jobs: dict[int, Job],
        settings: Settings,
        do: Do,
        skipped: set[str],
        reported: set[str],
        classes: Sequence[type[Row]],
    ) -> None:
        self.left = list(jobs)
        self.reason = ""
        self.is_killed = False  # from outside, not by us
        self.is_over = False
        self._buffer = bytearray()
        self._last_position = LastPosition(3, _LAST_POSITION_BYTES)
        self._last_sign = (0.0, (0, 0, 0, ""))
        self.descriptor, writing = os.pipe()
        try:
            self._process = start(
                lambda: _work(jobs, settings, do, _Reporter(self._last_position, skipped, reported, writing, classes))
            )
        except OSError:
            os.close(self.descriptor)
            raise
        finally:
            os.close(writing)

    def messages(self) -> Iterator[tuple[str, int, Any]]:
        """The messages since the last call: rows or a reason, as the first word says."""
        data = os.read(self.descriptor, _READ_BYTES)
        self.is_over = not data
        self._buffer += data
        start = 0
        while len(self._buffer) - start >= _FRAME.size:
            (size,) = _FRAME.unpack_from(self._buffer, start)
            if len(self._buffer) - start - _FRAME.size < size:
                break
            start += _FRAME.size
            yield marshal.loads(self._buffer[start : start + size])
            start += size
        del self._buffer[:start]

    def state(self) -> tuple[int, int, int, str]:
        """The position in the file being checked, the bytes and files done, and the file's path."""
        position, size, files = self._last_position.numbers()
        return position, size, files, os.fsdecode(self._last_position.text())

    def end_if_stuck(self, seconds: float) -> None:
        """Kill the process if it has been checking one file for so long."""
        now = time.monotonic()
        files, path = self.state()[2:]
        if (files, path) != self._last_sign[1][2:]:
            self._last_sign = now, (0, 0, files, path)
        elif now - self._last_sign[0] > seconds:
            self.reason = f"it did not finish within {seconds:g} s, and was killed"
            kill(self._process)

    def end(self) -> None:
        """Kill the process if it is still running, and record how it ended."""
        if not self._process:
            return
        if not self.is_over:
            kill(self._process)
        _, status = os.waitpid(self._process, 0)
        self._process = 0
        os.close(self.descriptor)
        if self.left and not self.reason:
            code = os.waitstatus_to_exitcode(status)
            self.reason = _signal_name(-code) if code < 0 else f"exit code {code}"
            self.is_killed = code == -_SIGKILL


class _Reporter(Watch):
    """Sends the parent process the position of this one, and its findings after each file.

    Files that are `reported` were finished before a crash; they are checked again because others are compared with them.
    """

    def __init__(
        self,
        last_position: LastPosition,
        skipped: set[str],
        reported: set[str],
        descriptor: int,
        classes: Sequence[type[Row]],
    ) -> None:
        self._classes = classes
        self.skipped = frozenset(skipped)
        self.descriptor = descriptor
        self.number = 0  # of the job at hand
        self._last_position = last_position
        self._reported = reported
        self._rows: list[Row] = []
        self._path = ""
        self._size = self._files = 0
        self._parent = os.getppid()

    def emit(self, row: Row) -> None:
        if not self._path or self._path not in self._reported:
            self._rows.append(row)

    def begin(self, path: str) -> None:
        if os.getppid() != self._parent:
            os._exit(FAILED)  # nobody is interested any more
        self._path = path
        self._last_position.put_text(os.fsencode(path))
        self.at(0)

    def at(self, position: int) -> None:
        self._last_position.put(position, self._size, self._files)

    def end(self, size: int) -> None:
        self.send_rows()
        self._path = ""
        self._size += size
        self._files += 1
        self._last_position.put_text(b"")
        self.at(0)

    def send_rows(self) -> None:
        if self._rows:
            rows = [(self._classes.index(type(row)), vars(row)) for row in self._rows]
            _send(self.descriptor, ("rows", self.number, (self._path, rows)))
            self._rows.clear()


def _work(jobs: dict[int, Job], settings: Settings, do: Do, reporter: _Reporter) -> None:
    """Do the jobs in the forked process. What is raised ends it, after it was said why."""
    try:
        for number, job in jobs.items():
            reporter.number = number
            do(job, settings, reporter.emit, reporter)
            reporter.send_rows()
            _send(reporter.descriptor, ("done", number, None))
    except Exception as error:
        if "KDUMP_DEBUG" in os.environ:
            import traceback

            traceback.print_exc()
        _send(reporter.descriptor, ("failed", 0, f"{type(error).__name__}: {error}"))
        raise


def _send(descriptor: int, message: tuple[str, int, Any]) -> None:
    data = marshal.dumps(message)
    write_all(descriptor, _FRAME.pack(len(data)) + data)


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
    context.report("check-crashed", min(position, size), size, message, found=reason)
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


def _signal_name(number: int) -> str:
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def size_of(job: Job) -> int:
    """The total size of the files of a job, as their directory entries show it."""
    try:
        if job.kind == job.FILE:
            status = system.status(job.path)
            return status.st_size if status is not None else 0
        return sum(status.st_size for entry, status in system.file_statuses(job.path) if not entry.is_link)
    except Unreadable:
        return 0


def _chunks(sizes: list[int]) -> list[list[int]]:
    """The numbers of the jobs for each worker."""
    chunks: list[list[int]] = []
    size = _CHUNK_BYTES
    for number, job_size in enumerate(sizes):
        if size >= _CHUNK_BYTES or len(chunks[-1]) >= _CHUNK_JOBS:
            chunks.append([])
            size = 0
        chunks[-1].append(number)
        size += job_size
    return chunks
