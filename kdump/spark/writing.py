"""Writes tables as Parquet with Spark, and asks them what only a fleet shows."""

from __future__ import annotations

import os
import threading
from functools import partial
from typing import TYPE_CHECKING

from kdump.pipeline.fleet import written
from kdump.spark import read
from kdump.spark.checks import ask
from kdump.spark.session import run_interruptible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from kdump.pipeline.fleet.query import Query

FEW_ROWS = 500_000
"""Of so many rows SQLite tells in some seconds what Spark takes as long to plan."""

_INTERVAL = 0.2  # seconds between two looks at how far all has come


def write_tables(
    session: SparkSession,
    given: Sequence[Mapping[str, str]],
    paths: Sequence[str],
    folder: str,
    on_task: Callable[[str, int, int], None],
) -> None:
    """Write a table for each set of options into a folder of its own below `folder`.

    `on_task` is told the table, how many of its tasks are done and how many there are.
    """
    for options in given:
        table = options["table"]
        others = {name: value for name, value in options.items() if name != "table"}
        frame = partial(read, session, paths, table=table, **others)
        _write(session, frame, table, os.path.join(folder, table), on_task)


def ask_tables(session: SparkSession, queries: Sequence[Query], folder: str) -> list[pa.Table]:
    """The answers to questions to the tables in a folder. Where these are small, SQLite is asked: it needs no time to begin."""
    if written.row_count(folder, queries) <= FEW_ROWS:
        return written.ask(folder, queries)
    names = {table for query in queries for table in query.columns}

    def frames() -> dict[str, DataFrame]:
        return {table: session.read.parquet(os.path.join(folder, table)) for table in names}

    found = run_interruptible(session, frames)
    return [run_interruptible(session, partial(_answer, query, found)) for query in queries]


def _answer(query: Query, frames: Mapping[str, DataFrame]) -> pa.Table:
    return ask(query, frames).toArrow()


def _write(
    session: SparkSession,
    frame: Callable[[], DataFrame],
    table: str,
    directory: str,
    on_task: Callable[[str, int, int], None],
) -> None:
    """Write a table; `frame` makes it, which asks Java already, so that an interrupt must not meet it either."""
    progress = _Progress(session)
    on_task(table, 0, 0)
    try:
        run_interruptible(
            session,
            lambda: frame().write.option("compression", "zstd").parquet(directory),
            lambda: on_task(table, progress.done, progress.total),
        )
    finally:
        progress.end()


class _Progress:
    """How many tasks are done, asked for by a thread of its own: an interrupt must not meet a call into Java."""

    def __init__(self, session: SparkSession) -> None:
        self.done = self.total = 0
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
            known = [stage for stage in stages if stage is not None]
            self.done, self.total = sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known)
