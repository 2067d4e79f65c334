"""The formats of the commands that mend, by the names of `--output`: text for people, and rows of any format."""

from __future__ import annotations

from importlib import import_module

from kdump.mending.row import (
    Companion,
    Dropped,
    Hole,
    LostRecord,
    Recovered,
    RecoverSummary,
    RedactDifference,
    RedactedFile,
    RedactSummary,
    ReindexSummary,
    Rewritten,
    SlicedSegment,
    SliceSummary,
)
from kdump.output.rows import formatters
from kdump.output.rows.lost_records import ListedLostRecord, listed
from kdump.output.rows.row_writer import RowWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from kdump.output.rows.formatters import Formatter, Write
    from kdump.output.text.style import ReportStyle
    from kdump.tables import Row

    class MendFormatter(Protocol):
        """Takes one row after the other, then the summary."""

        def row(self, row: Row) -> None: ...
        def end(self, summary: Row) -> None: ...


RECOVER, REINDEX, SLICE, REDACT = "recover", "reindex", "slice", "redact"

ROW_CLASSES: dict[str, tuple[type[Row], ...]] = {
    RECOVER: (Dropped, ListedLostRecord, Hole, Rewritten, Recovered, Companion, RecoverSummary),
    REINDEX: (Companion, Hole, ReindexSummary),
    SLICE: (SlicedSegment, Hole, SliceSummary),
    REDACT: (RedactedFile, RedactDifference, RedactSummary),
}
"""What the report of each command consists of, as rows."""

ONE_KIND = ("csv", "table")
"""The outputs that have only rows of the first class."""


def formatter_of(command: str, name: str, write: Write, style: ReportStyle) -> MendFormatter:
    """The formatter of this name for the report of a command; its module is loaded only now."""
    if name == "text":
        module = import_module(f"kdump.output.text.{command}")
        report: MendFormatter = getattr(module, f"{command.capitalize()}Report")(write, style)
        return report
    return _Rows(formatters.formatter_of(name, write, style), ROW_CLASSES[command])


class _Rows:
    """Rows as they are, and the summary at the end."""

    def __init__(self, formatter: Formatter, row_classes: tuple[type[Row], ...]) -> None:
        self._rows = RowWriter(formatter, *row_classes)

    def row(self, row: Row) -> None:
        self._rows.write(listed(row) if isinstance(row, LostRecord) else row)

    def end(self, summary: Row) -> None:
        self._rows.write(summary)
        self._rows.end()
