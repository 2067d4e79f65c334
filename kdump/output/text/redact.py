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
            side = "the original" if row.only_in == INPUT else "the copy"
            self._out.line(f"{self._out.shown(row.path)}   {row.code}{where} is found only in {side}")

    def sums(self, summary: Row) -> None:
        assert isinstance(summary, RedactSummary)
        batches, records = counted(summary.batches, "batch", "batches"), counted(summary.records, "record")
        self._out.wrapped(
            f"{counted(summary.files, 'file')}, {size_text(summary.log_bytes)} of logs; {batches} with {records} redacted,"
            f" {counted(summary.filled, 'byte')} of damage became filler. {summary.seconds:.1f} s."
        )
        findings = counted(summary.findings, "finding")
        if summary.differences:
            only = counted(summary.differences, "is in only one of them", "are in only one of them")
            self._out.wrapped(f"kdump check has {findings} in the original; {only} (see above).")
        elif summary.findings:
            self._out.wrapped(f"kdump check has the same {findings} in the copy as in the original.")
        else:
            self._out.wrapped("kdump check finds nothing in the original, nor in the copy.")
        self._complete(summary.path, summary.exit_code)
