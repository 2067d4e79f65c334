"""Runs `kdump info`, `kdump triage`, `kdump map` and `kdump report`."""

from __future__ import annotations

import os
import sys
from functools import partial

from kdump import exit_codes
from kdump.cli.checking.progress import CheckProgress
from kdump.cli.report_style import printed
from kdump.cli.shared_options import throttle_reading
from kdump.cli.streams import say
from kdump.errors import Unreadable, UsageError
from kdump.formats import tree
from kdump.formats.selection import Selection, partitions_below, selected
from kdump.output.blocks import Blocks
from kdump.output.rows.formatters import formatter_of
from kdump.output.rows.row_writer import write_rows
from kdump.overview.map_rows import PICTURES, PLOT_OF_MAP, PNG, SVG
from kdump.overview.overview import overview_of
from kdump.workers.cores import jobs_here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeVar

    from kdump.cli.looking.options import InfoOptions, MapOptions, ReportOptions, TriageOptions
    from kdump.output.rows.formatters import Write
    from kdump.output.text.style import ReportStyle
    from kdump.overview.partition_map import PartitionMap
    from kdump.tables import Row

    Found = TypeVar("Found")


def info_paths(options: InfoOptions) -> int:
    """Write what is at the paths on stdout. Returns the exit code."""
    from kdump.output.text.info import write_overview
    from kdump.overview.row import ROW_CLASSES

    found = _found(options, overview_of)
    _write(options, found.rows(), ROW_CLASSES, partial(write_overview, found))
    return found.exit_code


def triage_paths(options: TriageOptions) -> int:
    """Write what is wrong at the paths on stdout. Returns the exit code."""
    from kdump.output.text.triage import write_screen
    from kdump.output.triage import add_commands
    from kdump.overview.row import TRIAGE_CLASSES
    from kdump.overview.triage import triage_of

    found = _found(options, triage_of)
    add_commands(found)
    _write(options, found.rows(), TRIAGE_CLASSES, partial(write_screen, found))
    return found.exit_code


def map_paths(options: MapOptions) -> int:
    """Draw the partitions at the paths on stdout. Returns the exit code, the worst of their checks."""
    from kdump.output.text.map import write_maps
    from kdump.overview.map_rows import ROW_CLASSES
    from kdump.overview.partition_map import partition_map

    write_picture = _picture_writer(options)
    throttle_reading(options.rate, is_nice=options.is_nice)
    places = selected(options.paths, options.topics, options.partitions)
    maps, exit_code = [], exit_codes.CLEAN
    for path in dict.fromkeys(below for place in places for below in partitions_below(place)):
        try:
            maps.append(partition_map(path, level=options.level))
            exit_code = max(exit_code, maps[-1].exit_code)
        except Unreadable as error:
            if len(places) == 1 and path != places[0] and error.code == "file-missing":
                continue  # a directory beside partitions, without logs
            say(str(error))
            exit_code = exit_codes.NOT_EXAMINED
    if not maps:
        return exit_codes.NOT_EXAMINED
    if write_picture is not None:
        write_picture(maps)
        return exit_code
    _write(options, (row for made in maps for row in made.rows()), ROW_CLASSES, partial(write_maps, maps, options.axis))
    return exit_code


def _picture_writer(options: MapOptions) -> Callable[[Sequence[PartitionMap]], None] | None:
    """What writes the picture that is asked for on stdout; None if none is. Raises UsageError."""
    if options.output not in PICTURES:
        if options.plot != PLOT_OF_MAP:
            raise UsageError(f"--plot {options.plot} is for pictures", remedy=f"--output {SVG} or {PNG}")
        return None
    from kdump.output.html.picture import png_maker, svg_of

    encode = png_maker() if options.output == PNG else str.encode
    if options.output == PNG and sys.stdout is not None and sys.stdout.isatty():
        raise UsageError(f"{PNG} needs a file: --output {PNG} -o FILE")

    def write(maps: Sequence[PartitionMap]) -> None:
        with open(1, "wb", closefd=False) as stdout:
            stdout.write(encode(svg_of(maps, options.plot, options.axis)))

    return write


def report_paths(options: ReportOptions) -> int:
    """Write a page about what is at the paths on stdout. Returns the exit code, that of a check."""
    from kdump.output.html.page import page_of
    from kdump.overview.ticket import ticket_of

    found = _found(options, ticket_of)
    with open(1, "wb", buffering=0, closefd=False) as stdout:
        out = Blocks(stdout, needs_reader=False)
        out.write(page_of(found, has_evidence=options.has_evidence))
        out.flush()
    return found.exit_code


def _found(options: InfoOptions | ReportOptions, look: Callable[..., Found]) -> Found:
    """What `look` finds at the paths, with the processes that are asked for."""
    throttle_reading(options.rate, is_nice=options.is_nice)
    selection = Selection.of_texts(options.topics, options.partitions)
    with CheckProgress(shows=sys.stderr is not None and os.isatty(2)) as progress:
        return look(
            tree.matching(options.paths),
            options.level,
            is_wanted=None if selection.is_all else selection.has,
            processes=1 if options.rate else options.jobs or jobs_here(),  # a rate is that of one process
            on_wait=progress.show,
        )


def _write(
    options: InfoOptions | MapOptions,
    rows: Iterable[Row],
    row_classes: Sequence[type[Row]],
    write_text: Callable[[Write, ReportStyle], None],
) -> None:
    """Write what was found on stdout: as text for people, or as rows of these classes, in the form that is asked for."""
    with printed(options, shows_all=getattr(options, "shows_all", False)) as (out, style):
        if options.output == "text":
            write_text(out.write, style)
        else:
            write_rows(rows, formatter_of(options.output, out.write, style), *row_classes)
