"""What `kdump reindex` made, as a report for people: the files that differ from the input's, then the sums."""

from __future__ import annotations

from kdump.checks.wording import counted
from kdump.mending.row import MISSING, REBUILT, SAME
from kdump.output.text.sizes import size_text
from kdump.output.text.writer import ReportWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.mending.row import Companion, ReindexSummary
    from kdump.output.text.style import ReportStyle

_MAX_SHOWN = 50


class ReindexReport:
    """Writes a line for each file that differs from the input's; if they are many, the rest are counted."""

    def __init__(self, write: Callable[[str], None], style: ReportStyle) -> None:
        self._out = ReportWriter(write, style)
        self._changed = 0

    def file(self, row: Companion) -> None:
        if row.action != REBUILT or row.before == SAME:
            return
        self._changed += 1
        if self._changed <= _MAX_SHOWN:
            size_before = counted(row.size_before or 0, "byte")
            was = "missing in the input" if row.before == MISSING else f"other than in the input ({size_before})"
            self._out.line(f"{self._out.shown(row.path)}   {counted(row.size, 'byte')}, {was}")

    def end(self, summary: ReindexSummary) -> None:
        if self._changed > _MAX_SHOWN:
            self._out.line(f"... and {counted(self._changed - _MAX_SHOWN, 'more file')}; --output table lists all")
        if self._changed:
            self._out.line()
        partitions = counted(summary.partitions, "partition")
        segments = counted(summary.segments, "segment")
        batches = counted(summary.batches, "batch", "batches")
        self._out.wrapped(f"{partitions}, {segments}, {size_text(summary.log_bytes)}, {batches}. {summary.seconds:.1f} s.")
        same = summary.rebuilt - summary.different - summary.missing
        self._out.wrapped(
            f"Rebuilt {counted(summary.rebuilt, 'file')}: {same:,} as in the input, {summary.different:,} different,"
            f" {summary.missing:,} missing there."
        )
        self._out.line(f"Complete and verified: {self._out.shown(summary.path)}. Exit status {summary.exit_code}.")
