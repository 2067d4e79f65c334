"""Runs `kdump reindex`, and reports what was made."""

from __future__ import annotations

import os
import time

from kdump.binary.java_strings import escaped
from kdump.cli.mending.progress import ReindexBar, ReindexProgress
from kdump.cli.report_style import report_style_of
from kdump.cli.shared_options import ESCAPE, settings_of
from kdump.cli.streams import say
from kdump.errors import CorruptData, MissingPackage, Unreadable, UsageError
from kdump.exit_codes import CLEAN, NOT_EXAMINED
from kdump.mending import reindex
from kdump.mending.row import DIFFERENT, MISSING, REBUILT, ReindexSummary
from kdump.output.blocks import Blocks
from kdump.output.reindex import formatter_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.cli.mending.options import ReindexOptions
    from kdump.mending.reindex import Result


def reindex_path(options: ReindexOptions) -> int:
    """Make the new directory, then report its files on stdout. Returns the exit code."""
    if options.out is None:
        raise UsageError("reindex writes a new directory: name it with -o DIR")
    only = [word for word in options.only.split(",") if word]
    config = settings_of(options.config)
    started = time.monotonic()
    try:
        with ReindexBar(shows=os.isatty(2)) as bar:
            result = reindex.run(options.path, options.out, only=only, config=config, progress=ReindexProgress(bar))
    except (CorruptData, Unreadable, MissingPackage) as error:
        say(escaped(str(error)))
        return NOT_EXAMINED
    _report(options, options.out, result, time.monotonic() - started)
    return CLEAN


def _report(options: ReindexOptions, out: str, result: Result, seconds: float) -> None:
    rebuilt = [row for row in result.files if row.action == REBUILT]
    summary = ReindexSummary(
        path=out,
        partitions=result.partitions,
        segments=result.segments,
        log_bytes=result.log_bytes,
        batches=result.batches,
        rebuilt=len(rebuilt),
        different=sum(row.before == DIFFERENT for row in rebuilt),
        missing=sum(row.before == MISSING for row in rebuilt),
        seconds=round(seconds, 3),
        exit_code=CLEAN,
    )
    with open(1, "wb", buffering=0, closefd=False) as stdout:
        style = report_style_of(is_terminal=stdout.isatty(), escapes_formulas=options.csv_formulas == ESCAPE)
        blocks = Blocks(stdout, needs_reader=False)
        formatter = formatter_of(options.output, blocks.write, style)
        for row in result.files:
            formatter.file(row)
        formatter.end(summary)
        blocks.flush()
