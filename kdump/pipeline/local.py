"""Writes tables as Parquet with one process per core of this machine: the same rows as with Spark.

What may crash runs in the process of its task, for most tasks do not crash. If the process dies, only its task is lost. It is
done again with that in separate processes, to find what to blame; if that fails, slice by slice, each in a separate process.
A slice whose process dies again is left out and reported.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from typing import TYPE_CHECKING

from kdump.errors import KdumpError, MissingPackage, UsageError
from kdump.pipeline import tasks
from kdump.pipeline.kept import NOTHING, Kept
from kdump.pipeline.slice_report import Skipped
from kdump.pipeline.task_process import Died, TaskProcess, import_for_tasks
from kdump.pipeline.tasks import ATTEMPTS, TaskReport
from kdump.workers.ending_signals import Uninterrupted
from kdump.workers.process import readable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import TracebackType

    from kdump.pipeline.options import Options
    from kdump.pipeline.reconciliation import Reconciliation
    from kdump.pipeline.tasks import ScanTask

_TICK = 0.5  # seconds between two looks whether all processes live
_HOPELESS = (MissingPackage, UsageError, OSError)
"""Errors that a second attempt would also hit: a missing package, a full disk."""


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
    import_for_tasks()
    done: Counter[str] = Counter()

    def finish(task: ScanTask, reports: list[TaskReport]) -> None:
        reconciliation.take(task, reports)
        for part in filter(None, (task, task.of_segments())):
            done[part.table] += 1
            on_task(part.table, done[part.table], part.total)

    with _Pool(cores) as pool:
        for task, reports in pool.results(tasks.tasks_of_all(all_options, folder, kept)):
            finish(task, reports)


class _Pool:
    """Processes that do tasks. If one dies, its task is known, and no other task has to be done again."""

    def __init__(self, cores: int) -> None:
        self._cores = cores
        self._workers: list[TaskProcess] = []

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
                except (Died, KdumpError, MemoryError) as error:
                    if isinstance(error, Died) and task.is_at_risk:
                        crashed.append(task._replace(is_at_risk=False))
                    elif isinstance(error, _HOPELESS) or task.options.fails_fast:
                        raise
                    else:
                        again.append(task._replace(is_at_risk=False))
                if not worker.is_alive:
                    self._workers.remove(worker)
        for task in again:
            yield task, [self._alone(task.of_one(file_slice)) for file_slice in task.slices]

    def _busy(self) -> list[TaskProcess]:
        return [worker for worker in self._workers if worker.is_busy]

    def _idle_worker(self) -> TaskProcess:
        for worker in self._workers:
            if not worker.is_busy:
                return worker
        with Uninterrupted():  # the worker process stays so; this one hears the signals, and kills it
            self._workers.append(TaskProcess(self._workers))
        return self._workers[-1]

    def _alone(self, task: ScanTask) -> TaskReport:
        """Read one slice in a separate process; what it cannot read is reported."""
        while self._workers:
            self._workers.pop().kill()  # they may be what uses up the memory
        with Uninterrupted():
            worker = TaskProcess(())
            self._workers.append(worker)
        worker.start(task)
        try:
            while not _ready([worker]):
                pass
            return worker.result()
        except _HOPELESS:
            raise
        except (Died, KdumpError, MemoryError) as error:
            message = error.message if isinstance(error, KdumpError) else str(error) or "it ran out of memory"
            return tasks.left_out(task, Skipped("task-failed", message, None, None, is_damage=False))


def _ready(workers: Sequence[TaskProcess]) -> list[TaskProcess]:
    """The workers that have a result or have died; waits for a bounded time."""
    said = readable([worker.descriptor for worker in workers], _TICK)
    return [worker for worker in workers if worker.descriptor in said or not worker.is_alive]
