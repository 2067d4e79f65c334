"""Runs `kdump recover`, and reports what was recovered and what was not."""

from __future__ import annotations

import os
import time

from kdump.binary.java_strings import escaped
from kdump.cli.mending.progress import ReindexBar, ReindexProgress
from kdump.cli.report_style import report_style_of
from kdump.cli.shared_options import ESCAPE, settings_of
from kdump.cli.streams import say
from kdump.errors import CorruptData, MissingPackage, Unreadable, UsageError
from kdump.exit_codes import CLEAN, FINDINGS, NOT_EXAMINED
from kdump.mending import recover
from kdump.output.blocks import Blocks
from kdump.output.recover import formatter_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.cli.mending.options import RecoverOptions
    from kdump.mending.recover import Result


def recover_paths(options: RecoverOptions) -> int:
    """Make the new directory, then report on stdout what is in it and what is not. Returns the exit code."""
    if options.out is None:
        raise UsageError("recover writes a new directory: name it with -o DIR")
    accept = [_offset(word) for word in options.accept]
    config = settings_of(options.config)
    started = time.monotonic()
    try:
        with ReindexBar(shows=os.isatty(2)) as bar:
            result = recover.run(
                options.paths, options.out, merge=options.merge, accept=accept, config=config, progress=ReindexProgress(bar)
            )
    except (CorruptData, Unreadable, MissingPackage) as error:
        say(escaped(str(error)))
        return NOT_EXAMINED
    exit_code = CLEAN if result.is_whole else FINDINGS
    _report(options, options.out, result, time.monotonic() - started, exit_code)
    return exit_code


def _report(options: RecoverOptions, out: str, result: Result, seconds: float, exit_code: int) -> None:
    with open(1, "wb", buffering=0, closefd=False) as stdout:
        style = report_style_of(is_terminal=stdout.isatty(), escapes_formulas=options.csv_formulas == ESCAPE)
        blocks = Blocks(stdout, needs_reader=False)
        formatter = formatter_of(options.output, blocks.write, style)
        for row in result.rows:
            formatter.row(row)
        formatter.end(result.summary(out, seconds=round(seconds, 3), exit_code=exit_code))
        blocks.flush()


def _offset(word: str) -> int:
    if not (word.isascii() and word.isdigit() and len(word) < 20):
        raise UsageError(f"--accept {word}: an offset is a number")
    return int(word)
