"""One task of a scan: it reads its slices of files, writes their rows as a file of Parquet, and reports what it did.

Each attempt has a unique file name. The process that gave out the task moves the file of one attempt into place.
"""

from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING, NamedTuple

from kdump.output.arrow.files import TableFile
from kdump.output.arrow.schemas import schema_of
from kdump.pipeline import planning, reading
from kdump.pipeline.kept import NOTHING, Kept

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from kdump.pipeline.options import Options
    from kdump.pipeline.planning import CheckSlice, FileSlice, Task
    from kdump.pipeline.slice_report import SliceReport

ATTEMPTS = "_attempts"
"""The folder, beside the tables, in which attempts leave their files."""


class ScanTask(NamedTuple):
    """A task of a scan: its slices, its number among the `total` of its table, and the folder for its file."""

    number: int
    total: int
    slices: Task
    options: Options
    folder: str

    @property
    def table(self) -> str:
        return self.options.table

    def of_one(self, file_slice: FileSlice | CheckSlice) -> ScanTask:
        """This task with only one of its slices."""
        return self._replace(slices=(file_slice,))


class TaskReport(NamedTuple):
    """The result of an attempt: the name of its file (empty if there is none), its rows, and a report of each slice."""

    file: str
    rows: int
    slices: list[SliceReport]


def tasks_of(options: Options, folder: str, known: Collection[str] = ()) -> Iterator[ScanTask]:
    """The tasks that write a table, without paths that are `known`."""
    attempts = os.path.join(folder, ATTEMPTS)
    tasks = planning.plan(options, known=known, is_repeated=True)
    for number, task in enumerate(tasks):
        yield ScanTask(number, len(tasks), task, options, attempts)


def tasks_of_all(all_options: Sequence[Options], folder: str, kept: Kept = NOTHING) -> Iterator[ScanTask]:
    """The tasks that write several tables, without what is kept of an earlier scan.

    Each table is planned when its turn comes, because plans of large fleets are large.
    """
    for options in all_options:
        yield from tasks_of(options, folder, kept.of(options.table))


def attempt(task: ScanTask) -> TaskReport:
    """Do a task once. If this raises, no file remains; if the process dies, a file marked incomplete remains."""
    slices: list[SliceReport] = []
    name = f"{task.table}-{task.number:05d}-{uuid.uuid4().hex}.parquet"
    with TableFile(os.path.join(task.folder, name), schema_of(task.options.columns)) as file:
        for batch in reading.read(task.slices, task.options, slices.append):
            file.write(batch)
    return TaskReport(name, file.rows, slices)
