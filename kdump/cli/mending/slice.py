"""Runs `kdump slice`, and reports what was made."""

from __future__ import annotations

import os
import time

from kdump.binary.java_strings import escaped
from kdump.cli.mending.progress import ReindexBar, ReindexProgress
from kdump.cli.report_style import report_style_of
from kdump.cli.shared_options import ESCAPE, settings_of
from kdump.cli.streams import say
from kdump.cli.times import milliseconds
from kdump.errors import CorruptData, MissingPackage, Unreadable, UsageError
from kdump.exit_codes import CLEAN, NOT_EXAMINED
from kdump.mending import slice
from kdump.mending.row import SliceSummary
from kdump.mending.slicing import Wanted
from kdump.output.blocks import Blocks
from kdump.output.slice import formatter_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.cli.mending.options import SliceOptions
    from kdump.mending.slice import Result

_SUMS = ("batches", "outside", "cloned", "rewritten", "emptied", "dropped", "records", "kept", "out_of_range", "by_key")


def slice_path(options: SliceOptions) -> int:
    """Make the new directory, then report its logs on stdout. Returns the exit code."""
    if options.out is None:
        raise UsageError("slice writes a new directory: name it with -o DIR")
    wanted = Wanted(
        from_offset=options.from_offset,
        to_offset=options.to_offset,
        from_time=None if options.from_time is None else milliseconds(options.from_time, is_end=False),
        to_time=None if options.to_time is None else milliseconds(options.to_time, is_end=True),
        is_exact=options.is_exact,
        keep_keys=[_key(text, is_hex=options.is_hex) for text in options.keep_keys],
        drop_keys=[_key(text, is_hex=options.is_hex) for text in options.drop_keys],
    )
    config = settings_of(options.config)
    started = time.monotonic()
    try:
        with ReindexBar(shows=os.isatty(2)) as bar:
            result = slice.run(options.path, options.out, wanted, config=config, progress=ReindexProgress(bar))
    except (CorruptData, Unreadable, MissingPackage) as error:
        say(escaped(str(error)))
        return NOT_EXAMINED
    _report(options, options.out, result, time.monotonic() - started)
    return CLEAN


def _report(options: SliceOptions, out: str, result: Result, seconds: float) -> None:
    summary = SliceSummary(
        path=out,
        segments=result.segments,
        log_start=result.log_start,
        log_end=result.log_end,
        log_bytes=result.log_bytes,
        **{name: sum(getattr(row, name) for row in result.rows) for name in _SUMS},
        seconds=round(seconds, 3),
        exit_code=CLEAN,
    )
    with open(1, "wb", buffering=0, closefd=False) as stdout:
        style = report_style_of(is_terminal=stdout.isatty(), escapes_formulas=options.csv_formulas == ESCAPE)
        blocks = Blocks(stdout, needs_reader=False)
        formatter = formatter_of(options.output, blocks.write, style)
        for row in result.rows:
            formatter.segment(row)
        formatter.end(summary)
        blocks.flush()


def _key(text: str, *, is_hex: bool) -> bytes:
    if not is_hex:
        return os.fsencode(text)
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise UsageError(f"{text!r} is not bytes in hexadecimal", remedy="write them as 00ff12") from None
