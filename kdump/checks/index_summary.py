"""Compares a window of index entries with the log at once: a few numbers describe it, unless an entry is irregular."""

from __future__ import annotations

import sys
from array import array
from itertools import islice
from operator import le, lt, sub
from struct import Struct

from kdump.binary import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.segment_facts import SegmentFacts

_TIME_ENTRY = Struct(">qi")  # timestamp, relative offset
_BASE_OFFSET_LIMIT = 1 << 62  # for a base offset: additions to it must not overflow
_MIN_INT64 = -(1 << 63)


def columns(entries: bytes) -> tuple[array[int], array[int]]:
    """Relative offsets and positions of an offset index."""
    numbers = array("i", entries)
    if sys.byteorder == "little":
        numbers.byteswap()
    return numbers[::2], numbers[1::2]


def summarize_index(
    entries: bytes, base_offset: int, previous: tuple[int, int], gap_start: int, facts: SegmentFacts
) -> tuple[int, int, int, int, int, int] | None:
    """The last offset and position, the smallest and the largest gap, and how many offsets are the first and the last of a batch.

    None where offsets and positions do not ascend from the `previous` ones on, where a position is not that of a batch, or an
    offset neither its first nor its last. Gaps are those between positions, the first from `gap_start` on. Batches of one
    offset are not counted.
    """
    if not 0 <= base_offset < _BASE_OFFSET_LIMIT:
        return None
    first_offsets, last_offsets = facts.first_offsets, facts.last_offsets
    if kernel.native is not None:
        columns_of_log = (facts.positions.packed, first_offsets.packed, last_offsets.packed)
        summary: tuple[int, int, int, int, int, int] | None
        summary = kernel.native.summarize_index(entries, base_offset, *previous, gap_start, facts.size, *columns_of_log)
        return summary
    offsets, positions = columns(entries)
    last_offset, last_position = previous
    if not (last_offset < offsets[0] >= 0 and last_position < positions[0] and positions[-1] < facts.size):
        return None
    if not all(map(lt, offsets, islice(offsets, 1, None))) or not all(map(lt, positions, islice(positions, 1, None))):
        return None
    rows = facts.positions.rows_of(array("q", positions))
    if rows[-1] >= len(facts.positions) or facts.positions.at(rows) != positions:
        return None
    first_kind = last_kind = 0
    for offset, first, last in zip(offsets, first_offsets.at(rows), last_offsets.at(rows), strict=True):
        if base_offset + offset not in (first, last):
            return None
        first_kind += base_offset + offset == first < last
        last_kind += base_offset + offset == last > first
    gaps = list(map(sub, positions, [gap_start, *positions[:-1]]))
    return offsets[-1], positions[-1], min(gaps), max(gaps), first_kind, last_kind


def summarize_time_index(
    entries: bytes, base_offset: int, previous: tuple[int, int], facts: SegmentFacts
) -> tuple[int, int, int] | None:
    """The last timestamp and offset, and how many offsets lie inside of batches.

    None where timestamps do not rise or offsets fall from the `previous` ones on, or where the batch with an offset does not
    have the timestamp.
    """
    if not 0 <= base_offset < _BASE_OFFSET_LIMIT:
        return None
    last_timestamp, last_offset = previous
    last_timestamp = max(last_timestamp, _MIN_INT64)
    first_offsets, last_offsets = facts.first_offsets, facts.last_offsets
    if kernel.native is not None:
        columns_of_log = (first_offsets.packed, last_offsets.packed, facts.max_timestamps.packed)
        summary: tuple[int, int, int] | None
        summary = kernel.native.summarize_time_index(entries, base_offset, last_timestamp, last_offset, *columns_of_log)
        return summary
    timestamps, offsets = zip(*_TIME_ENTRY.iter_unpack(entries), strict=True)
    if not (last_timestamp < timestamps[0] and last_offset <= offsets[0] >= 0):
        return None
    if not all(map(lt, timestamps, islice(timestamps, 1, None))) or not all(map(le, offsets, islice(offsets, 1, None))):
        return None
    wanted = array("q", [base_offset + offset for offset in offsets])
    rows = last_offsets.rows_of(wanted)
    if max(rows) >= len(last_offsets) or facts.max_timestamps.at(rows).tolist() != list(timestamps):
        return None
    inside = 0
    for offset, first, last in zip(wanted, first_offsets.at(rows), last_offsets.at(rows), strict=True):
        if offset != last:
            inside += 1
            if first > offset:
                return None
    return timestamps[-1], offsets[-1], inside
