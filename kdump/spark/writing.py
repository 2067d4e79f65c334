"""Writes tables as Parquet with Spark, and asks questions about the fleet of them."""

from __future__ import annotations

import os
import socket
import sys
import threading
from functools import partial
from typing import TYPE_CHECKING

from kdump.errors import MissingPackage
from kdump.pipeline.kept import NOTHING, Kept
from kdump.pipeline.options import Options
from kdump.pipeline.task_process import attempt_apart
from kdump.pipeline.tasks import ATTEMPTS, tasks_of_all
from kdump.spark.checks import ask
from kdump.spark.releases import to_arrow
from kdump.spark.session import run_interruptible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from kdump.pipeline.fleet.query import Query
    from kdump.pipeline.reconciliation import Reconciliation
    from kdump.pipeline.tasks import ScanTask, TaskReport

_INTERVAL = 1.0  # seconds between two looks at how far all has come


def write_tables(
    session: SparkSession,
    given: Sequence[Mapping[str, str]],
    folder: str,
    reconciliation: Reconciliation,
    on_task: Callable[[str, int, int], None],
    kept: Kept = NOTHING,
) -> None:
    """Write a table for each set of options into its own subfolder of `folder`, without what is kept, and report all tasks.

    Tasks write their own files, all in one Spark job. Spark retries failed tasks and returns one report for each, whose file
    counts. `on_task` gets the number of finished tasks and the total.
    """
    attempts = os.path.join(folder, ATTEMPTS)
    os.mkdir(attempts)
    context = session.sparkContext
    all_options = [Options({"parallelism": str(context.defaultParallelism), **options}) for options in given]
    tasks = list(tasks_of_all(all_options, folder, kept))
    progress = _Progress(session)
    try:
        reports = run_interruptible(
            session,
            lambda: context.parallelize(tasks, len(tasks)).map(_attempt).collect(),
            lambda: on_task("", progress.done, len(tasks)),
        )
    finally:
        progress.end()
    for task, report in zip(tasks, reports, strict=True):
        reconciliation.take(task, [report])


def _attempt(task: ScanTask) -> TaskReport:
    """Do a task on a worker, which may lack packages that the driver has."""
    try:
        return attempt_apart(task)
    except MissingPackage as error:
        where = f"on every worker: this one is {socket.gethostname()}, its Python {sys.executable}"
        raise MissingPackage(error.message, path=error.path, remedy=f"{error.remedy} {where}") from error


def ask_tables(session: SparkSession, queries: Sequence[Query], folder: str) -> list[pa.Table]:
    """The answers to questions about the tables in a folder."""
    names = {table for query in queries for table in query.columns}

    def frames() -> dict[str, DataFrame]:
        return {table: session.read.parquet(os.path.join(folder, table)) for table in names}

    found = run_interruptible(session, frames)
    return [run_interruptible(session, partial(_answer, query, found)) for query in queries]


def _answer(query: Query, frames: Mapping[str, DataFrame]) -> pa.Table:
    return to_arrow(ask(query, frames))


class _Progress:
    """Counts the tasks that are done, in a separate thread: an interrupt must not meet a call into Java."""

    def __init__(self, session: SparkSession) -> None:
        self.done = 0
        self._context = session.sparkContext
        self._is_over = threading.Event()
        threading.Thread(target=self._ask, daemon=True).start()

    def end(self) -> None:
        self._is_over.set()

    def _ask(self) -> None:
        while not self._is_over.wait(_INTERVAL):
            try:
                tracker = self._context.statusTracker()
                stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            except Exception:  # the session has ended
                return
            self.done = sum(stage.numCompletedTasks for stage in stages if stage is not None)
