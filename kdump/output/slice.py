"""The formats of `kdump slice`, by the names of `--output`: text for people, and rows of any format."""

from __future__ import annotations

from kdump.mending.row import SlicedSegment, SliceSummary
from kdump.output.rows import formatters
from kdump.output.rows.row_writer import RowWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from kdump.output.rows.formatters import Formatter, Write
    from kdump.output.text.style import ReportStyle
    from kdump.tables import Row

    class SliceFormatter(Protocol):
        """Takes one log after the other, then the summary."""

        def segment(self, row: SlicedSegment) -> None: ...
        def end(self, summary: SliceSummary) -> None: ...


ROW_CLASSES: tuple[type[Row], ...] = (SlicedSegment, SliceSummary)
"""What a report of `kdump slice` consists of, as rows."""


def formatter_of(name: str, write: Write, style: ReportStyle) -> SliceFormatter:
    """The formatter of this name; its module is loaded only now."""
    if name == "text":
        from kdump.output.text.slice import SliceReport

        return SliceReport(write, style)
    return _Rows(formatters.formatter_of(name, write, style))


class _Rows:
    """Logs as rows, and the summary at the end."""

    def __init__(self, formatter: Formatter) -> None:
        self._rows = RowWriter(formatter, *ROW_CLASSES)

    def segment(self, row: SlicedSegment) -> None:
        self._rows.write(row)

    def end(self, summary: SliceSummary) -> None:
        self._rows.write(summary)
        self._rows.end()
