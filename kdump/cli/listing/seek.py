"""Finds where in a log to start for a range, with the offset index where it proves sound."""

from __future__ import annotations

import os
from bisect import bisect_right

from kdump.binary.source import Source
from kdump.errors import KdumpError
from kdump.formats import file_name, offset_index
from kdump.formats.entries import used_entries
from kdump.reading import salvage
from kdump.reading.starts import first_offset_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.cli.listing.request import Request


def start_position(log: Source, request: Request) -> int:
    """A position before all that is asked for by offset or position; 0 if the index does not help.

    The entry before the last one in question is taken, so that what a batch is worth that begins a range is known from those
    before it. It counts only if it points to a batch with a matching CRC, before the range. For a range of offsets, intact
    batches that follow must have all of these offsets; otherwise some may be in the wrong place, before the entry.
    Times do not lead to a position: no entry of a time index can be proved without the batches before it.
    """
    if request.range.from_offset is None and request.from_position is None:
        return 0
    folder, name = os.path.split(log.path)
    stem = file_name.stem(name)
    try:
        base_offset = file_name.base_offset(name)
        with Source(os.path.join(folder, stem + file_name.OFFSET_INDEX)) as index:
            rows = range(used_entries(index, offset_index.ENTRY_SIZE))

            def entry(row: int) -> tuple[int, int]:
                return offset_index.entry_at(index, base_offset, row)

            after = 0
            if request.range.from_offset is not None:
                after = bisect_right(rows, request.range.from_offset, key=lambda row: entry(row)[0])
            if request.from_position is not None:
                after = max(after, bisect_right(rows, request.from_position, key=lambda row: entry(row)[1]))
            position = entry(after - 2)[1] if after >= 2 else 0
        return position if position > 0 and _may_start_here(log, position, request) else 0
    except KdumpError:
        return 0  # without an index, or with a broken one, the log is read from its start


def _may_start_here(log: Source, position: int, request: Request) -> bool:
    """Whether a sound batch is here, and nothing before it is requested."""
    first = first_offset_at(log, position)
    if first is None:
        return False
    if request.from_position is not None and position <= request.from_position:
        return True
    first_asked, last_asked = request.range.from_offset, request.range.to_offset
    if first_asked is None or last_asked is None or not 0 <= first <= first_asked:
        return False
    return _has_all_after(log, position, first_asked, last_asked)


def _has_all_after(log: Source, position: int, first: int, last: int) -> bool:
    """Whether intact batches from this position on have all of these offsets.

    Gives up where messages of magic 0 or 1 are, whose headers do not say their first offsets, and when as many bytes were read
    as a start here would spare.
    """
    missing = first
    for item in salvage.walk(log, position):
        if isinstance(item, salvage.Damage) or not item.is_intact or item.chunk.is_legacy:
            return False
        batches = item.chunk.batches
        for base_offset, last_offset in zip(batches["base_offset"], batches["last_offset"], strict=True):
            if base_offset > missing and last_offset >= missing:
                return False
            missing = max(missing, last_offset + 1)
            if missing > last:
                return True
        if batches["position"][-1] > 2 * position:
            return False
    return False
