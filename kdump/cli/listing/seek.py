"""Finds where in a log to start for a range, with the offset index where it proves sound."""

from __future__ import annotations

import os
from bisect import bisect_right

from kdump.binary.source import Source
from kdump.errors import CorruptData, KdumpError
from kdump.formats import file_name, offset_index
from kdump.formats.entries import used_entries
from kdump.formats.log import Log
from kdump.reading import salvage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.cli.listing.request import Request

_WINDOW_SIZE = 16 << 10  # bytes that mostly hold the batch an index points to


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


def starts_from_the_end(log: Source) -> Iterator[int]:
    """Positions of sound batches from the index: of the last entry, of the 2nd, 4th and 8th from the end, and finally 0."""
    folder, name = os.path.split(log.path)
    try:
        base_offset = file_name.base_offset(name)
        with Source(os.path.join(folder, file_name.stem(name) + file_name.OFFSET_INDEX)) as index:
            count, after = used_entries(index, offset_index.ENTRY_SIZE), 1
            while after <= count:
                position = offset_index.entry_at(index, base_offset, count - after)[1]
                if position > 0 and _first_offset(log, position) is not None:
                    yield position
                after *= 2
    except KdumpError:
        pass  # without an index, or with a broken one, the log is read from its start
    yield 0


def _may_start_here(log: Source, position: int, request: Request) -> bool:
    """Whether a sound batch is here, and nothing before it is requested."""
    first = _first_offset(log, position)
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


def _first_offset(log: Source, position: int) -> int | None:
    """The first offset of the sound batch here, or the last of old messages; None if there is no such batch."""
    try:
        chunk = next(Log(log, position, window_size=_WINDOW_SIZE).chunks())
    except (CorruptData, StopIteration):
        return None
    if not chunk.batches["isvalid"][0]:
        return None
    first: int = chunk.batches["last_offset" if chunk.is_legacy else "base_offset"][0]
    return first
