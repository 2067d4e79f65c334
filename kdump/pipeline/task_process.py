"""Does tasks of a scan in worker processes, so that a crash costs one attempt of one task."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

from kdump.checks.rules import import_ordinary
from kdump.pipeline import reading, tasks
from kdump.workers.pool import Died, Pool

if TYPE_CHECKING:
    from kdump.pipeline.tasks import ScanTask, TaskReport
    from kdump.workers.pool import Outlet


_OF_MOST_TASKS = ("kdump.pipeline.reader_process", "kdump.reading.stretches")
"""Modules that are otherwise imported when they are first needed, in each process again."""


def import_for_tasks() -> None:
    """Import once what most tasks would import again in a process that ends with them."""
    import_ordinary()
    for module in _OF_MOST_TASKS:
        import_module(module)
    with suppress(ImportError):  # some builds of Python lack it
        import_module("ctypes")


def send_report(task: ScanTask, outlet: Outlet) -> None:
    """Do a task in a worker, and send its report."""
    outlet.send(tasks.attempt(task))


def attempt_apart(task: ScanTask) -> TaskReport:
    """Do a task; where something may crash, in a process of its own, so that this one survives it.

    If that process dies, the task is done again with what may crash in separate processes, to find what to blame. Raises what
    the task raises.
    """
    if not reading.may_crash(task.options):
        return tasks.attempt(task)
    import_for_tasks()
    with Pool(send_report, 1) as pool:
        ((_, result),) = pool.results([task._replace(is_at_risk=True)])
    if not isinstance(result, Died):
        report: TaskReport = result
        return report
    if result.error is not None:
        raise result.error
    return tasks.attempt(task)
