"""Runs a command that mends: makes the new directory, then reports on stdout what is in it."""

from __future__ import annotations

import os
import time

from kdump.binary.java_strings import escaped
from kdump.cli.progress import PatientBar
from kdump.cli.report_style import printed
from kdump.cli.shared_options import throttle_reading
from kdump.cli.streams import say
from kdump.errors import CorruptData, MissingPackage, Unreadable, UsageError
from kdump.exit_codes import NOT_EXAMINED
from kdump.formats import tree
from kdump.mending.progress import Progress
from kdump.output.mending import ONE_KIND, ROW_CLASSES, formatter_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from kdump.cli.mending.options import MendOptions
    from kdump.tables import Row

    Made = tuple[Sequence[Row], Any]  # the summary is a row of any class with seconds and an exit code


def run(command: str, options: MendOptions, inputs: Sequence[str], make: Callable[[str, Progress], Made]) -> int:
    """Make the directory of `-o`, and report what was made. Returns the exit code.

    `inputs` are the paths that are read. `make` is given the directory and what counts its progress, and returns the rows and the
    summary, but for the seconds that it took.
    """
    throttle_reading(options.rate, is_nice=options.is_nice)
    if options.out is None:
        raise UsageError(f"{command} writes a new directory: name it with -o DIR")
    for place in dict.fromkeys(filter(None, map(tree.locked_directory, inputs))):
        say(f"{place} is locked: a broker is running on it. If it changes a file that is read, {command} ends with exit code 3.")
    started = time.monotonic()
    try:
        with PatientBar(shows=os.isatty(2)) as bar:
            rows, summary = make(options.out, Progress(bar.draw))
    except (CorruptData, Unreadable, MissingPackage) as error:
        say(escaped(str(error)))
        return NOT_EXAMINED
    summary.seconds = round(time.monotonic() - started, 3)
    with printed(options) as (out, style):
        formatter = formatter_of(command, options.output, out.write, style)
        for row in rows:
            formatter.row(row)
        formatter.end(summary)
    if options.output in ONE_KIND:
        _count_other_kinds(command, options.output, rows)
    exit_code: int = summary.exit_code
    return exit_code


def _count_other_kinds(command: str, output: str, rows: Sequence[Row]) -> None:
    """Say on stderr which rows are not in the output, which has rows of one kind."""
    shown, *others = ROW_CLASSES[command]
    counts = [(sum(type(row) is other for row in rows), other.row_kind) for other in others]
    left_out = [f"{count:,} of kind {kind}" for count, kind in counts if count]
    if left_out:
        say(f"--output {output} has rows of kind {shown.row_kind}; --output ndjson also has {', '.join(left_out)}.")
