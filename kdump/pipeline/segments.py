"""The table of segments: one row for each log, made in a walk through it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdump.overview.segment_sum import SegmentSum
from kdump.pipeline.logs import walk
from kdump.reading.windows import Batches

if TYPE_CHECKING:
    from typing import Any

    from kdump.binary.source import Source
    from kdump.pipeline.logs import Watch
    from kdump.pipeline.planning import FileSlice
    from kdump.pipeline.slice_report import SliceReport


def segment_row(source: Source, file_slice: FileSlice, report: SliceReport, watch: Watch | None = None) -> dict[str, list[Any]]:
    """The columns of the row for one log. `watch` sees each item of the walk, too."""
    total = SegmentSum(source.size)
    for item in walk(source, file_slice, headers_only=True):
        if watch is not None:
            watch(item)
        total.take(item)
        report.cover(item.start, total.coverage.position)
        if isinstance(item, Batches):
            report.count(len(item), item.records)
    return total.columns()
