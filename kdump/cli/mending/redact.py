"""Runs `kdump redact`, and reports what was made."""

from __future__ import annotations

import os
import time

from kdump.binary.java_strings import escaped
from kdump.cli.mending.progress import ReindexBar, ReindexProgress
from kdump.cli.report_style import report_style_of
from kdump.cli.shared_options import ESCAPE
from kdump.cli.streams import say
from kdump.errors import CorruptData, MissingPackage, Unreadable, UsageError
from kdump.exit_codes import CLEAN, FINDINGS, NOT_EXAMINED
from kdump.mending import redact
from kdump.mending.contents import HEADERS, KEYS, PARTS, VALUES
from kdump.mending.row import REDACTED, RedactDifference, RedactedFile, RedactSummary
from kdump.output.blocks import Blocks
from kdump.output.redact import formatter_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.cli.mending.options import RedactOptions
    from kdump.mending.redact import Result


def redact_path(options: RedactOptions) -> int:
    """Make the new directory, then report its files on stdout. Returns the exit code."""
    if options.out is None:
        raise UsageError("redact writes a new directory: name it with -o DIR")
    chosen = ((VALUES, options.redacts_values), (KEYS, options.redacts_keys), (HEADERS, options.redacts_headers))
    parts = [part for part, is_chosen in chosen if is_chosen] or PARTS
    started = time.monotonic()
    try:
        with ReindexBar(shows=os.isatty(2)) as bar:
            progress = ReindexProgress(bar)
            result = redact.run(
                options.path, options.out, parts=parts, keep_fields=options.keep_fields, seed=options.seed, progress=progress
            )
    except (CorruptData, Unreadable, MissingPackage) as error:
        say(escaped(str(error)))
        return NOT_EXAMINED
    exit_code = FINDINGS if result.differences else CLEAN
    _report(options, options.out, result, time.monotonic() - started, exit_code)
    return exit_code


def _report(options: RedactOptions, out: str, result: Result, seconds: float, exit_code: int) -> None:
    summary = RedactSummary(
        path=out,
        files=len(result.files),
        log_bytes=sum(row.size for row in result.files if row.action == REDACTED),
        batches=sum(row.batches for row in result.files),
        records=sum(row.records for row in result.files),
        filled=sum(row.filled for row in result.files),
        findings=result.findings,
        differences=len(result.differences),
        seconds=round(seconds, 3),
        exit_code=exit_code,
    )
    with open(1, "wb", buffering=0, closefd=False) as stdout:
        style = report_style_of(is_terminal=stdout.isatty(), escapes_formulas=options.csv_formulas == ESCAPE)
        blocks = Blocks(stdout, needs_reader=False)
        formatter = formatter_of(options.output, blocks.write, style)
        rows: list[RedactedFile | RedactDifference] = [*result.files, *result.differences]
        for row in rows:
            formatter.row(row)
        formatter.end(summary)
        blocks.flush()
