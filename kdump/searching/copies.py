"""The copies of a partition below some paths: what each holds of an offset, and what its checkpoints say."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from typing import NamedTuple

from kdump.binary import zeros
from kdump.binary.arithmetic import increment_sequence
from kdump.binary.batch_header import (
    ATTRIBUTES,
    BASE_OFFSET,
    BASE_SEQUENCE,
    BATCH_HEADER,
    BATCH_HEADER_SIZE,
    CONTROL_BIT,
    LAST_OFFSET_DELTA,
    MAGIC_AT,
    PRODUCER_EPOCH,
    PRODUCER_ID,
    RECORD_COUNT,
    TRANSACTIONAL_BIT,
)
from kdump.binary.codecs import CODECS, NONE
from kdump.binary.source import Source
from kdump.binary.tolerant_source import TolerantSource
from kdump.checks.wording import span
from kdump.decoding.markers import marker_type
from kdump.errors import CorruptData, Unreadable
from kdump.formats import text_checkpoint, tree
from kdump.mending.attested import Witnesses
from kdump.messages.control_records import ABORT, COMMIT
from kdump.reading import batch_faults, salvage
from kdump.reading.damaged_offsets import FOREVER, DamagedOffsets, DamagedRange, Stray
from kdump.reading.records import UnreadableBatch, past_bad_batches
from kdump.reading.trust import is_flipped_epoch
from kdump.searching.left_out import CUT_MESSAGE, HOLLOW_MESSAGE, is_cut
from kdump.searching.places import is_served
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from kdump.formats.log import Chunk
    from kdump.formats.record import RecordChunk
    from kdump.formats.summary import BatchSummary
    from kdump.pipeline.discovery import FileItem

    Positions = Mapping[str, Collection[int]]
    Sequences = dict[str, int]

_NONE = -1
_MAX_SEQUENCES = 100  # that are listed


class Batch(NamedTuple):
    """A batch of a file: where it starts and ends, and the offsets that its header claims. `first` is None for wrappers."""

    path: str
    position: int
    end: int
    first: int | None
    last: int


class Sighting(Declared):
    """A record in one file: the fields of its batch, its key, and whether it has a value."""

    offset: int
    batch: Batch
    leader_epoch: int | None
    producer_id: int
    attributes: int
    is_served: bool
    is_in_cut_wrapper: bool = False  # of magic 1, where offsets count back from that of the wrapper
    stray: Stray | None = None  # its batch, if that is out of line
    key: bytes | None = None
    has_value: bool = True

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL_BIT)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def claimed_offset(self) -> int:
        """The offset for brokers, which go by the header of the batch: a record after the end that it claims counts as there."""
        return min(self.offset, self.batch.last)

    @property
    def is_outside_of_batch(self) -> bool:
        """Whether the header of its batch does not claim its offset."""
        return self.offset > self.batch.last or self.batch.first is not None and self.offset < self.batch.first


class Hole(NamedTuple):
    """An offset that the header of an intact batch claims, and that none of its `record_count` records has.

    `is_thinned` if it has fewer records than offsets: only the cleaner takes records out of a batch.
    """

    offset: int
    batch: Batch
    record_count: int
    is_thinned: bool


class UnreadableRange(DamagedRange):
    """A batch whose checksum fits, but some of whose records cannot be read: `reason` says why."""

    def __init__(self, batch: Batch, offset: int, reason: str) -> None:
        super().__init__(batch.position, batch.end, True, offset, batch.last + 1)
        self.log = batch.path
        self.reason = reason


class Wrapper(NamedTuple):
    """Compressed messages of magic 1: the offset after the batch before, and that of the first message inside."""

    batch: Batch
    expected: int
    first: int


class Marker(NamedTuple):
    """The end of a transaction: its offset, its leader epoch, and whether the transaction was aborted."""

    offset: int
    leader_epoch: int
    is_abort: bool


class Copy:
    """A partition below one path. `look` walks its logs once, for some offsets; then all else is known.

    `damaged` are the ranges of offsets that could not be read (empty for zeros at the end), `holes` those that were looked for in
    intact batches without result, `not_read` says which files could not be read at all.
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
        self.holes: list[Hole] = []
        self.not_read: list[str] = []
        self._strays: dict[tuple[str, int], Stray] = {}  # by path and position
        self._doubted: set[tuple[str, int | None]] = set()  # paths and first offsets of batches that may be wrong instead
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
        except Unreadable as error:
            self._note_unread(error)
            return None
        return None if line is None else int(line.values[2])

    def _note_unread(self, error: Unreadable) -> None:
        """Note a checkpoint that could not be read; one that is not there says nothing."""
        if error.code != "file-missing":
            self.not_read.append(str(error))

    @property
    def log_start(self) -> int | None:
        """The log start by the checkpoint or the first segment, whichever is higher; None without segments."""
        if not self.served:
            return None
        return max(self.served[0].base_offset or 0, self.checkpointed_start or 0)

    @property
    def highest_known(self) -> int:
        """The highest offset that snapshots, checkpoints and the indexes of the newest log know of; -1 if none does."""
        return Witnesses(self.folder).highest_known(_base_offset(self.served[-1]))

    def orphan_of(self, offset: int) -> int | None:
        """The base offset of the segment of an offset, if only its indexes are here."""
        return Witnesses(self.folder).orphan_of(offset)

    @property
    def is_whole(self) -> bool:
        """Whether the log begins at 0, was never cleaned, and could be read from end to end."""
        is_damaged = any(damaged.offset < damaged.next_offset for damaged in self.damaged)
        return self.log_start == 0 and self.cleaned_to is None and not is_damaged and not self.not_read

    def _all_epochs(self) -> list[tuple[int, int]]:
        found = dict(self._epochs)
        (before, _), (last, _) = [(_NONE, 0), (_NONE, 0), *self._epochs][-2:]
        if is_flipped_epoch(last, before):
            del found[last]  # one bit of it is wrong, if no checkpoint has it
        for epoch, start in self._checkpointed_epochs:
            found[epoch] = min(start, found.get(epoch, start))
        return sorted(found.items())

    def _in_epoch_checkpoint(self) -> list[tuple[int, int]]:
        """The leader epochs and their first offsets by the checkpoint of the partition."""
        try:
            with Source(os.path.join(self.folder, tree.LEADER_EPOCHS)) as source:
                self.not_read += faults_in(source, text_checkpoint.EPOCH_FIELDS)
                entries = text_checkpoint.TextCheckpoint(source, text_checkpoint.EPOCH_FIELDS).entries()
                return sorted({(int(epoch), int(start)) for epoch, start in entries})
        except Unreadable as error:
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

    def look(self, offsets: Collection[int], positions: Positions | None = None) -> None:
        """Walk all logs, and note what they hold of these offsets.

        That is looked for in batches whose headers claim them, or claim more records than offsets up to there, in those at the
        `positions` of each path, and for a single offset also in the batches next to it: an offset of a record is not always
        what the header of its batch says.
        """
        wanted = sorted(set(offsets))
        if self.served and self.served[-1].base_offset:  # where the log ends if this segment is empty
            self._extend(self.served[-1].base_offset - 1, is_served=True)
        for items in (self.served, self.marked):
            near = _Near(wanted[0]) if len(wanted) == 1 else None
            for item in items:
                self._look_into(item, wanted, (positions or {}).get(item.path, ()), near)
            if near is not None and not any(each.is_served == (items is self.served) for each in self.sightings):
                self._look_near(near)
        for sighting in self.sightings:
            sighting.stray = self._strays.get((sighting.batch.path, sighting.batch.position))
        self.sightings.sort(key=lambda sighting: sighting.stray is not None)  # those in line come first
        self._checkpointed_epochs = self._in_epoch_checkpoint()
        self.epochs = self._all_epochs()

    def _look_into(self, item: FileItem, wanted: list[int], positions: Collection[int], near: _Near | None) -> None:
        try:
            with TolerantSource(item.path) as source:
                self._walk(source, item, _Look(wanted, positions, near, item))
        except Unreadable as error:
            self.not_read.append(str(error))

    def _look_near(self, near: _Near) -> None:
        """Look for an offset in the batches next to it, whose headers do not claim it."""
        for item, position in near.places:
            try:
                with TolerantSource(item.path) as source:
                    section = next(salvage.walk(source, position), None)
                    look = _Look([near.offset], (), None, item)
                    if isinstance(section, salvage.Section) and not look.may_hold_row(section.chunk, 0):  # else it was read
                        self._note_records(source, section.chunk.slice(0, 1), look, is_intact=False)
            except Unreadable as error:
                self.not_read.append(str(error))

    def _walk(self, source: TolerantSource, item: FileItem, look: _Look) -> None:
        is_in_service = look.is_served
        damaged = DamagedOffsets(item.base_offset or 0)
        end = self._next_base_offset(item)
        for section in salvage.walk(source, base_offset=item.base_offset, next_base_offset=end):
            damaged.take(section)
            if isinstance(section, salvage.Damage):
                continue
            summary = section.summary
            if summary is not None:
                if is_in_service:
                    if not summary.is_legacy and summary.lowest_leader_epoch != summary.highest_leader_epoch:
                        self._note_epochs(section.chunk)
                    elif not summary.is_legacy:
                        self._note_epoch(summary.first_leader_epoch, summary.first_offset)
                look.pass_over(summary)
                if not look.may_hold(summary):
                    look.expected = summary.last_offset + 1
                    continue
            elif is_in_service and section.is_intact:
                self._note_epochs(section.chunk)
            self._note_sightings(source, section, look)
        for each in (*damaged.ranges(end), *damaged.strays):
            each.log = item.path
            if isinstance(each, Stray):
                self._note_stray(each, is_served=is_in_service)
            elif is_in_service or not self.served:
                self._note_damaged(source, each)
        if damaged.log_end > (item.base_offset or 0):
            self._extend(damaged.log_end - 1, is_served=is_in_service)
        self._note_bad_ranges(source)

    def _note_bad_ranges(self, source: TolerantSource) -> None:
        for start, end in source.bad_ranges:
            self.not_read.append(f"{source.path}: bytes {start:,} to {end - 1:,} cannot be read from the device")

    def _next_base_offset(self, item: FileItem) -> int | None:
        """The base offset of the next segment, which this one reaches no further than; None for the last one."""
        logs = self.served or self.marked
        following = bisect_right(logs, item.base_offset or 0, key=_base_offset)
        return _base_offset(logs[following]) if following < len(logs) else None

    def _note_damaged(self, source: TolerantSource, damaged: DamagedRange) -> None:
        """Note a damaged range. At the end of the log, a batch reaches no further than its header claims, if that agrees."""
        if damaged.next_offset == FOREVER:
            damaged.next_offset = _claimed_end(source, damaged)
        self.damaged.append(damaged)

    @property
    def place(self) -> str:
        """What to check: the path, if it is the partition directory or a file of it, else the partition directory below it."""
        return max(self.path, self.folder, key=len)

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

    def _note_epochs(self, chunk: Chunk) -> None:
        """Note the leader epochs of batches in line. No checksum covers them."""
        if not chunk.is_legacy:
            for epoch, offset in zip(chunk.batches["partition_leader_epoch"], chunk.batches["base_offset"], strict=True):
                self._note_epoch(epoch, offset)

    def _note_sightings(self, source: TolerantSource, section: salvage.Section, look: _Look) -> None:
        chunk = section.chunk
        if section.status == salvage.DAMAGED:
            return
        if section.summary is None:
            look.pass_over_batch(chunk)
        for row in range(len(chunk)):
            if look.may_hold_row(chunk, row):
                self._open_passed(source, look)
                self._note_records(source, chunk.slice(row, row + 1), look, is_intact=section.is_intact)
            else:
                look.passed = chunk, row, look.expected
            look.expected = chunk.batches["last_offset"][row] + 1

    def _open_passed(self, source: TolerantSource, look: _Look) -> None:
        """Read the wrapper before the first that is read: its offset may be the one that is wrong."""
        (chunk, row, before), look.passed = look.passed or (None, 0, 0), None
        if chunk is not None and _is_relative(chunk, row):
            expected, look.expected = look.expected, before
            self._note_records(source, chunk.slice(row, row + 1), look, is_intact=False)
            look.expected = expected

    def _note_stray(self, stray: Stray, *, is_served: bool) -> None:
        """Note a batch out of line, and that what the batches around it leave room for is damaged."""
        self._strays[stray.log, stray.start] = stray
        self._doubted.add((stray.log, stray.doubted))
        if stray.lowest < stray.next_offset:
            room = span(stray.lowest, stray.next_offset - 1)
            message = f"its header claims offset {stray.first:,}, and the batches around it leave only {room}"
            if stray.is_last:
                message = f"its header claims offset {stray.first:,}, of which one bit may be wrong, as others of this log are"
            batch = Batch(stray.log, stray.start, stray.end, stray.lowest, stray.next_offset - 1)
            self._note_unreadable(batch, stray.lowest, CorruptData("uncovered-header-rot", message), is_served=is_served)

    def _judge_wrapper(self, look: _Look, first: int) -> None:
        """Doubt all offsets in a wrapper that overlaps a neighbour by as much as it is away from the other: its own is wrong.

        `first` is the first offset in what follows it.
        """
        if look.wrapper is None:
            return
        batch, expected, own = look.wrapper
        if look.expected == batch.last + 1 and own != expected and own - expected == batch.last + 1 - first:
            self.sightings = [sighting for sighting in self.sightings if sighting.batch != batch]
            message = f"its header claims offset {batch.last:,}, and the batches around it leave only {first - 1:,}"
            fault = CorruptData("uncovered-header-rot", message)
            self._note_unreadable(batch._replace(last=first - 1), expected, fault, is_served=look.is_served)

    def _note_records(self, source: TolerantSource, chunk: Chunk, look: _Look, *, is_intact: bool) -> None:
        """Note what the only batch of a chunk holds of the wanted offsets."""
        header, batches = chunk.headers[0], chunk.batches
        position: int = batches["position"][0]
        batch = Batch(source.path, position, position + batches["size"][0], batches["base_offset"][0], batches["last_offset"][0])
        first = look.expected if batch.first is None else batch.first
        if not chunk.is_legacy and header[RECORD_COUNT] <= 0 and batch.end - batch.position > BATCH_HEADER_SIZE:
            self._note_unreadable(batch, first, CorruptData("record-count-too-low", HOLLOW_MESSAGE), is_served=look.is_served)
            return
        known = len(self.sightings)
        seen, is_read, lowest = self._note_parts(source, chunk, batch, first, look)
        wrapper: Wrapper | None = None
        if chunk.is_legacy and lowest is not None:
            self._judge_wrapper(look, lowest)
            wrapper = Wrapper(batch, look.expected, lowest) if _is_relative(chunk, 0) else None
        look.wrapper = wrapper
        unseen = [offset for offset in look.between(first, batch.last) if offset not in seen] if is_read else []
        if (unseen or seen) and chunk.is_legacy and is_cut(source, chunk, 0):
            for sighting in self.sightings[known:]:
                sighting.is_in_cut_wrapper = batches["magic"][0] == 1
            if unseen:
                self._note_unreadable(batch, first, CorruptData("wrapper-cut", CUT_MESSAGE), is_served=look.is_served)
        elif unseen and is_intact and not chunk.is_legacy:
            count = header[RECORD_COUNT]
            is_thinned = count <= header[LAST_OFFSET_DELTA]
            self.holes += [Hole(offset, batch, count, is_thinned) for offset in unseen]

    def _note_parts(
        self, source: TolerantSource, chunk: Chunk, batch: Batch, first: int, look: _Look
    ) -> tuple[set[int], bool, int | None]:
        """Note the parts of the only batch of a chunk. Returns their wanted offsets, whether all were read, and the first one."""
        unread = first
        seen: set[int] = set()
        is_read = True
        found: int | None = None
        for part in past_bad_batches(source, chunk):
            if isinstance(part, UnreadableBatch):
                is_read = False
                self._note_unreadable(batch, unread, part.fault, is_served=look.is_served)
                continue
            offsets = part.records["offset"]
            if found is None and offsets:
                found = offsets[0]
            unread = max([unread, *(offset + 1 for offset in offsets)])
            seen.update(self._note_part(part, chunk, batch, look))
        return seen, is_read, found

    def _note_part(self, part: RecordChunk, chunk: Chunk, batch: Batch, look: _Look) -> list[int]:
        """Note the wanted records in a part of the only batch of a chunk. Returns their offsets."""
        header = chunk.headers[0]
        epoch = None if chunk.is_legacy else chunk.batches["partition_leader_epoch"][0]
        producer_id, attributes = (_NONE, 0) if chunk.is_legacy else (header[PRODUCER_ID], header[ATTRIBUTES])
        bad = batch_faults.of_messages(part)
        records = part.records
        wanted = [(row, offset) for row, offset in enumerate(records["offset"]) if look.wants(offset)]
        for row, offset in wanted:
            if row in bad:
                self._note_unreadable(batch._replace(last=offset), offset, bad[row], is_served=look.is_served)
                continue
            sighting = Sighting(offset, batch, epoch, producer_id, attributes, is_served=look.is_served)
            sighting.key = records["key"][row]
            sighting.has_value = records["value"][row] is not None
            self.sightings.append(sighting)
        return [offset for _, offset in wanted]

    def _note_unreadable(self, batch: Batch, offset: int, fault: CorruptData, *, is_served: bool) -> None:
        """Note that the records of a batch cannot be read from an offset on."""
        reason = f"{fault.message} ({fault.code})"
        if is_served or not self.served:
            self.damaged.append(UnreadableRange(batch, offset, reason))
        else:
            self.not_read.append(f"{batch.path}, byte {batch.position:,}: {reason}")

    def is_doubtful(self, sighting: Sighting) -> bool:
        """Whether a record whose batch is out of line may have had another offset, and what had this one may be damaged."""
        stray, damaged = sighting.stray, self.damage_at(sighting.offset)
        first = sighting.batch.last if sighting.batch.first is None else sighting.batch.first
        if damaged is not None and (sighting.batch.path, first) in self._doubted:
            return True
        if stray is None or damaged is None:
            return False
        return stray.is_misplaced or stray.offset <= sighting.offset < stray.next_offset

    # Transactions and sequences

    def marker_after(self, sighting: Sighting) -> Marker | None:
        """The marker that ended the transaction of a record in this copy; None without a marker after it."""
        for chunk, source in self._chunks():
            batches = chunk.batches
            if chunk.is_legacy or batches["last_offset"][-1] <= sighting.claimed_offset:
                continue
            for row, header in enumerate(chunk.headers):
                is_marker = header[ATTRIBUTES] & CONTROL_BIT and header[PRODUCER_ID] == sighting.producer_id
                if not is_marker or batches["base_offset"][row] <= sighting.claimed_offset:
                    continue
                kind = marker_type(source, chunk.slice(row, row + 1))
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
                if first < 0:  # as in markers, and without a producer
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
                        if not isinstance(section, salvage.Damage) and section.status != salvage.DAMAGED:
                            yield section.chunk, source
                    self._note_bad_ranges(source)
            except Unreadable as error:
                self.not_read.append(str(error))


def faults_in(source: Source, fields: text_checkpoint.Fields) -> list[str]:
    """What keeps a checkpoint from being read as a whole: it may lack what would decide."""
    fault = text_checkpoint.fault_of(source, fields)
    return [] if fault is None else [f"{source.path}: {fault.message}"]


class _Near:
    """The intact batches next to an offset, in all files of one kind: the last that starts at or before it, and the next one."""

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self._before: tuple[int, FileItem, int] | None = None  # first offset, file, position
        self._after: tuple[int, FileItem, int] | None = None

    @property
    def places(self) -> list[tuple[FileItem, int]]:
        """Their files and positions."""
        return [(item, position) for _, item, position in filter(None, (self._before, self._after))]

    def note(self, first_offset: int, item: FileItem, position: int) -> None:
        """Note a batch, in the order of the files."""
        if first_offset <= self.offset:
            if self._before is None or first_offset >= self._before[0]:
                self._before = first_offset, item, position
        elif self._after is None or first_offset < self._after[0]:
            self._after = first_offset, item, position


class _Look:
    """What is looked for in one file. `expected` is the offset after the last batch that was passed."""

    def __init__(self, wanted: list[int], positions: Collection[int], near: _Near | None, item: FileItem) -> None:
        self._wanted = wanted
        self._positions = sorted(positions)
        self._near = near
        self._item = item
        self.is_served = is_served(item)
        self.expected = item.base_offset or 0
        self.wrapper: Wrapper | None = None  # the last batch that was read, if it is one
        self.passed: tuple[Chunk, int, int] | None = None  # the batch before the first that is read, and what was expected there

    def wants(self, offset: int) -> bool:
        return _are_between(self._wanted, offset, offset)

    def between(self, first: int, last: int) -> list[int]:
        """The wanted offsets from the first to the last one."""
        return self._wanted[bisect_left(self._wanted, first) : bisect_right(self._wanted, last)]

    def may_hold(self, summary: BatchSummary) -> bool:
        """Whether batches of a stretch have to be looked at one by one."""
        return (
            summary.is_legacy
            or bool(summary.overfull)
            or _are_between(self._wanted, summary.first_offset, summary.last_offset)
            or _are_between(self._positions, summary.positions[0], summary.positions[-1])
        )

    def may_hold_row(self, chunk: Chunk, row: int) -> bool:
        """Whether the records of a batch have to be looked at."""
        batches = chunk.batches
        if _are_between(self._positions, batches["position"][row], batches["position"][row]):
            return True
        first, last = batches["base_offset"][row], batches["last_offset"][row]
        if first is None:  # old versions of librdkafka wrote 0 as the offset of each wrapper
            return bool(self._wanted) and (self._wanted[0] <= last or last == 0)
        last = max(last, first + chunk.headers[row][RECORD_COUNT] - 1)
        return _are_between(self._wanted, first, last)

    def pass_over(self, summary: BatchSummary) -> None:
        """Note the batches of a stretch that are next to the wanted offset."""
        if self._near is None:
            return
        row = bisect_right(summary.first_offsets, self._near.offset)
        for each in (row - 1, row):
            if 0 <= each < summary.count:
                self._near.note(summary.first_offsets[each], self._item, summary.positions[each])

    def pass_over_batch(self, chunk: Chunk) -> None:
        """Note a single batch if it is next to the wanted offset."""
        if self._near is not None:
            batch = chunk.batches.row(0)
            self._near.note(batch.first_offset, self._item, batch.position)


def _is_relative(chunk: Chunk, row: int) -> bool:
    """Whether a batch is a wrapper in which offsets count back from its own."""
    batches = chunk.batches
    offset: int = batches["last_offset"][row]  # old versions of librdkafka wrote 0
    return offset > 0 and batches["magic"][row] == 1 and batches["compresscodec"][row] != CODECS[NONE]


def _are_between(numbers: list[int], first: int, last: int) -> bool:
    """Whether some of these ascending numbers lie from the first to the last one."""
    at = bisect_left(numbers, first)
    return at < len(numbers) and numbers[at] <= last


def _claimed_end(source: TolerantSource, damaged: DamagedRange) -> int:
    """The offset after all that a damaged range may hold; FOREVER if the fields of the header there are not in agreement.

    They are no proof: it is what they say, or a record for each byte if that is more. Zeros, as of a preallocated file, hold
    nothing.
    """
    if zeros.start_of_run(source, damaged.start, damaged.end) == damaged.start:
        return damaged.offset
    data = source.read(damaged.start, BATCH_HEADER_SIZE)
    if len(data) < BATCH_HEADER_SIZE or data[MAGIC_AT] != 2:
        return FOREVER
    header = BATCH_HEADER.unpack(data)
    delta: int = header[LAST_OFFSET_DELTA]
    is_consistent = header[BASE_OFFSET] == damaged.offset and delta >= 0 and header[RECORD_COUNT] == delta + 1
    return damaged.offset + max(delta + 1, damaged.end - damaged.start) if is_consistent else FOREVER


def _base_offset(item: FileItem) -> int:
    return item.base_offset or 0
