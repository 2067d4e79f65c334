"""A segment while a broker loads it (its log and indexes), and the segments of a log in order."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from kdump.forecasts import batches
from kdump.forecasts.batches import MAX_LOG_SIZE, LogReader
from kdump.forecasts.directory import DELETED, INDEX_SUFFIXES, Directory, File, name_of
from kdump.forecasts.exceptions import ILLEGAL_ARGUMENT, KAFKA, BrokerException
from kdump.forecasts.indexes import OffsetIndex, TimeIndex, TransactionIndex
from kdump.formats import file_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.forecasts.settings import Settings

SUFFIXES = (file_name.LOG, *INDEX_SUFFIXES)


class Segment:
    """A log with its indexes, which are opened when needed. Kafka: LogSegment.

    The log is created empty if there is no file with the name of the base offset. Raises BrokerException for a log that
    is too large.
    """

    def __init__(self, directory: Directory, base_offset: int, settings: Settings, *, mark: str = "") -> None:
        self.base_offset = base_offset
        self.mark = mark
        self.transactions = TransactionIndex()
        self._directory = directory
        self._settings = settings
        self._offset_index: OffsetIndex | None = None
        self._time_index: TimeIndex | None = None
        self._file = directory.create(self.name)
        self.log = LogReader(directory, self._file)
        if self._file.size > MAX_LOG_SIZE:
            raise BrokerException(
                f"a segment of {self._file.size:,} bytes is larger than a segment may be", KAFKA, file=self.name
            )

    @property
    def name(self) -> str:
        """The name of the log."""
        return self._name(file_name.LOG)

    def _name(self, suffix: str) -> str:
        return name_of(self.base_offset, suffix) + self.mark

    @property
    def size(self) -> int:
        return self._file.size

    @property
    def offset_index(self) -> OffsetIndex:
        if self._offset_index is None:
            file = self._index(file_name.OFFSET_INDEX)
            self._offset_index = OffsetIndex(self._directory, file, self.base_offset)
        return self._offset_index

    @property
    def time_index(self) -> TimeIndex:
        if self._time_index is None:
            self._time_index = TimeIndex(self._index(file_name.TIME_INDEX), self.base_offset)
        return self._time_index

    def _index(self, suffix: str) -> File:
        """An index, created if missing: preallocated with zeros."""
        return self._directory.create(self._name(suffix))

    def position_of(self, offset: int) -> int | None:
        """The position of the batch with an offset, or of the first one after it."""
        position = self.offset_index.position_of(offset)
        return batches.find(self.log, offset, position, by_first_offset=self._settings.rules.finds_by_first_offset)

    def next_offset(self) -> int:
        """The offset after the log, read from the last entry of the index on. Kafka: readNextOffset."""
        start = self.position_of(self.offset_index.last_offset)
        if start is None:
            return self.base_offset
        last = self.log.last_batch(start)
        return self.base_offset if last is None else last.next_offset()

    def slice_from(self, offset: int, max_position: int) -> tuple[int, int] | None:
        """The positions between which a read from an offset takes place; None if the log has nothing from there on."""
        start = self.position_of(offset)
        if start is None:
            return None
        if start > max_position:
            reason = f"a read would have a negative size, from byte {start:,} up to {max_position:,}"
            raise BrokerException(reason, ILLEGAL_ARGUMENT, file=self.name)
        return start, max_position

    def can_hold(self, offset: int) -> bool:
        """Whether an offset is close enough to the base of the segment."""
        return self.offset_index.can_hold(offset)

    def overflows(self) -> bool:
        """Whether its last offset is too far from its base."""
        next_offset = self.next_offset()
        return next_offset > self.base_offset and not self.can_hold(next_offset - 1)

    def truncate(self, size: int) -> int:
        """Cut the log. Returns the number of removed bytes."""
        lost = self._file.size - size
        if lost:
            old = self._file
            self._file = self._directory.files[self.name] = File(old.path, size, old.start, is_copy=old.is_copy)
            self.log = LogReader(self._directory, self._file)
        return lost

    def truncate_to(self, offset: int) -> int:
        """Cut the segment before an offset."""
        position = self.position_of(offset)
        self.offset_index.truncate_to(offset)
        return 0 if position is None else self.truncate(position)

    def reset_indexes(self) -> None:
        """Empty all indexes, with room for new entries."""
        self.transactions.reset()
        for suffix, index in self._sized_indexes():
            index.reset(self._settings.max_index_size)
            self._index(suffix).made_size = index.room

    def trim_indexes(self) -> None:
        """Trim the indexes to their entries. Kafka: AbstractIndex.trimToValidSize."""
        for suffix, index in self._sized_indexes():
            self._index(suffix).made_size = index.size
        name = self._name(file_name.TRANSACTION_INDEX)
        if self.transactions.size or name in self._directory.files:
            self._directory.create(name).made_size = self.transactions.size

    def _sized_indexes(self) -> tuple[tuple[str, OffsetIndex | TimeIndex], ...]:
        return (file_name.OFFSET_INDEX, self.offset_index), (file_name.TIME_INDEX, self.time_index)

    def make_room_in_indexes(self) -> None:
        """Resize the indexes as for the newest segment."""
        self.offset_index.make_room(self._settings.max_index_size)
        self.time_index.make_room(self._settings.max_index_size)
        for suffix, index in self._sized_indexes():
            self._index(suffix).made_size = index.size

    def rename(self, mark: str) -> None:
        """Change the suffix of all files."""
        for suffix in SUFFIXES:
            old = self._name(suffix)
            if old in self._directory.files:
                self._directory.rename(old, name_of(self.base_offset, suffix) + mark)
        self.mark = mark

    def delete(self) -> None:
        """Mark all files as deleted."""
        self.rename(self.mark + DELETED)


class Segments:
    """The segments of a log by base offset. Kafka: LogSegments."""

    def __init__(self) -> None:
        self._by_offset: dict[int, Segment] = {}
        self.base_offsets: list[int] = []

    def __len__(self) -> int:
        return len(self.base_offsets)

    def __contains__(self, base_offset: int) -> bool:
        return base_offset in self._by_offset

    def __iter__(self) -> Iterator[Segment]:
        return iter([self._by_offset[offset] for offset in self.base_offsets])

    @property
    def first(self) -> Segment:
        return self._by_offset[self.base_offsets[0]]

    @property
    def last(self) -> Segment:
        return self._by_offset[self.base_offsets[-1]]

    def add(self, segment: Segment) -> None:
        if segment.base_offset not in self._by_offset:
            self.base_offsets.insert(bisect_left(self.base_offsets, segment.base_offset), segment.base_offset)
        self._by_offset[segment.base_offset] = segment

    def remove(self, base_offset: int) -> None:
        if self._by_offset.pop(base_offset, None) is not None:
            self.base_offsets.remove(base_offset)

    def clear(self) -> None:
        self._by_offset.clear()
        self.base_offsets.clear()

    def floor(self, offset: int) -> Segment | None:
        """The last segment whose base is not above an offset."""
        at = bisect_right(self.base_offsets, offset)
        return self._by_offset[self.base_offsets[at - 1]] if at else None

    def above(self, base_offset: int) -> Segment | None:
        at = bisect_right(self.base_offsets, base_offset)
        return self._by_offset[self.base_offsets[at]] if at < len(self.base_offsets) else None

    def between(self, start: int, end: int) -> list[Segment]:
        """The segments from the one that contains `start`, or else the first, up to those that start at `end`."""
        if start == end:
            return []
        if start > end:
            raise BrokerException(f"segments are requested from offset {start:,} up to {end:,}", ILLEGAL_ARGUMENT)
        at = max(bisect_right(self.base_offsets, start) - 1, 0)
        return [self._by_offset[offset] for offset in self.base_offsets[at : bisect_left(self.base_offsets, end)]]
