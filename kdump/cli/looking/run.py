"""Runs `kdump info`."""

from __future__ import annotations

import os
import sys

from kdump.cli.checking.progress import CheckProgress
from kdump.cli.report_style import report_style_of
from kdump.cli.shared_options import ESCAPE, throttle_reading
from kdump.formats import tree
from kdump.formats.selection import Selection, globs_of, numbers_of
from kdump.output.blocks import Blocks
from kdump.output.info import write_info
from kdump.overview.overview import overview_of
from kdump.workers.cores import jobs_here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.cli.looking.options import InfoOptions


def info_paths(options: InfoOptions) -> int:
    """Write what is at the paths on stdout. Returns the exit code."""
    throttle_reading(options.rate, is_nice=options.is_nice)
    paths = tree.matching(options.paths)
    is_wanted = wanted(options.topics, options.partitions)
    with CheckProgress(shows=sys.stderr is not None and os.isatty(2)) as progress:
        overview = overview_of(
            paths,
            options.level,
            is_wanted=is_wanted,
            processes=1 if options.rate else options.jobs or jobs_here(),  # a rate is that of one process
            on_wait=progress.show,
        )
    with open(1, "wb", buffering=0, closefd=False) as stdout:
        style = report_style_of(is_terminal=stdout.isatty(), color=options.color, escapes_formulas=options.csv_formulas == ESCAPE)
        out = Blocks(stdout, needs_reader=False)
        write_info(options.output, overview, out.write, style)
        out.flush()
    return overview.exit_code


def wanted(topics: str | None, partitions: str | None) -> Callable[[str | None, int | None], bool] | None:
    """Whether a topic and partition is asked for; None if all are. Raises UsageError."""
    selection = Selection(globs_of(topics), numbers_of("--partitions", partitions or ""))
    return None if selection.is_all else selection.has
