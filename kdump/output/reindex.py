"""The formats of `kdump reindex`, by the names of `--output`: text for people, and rows of any format."""

from __future__ import annotations

from kdump.mending.row import Companion, ReindexSummary
from kdump.output.rows import formatters
from kdump.output.rows.row_writer import RowWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from kdump.output.rows.formatters import Formatter, Write
    from kdump.output.text.style import ReportStyle
    from kdump.tables import Row

    class ReindexFormatter(Protocol):
        """Takes one file after the other, then the summary."""

        def file(self, row: Companion) -> None: ...
        def end(self, summary: ReindexSummary) -> None: ...


ROW_CLASSES: tuple[type[Row], ...] = (Companion, ReindexSummary)
"""What a report of `kdump reindex` consists of, as rows."""


def formatter_of(name: str, write: Write, style: ReportStyle) -> ReindexFormatter:
    """The formatter of this name; its module is loaded only now."""
    if name == "text":
        from kdump.output.text.reindex import ReindexReport

        return ReindexReport(write, style)
    return _Rows(formatters.formatter_of(name, write, style))


class _Rows:
    """Files as rows, and the summary at the end."""

    def __init__(self, formatter: Formatter) -> None:
        self._rows = RowWriter(formatter, *ROW_CLASSES)

    def file(self, row: Companion) -> None:
        self._rows.write(row)

    def end(self, summary: ReindexSummary) -> None:
        self._rows.write(summary)
        self._rows.end()
