"""A start, step by step: what the broker does with the files of a partition, in the same order.

Kafka: LogLoader, UnifiedLog (since 3.0); in 2.8 Log.
"""

from __future__ import annotations

from collections import deque
from functools import cached_property

from kdump.binary.paths import absolute
from kdump.forecasts import leftovers, partition_metadata, recovery, splitting
from kdump.forecasts.directory import INDEX_SUFFIXES, has_offset, name_of, offset_of
from kdump.forecasts.events import Events
from kdump.forecasts.exceptions import (
    KAFKA,
    BrokerException,
    CorruptIndex,
    InvalidOffset,
    OffsetOutOfRange,
    OffsetOverflow,
    UnreadableFile,
)
from kdump.forecasts.indexes import check_transactions
from kdump.forecasts.leader_epochs import LeaderEpochs
from kdump.forecasts.producer_state import ProducerStates
from kdump.forecasts.segment import Segment, Segments
from kdump.forecasts.split_budget import SplitBudget
from kdump.formats import file_name, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from kdump.forecasts.directory import Directory
    from kdump.forecasts.recovery import Cut
    from kdump.forecasts.settings import Settings

    Result = TypeVar("Result")

_FOREVER = 0x7FFFFFFFFFFFFFFF
_DELETE_MARK = "-delete"
_MOST_INDEXES = 16
_INDEX_IS_MISSING = "the offset index is missing"


class Start:
    """One start of a partition. After `run`, even with an exception, the directory is as the broker leaves it."""

    def __init__(self, directory: Directory, settings: Settings) -> None:
        self.directory = directory
        self.settings = settings
        self.events = Events()
        self.segments = Segments()
        self.log_start = settings.log_start
        self.log_end: int | None = None
        self.topic_id: bytes | None = None
        self._recovered: deque[Segment] = deque()
        self._overflowing: Segment | None = None  # the segment that an offset did not fit into

    @property
    def end_is_read_from(self) -> int:
        """The position in the newest segment from which the broker read to find the end of the log."""
        if self.log_end is None or not len(self.segments):
            return 0
        last = self.segments.last
        return last.offset_index.position_of(last.offset_index.last_offset)

    def run(self) -> None:
        """Raises BrokerException if the start fails, TooManySplits if what it does is not known."""
        rules = self.settings.rules
        name = tree.directory_name(self.directory.path)
        is_stray = name is not None and name.state == tree.STRAY
        if is_stray and not rules.knows_strays:
            raise BrokerException("for this release, a directory marked -stray is not in the form of topic-partition", KAFKA)
        if rules.lists_snapshots_first:
            self.directory.snapshots()
        self._epochs = LeaderEpochs(self.directory, rules)
        self._producers = ProducerStates(self.directory, self.directory.snapshots().copy(), rules)
        self._load()
        self._look_for_transactions()
        self.topic_id = partition_metadata.topic_id(self.directory, rules)
        if is_stray:
            self.log_end = None  # the loaded log is set aside: no client can read it

    # --- loading

    def _load(self) -> None:
        settings = self.settings
        swaps = leftovers.clear(self.directory, settings.rules)
        if settings.rules.swaps_by_renaming:
            leftovers.rename(self.directory, swaps, settings, self.events)
        self._splitting_overflows(self._load_segments)
        if not settings.rules.swaps_by_renaming:
            self._swap_in(swaps)
        if absolute(self.directory.path).endswith(_DELETE_MARK):
            if not len(self.segments):
                self.segments.add(Segment(self.directory, 0, settings))
            next_offset = 0
        else:
            next_offset = self._splitting_overflows(self._recover_log)
            self.segments.last.make_room_in_indexes()
            self.log_end = next_offset
        self.log_start = max(settings.log_start, self.segments.first.base_offset)
        self._require_newest_snapshot()
        self._producers.remove_strays(self.segments.base_offsets)
        self._rebuild_producers(self._producers, self.log_start, next_offset, is_clean=settings.is_clean)
        self._next_offset = next_offset

    def _require_newest_snapshot(self) -> None:
        """If a link has its name, opening it fails. Kafka: ProducerStateManager.loadFromSnapshot."""
        links = [name for name in self.directory.dead_links if name.endswith(file_name.PRODUCER_SNAPSHOT) and has_offset(name)]
        newest = max([*links, *self.directory.with_suffix(file_name.PRODUCER_SNAPSHOT)], default="")
        if newest in links:
            raise UnreadableFile(f"{newest} is a dangling link")

    @cached_property
    def _budget(self) -> SplitBudget:
        """Of all splits of this start; most starts split nothing."""
        return SplitBudget(self.directory.before)

    def _splitting_overflows(self, step: Callable[[], Result]) -> Result:
        """Repeat a step each time that a segment has to be split for it. Raises TooManySplits where that would take too long."""
        while True:
            try:
                return step()
            except OffsetOverflow as overflow:
                self.events.split.append(overflow.base_offset)
                assert self._overflowing is not None
                replaced = splitting.split(self.directory, self.segments, self._overflowing, self.settings, self._budget)
                for base_offset in replaced:
                    self._producers.mark_deleted(base_offset)
                self._budget.spend(len(self.segments))

    def _load_segments(self) -> None:
        """Load logs and indexes in the order of their names; recover segments without an offset index."""
        self.segments.clear()
        for name in self.directory.names():
            if name not in self.directory.files:
                continue
            if name.endswith(INDEX_SUFFIXES):
                if not self.directory.has(name_of(offset_of(name), file_name.LOG)):
                    self.directory.delete(name)
            elif name.endswith(file_name.LOG):
                self._load_segment(offset_of(name))

    def _load_segment(self, base_offset: int) -> None:
        segment = Segment(self.directory, base_offset, self.settings)
        try:
            self._check_indexes(segment)
        except CorruptIndex as error:
            self._rescan(segment, error.reason)
        self.segments.add(segment)

    def _check_indexes(self, segment: Segment) -> None:
        """Raises CorruptIndex if the segment has to be recovered."""
        if name_of(segment.base_offset, file_name.OFFSET_INDEX) not in self.directory.files:
            raise CorruptIndex(_INDEX_IS_MISSING)
        self.directory.create(name_of(segment.base_offset, file_name.TIME_INDEX))
        file = self.directory.files.get(name_of(segment.base_offset, file_name.TRANSACTION_INDEX))
        if file is not None:
            is_a_byte = self.settings.rules.transaction_version_is_a_byte
            check_transactions(self.directory, file, segment.base_offset, version_is_a_byte=is_a_byte)

    def _rescan(self, segment: Segment, reason: str) -> None:
        self.events.rescanned[segment.base_offset] = reason
        settings = self.settings
        comes_anyway = not settings.is_clean and segment.base_offset >= settings.recovery_point and reason == _INDEX_IS_MISSING
        self.events.tells_of_rescan |= settings.rules.tells_of_every_rescan or not comes_anyway
        cut = self._recover(segment, self._epochs if self.settings.rules.notes_epochs_of_rescans else None)
        if cut.size:
            self.events.rescan_cuts[segment.base_offset] = cut

    def _swap_in(self, swaps: list[str]) -> None:
        """Recover .swap segments, and replace the segments that cover the same offsets."""
        for name in swaps:
            segment = Segment(self.directory, offset_of(name), self.settings, mark=leftovers.SWAP)
            cut = self._recover(segment, None)
            if cut.size:
                self.events.rescan_cuts[segment.base_offset] = cut
            end = segment.next_offset()
            replaced = [old for old in self.segments.between(segment.base_offset, end) if old.next_offset() > segment.base_offset]
            self.segments.add(segment)
            for old in replaced:
                if old.base_offset != segment.base_offset:
                    self.segments.remove(old.base_offset)
                    self._producers.mark_deleted(old.base_offset)
                old.delete()
                self.events.deleted_by_swap.append(old.base_offset)
            segment.rename("")
            self.events.swapped_in.append(segment.base_offset)

    # --- recovery

    def _recover(self, segment: Segment, epochs: LeaderEpochs | None) -> Cut:
        """Recover one segment, with the producer state as of its start."""
        producers = ProducerStates(self.directory, self.directory.snapshots(), self.settings.rules)
        self._rebuild_producers(producers, self.settings.log_start, segment.base_offset, is_clean=False)
        try:
            cut = recovery.recover(segment, producers, epochs, self.settings)
        except OffsetOverflow:
            self._overflowing = segment
            raise
        producers.take_snapshot()
        self._remember(segment)
        return cut

    def _remember(self, segment: Segment) -> None:
        """Keep the indexes of the segments recovered last, and free earlier ones: they take 2 MiB per GiB."""
        self._recovered.append(segment)
        if len(self._recovered) > _MOST_INDEXES:
            oldest = self._recovered.popleft()
            oldest.offset_index.forget(lambda: recovery.remake_index(oldest, self.settings))

    def _recover_log(self) -> int:
        """Recover the segments after the recovery point. Returns the end of the log."""
        settings = self.settings
        if not settings.is_clean:
            self._recover_unflushed()
        if len(self.segments):
            log_end = self.segments.last.next_offset()
            if log_end >= settings.log_start:
                return log_end
            self.events.deleted_all = list(self.segments.base_offsets)
            self.events.tells_of_deletion = True
            self._delete(list(self.segments))
            self._producers.truncate_fully()
        self.segments.add(Segment(self.directory, settings.log_start, settings))
        return self.segments.last.next_offset()

    def _recover_unflushed(self) -> None:
        unflushed = self.segments.between(self.settings.recovery_point, _FOREVER)
        for row, segment in enumerate(unflushed):
            self.events.scanned.append(segment.base_offset)
            size = segment.size
            try:
                cut = self._recover(segment, self._epochs)
            except InvalidOffset as error:
                self.events.wiped[segment.base_offset] = error.reason
                lost = segment.truncate_to(segment.base_offset)
                cut = recovery.Cut(size - lost, lost, error.reason)
            if cut.size:
                segment.next_offset()  # the broker logs it, and may fail to find it
                self.events.cut[segment.base_offset] = cut
                self.events.deleted_behind_cut = [later.base_offset for later in unflushed[row + 1 :]]
                self._delete(unflushed[row + 1 :])
                return

    def _delete(self, segments: list[Segment]) -> None:
        for segment in segments:
            self.segments.remove(segment.base_offset)
            segment.delete()
            self._producers.mark_deleted(segment.base_offset)

    # --- producers

    def _rebuild_producers(self, producers: ProducerStates, log_start: int, end: int, *, is_clean: bool) -> None:
        """Rebuild the producer state up to an offset, from the latest snapshot. Kafka: UnifiedLog.rebuildProducerState."""
        offsets = [*self.segments.base_offsets[-2:], end]
        if is_clean and not producers.snapshots:
            # As after an upgrade: the producer state starts empty.
            for offset in offsets:
                producers.end_offset = offset
                producers.take_snapshot()
            return
        was_empty = producers.is_empty and producers.end_offset >= end
        producers.truncate_and_reload(log_start, end)
        if end > producers.end_offset and not was_empty:
            segment_of_end = self.segments.floor(end)
            for segment in self.segments.between(producers.end_offset, end):
                start = max(segment.base_offset, producers.end_offset, log_start)
                producers.end_offset = start
                if segment.base_offset in offsets:
                    producers.take_snapshot()
                max_position = segment.size
                if segment is segment_of_end:
                    position = segment.position_of(end)
                    max_position = segment.size if position is None else position
                part = segment.slice_from(start, max_position)
                if part is not None:
                    producers.load(segment.log, *part)
        producers.end_offset = end
        producers.take_snapshot()

    def _look_for_transactions(self) -> None:
        """Look up the start of the first open transaction in the log."""
        offset = self._producers.first_unstable_offset
        if offset is None:
            return
        try:
            self._look_up(max(offset, self.log_start))
        except OffsetOutOfRange:
            if not self.settings.rules.survives_lost_transactions:
                raise

    def _look_up(self, offset: int) -> None:
        """Read one byte at an offset, as the broker does to find its position."""
        segment = self.segments.floor(offset)
        if offset > self._next_offset or segment is None:
            first = self.segments.first.base_offset
            raise OffsetOutOfRange(f"offset {offset:,} is not in the log, which goes from {first:,} to {self._next_offset:,}")
        while segment is not None and offset != self._next_offset:
            if segment.slice_from(offset, segment.size) is not None:
                return
            segment = self.segments.above(segment.base_offset)
