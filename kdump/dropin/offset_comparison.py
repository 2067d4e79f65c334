"""Compares an offset index with its log."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from itertools import islice
from operator import lt

from kdump.binary import kernel
from kdump.binary.batch_header import BATCH_HEADER_SIZE, HEADER_UP_TO_MAGIC
from kdump.errors import CorruptData
from kdump.formats import message_set, offset_index, records
from kdump.formats.log import MAX_INT, STRICT_RULES, Log, LogRules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.binary.source import Source

MOST_REMEMBERED = 1 << 16
"""Batches of which is remembered what they hold, so that each is read once, however many entries lead to it."""

_HEADER_READ_BYTES = 4 << 10  # bytes that mostly hold the header of a batch
_MAX_HELD_INDEX_BYTES = 12 << 20  # an index of up to this size is kept in memory while entries are looked up
_WARM_ENTRIES = 1024
_NEAR_READ_BYTES = 64 << 10
_NEAR_BYTES = 2 << 10  # entries that point no further apart than this are looked up in one window of the log
_MIN_MESSAGE_SIZE = 27  # of which what is unpacked is a part


def open_slice(log: Source, position: int, size: int, rules: LogRules = STRICT_RULES, *, may_start_past_end: bool = False) -> Log:
    """At most `size` bytes of the log from `position` on; empty if the slice may start past the end and does.

    Raises CorruptData with the codes `index-position-negative`, `index-position-past-log` or `size-negative`.
    """

    def bad(code: str, message: str) -> CorruptData:
        return CorruptData(code, message, path=log.path, position=position, size=size)

    if position < 0:
        raise bad("index-position-negative", f"an entry points to byte {position}")
    if position > log.size and not may_start_past_end:
        raise bad("index-position-past-log", f"an entry points to byte {position} of a log of {log.size} bytes")
    if size < 0:
        raise bad("size-negative", f"a window of {size} bytes")
    if rules.fails_on_overflow and position > MAX_INT - HEADER_UP_TO_MAGIC and position + size > MAX_INT:
        raise bad("log-header-cut", "an entry points past the log")
    return Log(log, position, position + size, rules=rules, window_size=_HEADER_READ_BYTES)


def last_offset_at(log: Source, position: int, window_size: int) -> int:
    """The last offset of the batch at this position, if the window holds all of it.

    Raises CorruptData as `open_slice` and `Log.extents`, and with `no-batch-at-position`.
    """
    for _, last_offsets in open_slice(log, position, window_size).extents():
        return last_offsets[0]
    raise _no_batch(log, position)


class LastOffsets:
    """Looks up the last offsets of batches by ascending position; keeps a window of the log while positions are close.

    `at` is `last_offset_at` for many positions.
    """

    def __init__(self, log: Source, window_size: int) -> None:
        self._log = log
        self._window_size = window_size
        self._window = b""
        self._window_position = 0

    def at(self, position: int) -> int:
        """The last offset of the batch at this position. Raises CorruptData as `last_offset_at`."""
        start = position - self._window_position
        if not 0 <= start <= len(self._window) - BATCH_HEADER_SIZE:
            is_near = 0 <= start <= len(self._window) + _NEAR_BYTES
            self._window_position, start = max(position, 0), 0
            self._window = self._log.read(self._window_position, _NEAR_READ_BYTES if is_near else BATCH_HEADER_SIZE)
        if position >= 0 and len(self._window) - start >= BATCH_HEADER_SIZE:
            size, last_offset, magic = kernel.extent_at(self._window, start)
            least = BATCH_HEADER_SIZE if magic >= 2 else _MIN_MESSAGE_SIZE
            room = min(self._log.size - position, self._window_size)
            if magic >= 0 and least <= size <= room and -(1 << 63) <= last_offset < 1 << 63:
                return last_offset
        return last_offset_at(self._log, position, self._window_size)


def first_offset_at(log: Source, position: int, window_size: int, rules: LogRules, *, may_start_past_end: bool) -> int:
    """The offset of the first record from this position on, in whole batches within the window.

    Raises CorruptData as `open_slice`, `Log.chunks` and `records.read`, and with `no-batch-at-position`.
    """
    for chunk in open_slice(log, position, window_size, rules, may_start_past_end=may_start_past_end).chunks():
        if chunk.is_legacy:
            for row in range(len(chunk.batches)):
                for message in message_set.messages_of(log, chunk, row):
                    return message.offset
            continue
        for part in records.read(log, chunk, rules.quirks):
            if len(part.records):
                offset: int = part.records["offset"][0]
                return offset
    raise _no_batch(log, position)


def _no_batch(log: Source, position: int) -> CorruptData:
    return CorruptData("no-batch-at-position", "an entry points to where no batch is", path=log.path, position=position)


def check_sanity(index: Source, base_offset: int, *, allows_base_offset: bool) -> None:
    """Kafka's sanity check of an offset index.

    Raises CorruptData with the codes `index-last-offset` or `index-size`.
    """
    count = offset_index.entry_count(index)
    if count:
        last = offset_index.entry_at(index, base_offset, count - 1)[0]
        if last < base_offset or last == base_offset and not allows_base_offset:
            message = f"the last entry holds offset {last}, the index starts at {base_offset}"
            raise CorruptData("index-last-offset", message, path=index.path, last=last, base=base_offset)
    if index.size % offset_index.ENTRY_SIZE:
        message = f"{index.size} bytes are no multiple of {offset_index.ENTRY_SIZE}"
        raise CorruptData("index-size", message, path=index.path, size=index.size)


class Lookup:
    """Looks up positions in an offset index as Kafka does, which matters if its entries are not in order."""

    def __init__(
        self, index: Source, base_offset: int, *, tries_end_first: bool, max_held_bytes: int = _MAX_HELD_INDEX_BYTES
    ) -> None:
        self._tries_end_first = tries_end_first
        self._count = offset_index.entry_count(index)
        self._offsets: array[int] | _UnheldColumn = _UnheldColumn(index, base_offset, 0)
        self._positions: array[int] | _UnheldColumn = _UnheldColumn(index, base_offset, 1)
        self._in_order: array[int] | None = None
        if index.size <= max_held_bytes:
            offsets, positions = array("q"), array("i")
            for table in offset_index.read(index, base_offset):
                offsets.extend(table["offset"])
                positions.extend(table["position"])
            self._offsets, self._positions = offsets, positions
            self._count = min(self._count, len(offsets))  # the file may have been cut off meanwhile
            self._in_order = offsets if all(map(lt, offsets, islice(offsets, 1, None))) else None

    def position_of(self, offset: int) -> int:
        """The position of the largest entry that is not above `offset`, or 0."""
        if self._in_order is not None:  # there is one answer, however one searches
            row = bisect_right(self._in_order, offset)
            return self._positions[row - 1] if row else 0
        if not self._count:
            return 0
        offsets = self._offsets
        low, high = 0, self._count - 1
        warm = max(0, high - _WARM_ENTRIES)
        if self._tries_end_first and offsets[warm] < offset:
            low = warm
        else:
            if offsets[0] > offset:
                return 0
            if self._tries_end_first:
                high = warm
        while low < high:
            middle = low + high + 1 >> 1
            found = offsets[middle]
            if found == offset:
                return self._positions[middle]
            if found > offset:
                high = middle - 1
            else:
                low = middle
        return self._positions[low]


class _UnheldColumn:
    """Column `number` of an offset index that is not held in memory; each value is read on access."""

    def __init__(self, index: Source, base_offset: int, number: int) -> None:
        self._index = index
        self._base_offset = base_offset
        self._number = number

    def __getitem__(self, row: int) -> int:
        entry = offset_index.entry_at(self._index, self._base_offset, row)
        return entry[self._number]
