"""What `kdump redact` made, as a report for people: findings that differ, then the sums."""

from __future__ import annotations

from kdump.checks.wording import counted
from kdump.mending.row import INPUT, RedactDifference, RedactSummary
from kdump.output.text.mend_report import MendReport
from kdump.output.text.sizes import size_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.tables import Row


class RedactReport(MendReport):
    """Writes a line for each finding that only one side has."""

    all_in = "ndjson"

    def row(self, row: Row) -> None:
        if isinstance(row, RedactDifference) and self._shows_next():
            where = "" if row.offset_first is None else f" at offset {row.offset_first:,}"
            side = "PATH" if row.only_in == INPUT else "DIR"
            self._out.line(f"{self._out.shown(row.path)}   {row.code}{where} is found only in {side}")

    def sums(self, summary: Row) -> None:
        assert isinstance(summary, RedactSummary)
        batches, records = counted(summary.batches, "batch", "batches"), counted(summary.records, "record")
        self._out.wrapped(
            f"{counted(summary.files, 'file')}, {size_text(summary.log_bytes)} of logs; {batches} with {records} redacted,"
            f" {counted(summary.filled, 'byte')} of damage became filler. {summary.seconds:.1f} s."
        )
        same = "the same in both" if not summary.differences else f"{summary.differences:,} of PATH or DIR are not in the other"
        self._out.wrapped(f"A check finds {counted(summary.findings, 'thing')} in PATH: {same}.")
        self._complete(summary.path, summary.exit_code)
