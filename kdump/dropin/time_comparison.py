"""Compares a time index with its log, in one pass over the log."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from heapq import heappop, heappush

from kdump.binary import kernel
from kdump.binary.arithmetic import as_int64
from kdump.binary.batch_header import (
    ATTRIBUTES,
    BASE_TIMESTAMP,
    BATCH_HEADER,
    BATCH_HEADER_SIZE,
    LENGTH,
    LOG_OVERHEAD,
    MAGIC_AT,
    MAX_TIMESTAMP,
    RECORD_COUNT,
    TIMESTAMP_TYPE_BIT,
    batch_size,
    codec_id,
)
from kdump.binary.kernel import TIMESTAMP_DELTA
from kdump.binary.source import WINDOW_SIZE
from kdump.dropin.offset_comparison import open_slice
from kdump.errors import CorruptData
from kdump.formats import message_set, record, records, time_index
from kdump.formats.log import STRICT_RULES, Log, LogRules
from kdump.formats.record_batch import NO_TIMESTAMP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from kdump.binary.kernel import RecordTuple
    from kdump.binary.source import Source

MAX_SIZE = 0x7FFFFFFF
_NOT_FOUND, _FOUND, _FAILED, _ELSEWHERE = range(4)
_BATCH_READ_BYTES = 4 << 10  # bytes that hold a batch, where a time index has an entry for each
_NOWHERE = 1 << 63  # where no entry starts


class EntryTarget:
    """The batch that an entry leads to; `position` is None where there is none.

    It is the first batch, from where the offset index points on, whose last offset is not below the entry's.
    """

    __slots__ = ("last_offset", "position")

    def __init__(self, position: int | None, last_offset: int) -> None:
        self.position = position
        self.last_offset = last_offset


class Sweeps:
    """What passes over a log have found, so that the next one ends where it would only see the same batches again."""

    def __init__(self) -> None:
        self._starts: set[int] = set()
        self.fault: CorruptData | None = None

    def note(self, starts: Iterable[int], fault: CorruptData | None) -> None:
        """Batches that start here are followed by nothing bad but this."""
        self._starts.update(starts)
        self.fault = fault

    def know(self, batches: Sequence[int], window_position: int) -> bool:
        """Whether all after one of these batches of a window has been seen."""
        return not self._starts.isdisjoint(map(window_position.__add__, batches))


class EntryTargets:
    """Finds the batches that entries lead to, in one pass over the log.

    `offsets` are the entries', `starts` the positions to search from. If `reads_to_end`, an entry fails when any batch after
    its start is bad, otherwise only when one before its batch is. If `may_start_past_end`, a start past the log finds
    nothing, otherwise the entry fails.
    """

    def __init__(
        self,
        log: Source,
        offsets: Sequence[int],
        starts: Sequence[int],
        *,
        rules: LogRules = STRICT_RULES,
        reads_to_end: bool,
        may_start_past_end: bool,
        max_window_size: int = WINDOW_SIZE,
        sweeps: Sweeps | None = None,
    ) -> None:
        self._log = log
        self._sweeps = sweeps or Sweeps()
        self._max_window_size = max_window_size
        self._may_start_past_end = may_start_past_end
        self._rules = rules
        self._offsets = offsets
        self._starts = starts
        self._reads_to_end = reads_to_end
        self._state = bytearray(len(offsets))
        self._positions = array("q", bytes(8 * len(offsets)))
        self._last_offsets = array("q", bytes(8 * len(offsets)))
        self._fault: CorruptData | None = None
        if len(offsets):
            self._sweep()

    def of(self, row: int) -> EntryTarget:
        """What the entry in this row leads to. Raises CorruptData as `open_slice` and `Log.extents`."""
        state = self._state[row]
        if state == _ELSEWHERE:
            return self._walk_alone(row)
        if state == _FAILED:
            assert self._fault is not None
            raise self._fault
        return EntryTarget(self._positions[row] if state == _FOUND else None, self._last_offsets[row])

    def _sweep(self) -> None:
        """Walk the batches once; entries join where they start and leave where their batch is found.

        Entries that start where the walk sees no batch start get separate walks.
        """
        order = sorted(range(len(self._starts)), key=self._starts.__getitem__)
        starts, offsets = self._starts, self._offsets
        joined: list[int] = []
        waiting: list[tuple[int, int]] = []
        next_entry = 0
        while next_entry < len(order) and not 0 <= starts[order[next_entry]] <= self._log.size:
            self._state[order[next_entry]] = _ELSEWHERE
            next_entry += 1
        next_start = starts[order[next_entry]] if next_entry < len(order) else _NOWHERE
        fault: CorruptData | None = None
        seen: list[int] = []  # the first batch of each window
        try:
            for batches, window, window_position in (
                Log(self._log, next_start, rules=self._rules, max_window_size=self._max_window_size).starts()
                if next_start < _NOWHERE
                else ()
            ):
                if not waiting and next_entry == len(order):
                    if not self._reads_to_end:
                        break
                    if self._sweeps.know(batches, window_position):
                        fault = self._sweeps.fault
                        break
                seen.append(window_position + batches[0])
                at = -1
                while (at := at + 1) < len(batches):
                    if not waiting:  # nothing happens before the next start
                        at = bisect_left(batches, next_start - window_position, at)
                        if at == len(batches):
                            break
                    position = window_position + batches[at]
                    last_offset = as_int64(kernel.extent_at(window, batches[at])[1])
                    while next_start <= position:
                        row = order[next_entry]
                        if next_start == position:
                            heappush(waiting, (offsets[row], row))
                            joined.append(row)
                        else:
                            self._state[row] = _ELSEWHERE
                        next_entry += 1
                        next_start = starts[order[next_entry]] if next_entry < len(order) else _NOWHERE
                    while waiting and waiting[0][0] <= last_offset:
                        row = heappop(waiting)[1]
                        self._state[row] = _FOUND
                        self._positions[row] = position
                        self._last_offsets[row] = last_offset
        except CorruptData as error:
            fault = error
        if self._reads_to_end:
            self._sweeps.note(seen, fault)
        for row in order[next_entry:]:
            self._state[row] = _ELSEWHERE
        if fault is not None:
            self._fault = fault
            every = self._reads_to_end and fault.code != "batch-header-cut"
            for row in joined if every else [row for _, row in waiting]:
                self._state[row] = _FAILED

    def _walk_alone(self, row: int) -> EntryTarget:
        target: EntryTarget | None = None
        log = open_slice(self._log, self._starts[row], MAX_SIZE, self._rules, may_start_past_end=self._may_start_past_end)
        try:
            for positions, last_offsets in log.extents():
                for position, last_offset in zip(positions, last_offsets, strict=True):
                    if last_offset >= self._offsets[row] and target is None:
                        target = EntryTarget(position, last_offset)
                if target is not None and not self._reads_to_end:
                    break
        except CorruptData as error:
            if target is None or error.code != "batch-header-cut" and self._reads_to_end:
                raise
        return target or EntryTarget(None, 0)


def max_timestamp_at(log: Source, position: int, rules: LogRules = STRICT_RULES) -> int:
    """The largest timestamp of the records in the batch at this position, -1 if it has none.

    Raises CorruptData as `records.read`.
    """
    data = log.read(position, _BATCH_READ_BYTES)
    if len(data) >= BATCH_HEADER_SIZE and data[MAGIC_AT] == 2 and not codec_id(data):
        header = BATCH_HEADER.unpack_from(data)
        size = header[LENGTH] + LOG_OVERHEAD
        if len(data) < size <= WINDOW_SIZE:
            data = log.read(position, size)
        if size <= len(data):  # the usual case
            rows: list[RecordTuple] = []
            count = header[RECORD_COUNT]
            end, code, _ = kernel.walk_records(
                data, BATCH_HEADER_SIZE, size, min(count, record.MAX_ROWS), size, False, rows, False
            )
            if end == size and not code and len(rows) == count > 0:
                is_append_time = header[ATTRIBUTES] & TIMESTAMP_TYPE_BIT
                base: int = header[BASE_TIMESTAMP]
                latest: int = header[MAX_TIMESTAMP]
                if not is_append_time:
                    latest = max([as_int64(base + row[TIMESTAMP_DELTA]) for row in rows])
                return max(NO_TIMESTAMP, latest)
    latest = NO_TIMESTAMP
    size = batch_size(data)
    for chunk in Log(log, position, position + size, rules=rules, window_size=size).chunks():
        if chunk.is_legacy:
            for message in message_set.messages_of(log, chunk, 0):
                latest = max(latest, message_set.timestamp_of(message, chunk, 0))
            return latest
        for part in records.read(log, chunk, rules.quirks):
            latest = max(latest, *part.records["timestamp"]) if len(part.records) else latest
    return latest


def entries(index: Source, base_offset: int, rows: range, *, with_zero_tail: bool = False) -> tuple[array[int], array[int]]:
    """Timestamps and offsets of the entries in these rows up to the zero tail, or with it."""
    data = index.read_exactly(rows.start * time_index.ENTRY_SIZE, len(rows) * time_index.ENTRY_SIZE)
    table = time_index.table_of(data, base_offset)
    timestamps, offsets = array("q", table["timestamp"]), array("q", table["offset"])
    if not with_zero_tail and base_offset in offsets:
        end = next((at for at, offset in enumerate(offsets) if offset == base_offset and rows.start + at), len(offsets))
        del timestamps[end:], offsets[end:]
    return timestamps, offsets


def check_sanity(index: Source, base_offset: int) -> None:
    """Kafka's sanity check of a time index.

    Raises CorruptData with the codes `time-index-last-timestamp`, `time-index-last-offset` or `time-index-size`.
    """
    count = time_index.entry_count(index)

    def bad(code: str, message: str, **values: Any) -> CorruptData:
        return CorruptData(code, message, path=index.path, **values)

    if count:
        first, _ = time_index.entry_at(index, base_offset, 0)
        last, last_offset = time_index.entry_at(index, base_offset, count - 1)
        if last < first:
            message = f"the last timestamp is {last}, the first {first}"
            raise bad("time-index-last-timestamp", message, last=last, first=first)
        if last_offset < base_offset:
            message = f"the last offset is {last_offset}, the index starts at {base_offset}"
            raise bad("time-index-last-offset", message, last=last_offset, first=base_offset)
    if index.size % time_index.ENTRY_SIZE:
        raise bad("time-index-size", f"{index.size} bytes are no multiple of {time_index.ENTRY_SIZE}", size=index.size)
