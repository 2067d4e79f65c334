"""What the reports of all commands that mend have in common: a list of bounded length, then the sums."""

from __future__ import annotations

from kdump.checks.wording import counted, offset_range
from kdump.output.text.writer import ReportWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.mending.row import Hole
    from kdump.output.text.style import ReportStyle
    from kdump.tables import Row

COMPLETE, VERIFIED = "Complete", "Complete and verified"
HEADERS_VERIFIED = "Complete; headers and CRCs verified, records not read"
"""How a report ends: the second if the result was checked to its last record, the third at level `full`."""

_MAX_SHOWN = 50
_INDENT = 12


class MendReport:
    """Writes an entry for some rows, and the sums at the end. If entries are many, the rest are counted."""

    all_in = "table"
    """The `--output` that lists all of them."""

    def __init__(self, write: Callable[[str], None], style: ReportStyle) -> None:
        self._out = ReportWriter(write, style)
        self._entries = 0

    def row(self, row: Row) -> None:
        """Take the next row."""
        raise NotImplementedError

    def sums(self, summary: Row) -> None:
        """Write what all rows come to."""
        raise NotImplementedError

    def end(self, summary: Row) -> None:
        """Write how many entries were left out, then the sums."""
        if self._entries > _MAX_SHOWN:
            self._out.line(f"... and {self._entries - _MAX_SHOWN:,} more; --output {self.all_in} lists all")
        if self._entries:
            self._out.line()
        self.sums(summary)

    def _shows_next(self) -> bool:
        """Count an entry. Returns whether it is to be shown."""
        self._entries += 1
        return self._entries <= _MAX_SHOWN

    def _hole(self, row: Hole) -> None:
        where = "" if row.path == "." else f" of {row.path}"
        self._entry("hole", f"{offset_range(row.offset_first, row.offset_last)}{where}", row.reason)

    def _entry(self, word: str, what: str, reason: str) -> None:
        """Write what is the matter with something, and why."""
        self._out.line(f"{word:{_INDENT}}{self._out.shown(what)}")
        self._out.wrapped(self._out.shown(reason), _INDENT)

    def _left_out(self, partitions: int) -> None:
        """Write how many partitions were not chosen."""
        if partitions:
            are = "is not copied: it was" if partitions == 1 else "are not copied: they were"
            self._out.wrapped(
                f"Only a selection: {counted(partitions, 'other partition')} {are} not chosen."
                " The new directory does not stand in for the whole log directory."
            )

    def _complete(self, path: str, exit_code: int, what: str = COMPLETE) -> None:
        self._out.line(f"{what}: {self._out.shown(path)}. Exit status {exit_code}.")
