"""Rebuilds the companions of a partition's segments from their logs, as the recovery of a broker does.

Kafka: LogLoader.recoverSegment, LogSegment.recover, UnifiedLog.rebuildProducerState (4.3.1; 3.9.1 and 2.8.2 do the same).
"""

from __future__ import annotations

from array import array
from bisect import bisect_left

from kdump.binary import kernel, producer_streak
from kdump.binary.arithmetic import NO_SEQUENCE, increment_sequence
from kdump.binary.batch_header import (
    ATTRIBUTES,
    BASE_OFFSET,
    BASE_SEQUENCE,
    BASE_TIMESTAMP,
    CONTROL_BIT,
    LAST_OFFSET_DELTA,
    LEADER_EPOCH,
    LENGTH,
    LOG_OVERHEAD,
    MAX_TIMESTAMP,
    PRODUCER_EPOCH,
    PRODUCER_ID,
    TIMESTAMP_TYPE_BIT,
    TRANSACTIONAL_BIT,
)
from kdump.binary.new_entries import new_entries
from kdump.checks.wording import counted, offset_range
from kdump.decoders import control_record
from kdump.errors import CorruptData
from kdump.formats import offset_index, producer_snapshot, text_checkpoint, time_index, transaction_index
from kdump.formats.log import Log
from kdump.formats.record import BatchRecords
from kdump.formats.record_batch import NO_PRODUCER_ID, NO_TIMESTAMP
from kdump.mending.new.producer_states import ProducerStates
from kdump.messages.control_records import ABORT, COMMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kdump.binary.source import Source
    from kdump.formats.log import Chunk
    from kdump.formats.summary import BatchSummary
    from kdump.mending.new.producer_states import Aborted
    from kdump.mending.settings import Rules

_LARGEST_POSITION = 0x7FFFFFFF


class SegmentIndexes:
    """The indexes of one segment, which grow with each chunk of its log."""

    def __init__(self, base_offset: int, rules: Rules) -> None:
        self.base_offset = base_offset
        self._rules = rules
        self._state = (0, NO_TIMESTAMP, base_offset, NO_TIMESTAMP)
        self._offsets, self._positions, self._times, self._time_offsets = array("q"), array("q"), array("q"), array("q")
        self.aborted: list[Aborted] = []

    def add_batches(self, positions: Sequence[int], last_offsets: Sequence[int], timestamps: Sequence[int]) -> None:
        """Add consecutive batches: where they start, their last offsets and their largest timestamps."""
        make = new_entries if kernel.native is None else kernel.native.new_entries
        batches = array("q", positions), array("q", last_offsets), array("q", timestamps)
        self._state, *added = make(*batches, self._rules.index_interval, self._state)
        for column, data in zip((self._offsets, self._positions, self._times, self._time_offsets), added, strict=True):
            column.frombytes(data)

    def end(self) -> None:
        """Add the last entry of the time index, as when a segment is closed. Raises CorruptData for indexes that are full."""
        _, largest, offset_of_largest, last_time = self._state
        if largest > last_time:
            self._times.append(largest)
            self._time_offsets.append(offset_of_largest)
        for entries, size in ((self._offsets, offset_index.ENTRY_SIZE), (self._times, time_index.ENTRY_SIZE)):
            if len(entries) * size > self._rules.max_index_size:
                message = (
                    f"an index of {len(entries) * size:,} bytes would exceed segment.index.bytes, {self._rules.max_index_size:,}"
                )
                raise CorruptData("index-oversize", message)

    def offset_index(self) -> bytes:
        return offset_index.packed(self._offsets, self._positions, self.base_offset)

    def time_index(self) -> bytes:
        return time_index.packed(self._times, self._time_offsets, self.base_offset)

    def transaction_index(self) -> bytes:
        """Empty if no transaction was aborted: a broker makes no file then."""
        return b"".join(
            transaction_index.packed(entry.producer_id, entry.first_offset, entry.last_offset, entry.last_stable_offset)
            for entry in self.aborted
        )


class Rebuilding:
    """One pass over the segments of a partition, in the order of their base offsets.

    `log_start` is that of the log directory's checkpoint, 0 if there is none. `clock` is the time of the start that is
    imitated, in milliseconds. `keep_snapshot` is given the offset and the bytes of each snapshot that stays. `refuse`, if given,
    takes the fault of each batch whose producer a start would not accept, with the batch's `offset`; else the first is raised.
    """

    def __init__(
        self,
        base_offsets: Sequence[int],
        rules: Rules,
        *,
        log_start: int,
        clock: int,
        keep_snapshot: Callable[[int, bytes], None],
        refuse: Callable[[CorruptData], None] | None = None,
    ) -> None:
        self._bases = frozenset(base_offsets)
        self._rules = rules
        self._checkpointed_start = log_start
        self._log_start = max(log_start, min(base_offsets, default=0))
        self._cutoff = clock - rules.producer_expiration
        self._keep_snapshot = keep_snapshot
        self._refuse = refuse
        self._states = ProducerStates()
        self._last_snapshot: int | None = None
        self._latest_expired: int | None = None
        self._earliest_kept: int | None = None
        self._map_end = 0
        self._epochs: list[tuple[int, int]] = []
        self.newest = NO_TIMESTAMP
        """The largest timestamp so far."""
        self.next_offset = min(base_offsets, default=0)
        """The offset after the last batch so far, or the base offset of the segment."""
        self.batches = 0
        self.is_plain = True
        """Whether all batches so far are of magic 2 and regular, so that a scan does nothing else than this."""
        self.has_old = False
        """Whether messages of magic 0 or 1 are among them, whose headers do not say which offsets are inside."""

    def segment(self, source: Source, base_offset: int, end_offset: int | None) -> Iterator[SegmentIndexes | int]:
        """Read the log of a segment whose offsets must be below `end_offset`. Yields how far it is; last, its indexes.

        Raises CorruptData for a log that is too large, for the first batch that is not valid or not in order, and Unreadable.
        """
        if source.size > _LARGEST_POSITION:
            raise CorruptData(
                "position-overflow", f"a log of {source.size:,} bytes is larger than a segment can be", path=source.path
            )
        self.next_offset = base_offset
        self._load_snapshot(self._checkpointed_start, base_offset)
        self._map_end = base_offset
        self._take_snapshot(base_offset)
        indexes = SegmentIndexes(base_offset, self._rules)
        for chunk, end in _chunks(source):
            self._add(chunk, indexes, source, end_offset)
            yield end
        self._take_snapshot(self._map_end, is_last=end_offset is None)
        indexes.end()
        yield indexes

    def finish(self) -> None:
        """Take the snapshot at the log end, if the last segment did not: its batches have no producers."""
        if self._last_snapshot == self.next_offset:
            return
        self._load_snapshot(self._log_start)
        self._take_snapshot(self.next_offset, is_last=True)

    def leader_epochs(self) -> bytes:
        """The checkpoint of leader epochs; empty if no batch has one."""
        kept = self._epochs
        start = self._checkpointed_start
        before = [entry for entry in kept if entry[1] <= start]
        if before:
            kept = [(before[-1][0], max(start, before[-1][1])), *kept[len(before) :]]
        return text_checkpoint.packed(kept) if kept else b""

    def is_true_of(self, clock: int) -> bool:
        """Whether the same producers are forgotten by a start at this time."""
        cutoff = clock - self._rules.producer_expiration
        is_expired = self._latest_expired is None or self._latest_expired <= cutoff
        return is_expired and (self._earliest_kept is None or self._earliest_kept > cutoff)

    # --- snapshots

    def _load_snapshot(self, log_start: int, base_offset: int | None = None) -> None:
        """Load the last snapshot. One at or below the log start has been deleted by now."""
        is_below = base_offset is not None and base_offset <= log_start
        if is_below or self._last_snapshot is None or self._last_snapshot <= log_start:
            self._states.clear()
            self._last_snapshot = log_start
        else:
            self._states.reload(self._is_expired)

    def _take_snapshot(self, offset: int, *, is_last: bool = False) -> None:
        if self._last_snapshot is not None and offset <= self._last_snapshot:
            return
        self._last_snapshot = offset
        if offset > self._log_start and (is_last or offset in self._bases):
            self._keep_snapshot(offset, producer_snapshot.packed(self._states.rows()))

    def _is_expired(self, timestamp: int) -> bool:
        if timestamp <= self._cutoff:
            if self._latest_expired is None or timestamp > self._latest_expired:
                self._latest_expired = timestamp
            return True
        if self._earliest_kept is None or timestamp < self._earliest_kept:
            self._earliest_kept = timestamp
        return False

    # --- batches

    def _add(self, chunk: Chunk, indexes: SegmentIndexes, source: Source, end_offset: int | None) -> None:
        """Add consecutive batches. Raises CorruptData if they are not valid or not in order."""
        summary = chunk.summary
        self.is_plain = self.is_plain and summary is not None and summary.lowest_magic == 2
        if summary is None:
            _check(chunk, source)
            batches = chunk.batches
            last_offsets, timestamps, positions = batches["last_offset"], batches["timestamp"], batches["position"]
            first_offset = batches.row(0).first_offset
            newest = max(timestamps)
        else:
            last_offsets, timestamps, positions = summary.last_offsets, summary.timestamps, summary.positions
            first_offset = summary.first_offset
            newest = summary.highest_timestamp
        self._check_order(first_offset, last_offsets[-1], positions, indexes.base_offset, end_offset, source)
        indexes.add_batches(positions, last_offsets, timestamps)
        self.newest = max(self.newest, newest)
        self.next_offset = last_offsets[-1] + 1
        self.batches += len(chunk)
        if chunk.is_legacy:
            self.has_old = True
            return
        self._add_epochs(chunk)
        try:
            if summary is None or self._refuse is not None or not self._add_streaks(summary):
                self._add_producers(chunk, indexes, source)
        except CorruptData as fault:
            fault.path = source.path
            row = bisect_left(last_offsets, fault.values["offset"]) if "offset" in fault.values else 0
            fault.position = positions[min(row, len(positions) - 1)]
            raise
        self._map_end = self.next_offset

    def _check_order(
        self, first: int, last: int, positions: Sequence[int], base_offset: int, end_offset: int | None, source: Source
    ) -> None:
        """Raises CorruptData if the batches do not follow those before, or do not belong into this segment."""
        if first < base_offset:
            message = f"offset {first:,} is below the base offset {base_offset:,}"
            raise CorruptData("offset-below-base", message, path=source.path, position=positions[0])
        if first < self.next_offset:
            message = f"offset {first:,} follows offset {self.next_offset - 1:,}"
            raise CorruptData("offset-regression", message, path=source.path, position=positions[0])
        if last - base_offset > _LARGEST_POSITION:
            message = f"offset {last:,} is too far above the base offset {base_offset:,}: a start splits the segment"
            raise CorruptData("offset-overflow-int32", message, path=source.path, position=positions[-1])
        if end_offset is not None and last >= end_offset:
            message = f"offset {last:,} belongs to the next segment, which starts at {end_offset:,}"
            raise CorruptData("segments-overlap", message, path=source.path, position=positions[-1])

    def _add_epochs(self, chunk: Chunk) -> None:
        summary = chunk.summary
        last_epoch = self._epochs[-1][0] if self._epochs else -1
        if summary is not None:
            if summary.highest_leader_epoch <= last_epoch:
                return
            if summary.first_leader_epoch == summary.highest_leader_epoch:
                self._epochs.append((summary.first_leader_epoch, summary.first_offset))
                return
        for header in chunk.headers:
            if header[LEADER_EPOCH] > last_epoch:
                last_epoch = header[LEADER_EPOCH]
                self._epochs.append((last_epoch, header[BASE_OFFSET]))

    def _add_streaks(self, summary: BatchSummary) -> bool:
        """Add what producers wrote, a streak at a time. Returns False, and adds nothing, where that is not enough."""
        if summary.highest_producer_id <= NO_PRODUCER_ID:
            return True
        found = summary.producer_streaks()
        if found is None:
            return False
        streaks = list(found)
        for streak in streaks:
            if streak[producer_streak.KIND] == producer_streak.MARKER and streak[producer_streak.CONTROL_TYPE] == ABORT:
                return False  # the last stable offset depends on what else was open just then
            is_marker = streak[producer_streak.KIND] == producer_streak.MARKER
            if (is_marker or streak[producer_streak.COMMITS]) and not _is_marked_on_time(streak, summary, is_marker=is_marker):
                return False
        for streak in streaks:
            self._add_streak(streak, summary)
        return True

    def _add_streak(self, streak: tuple[int, ...], summary: BatchSummary) -> None:
        (
            producer_id,
            epoch,
            kind,
            _,
            last_sequence,
            base_offset,
            _,
            _,
            last_base_offset,
            last_offset,
            control_type,
            coordinator_epoch,
            commits,
            _,
            commit_offset,
            is_open,
        ) = streak

        def timestamp_at(offset: int) -> int:
            return summary.timestamps[bisect_left(summary.last_offsets, offset)]

        def add_data() -> None:
            self._states.add_data(
                producer_id,
                epoch,
                first_offset=base_offset,
                last_base_offset=last_base_offset,
                last_offset=last_offset,
                last_sequence=last_sequence,
                timestamp=timestamp_at(last_offset),
                is_transactional=kind != producer_streak.PLAIN,
            )

        def add_marker(offset: int, *, is_abort: bool) -> None:
            self._states.add_marker(
                producer_id,
                epoch,
                offset=offset,
                coordinator_epoch=coordinator_epoch,
                timestamp=timestamp_at(offset),
                is_abort=is_abort,
            )

        if kind == producer_streak.MARKER:
            add_marker(last_offset, is_abort=control_type == ABORT)
            return
        add_data()
        if commits:
            add_marker(commit_offset, is_abort=False)
            if is_open:
                add_data()

    def _add_producers(self, chunk: Chunk, indexes: SegmentIndexes, source: Source) -> None:
        """Add what producers wrote, batch by batch."""
        for row, header in enumerate(chunk.headers):
            if header[PRODUCER_ID] <= NO_PRODUCER_ID:
                continue
            try:
                aborted = self._add_producer(chunk, row, source)
            except CorruptData as fault:
                fault.values["offset"] = header[BASE_OFFSET]
                if self._refuse is None:
                    raise
                self._refuse(fault.without_frames())
                continue
            if aborted is not None:
                indexes.aborted.append(aborted)

    def _add_producer(self, chunk: Chunk, row: int, source: Source) -> Aborted | None:
        """Add one batch. Returns the transaction that it aborts, if it is a marker that does."""
        header = chunk.headers[row]
        attributes = header[ATTRIBUTES]
        if attributes & CONTROL_BIT:
            return self._add_control_batch(header, _bytes_of(chunk, row, source))
        base_offset, base_sequence, delta = header[BASE_OFFSET], header[BASE_SEQUENCE], header[LAST_OFFSET_DELTA]
        self._states.add_data(
            header[PRODUCER_ID],
            header[PRODUCER_EPOCH],
            first_offset=base_offset,
            last_base_offset=base_offset,
            last_offset=base_offset + delta,
            last_sequence=NO_SEQUENCE if base_sequence == NO_SEQUENCE else increment_sequence(base_sequence, delta),
            timestamp=header[MAX_TIMESTAMP],
            is_transactional=bool(attributes & TRANSACTIONAL_BIT),
        )
        return None

    def _add_control_batch(self, header: tuple[int, ...], data: bytes) -> Aborted | None:
        producer_id, offset = header[PRODUCER_ID], header[BASE_OFFSET]
        part = next(BatchRecords(header, data).parts(), None)
        if not part:  # the cleaner removed the marker
            self._states.add(producer_id)
            return None
        timestamp_delta, *_, key, value = part[0]
        is_append_time = header[ATTRIBUTES] & TIMESTAMP_TYPE_BIT
        timestamp = header[MAX_TIMESTAMP] if is_append_time else header[BASE_TIMESTAMP] + timestamp_delta
        control_type = control_record.type_of(None if key is None else bytes(key))
        if control_type not in (ABORT, COMMIT):
            raise CorruptData(
                "control-type-unknown", f"the control batch at offset {offset:,} is not a marker, but of a producer"
            )
        return self._states.add_marker(
            producer_id,
            header[PRODUCER_EPOCH],
            offset=offset,
            coordinator_epoch=control_record.coordinator_epoch_of(None if value is None else bytes(value)),
            timestamp=timestamp,
            is_abort=control_type == ABORT,
        )


def _is_marked_on_time(streak: tuple[int, ...], summary: BatchSummary, *, is_marker: bool) -> bool:
    """Whether the last marker of a streak has the timestamp of its batch: a broker uses that of the marker."""
    offset = streak[producer_streak.LAST_OFFSET if is_marker else producer_streak.COMMIT_OFFSET]
    base, largest = summary.times_at(summary.positions[bisect_left(summary.last_offsets, offset)])
    return base == largest


def _chunks(source: Source) -> Iterator[tuple[Chunk, int]]:
    """All batches of a log, and where each chunk ends. Raises CorruptData where something else is."""
    if kernel.native is None or not source.is_direct:
        yield from _chunks_of_windows(source, 0, source.size)
        return
    from kdump.reading.stretches import Stretches

    position = 0
    stretches = Stretches(source, position)
    while position < source.size:
        found = stretches.at(position)
        if found is not None:
            position = found.summary.end
            yield found, position
            continue
        stretches.rest(position)
        for chunk, end in _chunks_of_windows(source, position, stretches.next_try):
            yield chunk, end
            position = end


def _chunks_of_windows(source: Source, position: int, until: int) -> Iterator[tuple[Chunk, int]]:
    """The batches from a position to the first one after `until`, a window at a time."""
    log = Log(source, position)
    try:
        for chunk in log.summarized_chunks():
            summary = chunk.summary
            if summary is not None:
                position = summary.end
            else:
                batches = chunk.batches
                position = batches["position"][-1] + batches["size"][-1]
            yield chunk, position
            if position >= until:
                return
    except CorruptData as fault:
        raise CorruptData(fault.code, fault.message, path=source.path, position=log.position) from None
    if position < source.size:
        message = f"{counted(source.size - position, 'byte', 'bytes')} at the end of the log: too few for a batch"
        code = "torn-header" if log.trailing == "torn-header" else "torn-tail"
        raise CorruptData(code, message, path=source.path, position=position)


def _check(chunk: Chunk, source: Source) -> None:
    """Raises CorruptData for the first batch that is not valid, or does not follow the one before."""
    last_offset: int | None = None
    for row in chunk.batches:
        if not row.isvalid:
            message = f"the CRC of the batch at offset {row.first_offset:,} does not match"
            raise CorruptData("crc-mismatch", message, path=source.path, position=row.position)
        if row.magic > 2:
            raise CorruptData("bad-magic", f"a batch of magic {row.magic}", path=source.path, position=row.position)
        if row.last_offset < row.first_offset or last_offset is not None and row.first_offset <= last_offset:
            message = f"a batch with {offset_range(row.first_offset, row.last_offset)} is out of order"
            raise CorruptData("offset-regression", message, path=source.path, position=row.position)
        last_offset = row.last_offset


def _bytes_of(chunk: Chunk, row: int, source: Source) -> bytes:
    size = chunk.headers[row][LENGTH] + LOG_OVERHEAD
    if chunk.window:
        return chunk.window[chunk.starts[row] : chunk.starts[row] + size]
    return source.read_exactly(chunk.batches["position"][row], size)
