"""Writes tables as Parquet with processes of this machine, as many as it has cores: the same rows as by Spark, without it."""

from __future__ import annotations

import os
import signal
from multiprocessing import get_context
from typing import TYPE_CHECKING

from kdump.output.arrow.files import TableFile
from kdump.output.arrow.schemas import schema_of
from kdump.pipeline import planning, reading

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kdump.pipeline.options import Options
    from kdump.pipeline.planning import Work


def write_tables(all_options: Sequence[Options], folder: str, cores: int, on_task: Callable[[str, int, int], None]) -> None:
    """Write each table into a folder of its own below `folder`.

    `on_task` is told the table, how many of its tasks are done and how many there are. Raises KdumpError with mode=FAILFAST.
    """
    with get_context("fork").Pool(cores, _ignore_interrupts) as pool:
        for options in all_options:
            works = planning.plan(options)
            directory = os.path.join(folder, options.table)
            os.mkdir(directory)
            on_task(options.table, 0, len(works))
            tasks = [(work, options, os.path.join(directory, f"part-{number:05d}.parquet")) for number, work in enumerate(works)]
            for done, _ in enumerate(pool.imap_unordered(_write, tasks), 1):
                on_task(options.table, done, len(works))


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that waits hears it, and ends these


def _write(task: tuple[Work, Options, str]) -> int:
    work, options, path = task
    with TableFile(path, schema_of(options.columns)) as file:
        for batch in reading.read(work, options):
            file.write(batch)
    return file.rows
