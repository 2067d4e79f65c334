"""One task of a scan: it reads its slices of files, writes their rows as a file of Parquet, and reports what it did.

A task for batches also makes the rows of segments, in a second file, because both are read from every byte of a log.

Each attempt has a unique file name. The process that gave out the task moves the file of one attempt into place.
"""

from __future__ import annotations

import os
import uuid
from copy import copy
from typing import TYPE_CHECKING, NamedTuple

from kdump.output.arrow.files import TableFile
from kdump.output.arrow.schemas import schema_of
from kdump.pipeline import planning, reading
from kdump.pipeline.kept import NOTHING, Kept
from kdump.pipeline.planning import FileSlice
from kdump.pipeline.slice_report import SliceReport

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    import pyarrow as pa

    from kdump.pipeline.options import Options
    from kdump.pipeline.planning import CheckSlice, Task
    from kdump.pipeline.slice_report import Skipped

BATCHES, SEGMENTS = "batches", "segments"

ATTEMPTS = "_attempts"
"""The folder, beside the tables, in which attempts leave their files."""


class ScanTask(NamedTuple):
    """A task of a scan: its slices, its number among the `total` of its table, and the folder for its file.

    With `segments`, the options of that table, its rows for the same logs are made as well. Where it `is_at_risk`, what may crash
    is done in the process of the attempt itself, which takes less time than in a process of its own.
    """

    number: int
    total: int
    slices: Task
    options: Options
    folder: str
    segments: Options | None = None
    is_at_risk: bool = False

    @property
    def table(self) -> str:
        return self.options.table

    def of_one(self, file_slice: FileSlice | CheckSlice) -> ScanTask:
        """This task with only one of its slices."""
        return self._replace(slices=(file_slice,))

    @property
    def logs(self) -> tuple[FileSlice, ...]:
        """The slices that have rows in the table of segments."""
        return tuple(one for one in self.slices if isinstance(one, FileSlice) and planning.is_read_for(one.item, SEGMENTS))

    def of_segments(self) -> ScanTask | None:
        """What it does for the table of segments, as a task; None if that is nothing."""
        if self.segments is None:
            return None
        return self._replace(slices=self.logs, options=self.segments, segments=None)


class TaskReport(NamedTuple):
    """The result of an attempt: the name of its file (empty if there is none), its rows, and a report of each slice.

    `segments` is the result for that table, if the task makes it as well.
    """

    file: str
    rows: int
    slices: list[SliceReport]
    segments: TaskReport | None = None


def tasks_of(options: Options, folder: str, known: Collection[str] = (), segments: Options | None = None) -> Iterator[ScanTask]:
    """The tasks that write a table, without paths that are `known`; and with `segments` that table as well."""
    attempts = os.path.join(folder, ATTEMPTS)
    tasks = planning.plan(options, known=known, is_repeated=True)
    for number, task in enumerate(tasks):
        yield ScanTask(number, len(tasks), task, options, attempts, segments)


def tasks_of_all(all_options: Sequence[Options], folder: str, kept: Kept = NOTHING) -> Iterator[ScanTask]:
    """The tasks that write several tables, without what is kept of an earlier scan.

    Each table is planned when its turn comes, because plans of large fleets are large.
    """
    of_table = {options.table: options for options in all_options if not options.fails_fast}
    segments = of_table.get(SEGMENTS) if BATCHES in of_table else None
    for options in all_options:
        if options is segments:
            continue
        of_batches = segments if options.table == BATCHES else None
        yield from tasks_of(options, folder, kept.of(options.table), of_batches)


def attempt(task: ScanTask) -> TaskReport:
    """Do a task once. If this raises, or if the process dies, no task needs what remains in the folder."""
    slices: list[SliceReport] = []
    if task.is_at_risk:
        task = task._replace(options=copy(task.options))
        task.options.is_isolated = False
    makes_sums = task.segments is not None
    report = _written(task, reading.read(task.slices, task.options, slices.append, makes_sums=makes_sums), slices)
    of_segments = task.of_segments()
    if of_segments is None:
        return report
    walked = {one.path: one for one in slices}
    summed: list[SliceReport] = []
    rows = reading.segments_of(task.logs, of_segments.options, walked, summed.append)
    segments = _written(of_segments, rows, summed)
    for one in slices:
        one.sums = None
    return report._replace(segments=segments)


def _written(task: ScanTask, batches: Iterable[pa.RecordBatch], slices: list[SliceReport]) -> TaskReport:
    """Write the rows of one table. `slices` are complete when the last of them is written."""
    name = f"{task.table}-{task.number:05d}-{uuid.uuid4().hex}.parquet"
    with TableFile(os.path.join(task.folder, name), schema_of(task.options.columns)) as file:
        for batch in batches:
            file.write(batch)
    return TaskReport(name, file.rows, slices)


def left_out(task: ScanTask, skipped: Skipped) -> TaskReport:
    """The report of a task that was given up: its slices have no rows, for this reason."""
    of_segments = task.of_segments()
    slices = [SliceReport(one.path) for one in task.slices]
    for report in slices:
        report.skipped.append(skipped)
    return TaskReport("", 0, slices, left_out(of_segments, skipped) if of_segments is not None else None)
