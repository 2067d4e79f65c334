"""The indexes of a segment: what a broker finds in them, how recovery rebuilds them, and which entries they refuse."""

from __future__ import annotations

import os
from array import array

from kdump.binary.arithmetic import as_int64
from kdump.forecasts.directory import name_of
from kdump.forecasts.exceptions import (
    BUFFER_OVERFLOW,
    ILLEGAL_ARGUMENT,
    ILLEGAL_STATE,
    KAFKA,
    BrokerException,
    CorruptIndex,
    InvalidOffset,
)
from kdump.formats import offset_index, time_index, transaction_index
from kdump.formats.file_name import OFFSET_INDEX, TIME_INDEX
from kdump.formats.record_batch import NO_TIMESTAMP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.forecasts.directory import Directory, File

MAX_RELATIVE_OFFSET = 0x7FFFFFFF

_WARM_ENTRIES = 8192 // offset_index.ENTRY_SIZE
_LARGEST_FILE = 0x7FFFFFFF
_CURRENT_VERSION = 0


class OffsetIndex:
    """The offset index of a segment: the file as it is, or the one that recovery rebuilt.

    Kafka: AbstractIndex, OffsetIndex.
    """

    def __init__(self, directory: Directory, file: File, base_offset: int) -> None:
        _check_size(file)
        self._name = name_of(base_offset, OFFSET_INDEX)
        self._directory = directory
        self._file = file
        self._base_offset = base_offset
        self._made: array[int] | None = None  # alternating relative offsets and positions, once rebuilt
        self._remake: Callable[[], None] | None = None
        self._count = file.size // offset_index.ENTRY_SIZE
        self._max_entries = self._count
        self.last_offset = self._offset(self._count - 1) if self._count else base_offset

    @property
    def size(self) -> int:
        """The size of its entries."""
        return self._count * offset_index.ENTRY_SIZE

    @property
    def room(self) -> int:
        """The size of all entries that fit."""
        return self._max_entries * offset_index.ENTRY_SIZE

    def entry(self, row: int) -> tuple[int, int]:
        """Offset and position in a row."""
        made = self._recalled()
        if made is not None:
            return self._base_offset + made[2 * row], made[2 * row + 1]
        data = self._directory.read(self._file, row * offset_index.ENTRY_SIZE, offset_index.ENTRY_SIZE)
        relative_offset, position = offset_index.ENTRY.unpack(data.ljust(offset_index.ENTRY_SIZE, b"\0"))
        return as_int64(self._base_offset + relative_offset), position

    def _offset(self, row: int) -> int:
        offset, _ = self.entry(row)
        return offset

    def position_of(self, target: int) -> int:
        """The position where the search for an offset starts: that of the largest entry not above it, found as Kafka does."""
        row = self._row_of(target)
        if row is None:
            return 0
        _, position = self.entry(row)
        return max(position, 0)

    def _row_of(self, target: int) -> int | None:
        if not self._count:
            return None
        first_warm = max(0, self._count - 1 - _WARM_ENTRIES)
        if self._offset(first_warm) < target:
            return self._search(target, first_warm, self._count - 1)
        if self._offset(0) > target:
            return None
        return self._search(target, 0, first_warm)

    def _search(self, target: int, low: int, high: int) -> int:
        while low < high:
            middle = (low + high + 1) // 2
            offset = self._offset(middle)
            if offset == target:
                return middle
            if offset > target:
                high = middle - 1
            else:
                low = middle
        return low

    def forget(self, remake: Callable[[], None]) -> None:
        """Free the memory of rebuilt entries; `remake` appends them again when one is needed."""
        if self._made is not None:
            self._made = None
            self._remake = remake

    def _recalled(self) -> array[int] | None:
        """The rebuilt entries; None if the file is unchanged."""
        if self._remake is not None:
            remake, self._remake = self._remake, None
            count, self._made, self._count = self._count, array("i"), 0
            remake()
            self._count = min(self._count, count)
        return self._made

    def reset(self, max_size: int) -> None:
        """Empty, with room for as many entries as fit."""
        self._remake = None
        self._made = array("i")
        self._count = 0
        self._max_entries = max_size // offset_index.ENTRY_SIZE
        self.last_offset = self._base_offset

    def can_hold(self, offset: int) -> bool:
        """Whether an offset is close enough to the base of the segment."""
        return 0 <= as_int64(offset - self._base_offset) <= MAX_RELATIVE_OFFSET

    def append(self, offset: int, position: int) -> None:
        assert self._made is not None
        if self._count >= self._max_entries:
            raise BrokerException(f"the offset index is full with {self._count:,} entries", ILLEGAL_ARGUMENT, file=self._name)
        if self._count and offset <= self.last_offset:
            reason = f"offset {offset:,} at byte {position:,} is not above {self.last_offset:,}, the last in the index"
            raise InvalidOffset(reason, file=self._name)
        self._made.append(offset - self._base_offset)
        self._made.append(position)
        self._count += 1
        self.last_offset = offset

    def truncate_to(self, offset: int) -> None:
        """Without the entries from an offset on."""
        row = self._row_of(offset)
        count = 0 if row is None else row if self._offset(row) == offset else row + 1
        self._count = min(count, self._count)
        self.last_offset = self._offset(self._count - 1) if self._count else self._base_offset

    def make_room(self, max_size: int) -> None:
        """Resize the index as for the newest segment; a larger one is refused."""
        is_file = self._made is None and self._remake is None
        _check_room(self._name, self._count, offset_index.ENTRY_SIZE, max_size, is_file)


class TimeIndex:
    """The time index of a segment. A start adds entries but looks none up, so only the last one matters."""

    def __init__(self, file: File, base_offset: int) -> None:
        _check_size(file)
        self._name = name_of(base_offset, TIME_INDEX)
        self._base_offset = base_offset
        self._count = file.size // time_index.ENTRY_SIZE
        self._is_file = True
        self._max_entries = self._count
        self._last = (NO_TIMESTAMP, base_offset)

    @property
    def size(self) -> int:
        """The size of its entries."""
        return self._count * time_index.ENTRY_SIZE

    @property
    def room(self) -> int:
        """The size of all entries that fit."""
        return self._max_entries * time_index.ENTRY_SIZE

    def reset(self, max_size: int) -> None:
        self._is_file = False
        self._count = 0
        self._max_entries = max_size // time_index.ENTRY_SIZE
        self._last = (NO_TIMESTAMP, self._base_offset)

    def append(self, timestamp: int, offset: int, *, is_last: bool = False) -> None:
        """Add an entry if it is later than the last."""
        if not is_last and self._count >= self._max_entries - 1:  # the last slot is reserved for the last entry
            raise BrokerException(f"the time index is full with {self._count:,} entries", ILLEGAL_ARGUMENT, file=self._name)
        last_timestamp, last_offset = self._last
        if self._count and offset < last_offset:
            reason = f"offset {offset:,} is not above {last_offset:,}, the last in the time index"
            raise InvalidOffset(reason, file=self._name)
        if self._count and timestamp < last_timestamp:
            reason = f"timestamp {timestamp:,} is earlier than the last in the time index"
            raise BrokerException(reason, ILLEGAL_STATE, file=self._name)
        if timestamp > last_timestamp:
            if self._count >= self._max_entries:
                raise BrokerException("the time index has no room for its last entry", BUFFER_OVERFLOW, file=self._name)
            self._count += 1
            self._last = (timestamp, offset)

    def make_room(self, max_size: int) -> None:
        _check_room(self._name, self._count, time_index.ENTRY_SIZE, max_size, self._is_file)


class TransactionIndex:
    """The transaction index of a segment: recovery must append aborted transactions in ascending order."""

    def __init__(self) -> None:
        self._last_offset: int | None = None
        self._count = 0

    def reset(self) -> None:
        self._last_offset = None
        self._count = 0

    @property
    def size(self) -> int:
        """The size of its entries."""
        return self._count * transaction_index.ENTRY_SIZE

    def append(self, last_offset: int) -> None:
        if self._last_offset is not None and self._last_offset >= last_offset:
            reason = f"an aborted transaction ends at {last_offset:,}, and the one before it at {self._last_offset:,}"
            raise BrokerException(reason, ILLEGAL_ARGUMENT)
        self._last_offset = last_offset
        self._count += 1


def check_transactions(directory: Directory, file: File, base_offset: int, *, version_is_a_byte: bool) -> None:
    """The check of a transaction index when a broker opens a segment; of a version it may read the first of two bytes only.

    Raises CorruptIndex if an entry ends below the segment, BrokerException for an unknown version.
    """
    if not file.path or file.size < transaction_index.ENTRY_SIZE:
        return
    for table in transaction_index.read(directory.source(file)):
        versions, last_offsets = table["version"], table["last_offset"]
        least = -128 if version_is_a_byte else _CURRENT_VERSION
        shift = 8 if version_is_a_byte else 0
        if least <= min(versions) >> shift and max(versions) >> shift <= _CURRENT_VERSION and min(last_offsets) >= base_offset:
            continue
        for version, last_offset in zip(versions, last_offsets, strict=True):
            looked_at = version >> shift
            if not least <= looked_at <= _CURRENT_VERSION:
                name = os.path.basename(file.path)
                raise BrokerException(f"a transaction index has an entry of version {looked_at}", KAFKA, file=name)
            if last_offset < base_offset:
                raise CorruptIndex(f"an aborted transaction ends at {last_offset:,}, below the segment")


def _check_size(file: File) -> None:
    if file.size > _LARGEST_FILE:
        reason = f"an index of {file.size:,} bytes is too large to be mapped"
        raise BrokerException(reason, ILLEGAL_ARGUMENT, file=os.path.basename(file.path))


def _check_room(name: str, count: int, entry_size: int, max_size: int, is_file: bool) -> None:
    room = max_size // entry_size * entry_size
    if is_file and count * entry_size > room:
        reason = f"an index of {count * entry_size:,} bytes must fit into segment.index.bytes, {room:,}"
        raise BrokerException(reason, ILLEGAL_ARGUMENT, file=name)
