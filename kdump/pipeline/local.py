"""Writes tables as Parquet with one process per core of this machine: the same rows as with Spark.

What may crash runs in the process of its task, for most tasks do not crash. If the process dies, only its task is lost. It is
done again with that in separate processes, to find what to blame; if that fails, slice by slice, each in a separate process.
A slice whose process dies again is left out and reported.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

from kdump.errors import KdumpError, MissingPackage, UsageError
from kdump.pipeline import tasks
from kdump.pipeline.kept import NOTHING, Kept
from kdump.pipeline.slice_report import Skipped
from kdump.pipeline.task_process import import_for_tasks, send_report
from kdump.pipeline.tasks import ATTEMPTS, TaskReport
from kdump.workers.pool import Died, Pool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kdump.pipeline.options import Options
    from kdump.pipeline.reconciliation import Reconciliation
    from kdump.pipeline.tasks import ScanTask

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

    for task, reports in _results(tasks.tasks_of_all(all_options, folder, kept), cores):
        finish(task, reports)


def _results(waiting: Iterable[ScanTask], cores: int) -> Iterator[tuple[ScanTask, list[TaskReport]]]:
    """Each task with the reports of its successful attempts, in the order in which they finish."""
    failed: list[ScanTask] = []
    with Pool(send_report, cores) as pool:
        for task, result in pool.results(one._replace(is_at_risk=True) for one in waiting):
            if not isinstance(result, Died):
                yield task, [result]
            elif result.error is None and task.is_at_risk:
                pool.again(task._replace(is_at_risk=False))
            elif isinstance(result.error, _HOPELESS) or task.options.fails_fast:
                raise _error_of(result)
            else:
                failed.append(task._replace(is_at_risk=False))
    for task in failed:  # after all others, whose processes may be what used up the memory
        yield task, [_alone(task.of_one(file_slice)) for file_slice in task.slices]


def _alone(task: ScanTask) -> TaskReport:
    """Read one slice in a separate process; what it cannot read is reported."""
    with Pool(send_report, 1) as pool:
        ((_, result),) = pool.results([task])
    if not isinstance(result, Died):
        report: TaskReport = result
        return report
    error = _error_of(result)
    if isinstance(error, _HOPELESS):
        raise error
    message = error.message if isinstance(error, KdumpError) else str(error) or "it ran out of memory"
    return tasks.left_out(task, Skipped("task-failed", message, None, None, is_damage=False))


def _error_of(died: Died) -> Exception:
    return died.error or KdumpError(f"the process that read it {died.how}")
