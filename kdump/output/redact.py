"""The formats of `kdump redact`, by the names of `--output`: text for people, and rows of any format."""

from __future__ import annotations

from kdump.mending.row import RedactDifference, RedactedFile, RedactSummary
from kdump.output.rows import formatters
from kdump.output.rows.row_writer import RowWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from kdump.output.rows.formatters import Formatter, Write
    from kdump.output.text.style import ReportStyle
    from kdump.tables import Row

    class RedactFormatter(Protocol):
        """Takes one file or difference after the other, then the summary."""

        def row(self, row: RedactedFile | RedactDifference) -> None: ...
        def end(self, summary: RedactSummary) -> None: ...


ROW_CLASSES: tuple[type[Row], ...] = (RedactedFile, RedactDifference, RedactSummary)
"""What a report of `kdump redact` consists of, as rows."""


def formatter_of(name: str, write: Write, style: ReportStyle) -> RedactFormatter:
    """The formatter of this name; its module is loaded only now."""
    if name == "text":
        from kdump.output.text.redact import RedactReport

        return RedactReport(write, style)
    return _Rows(formatters.formatter_of(name, write, style))


class _Rows:
    """Files and differences as rows, and the summary at the end."""

    def __init__(self, formatter: Formatter) -> None:
        self._rows = RowWriter(formatter, *ROW_CLASSES)

    def row(self, row: RedactedFile | RedactDifference) -> None:
        self._rows.write(row)

    def end(self, summary: RedactSummary) -> None:
        self._rows.write(summary)
        self._rows.end()
