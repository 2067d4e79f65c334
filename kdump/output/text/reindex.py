"""What `kdump reindex` made, as a report for people: the files that differ from the input's, then the sums."""

from __future__ import annotations

from kdump.checks.wording import counted
from kdump.mending.row import MISSING, REBUILT, SAME, TO_REMOVE, Companion, Hole, ReindexSummary
from kdump.output.text.mend_report import HEADERS_VERIFIED, MendReport
from kdump.output.text.sizes import size_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.tables import Row


class ReindexReport(MendReport):
    """Writes a line for each file that differs from the input's, before them what the logs do not have."""

    def row(self, row: Row) -> None:
        if isinstance(row, Hole):
            if self._shows_next():
                self._hole(row)
            return
        assert isinstance(row, Companion)
        if row.action == TO_REMOVE:
            if self._shows_next():
                self._out.line(f"{self._out.shown(row.path)}   to remove from PATH ({counted(row.size_before or 0, 'byte')})")
            return
        if row.action != REBUILT or row.before == SAME:
            return
        if self._shows_next():
            size_before = counted(row.size_before or 0, "byte")
            was = "missing in the input" if row.before == MISSING else f"other than in the input ({size_before})"
            self._out.line(f"{self._out.shown(row.path)}   {counted(row.size, 'byte')}, {was}")

    def sums(self, summary: Row) -> None:
        assert isinstance(summary, ReindexSummary)
        partitions = counted(summary.partitions, "partition")
        segments = counted(summary.segments, "segment")
        batches = counted(summary.batches, "batch", "batches")
        self._out.wrapped(f"{partitions}, {segments}, {size_text(summary.log_bytes)}, {batches}. {summary.seconds:.1f} s.")
        self._left_out(summary.partitions_left_out)
        same = summary.rebuilt - summary.different - summary.missing
        self._out.wrapped(
            f"Rebuilt {counted(summary.rebuilt, 'file')}: {same:,} as in the input, {summary.different:,} different,"
            f" {summary.missing:,} missing there."
        )
        if summary.without_logs:
            remove = "" if not summary.to_remove else f"remove {counted(summary.to_remove, 'file')} listed above from PATH, then "
            self._out.wrapped(
                "DIR has no logs: it is no partition directory, and no broker can use it as it is. While the broker is stopped, "
                f"{remove}copy what is in DIR to the same places in PATH, and give the files to the user of the broker."
            )
        self._complete(summary.path, summary.exit_code, HEADERS_VERIFIED)
