"""Writes tables as Parquet with one process per core of this machine: the same rows as with Spark.

What may crash runs in the process of its task, for most tasks do not crash. If the process dies, only its task is lost. It is
done again with that in separate processes, to find what to blame; if that fails, slice by slice, each in a separate process.
A slice whose process dies again is left out and reported.
"""

from __future__ import annotations

import os
import sys
from collections import Counter, deque
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

from kdump.checks.jobs import Job
from kdump.checks.rules import import_ordinary
from kdump.checks.settings import DEEP
from kdump.errors import KdumpError, MissingPackage, UsageError
from kdump.pipeline import tasks
from kdump.pipeline.kept import FINDINGS, NOTHING, Kept
from kdump.pipeline.planning import CheckSlice
from kdump.pipeline.slice_report import Skipped
from kdump.pipeline.tasks import ATTEMPTS, TaskReport
from kdump.workers import messages
from kdump.workers.ending_signals import Uninterrupted
from kdump.workers.process import how_it_ended, kill, readable, start, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import TracebackType

    from kdump.pipeline.options import Options
    from kdump.pipeline.reconciliation import Reconciliation
    from kdump.pipeline.tasks import ScanTask
    from kdump.reading.walk_notes import Note

_TICK = 0.5  # seconds between two looks whether all processes live
_HOPELESS = (MissingPackage, UsageError, OSError)
"""Errors that a second attempt would also hit: a missing package, a full disk."""

_OF_MOST_TASKS = ("kdump.pipeline.reader_process", "kdump.reading.read_ahead")
"""Modules that are otherwise imported when they are first needed, in each process again."""


def write_tables(
    all_options: Sequence[Options],
    folder: str,
    cores: int,
    reconciliation: Reconciliation,
    on_task: Callable[[str, int, int], None],
    kept: Kept = NOTHING,
) -> None:
    """Write each table into its own subfolder of `folder`, without what is kept, and report all tasks to the reconciliation.

    `on_task` gets the table, the number of its tasks that are done, and their total. Raises KdumpError with mode=FAILFAST, and
    errors that another attempt cannot fix.
    """
    os.mkdir(os.path.join(folder, ATTEMPTS))
    _import_for_workers()
    done: Counter[str] = Counter()

    def finish(task: ScanTask, reports: list[TaskReport]) -> None:
        reconciliation.take(task, reports)
        for part in filter(None, (task, task.of_segments())):
            done[part.table] += 1
            on_task(part.table, done[part.table], part.total)

    checks = [options for options in all_options if options.table == FINDINGS]
    others = [options for options in all_options if options.table != FINDINGS]
    takes_notes = any(options.settings.level != DEEP for options in checks)
    notes = _Notes()
    with _Pool(cores) as pool:
        for task, reports in pool.results(tasks.tasks_of_all(others, folder, kept, takes_notes=takes_notes)):
            finish(task, reports)
            notes.add(reports)
        for task, reports in pool.results(map(notes.given_to, tasks.tasks_of_all(checks, folder, kept))):
            finish(task, reports)


class _Notes:
    """The notes that walks through logs took, for the checks of these."""

    def __init__(self) -> None:
        self._of_directory: dict[str, dict[str, Note]] = {}

    def add(self, reports: Iterable[TaskReport]) -> None:
        for report in reports:
            for one in report.slices:
                if one.note is not None:
                    self._of_directory.setdefault(os.path.dirname(one.path), {})[one.path] = one.note

    def given_to(self, task: ScanTask) -> ScanTask:
        """A task of checks with the notes on the logs that it checks."""
        notes: dict[str, Note] = {}
        for one in task.slices:
            directory = (
                os.path.dirname(one.path) if isinstance(one, CheckSlice) and one.kind == Job.FILE else one.path.rstrip("/")
            )
            notes |= self._of_directory.get(directory, {})
        return task._replace(notes=notes)


def _import_for_workers() -> None:
    """Import once what most tasks would import again: they start processes, which end with them."""
    import_ordinary()
    for module in _OF_MOST_TASKS:
        import_module(module)
    with suppress(ImportError):  # some builds of Python lack it
        import_module("ctypes")


class _Died(Exception):
    """A process died during its task; the message says how."""


class _Pool:
    """Processes that do tasks. If one dies, its task is known, and no other task has to be done again."""

    def __init__(self, cores: int) -> None:
        self._cores = cores
        self._workers: list[_Worker] = []

    def __enter__(self) -> _Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for worker in self._workers:
            worker.kill()

    def results(self, waiting: Iterable[ScanTask]) -> Iterable[tuple[ScanTask, list[TaskReport]]]:
        """Each task with the reports of its successful attempts, in the order in which they finish."""
        queue = iter(waiting)
        crashed: deque[ScanTask] = deque()
        again: list[ScanTask] = []
        while True:
            while len(self._busy()) < self._cores:
                if crashed:
                    self._idle_worker().start(crashed.popleft())
                elif (task := next(queue, None)) is not None:
                    self._idle_worker().start(task._replace(is_at_risk=True))
                else:
                    break
            busy = self._busy()
            if not busy:
                break
            for worker in _ready(busy):
                task = worker.task
                try:
                    yield task, [worker.result()]
                except (_Died, KdumpError, MemoryError) as error:
                    if isinstance(error, _Died) and task.is_at_risk:
                        crashed.append(task._replace(is_at_risk=False))
                    elif isinstance(error, _HOPELESS) or task.options.fails_fast:
                        raise
                    else:
                        again.append(task._replace(is_at_risk=False))
                if not worker.is_alive:
                    self._workers.remove(worker)
        for task in again:
            yield task, [self._alone(task.of_one(file_slice)) for file_slice in task.slices]

    def _busy(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.is_busy]

    def _idle_worker(self) -> _Worker:
        for worker in self._workers:
            if not worker.is_busy:
                return worker
        with Uninterrupted():  # the worker process stays so; this one hears the signals, and kills it
            self._workers.append(_Worker(self._workers))
        return self._workers[-1]

    def _alone(self, task: ScanTask) -> TaskReport:
        """Read one slice in a separate process; what it cannot read is reported."""
        while self._workers:
            self._workers.pop().kill()  # they may be what uses up the memory
        with Uninterrupted():
            worker = _Worker(())
            self._workers.append(worker)
        worker.start(task)
        try:
            while not _ready([worker]):
                pass
            return worker.result()
        except _HOPELESS:
            raise
        except (_Died, KdumpError, MemoryError) as error:
            message = error.message if isinstance(error, KdumpError) else str(error) or "it ran out of memory"
            return tasks.left_out(task, Skipped("task-failed", message, None, None, is_damage=False))


def _ready(workers: Sequence[_Worker]) -> list[_Worker]:
    """The workers that have a result or have died; waits for a bounded time."""
    said = readable([worker.descriptor for worker in workers], _TICK)
    return [worker for worker in workers if worker.descriptor in said or not worker.is_alive]


class _Worker:
    """A process that does one task after another and reports the result of each, which arrives at `descriptor`."""

    def __init__(self, others: Iterable[_Worker]) -> None:
        inherited = [descriptor for other in others for descriptor in other._pipes]
        pipes: list[int] = []
        try:
            pipes += os.pipe()
            pipes += os.pipe()
            self.descriptor, answering, taking, self._giving = pipes
            inherited += [self.descriptor, self._giving]
            self._process = start(lambda: _serve(taking, answering, inherited))
        except OSError as error:
            for descriptor in pipes:
                os.close(descriptor)
            raise KdumpError(f"no worker process can be started: {error.strerror}", remedy="take fewer with --jobs") from error
        os.close(answering)
        os.close(taking)
        self._pipes: list[int] = [self.descriptor, self._giving]
        self._status: int | None = None  # of the process, once it has ended
        self._task: ScanTask | None = None

    @property
    def task(self) -> ScanTask:
        assert self._task is not None
        return self._task

    @property
    def is_busy(self) -> bool:
        return self._task is not None

    @property
    def is_alive(self) -> bool:
        if self._status is None:
            process, status = os.waitpid(self._process, os.WNOHANG)
            self._status = status if process else None
        return self._status is None

    def start(self, task: ScanTask) -> None:
        self._task = task
        try:
            messages.send(self._giving, task)
        except OSError:
            pass  # it died while idle, which shows when its result is requested

    def result(self) -> TaskReport:
        """The report of its task. Raises what the task raised, and _Died."""
        self._task = None
        answer: TaskReport | Exception
        try:
            if not wait_for(self.descriptor, 0):
                raise EOFError
            answer = messages.receive(self.descriptor)
        except (EOFError, OSError):
            raise _Died(f"the process that read it {how_it_ended(self.kill())}") from None
        except MemoryError:
            self.kill()  # it may have more to say, which nobody would understand
            raise
        if isinstance(answer, Exception):
            raise answer
        return answer

    def kill(self) -> int:
        """Kill the process, if it has not ended. Returns its exit code, negative for a signal."""
        if self.is_alive:
            kill(self._process)
            _, self._status = os.waitpid(self._process, 0)
        while self._pipes:
            os.close(self._pipes.pop())
        assert self._status is not None
        return os.waitstatus_to_exitcode(self._status)


def _serve(taking: int, answering: int, inherited: list[int]) -> None:
    """Do tasks until the parent has no more."""
    for descriptor in inherited:
        os.close(descriptor)
    while True:
        try:
            task = messages.receive(taking)
        except EOFError:
            break
        answer: TaskReport | Exception
        try:
            answer = tasks.attempt(task)
        except (KdumpError, OSError, MemoryError) as error:
            answer = error
        except Exception as error:
            if "KDUMP_DEBUG" in os.environ:
                sys.excepthook(type(error), error, error.__traceback__)
            answer = KdumpError(f"{type(error).__name__}: {error}")
        messages.send(answering, answer)
