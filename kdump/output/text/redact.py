"""What `kdump redact` made, as a report for people: findings that differ, then the sums."""

from __future__ import annotations

from kdump.checks.wording import counted
from kdump.mending.row import INPUT, RedactDifference
from kdump.output.text.sizes import size_text
from kdump.output.text.writer import ReportWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.mending.row import RedactedFile, RedactSummary
    from kdump.output.text.style import ReportStyle

_MAX_SHOWN = 50


class RedactReport:
    """Writes a line for each finding that only one side has; if they are many, the rest are counted."""

    def __init__(self, write: Callable[[str], None], style: ReportStyle) -> None:
        self._out = ReportWriter(write, style)
        self._lines = 0

    def row(self, row: RedactedFile | RedactDifference) -> None:
        if isinstance(row, RedactDifference):
            where = "" if row.offset_first is None else f" at offset {row.offset_first:,}"
            side = "PATH" if row.only_in == INPUT else "DIR"
            self._lines += 1
            if self._lines <= _MAX_SHOWN:
                self._out.line(f"{self._out.shown(row.path)}   {row.code}{where} is found only in {side}")

    def end(self, summary: RedactSummary) -> None:
        if self._lines > _MAX_SHOWN:
            self._out.line(f"... and {counted(self._lines - _MAX_SHOWN, 'more line')}; --output table lists all")
        if self._lines:
            self._out.line()
        batches, records = counted(summary.batches, "batch", "batches"), counted(summary.records, "record")
        self._out.wrapped(
            f"{counted(summary.files, 'file')}, {size_text(summary.log_bytes)} of logs; {batches} with {records} redacted,"
            f" {counted(summary.filled, 'unreadable byte')} replaced. {summary.seconds:.1f} s."
        )
        same = "the same in both" if not summary.differences else f"{summary.differences:,} of PATH or DIR are not in the other"
        self._out.wrapped(f"A check finds {counted(summary.findings, 'thing')} in PATH: {same}.")
        self._out.line(f"Complete: {self._out.shown(summary.path)}. Exit status {summary.exit_code}.")
