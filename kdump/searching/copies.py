"""The copies of a partition below some paths: what each holds of an offset, and what its checkpoints say."""

from __future__ import annotations

import os
from bisect import bisect_right
from typing import NamedTuple

from kdump.binary.arithmetic import increment_sequence
from kdump.binary.batch_header import (
    ATTRIBUTES,
    BASE_SEQUENCE,
    CONTROL_BIT,
    LAST_OFFSET_DELTA,
    PRODUCER_EPOCH,
    PRODUCER_ID,
    TRANSACTIONAL_BIT,
)
from kdump.binary.source import Source
from kdump.binary.tolerant_source import TolerantSource
from kdump.decoders import control_record
from kdump.errors import CorruptData, KdumpError, Unreadable
from kdump.formats import text_checkpoint, tree
from kdump.messages.control_records import ABORT, COMMIT
from kdump.reading import salvage
from kdump.reading.damaged_offsets import FOREVER, DamagedOffsets
from kdump.reading.records import UnreadableBatch, past_bad_batches
from kdump.searching.places import is_served

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from kdump.formats.log import Chunk
    from kdump.pipeline.discovery import FileItem
    from kdump.reading.damaged_offsets import DamagedRange

    Sequences = dict[str, int]

_NONE = -1
_MAX_SEQUENCES = 100  # that are listed


class Sighting:
    """A record in one file: the fields of its batch and, if it could be read, its key and whether it has a value."""

    __slots__ = ("has_value", "is_control", "is_served", "is_transactional", "key", "leader_epoch", "offset", "producer_id")

    def __init__(self, offset: int, leader_epoch: int | None, producer_id: int, attributes: int, *, is_served: bool) -> None:
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.producer_id = producer_id
        self.is_control = bool(attributes & CONTROL_BIT)
        self.is_transactional = bool(attributes & TRANSACTIONAL_BIT)
        self.is_served = is_served
        self.key: bytes | None = None
        self.has_value = True


class Marker(NamedTuple):
    """The end of a transaction: its offset, its leader epoch, and whether the transaction was aborted."""

    offset: int
    leader_epoch: int
    is_abort: bool


class Copy:
    """A partition below one path. `look` walks its logs once, for some offsets; then all else is known.

    `damaged` are the ranges of offsets that could not be read, `not_read` says which files could not be read at all.
    `epochs` are leader epochs and their first offsets, by the checkpoint of the partition and by the batches.
    """

    def __init__(self, path: str, topic: str, partition: int, logs: list[FileItem]) -> None:
        self.path = path
        self.topic = topic
        self.partition = partition
        self.served = sorted((item for item in logs if is_served(item)), key=_base_offset)
        self.marked = sorted((item for item in logs if not is_served(item)), key=_base_offset)
        self.folder = os.path.dirname((self.served or self.marked)[0].path)
        self.sightings: list[Sighting] = []
        self.damaged: list[DamagedRange] = []
        self.not_read: list[str] = []
        self.log_end: int | None = None
        self.epochs: list[tuple[int, int]] = []
        self._epochs: list[tuple[int, int]] = []  # by the batches
        self._checkpointed_epochs: list[tuple[int, int]] = []
        directory = tree.parent(self.folder)
        self.checkpointed_start = self._in_checkpoint(directory, text_checkpoint.LOG_START_OFFSETS)
        self.cleaned_to = self._in_checkpoint(directory, text_checkpoint.CLEANER_OFFSETS)

    # What checkpoints say

    def _in_checkpoint(self, directory: str, name: str) -> int | None:
        try:
            with Source(os.path.join(directory, name)) as source:
                line = text_checkpoint.entry_of(source, self.topic, self.partition)
        except KdumpError as error:
            self._note_unread(error)
            return None
        return None if line is None else int(line.values[2])

    def _note_unread(self, error: KdumpError) -> None:
        """Note a checkpoint that could not be read; one that is not there says nothing."""
        if not isinstance(error, Unreadable) or error.code != "file-missing":
            self.not_read.append(str(error))

    @property
    def log_start(self) -> int | None:
        """The log start by the checkpoint or the first segment, whichever is higher; None without segments."""
        if not self.served:
            return None
        return max(self.served[0].base_offset or 0, self.checkpointed_start or 0)

    @property
    def is_whole(self) -> bool:
        """Whether the log begins at 0, was never cleaned, and could be read from end to end."""
        return self.log_start == 0 and self.cleaned_to is None and not self.damaged and not self.not_read

    def _all_epochs(self) -> list[tuple[int, int]]:
        found = dict(self._epochs)
        for epoch, start in self._checkpointed_epochs:
            found[epoch] = min(start, found.get(epoch, start))
        return sorted(found.items())

    def _in_epoch_checkpoint(self) -> list[tuple[int, int]]:
        """The leader epochs and their first offsets by the checkpoint of the partition."""
        try:
            with Source(os.path.join(self.folder, tree.LEADER_EPOCHS)) as source:
                entries = text_checkpoint.TextCheckpoint(source, text_checkpoint.EPOCH_FIELDS).entries()
                return sorted({(int(epoch), int(start)) for epoch, start in entries})
        except KdumpError as error:
            self._note_unread(error)
            return []

    def is_foreign(self, epoch: int, offset: int) -> bool:
        """Whether a leader epoch was never in the lineage of this copy, by a checkpoint that reaches back to the offset."""
        known = self._checkpointed_epochs
        return bool(known) and known[0][1] <= offset and epoch < known[-1][0] and epoch not in dict(self.epochs)

    def end_of_epoch(self, epoch: int) -> int | None:
        """Where a leader epoch ended in this copy; None if it is the last, or later than all."""
        return next((start for other, start in self.epochs if other > epoch), None)

    @property
    def last_epoch(self) -> int:
        return self.epochs[-1][0] if self.epochs else _NONE

    # What logs hold

    def look(self, offsets: Collection[int]) -> None:
        """Walk all logs, and note what they hold of these offsets."""
        wanted = sorted(offsets)
        if self.served and self.served[-1].base_offset:  # where the log ends if this segment is empty
            self._extend(self.served[-1].base_offset - 1, is_served=True)
        for item in (*self.served, *self.marked):
            try:
                with TolerantSource(item.path) as source:
                    self._look_into(source, item, wanted)
            except Unreadable as error:
                self.not_read.append(str(error))
        self._checkpointed_epochs = self._in_epoch_checkpoint()
        self.epochs = self._all_epochs()

    def _look_into(self, source: TolerantSource, item: FileItem, wanted: list[int]) -> None:
        is_in_service = is_served(item)
        damaged = DamagedOffsets(item.base_offset or 0)
        for section in salvage.walk(source):
            damaged.take(section)
            if isinstance(section, salvage.Damage):
                continue
            summary = section.summary
            if summary is not None:
                self._extend(summary.last_offset, is_served=is_in_service)
                if is_in_service:
                    if not summary.is_legacy and summary.lowest_leader_epoch != summary.highest_leader_epoch:
                        self._note_epochs(section.chunk, section.statuses, is_served=True)
                    elif not summary.is_legacy:
                        self._note_epoch(summary.first_leader_epoch, summary.first_offset)
                if not any(summary.first_offset <= offset <= summary.last_offset for offset in wanted) and not summary.is_legacy:
                    continue
            else:
                self._note_epochs(section.chunk, section.statuses, is_served=is_in_service)
            self._note_sightings(source, section, wanted, is_served=is_in_service)
        if is_in_service:
            self.damaged += self._bounded(damaged.ranges(), item)
        self._note_bad_ranges(source)

    def _note_bad_ranges(self, source: TolerantSource) -> None:
        for start, end in source.bad_ranges:
            self.not_read.append(f"{source.path}: bytes {start:,} to {end - 1:,} cannot be read from the device")

    def _bounded(self, ranges: list[DamagedRange], item: FileItem) -> list[DamagedRange]:
        """The damaged ranges of a segment. Those at its end reach no further than the next segment, or are no batches."""
        following = bisect_right(self.served, item.base_offset or 0, key=_base_offset)
        if following < len(self.served):
            for damaged in ranges:
                damaged.next_offset = min(damaged.next_offset, _base_offset(self.served[following]))
        return [damaged for damaged in ranges if damaged.is_batch or damaged.next_offset < FOREVER]

    def damage_at(self, offset: int) -> DamagedRange | None:
        """The damaged range that may have held an offset."""
        return next((damaged for damaged in self.damaged if damaged.offset <= offset < damaged.next_offset), None)

    def _extend(self, last_offset: int, *, is_served: bool) -> None:
        """Note the end of the log: that of marked files only if no others are left."""
        if self.served and not is_served:
            return
        self.log_end = last_offset + 1 if self.log_end is None else max(self.log_end, last_offset + 1)

    def _note_epoch(self, epoch: int, offset: int) -> None:
        if epoch >= 0 and (not self._epochs or epoch > self._epochs[-1][0]):
            self._epochs.append((epoch, offset))

    def _note_epochs(self, chunk: Chunk, statuses: list[str], *, is_served: bool) -> None:
        batches = chunk.batches
        for row, status in enumerate(statuses):
            if status != salvage.DAMAGED:
                self._extend(batches["last_offset"][row], is_served=is_served)
                if not chunk.is_legacy and is_served:
                    self._note_epoch(batches["partition_leader_epoch"][row], batches["base_offset"][row])

    def _note_sightings(self, source: TolerantSource, section: salvage.Section, wanted: list[int], *, is_served: bool) -> None:
        chunk, statuses = section.chunk, section.statuses
        for row, status in enumerate(statuses):
            last = chunk.batches["last_offset"][row]
            first = chunk.batches["base_offset"][row]
            is_near = any(offset <= last and (first is None or first <= offset) for offset in wanted)
            if status != salvage.DAMAGED and is_near:
                self._note_records(source, chunk.slice(row, row + 1), wanted, is_served=is_served)

    def _note_records(self, source: TolerantSource, chunk: Chunk, wanted: list[int], *, is_served: bool) -> None:
        header = chunk.headers[0]
        epoch = None if chunk.is_legacy else chunk.batches["partition_leader_epoch"][0]
        producer_id, attributes = (_NONE, 0) if chunk.is_legacy else (header[PRODUCER_ID], header[ATTRIBUTES])
        for part in past_bad_batches(source, chunk):
            if isinstance(part, UnreadableBatch):
                self.not_read.append(f"{source.path}, byte {part.position:,}: {part.fault.message} ({part.fault.code})")
                continue
            for row, offset in enumerate(part.records["offset"]):
                if offset in wanted:
                    sighting = Sighting(offset, epoch, producer_id, attributes, is_served=is_served)
                    sighting.key = part.records["key"][row]
                    sighting.has_value = part.records["value"][row] is not None
                    self.sightings.append(sighting)

    # Transactions and sequences

    def marker_after(self, sighting: Sighting) -> Marker | None:
        """The marker that ended the transaction of a record in this copy; None without a marker after it."""
        for chunk, source in self._chunks():
            batches = chunk.batches
            if chunk.is_legacy or batches["last_offset"][-1] <= sighting.offset:
                continue
            for row, header in enumerate(chunk.headers):
                is_marker = header[ATTRIBUTES] & CONTROL_BIT and header[PRODUCER_ID] == sighting.producer_id
                if not is_marker or batches["base_offset"][row] <= sighting.offset:
                    continue
                kind = _marker_type(source, chunk.slice(row, row + 1))
                if kind in (COMMIT, ABORT):
                    return Marker(batches["base_offset"][row], batches["partition_leader_epoch"][row], kind == ABORT)
        return None

    def missing_sequences(self) -> list[Sequences]:
        """The sequence numbers that idempotent producers skip in this copy, if it has the whole log."""
        missing: list[Sequences] = []
        if not self.is_whole:
            return missing
        expected: dict[tuple[int, int], int] = {}
        for chunk, _ in self._chunks():
            if chunk.is_legacy:
                continue
            for header in chunk.headers:
                producer, first = (header[PRODUCER_ID], header[PRODUCER_EPOCH]), header[BASE_SEQUENCE]
                if first < 0 or producer[0] < 0 or header[ATTRIBUTES] & CONTROL_BIT:
                    continue
                wanted = expected.get(producer, 0)
                if first > wanted and len(missing) < _MAX_SEQUENCES:
                    missing.append({"producerId": producer[0], "producerEpoch": producer[1], "first": wanted, "last": first - 1})
                expected[producer] = increment_sequence(first, header[LAST_OFFSET_DELTA] + 1)
        return missing

    def _chunks(self) -> Iterator[tuple[Chunk, TolerantSource]]:
        """The batches of all logs that are served, in order, without damaged ones."""
        for item in self.served:
            try:
                with TolerantSource(item.path) as source:
                    for section in salvage.walk(source):
                        if isinstance(section, salvage.Damage):
                            continue
                        chunk, statuses = section.chunk, section.statuses
                        for row, status in enumerate(statuses) if not section.is_intact else ():
                            if status != salvage.DAMAGED:
                                yield chunk.slice(row, row + 1), source
                        if section.is_intact:
                            yield chunk, source
                    self._note_bad_ranges(source)
            except Unreadable as error:
                self.not_read.append(str(error))


def _base_offset(item: FileItem) -> int:
    return item.base_offset or 0


def _marker_type(source: TolerantSource, chunk: Chunk) -> int | None:
    """The type of the first control record of a batch, None if it cannot be read."""
    for part in past_bad_batches(source, chunk):
        if not isinstance(part, UnreadableBatch) and len(part.records):
            try:
                return control_record.type_of(part.records["key"][0])
            except CorruptData:
                return None
    return None
