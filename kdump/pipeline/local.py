"""Writes tables as Parquet with processes of this machine, as many as it has cores: the same rows as by Spark, without it.

A process that dies takes its task with it, and nothing else: the task is done again slice by slice, each by a process of its own.
What dies again is left out and reported.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter, deque
from multiprocessing import connection, get_context
from typing import TYPE_CHECKING

from kdump.errors import KdumpError, MissingPackage, UsageError
from kdump.pipeline import tasks
from kdump.pipeline.slice_report import Skipped, SliceReport
from kdump.pipeline.tasks import ATTEMPTS, TaskReport
from kdump.workers.process import how_it_ended

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkProcess

    from kdump.pipeline.options import Options
    from kdump.pipeline.reconciliation import Reconciliation
    from kdump.pipeline.tasks import Task

_TICK = 0.5  # seconds between two looks whether all processes live
_FORK = get_context("fork")
_HOPELESS = (MissingPackage, UsageError, OSError)
"""What a second attempt meets as well: a package that is not there, a disk that is full."""


def write_tables(
    all_options: Sequence[Options],
    folder: str,
    cores: int,
    reconciliation: Reconciliation,
    on_task: Callable[[str, int, int], None],
) -> None:
    """Write each table into a folder of its own below `folder`, and report all tasks to the reconciliation.

    `on_task` is given the table, how many of its tasks are done and how many there are. Raises KdumpError with mode=FAILFAST, and
    whatever another attempt cannot mend.
    """
    os.mkdir(os.path.join(folder, ATTEMPTS))
    done: Counter[str] = Counter()
    for task, reports in _Pool(cores).results(tasks.tasks_of_all(all_options, folder)):
        reconciliation.take(task, reports)
        done[task.table] += 1
        on_task(task.table, done[task.table], task.total)


class _Died(Exception):
    """A process died at its task; the message says how."""


class _Pool:
    """Processes that do tasks. Whichever dies is known by its task, so that no other one has to be done again."""

    def __init__(self, cores: int) -> None:
        self._cores = cores
        self._workers: list[_Worker] = []

    def results(self, waiting: Iterable[Task]) -> Iterable[tuple[Task, list[TaskReport]]]:
        """Each task with the reports of its attempts that count, whichever is done first."""
        queue = iter(waiting)
        again: deque[Task] = deque()
        try:
            while True:
                while len(self._busy()) < self._cores and (task := next(queue, None)) is not None:
                    self._idle_worker().start(task)
                busy = self._busy()
                if not busy:
                    break
                for worker in _ready(busy):
                    task = worker.task
                    try:
                        yield task, [worker.result()]
                    except (_Died, KdumpError, MemoryError) as error:
                        if isinstance(error, _HOPELESS) or task.options.fails_fast:
                            raise
                        again.append(task)
                    if not worker.is_alive:
                        self._workers.remove(worker)
            for task in again:
                yield task, [self._alone(task.of_one(piece)) for piece in task.work]
        finally:
            for worker in self._workers:
                worker.kill()

    def _busy(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.is_busy]

    def _idle_worker(self) -> _Worker:
        for worker in self._workers:
            if not worker.is_busy:
                return worker
        self._workers.append(_Worker(self._workers))
        return self._workers[-1]

    def _alone(self, task: Task) -> TaskReport:
        """One slice by a process that does nothing else; what it cannot read is reported."""
        while self._workers:
            self._workers.pop().kill()  # they may be what memory is short of
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
            (piece,) = task.work
            report = SliceReport.of(piece)
            message = error.message if isinstance(error, KdumpError) else str(error) or "memory was short"
            report.skipped.append(Skipped("task-failed", message, None, None, is_damage=False))
            return TaskReport("", 0, [report])


def _ready(workers: Sequence[_Worker]) -> list[_Worker]:
    """Those that have something to say, or are dead, after a while at most."""
    said = connection.wait([worker.connection for worker in workers], _TICK)
    return [worker for worker in workers if worker.connection in said or not worker.is_alive]


class _Worker:
    """A process that does one task after another, and says of each what came of it."""

    def __init__(self, others: Iterable[_Worker]) -> None:
        self.connection, theirs = _FORK.Pipe()
        inherited = [self.connection, *(other.connection for other in others)]
        self._process: ForkProcess = _FORK.Process(target=_serve, args=(theirs, inherited), daemon=False)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))  # this process hears interrupts, and ends that one
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        self._task: Task | None = None

    @property
    def task(self) -> Task:
        assert self._task is not None
        return self._task

    @property
    def is_busy(self) -> bool:
        return self._task is not None

    @property
    def is_alive(self) -> bool:
        return self._process.is_alive()

    def start(self, task: Task) -> None:
        self._task = task
        try:
            self.connection.send(task)
        except OSError:
            pass  # it died while it had nothing to do, which shows when its result is asked for

    def result(self) -> TaskReport:
        """What it did. Raises what its task raised, and _Died."""
        self._task = None
        try:
            if not self.connection.poll():
                raise EOFError
            answer: TaskReport | Exception = self.connection.recv()
        except (EOFError, OSError):
            self.kill()
            raise _Died(f"the process that read it {how_it_ended(self._process.exitcode or 0)}") from None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def kill(self) -> None:
        """End it, wherever it is."""
        self._process.kill()
        self._process.join()
        self.connection.close()


def _serve(channel: Connection, inherited: list[Connection]) -> None:
    """What the process does: tasks, until nobody has one."""
    for other in inherited:
        other.close()
    while True:
        try:
            task = channel.recv()
        except (EOFError, MemoryError):
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
        try:
            channel.send(answer)
        except MemoryError:
            break  # whoever waits for it hears that this process died
    os._exit(0)
