"""`kdump.report`: one page of HTML about log directories, partitions and files."""

from __future__ import annotations

import os

from kdump.checks.settings import DEFAULT_LEVEL
from kdump.output.html.page import page_of
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
