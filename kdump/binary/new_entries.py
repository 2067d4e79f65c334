"""The entries that the offset index and the time index of a segment get for its batches, as recovery adds them.

Kafka: LogSegment.recover (4.3.1).
"""

from __future__ import annotations

from array import array
from bisect import bisect_right

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    State = tuple[int, int, int, int]
    NewEntries = tuple[State, bytes | bytearray, bytes | bytearray, bytes | bytearray, bytes | bytearray]


def new_entries(
    positions: Sequence[int], last_offsets: Sequence[int], timestamps: Sequence[int], interval: int, state: State
) -> NewEntries:
    """The entries for consecutive batches: where they start, their last offsets and their largest timestamps.

    A batch that starts more than `interval` bytes after the last one with an entry gets one. `state` is where that one started,
    the largest timestamp so far, the last offset of the first batch that has it, and the timestamp of the last entry. Returns the
    next state, and four columns of 64-bit numbers in this machine's byte order: offsets and positions of the offset index,
    timestamps and offsets of the time index.
    """
    last_indexed, largest, offset_of_largest, last_time = state
    offsets, starts, times, time_offsets = array("q"), array("q"), array("q"), array("q")
    row = 0
    while row < len(positions):
        entry_row = bisect_right(positions, last_indexed + interval, row)
        of_rows = timestamps[row : entry_row + 1]
        if of_rows and max(of_rows) > largest:
            largest = max(of_rows)
            offset_of_largest = last_offsets[row + of_rows.index(largest)]
        row = entry_row + 1
        if entry_row == len(positions):
            break
        last_indexed = positions[entry_row]
        offsets.append(last_offsets[entry_row])
        starts.append(last_indexed)
        if largest > last_time:
            times.append(largest)
            time_offsets.append(offset_of_largest)
            last_time = largest
    columns = offsets.tobytes(), starts.tobytes(), times.tobytes(), time_offsets.tobytes()
    return (last_indexed, largest, offset_of_largest, last_time), *columns
