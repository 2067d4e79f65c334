"""`kdump.report`, `kdump.picture`: one page of HTML, or one drawing, of log directories, partitions and files."""

from __future__ import annotations

import os

from kdump.checks.settings import DEFAULT_LEVEL
from kdump.errors import unknown_name
from kdump.output.html.page import page_of
from kdump.output.html.picture import svg_of
from kdump.overview.map_rows import AXES, BYTES, PLOT_OF_MAP, PLOTS
from kdump.overview.partition_map import partition_map
from kdump.overview.ticket import ticket_of


def report(
    path: str | os.PathLike[str], *others: str | os.PathLike[str], level: str = DEFAULT_LEVEL, evidence: bool = False
) -> str:
    """One page of HTML: the verdict, what to type next, maps, charts, each finding with its place and its explanation.

    The page needs nothing else and asks for nothing; it has no keys and no values, but with `evidence` the first bytes of each
    finding in hex. `level` is that of `kdump.check`. Damage raises nothing, nothing is printed or written, all is done in this
    process. Raises UsageError for another level.
    """
    return page_of(ticket_of([os.fspath(one) for one in (path, *others)], level), has_evidence=evidence)


def picture(
    path: str | os.PathLike[str],
    *others: str | os.PathLike[str],
    plot: str = PLOT_OF_MAP,
    by: str = BYTES,
    level: str = DEFAULT_LEVEL,
) -> str:
    """A picture of a partition, or of several under one another, as SVG: the text of a file.

    `plot` is map, bytes (of batches over time), timestamps (in the order of the log) or producers (over time); `by` is the axis
    of a map, bytes, offset or time. `level` is that of `kdump.check`. Raises UsageError for another name, and Unreadable for a
    path without logs.
    """
    for name, known in ((plot, PLOTS), (by, AXES)):
        if name not in known:
            raise unknown_name(f"no picture is of {name!r}", name, known)
    return svg_of([partition_map(os.fspath(one), level=level) for one in (path, *others)], plot, by)
