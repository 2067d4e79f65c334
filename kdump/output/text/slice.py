"""What `kdump slice` made, as a report for people: a line for each log, then the sums."""

from __future__ import annotations

from kdump.checks.wording import counted, offset_range
from kdump.output.text.sizes import size_text
from kdump.output.text.writer import ReportWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.mending.row import SlicedSegment, SliceSummary
    from kdump.output.text.style import ReportStyle

_MAX_SHOWN = 50


class SliceReport:
    """Writes a line for each log of the slice; if they are many, the rest are counted."""

    def __init__(self, write: Callable[[str], None], style: ReportStyle) -> None:
        self._out = ReportWriter(write, style)
        self._logs = 0

    def segment(self, row: SlicedSegment) -> None:
        if row.path is None:
            return
        self._logs += 1
        if self._logs > _MAX_SHOWN:
            return
        what = "no batches"
        if row.first_offset is not None and row.last_offset is not None:
            what = f"{offset_range(row.first_offset, row.last_offset)}, {counted(row.kept, 'record')}"
        origin = "" if row.path == row.source else f", from {self._out.shown(row.source)}"
        self._out.line(f"{self._out.shown(row.path)}   {what}{origin}")

    def end(self, summary: SliceSummary) -> None:
        if self._logs > _MAX_SHOWN:
            self._out.line(f"... and {counted(self._logs - _MAX_SHOWN, 'more log')}; --output table lists all")
        self._out.line()
        self._out.wrapped(
            f"{counted(summary.segments, 'segment')}, {size_text(summary.log_bytes)}, log start offset {summary.log_start},"
            f" log end offset {summary.log_end}. {summary.seconds:.1f} s."
        )
        self._out.wrapped(
            f"Batches: {summary.batches:,} read, {summary.outside:,} outside of the range; {summary.cloned:,} cloned,"
            f" {summary.rewritten:,} rewritten, {summary.emptied:,} emptied, {summary.dropped:,} dropped."
        )
        self._out.wrapped(
            f"Records of those not outside: {summary.records:,}, {summary.kept:,} kept, {summary.out_of_range:,} out of range,"
            f" {summary.by_key:,} left out by their keys."
        )
        self._out.line(f"Complete and verified: {self._out.shown(summary.path)}. Exit status {summary.exit_code}.")
