"""What a walk through a log makes beside the rows of its table, so that the log is read once for all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kdump.binary.tolerant_source import TolerantSource
from kdump.pipeline.segments import SegmentSum
from kdump.reading import salvage
from kdump.reading.walk_notes import NoteTaker

if TYPE_CHECKING:
    from kdump.binary.source import Source
    from kdump.pipeline.logs import Batches
    from kdump.pipeline.planning import FileSlice
    from kdump.pipeline.slice_report import SliceReport
    from kdump.reading.walk_notes import NotesFile


class AlsoMade(NamedTuple):
    """Whether walks also make the `sums` of a log, which are its row in the table of segments, and where they write notes."""

    sums: bool = False
    notes: NotesFile | None = None

    def of_log(self, source: Source, file_slice: FileSlice) -> Making | None:
        """What takes the items of a walk through this log; None if there is nothing else to make of it."""
        if file_slice.item.kind != "log" or not self.sums and self.notes is None:
            return None
        notes = NoteTaker(source, self.notes) if self.notes is not None and isinstance(source, TolerantSource) else None
        return Making(SegmentSum(source.size) if self.sums else None, notes)


NOTHING_ELSE = AlsoMade()


class Making:
    """Makes what else is made of one log: its sum, a note, or both."""

    __slots__ = ("_notes", "_sum")

    def __init__(self, total: SegmentSum | None, notes: NoteTaker | None) -> None:
        self._sum = total
        self._notes = notes

    def take(self, item: Batches | salvage.Damage) -> None:
        """Take the next item of the walk."""
        if self._sum is not None:
            self._sum.take(item)
        if self._notes is not None:
            self._notes.take(None if isinstance(item, salvage.Damage) else item.summary)

    def finish(self, report: SliceReport) -> None:
        """The walk is over: leave what was made in its report."""
        if self._sum is not None:
            report.sums = self._sum.columns()
        if self._notes is not None:
            report.note = self._notes.note()
