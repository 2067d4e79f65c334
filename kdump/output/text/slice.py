"""What `kdump slice` made, as a report for people: a line for each log, then the sums."""

from __future__ import annotations

import os

from kdump.checks.wording import counted, offset_range
from kdump.mending.row import Hole, SlicedSegment, SliceSummary
from kdump.output.text.mend_report import COMPLETE, HEADERS_VERIFIED, MendReport
from kdump.output.text.sizes import size_text
from kdump.output.text.steps import Steps, shell_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.tables import Row


class SliceReport(MendReport):
    """Writes a line for each log of the slice, and a few for what is missing."""

    def row(self, row: Row) -> None:
        if isinstance(row, Hole):
            if self._shows_next():
                if row.path == os.curdir:
                    self._hole(row)
                else:
                    self._entry("damaged", f"{offset_range(row.offset_first, row.offset_last)} of {row.path}", row.reason)
            return
        assert isinstance(row, SlicedSegment)
        if row.path is None or not self._shows_next():
            return
        what = "no batches"
        if row.first_offset is not None and row.last_offset is not None:
            what = f"{offset_range(row.first_offset, row.last_offset)}, {counted(row.kept, 'record')}"
        origin = "" if row.path == row.source else f", from {self._out.shown(row.source)}"
        self._out.line(f"{self._out.shown(row.path)}   {what}{origin}")

    def sums(self, summary: Row) -> None:
        assert isinstance(summary, SliceSummary)
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
        if summary.keeps_damage:
            damaged = counted(summary.holes, "place")
            self._out.wrapped(f"Damaged: {damaged}, with all bytes. There are no indexes: no broker is to start with this.")
            self._out.line()
            self._out.line("Next")
            steps = Steps()
            steps.look(f"kdump check {shell_word(summary.path)}", "what a reader of it will see")
            steps.note(
                "to send it, pack it with tar; kdump redact -o ANOTHER takes the contents out first, also of what is damaged"
            )
            steps.write(self._out)
        elif summary.holes:
            offsets = counted(summary.offsets_missing, "offset")
            self._out.wrapped(f"Missing: {offsets} of the range in {counted(summary.holes, 'hole')}, which no log has any more.")
        self._complete(summary.path, summary.exit_code, COMPLETE if summary.keeps_damage else HEADERS_VERIFIED)
