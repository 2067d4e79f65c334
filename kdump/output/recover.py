"""The formats of `kdump recover`, by the names of `--output`: text for people, and rows of any format."""

from __future__ import annotations

from kdump.mending.row import Companion, Dropped, Hole, Recovered, RecoverSummary, Rewritten
from kdump.output.rows import formatters
from kdump.output.rows.row_writer import RowWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from kdump.output.rows.formatters import Formatter, Write
    from kdump.output.text.style import ReportStyle
    from kdump.tables import Row

    class RecoverFormatter(Protocol):
        """Takes one row after the other, then the summary."""

        def row(self, row: Row) -> None: ...
        def end(self, summary: RecoverSummary) -> None: ...


ROW_CLASSES: tuple[type[Row], ...] = (Dropped, Hole, Rewritten, Recovered, Companion, RecoverSummary)
"""What a report of `kdump recover` consists of, as rows. CSV and tables have only the first."""


def formatter_of(name: str, write: Write, style: ReportStyle) -> RecoverFormatter:
    """The formatter of this name; its module is loaded only now."""
    if name == "text":
        from kdump.output.text.recover import RecoverReport

        return RecoverReport(write, style)
    return _Rows(formatters.formatter_of(name, write, style))


class _Rows:
    """Rows as they are, and the summary at the end."""

    def __init__(self, formatter: Formatter) -> None:
        self._rows = RowWriter(formatter, *ROW_CLASSES)

    def row(self, row: Row) -> None:
        self._rows.write(row)

    def end(self, summary: RecoverSummary) -> None:
        self._rows.write(summary)
        self._rows.end()
