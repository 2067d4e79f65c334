"""One task of a scan: it reads its slices of files, writes their rows as a file of Parquet, and reports what it did.

The file has a name that no other attempt has. Whoever gave out the task puts the file of one attempt in its place.
"""

from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING, NamedTuple

from kdump.output.arrow.files import TableFile
from kdump.output.arrow.schemas import schema_of
from kdump.pipeline import planning, reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kdump.pipeline.options import Options
    from kdump.pipeline.planning import CheckSlice, FileSlice, Task
    from kdump.pipeline.slice_report import SliceReport

ATTEMPTS = "_attempts"
"""The folder, beside the tables, in which attempts leave their files."""


class ScanTask(NamedTuple):
    """What one task reads, one of `total` of its table, and the folder in which it leaves its file."""

    number: int
    total: int
    slices: Task
    options: Options
    folder: str

    @property
    def table(self) -> str:
        return self.options.table

    def of_one(self, file_slice: FileSlice | CheckSlice) -> ScanTask:
        """The part of this task that is about one slice."""
        return self._replace(slices=(file_slice,))


class TaskReport(NamedTuple):
    """What an attempt left: the name of its file (empty where there is none), the rows in it, and an account of each slice."""

    file: str
    rows: int
    slices: list[SliceReport]


def tasks_of(options: Options, folder: str) -> Iterator[ScanTask]:
    """The tasks that write a table."""
    attempts = os.path.join(folder, ATTEMPTS)
    tasks = planning.plan(options)
    for number, task in enumerate(tasks):
        yield ScanTask(number, len(tasks), task, options, attempts)


def tasks_of_all(all_options: Sequence[Options], folder: str) -> Iterator[ScanTask]:
    """The tasks that write several tables. A table is planned when its turn comes: plans of large fleets are large."""
    for options in all_options:
        yield from tasks_of(options, folder)


def attempt(task: ScanTask) -> TaskReport:
    """Do a task, once. Where this raises, nothing is left; where the process dies, a file that is called incomplete."""
    slices: list[SliceReport] = []
    name = f"{task.table}-{task.number:05d}-{uuid.uuid4().hex}.parquet"
    with TableFile(os.path.join(task.folder, name), schema_of(task.options.columns)) as file:
        for batch in reading.read(task.slices, task.options, slices.append):
            file.write(batch)
    return TaskReport(name, file.rows, slices)
