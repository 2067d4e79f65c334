"""Chooses which batches and records of a partition go into a slice, and writes its logs.

Whole batches are copied as they are. A batch that keeps only some of its records is written again as the log cleaner does.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from itertools import pairwise

from kdump.binary.batch_header import (
    ATTRIBUTES,
    BASE_OFFSET,
    BASE_TIMESTAMP,
    COMPRESSION_MASK,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    LAST_OFFSET_DELTA,
    LOG_OVERHEAD,
    MAX_TIMESTAMP,
    MESSAGE_ATTRIBUTES,
    MESSAGE_OFFSET,
    PRODUCER_ID,
    RECORD_COUNT,
    TIMESTAMP_TYPE_BIT,
    TRANSACTIONAL_BIT,
)
from kdump.binary.source import Source
from kdump.checks.settings import Settings, current_time
from kdump.checks.topic_policy import policy_of
from kdump.checks.wording import offset_range
from kdump.errors import CorruptData
from kdump.forecasts.log_directory import LogDirectory
from kdump.formats import file_name, rewriting, tree
from kdump.formats.message_set import Message, unwrap
from kdump.formats.ranges import HIGHEST_OFFSET, Range
from kdump.formats.record import bytes_of
from kdump.formats.record_batch import NO_PRODUCER_ID, NO_TIMESTAMP
from kdump.mending.attested import Witnesses
from kdump.mending.row import Hole, SlicedSegment
from kdump.reading import salvage
from kdump.reading.items import DAMAGED, Damage
from kdump.reading.starts import offsets_at
from kdump.verdicts.ranges import Ranges

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kdump.formats.log import Chunk
    from kdump.mending.attested import Attested
    from kdump.mending.inputs import Inputs
    from kdump.mending.new.log_writer import LogWriter
    from kdump.mending.plan import PartitionPlan
    from kdump.mending.progress import Progress

    Damaged = tuple[CorruptData, int, int]  # and the first and last of the offsets that may have been there

_COPIED_AT_ONCE = 256 << 20
MOST_GAPS = 1 << 16  # only the cleaner leaves more


class Wanted(Range):
    """What a slice is to hold: ranges of offsets and times with both ends in them, and keys.

    If it `is_exact`, records outside of the ranges are taken out of the batches at the edges. With `keep_keys`, only records
    with one of these keys are kept; those with one of `drop_keys` are not. Times are in milliseconds; what has none is of no
    time.
    """

    from_offset: int
    to_offset: int

    def __init__(
        self, asked: Range, *, is_exact: bool = False, keep_keys: Iterable[bytes] = (), drop_keys: Iterable[bytes] = ()
    ) -> None:
        last = HIGHEST_OFFSET if asked.to_offset is None else asked.to_offset
        super().__init__(asked.from_offset or 0, last, asked.from_time, asked.to_time)
        self.is_exact = is_exact
        self.keep_keys = frozenset(keep_keys)
        self.drop_keys = frozenset(drop_keys)

    @property
    def has_keys(self) -> bool:
        return bool(self.keep_keys or self.drop_keys)

    @property
    def chooses_records(self) -> bool:
        """Whether batches may lose some of their records."""
        return self.is_exact or self.has_keys

    def holds_all(self, first: int, last: int) -> bool:
        """Whether all records with these offsets are wanted, whatever their times and keys."""
        return self.from_offset <= first and last <= self.to_offset and not self.has_times and not self.has_keys

    def takes_key(self, key: bytes | None) -> bool:
        return key not in self.drop_keys and (not self.keep_keys or key in self.keep_keys)


class Slicing:
    """One run over the logs of a partition. `writer` receives the batches; `rows` are filled, one for each log that was read."""

    def __init__(self, part: PartitionPlan, wanted: Wanted, writer: LogWriter, inputs: Inputs, progress: Progress) -> None:
        self.rows: list[SlicedSegment] = []
        self.log_end = 0
        """The offset after the last batch, or the base offset of an empty segment at the end."""
        self.newest = NO_TIMESTAMP
        """The largest timestamp so far."""
        self.ends: dict[int, int] = {}
        """The offset after the last batch of each log that was read to its end, or its base offset."""
        self._part = part
        self._wanted = wanted
        self._writer = writer
        self._inputs = inputs
        self._progress = progress
        self._open: set[int] = set()  # producers with transactions in the slice whose end is not
        self._left_out = False  # batches after the last one that was written
        self._seen: Ranges | None = Ranges()  # offsets of batches in the range, as long as they are few ranges
        self._seen_to = wanted.from_offset - 1  # the highest of these
        self._last_offsets: set[int] = set()  # of the last batch in the range, and of that of each producer

    def to_end(self) -> None:
        """Write everything.

        Raises CorruptData for damage in the range, for batches whose records cannot be read, and where batches of the range are
        somewhere else only.
        """
        if self._wanted.chooses_records:
            self._last_offsets = self._found_last_offsets()
        for base, end in self._segments(self._is_done):
            with Source(os.path.join(self._part.path, self._part.logs[base])) as source:
                self._inputs.note(source)
                log = SlicedLog(source, base, self._writer, self.log_end, is_after_gap=self._left_out)
                for chunk in self._chunks(source, base, end, log):
                    self._take(log, chunk)
                log.flush()
                if end is None and self._reaches_end and base >= max(self.log_end, self._wanted.from_offset):
                    log.start(base)
                    self.log_end = base
                self._left_out = log.has_gap
                self.rows.append(log.row)
        if self._seen is not None:
            require_here(self._part, self._wanted, self._seen, self._inputs)

    @property
    def _reaches_end(self) -> bool:
        wanted = self._wanted
        return wanted.to_offset == HIGHEST_OFFSET and not wanted.has_times

    # --- walking

    def _is_done(self, next_offset: int) -> bool:
        """Whether no batch from this offset on can belong to the slice."""
        return next_offset > self._wanted.to_offset and not self._open

    def _segments(self, is_done: Callable[[int], bool]) -> Iterator[tuple[int, int | None]]:
        """Base offset and end of the segments that can hold what is wanted."""
        bases = list(self._part.logs)
        for base, end in tree.with_next(bases):
            if is_done(base):
                return
            if end is None or end > self._wanted.from_offset:
                yield base, end

    def _chunks(self, source: Source, base: int, end: int | None, log: SlicedLog | None = None) -> Iterator[Chunk]:
        """The batches of a log, all intact: those of the range may follow later ones.

        Raises CorruptData for damage in the range, unless what may have been there comes elsewhere in the `log`.
        """
        damage: CorruptData | None = None
        damaged: list[Damaged] = []
        next_offset = base
        position = 0
        for item in salvage.walk(source, base_offset=base, next_base_offset=end):
            if isinstance(item, Damage):
                damage = damage or CorruptData(item.code, item.message, path=source.path, position=item.start)
                continue
            if not item.is_intact:
                damage = damage or _doubtful(source, item.chunk)
                continue
            first, last, chunk_end = extent(item.chunk)
            if damage is not None:
                first = _first_offset(source, item.chunk) if item.chunk.is_legacy else first
                self._note_damage(damage, next_offset if next_offset <= first else base, first - 1, damaged)
            damage, next_offset = None, last + 1
            self._progress.advance(chunk_end - position)
            position = chunk_end
            yield item.chunk
        self.ends[base] = next_offset
        is_zero_tail = damage is not None and damage.code == "zero-tail" and end is None
        if is_zero_tail and Witnesses(self._part.path).is_preallocated(source, base, next_offset):
            damage = None
        if damage is not None:
            self._note_damage(damage, next_offset, HIGHEST_OFFSET if end is None else end - 1, damaged)
        for fault, first, last in damaged:
            if log is not None and not log.has(max(first, self._wanted.from_offset), min(last, self._wanted.to_offset)):
                raise fault

    def _note_damage(self, damage: CorruptData, first: int, last: int, damaged: list[Damaged]) -> None:
        """Note damage between two batches if offsets in the range, from `first` to `last`, are missing there.

        Raises it if the end of a transaction of the slice may be among them.
        """
        if last < first:
            return
        if self._wanted.holds_offsets(first, last):
            damaged.append((damage, first, last))
        elif self._open and first > self._wanted.to_offset:
            damage.message += "; the end of a transaction that the slice holds may have been here"
            raise damage

    def _found_last_offsets(self) -> set[int]:
        """The last offsets of the last batch in the range, and of that of each producer: these stay when they get empty."""
        wanted = self._wanted
        found: dict[int, int] = {}

        def is_done(next_offset: int) -> bool:
            return next_offset > wanted.to_offset

        for base, end in self._segments(is_done):
            with Source(os.path.join(self._part.path, self._part.logs[base])) as source:
                self._inputs.note(source)
                for chunk in self._chunks(source, base, end):
                    is_skipped = chunk.is_legacy or extent(chunk)[1] < wanted.from_offset
                    for header in () if is_skipped else chunk.headers:
                        first, last = _offsets(header)
                        if wanted.holds_offsets(first, last) and wanted.holds_times(*self._times(header)):
                            found[NO_PRODUCER_ID] = last
                            if not header[ATTRIBUTES] & CONTROL_BIT:
                                found[header[PRODUCER_ID]] = last
        return set(found.values())

    def holes(self) -> list[Hole]:
        """The offsets that may belong to the slice, and that no log has any more, though another file knows of them."""
        wanted = self._wanted
        found: list[Hole] = []
        for known in sorted(self._attested(), key=lambda known: known.first):
            if wanted.holds_offsets(known.first, known.last):
                first, last = max(known.first, wanted.from_offset), min(known.last, wanted.to_offset)
            elif self._open and known.first > wanted.to_offset:  # the end of a transaction of the slice may have been there
                first, last = known.first, known.last
            else:
                continue
            if found and first <= found[-1].offset_last:
                before = found[-1]
                before.offset_last = max(before.offset_last, last)
                before.offsets = before.offset_last - before.offset_first + 1
                before.reason += "" if known.reason in before.reason else f"; {known.reason}"
            else:
                found.append(Hole(os.curdir, first, last, last - first + 1, True, known.reason))
        return found

    def _attested(self) -> Iterator[Attested]:
        """What the files beside the logs that were read to their ends know of, after these ends and between them."""
        bases = list(self._part.logs)
        if not self.ends:
            return
        witnesses = Witnesses(self._part.path)
        ends = [
            (os.path.join(self._part.path, self._part.logs[base]), base, end - 1, base == bases[-1])
            for base, end in self.ends.items()
        ]
        has_gaps = any(
            following in self.ends and self.ends.get(base, following) < following for base, following in pairwise(bases)
        )
        log_end = self.ends.get(bases[-1])
        yield from witnesses.of_logs(ends, log_end)
        if has_gaps or witnesses.doubts_logs(HIGHEST_OFFSET if log_end is None else log_end):
            yield from (attested for _, attested in witnesses.missing_logs() if attested is not None)

    # --- batches

    def _take(self, log: SlicedLog, chunk: Chunk) -> None:
        """Take what is wanted of these batches."""
        first, last, _ = extent(chunk)
        is_after = self._is_done(log.next_offset) and first >= log.next_offset
        log.next_offset = last + 1
        if last < self._wanted.from_offset or is_after:
            log.leave_out_all(chunk)
            return
        for row, (position, size) in enumerate(zip(chunk.batches["position"], chunk.batches["size"], strict=True)):
            log.at(position, size)
            last = chunk.batches["last_offset"][row]
            self._see(chunk, row, last)
            if log.has(last, last):
                log.leave_out()
            elif chunk.is_legacy:
                self._take_messages(log, chunk, row)
            elif chunk.headers[row][ATTRIBUTES] & CONTROL_BIT:
                self._take_control(log, chunk.headers[row])
            else:
                self._take_data(log, chunk, row)

    def _see(self, chunk: Chunk, row: int, last: int) -> None:
        """Note the offsets of a batch; of old messages, which say the last one only, those that follow what came before."""
        if self._seen is None:
            return
        self._seen.add(min(self._seen_to + 1, last) if chunk.is_legacy else chunk.headers[row][BASE_OFFSET], last)
        self._seen_to = max(self._seen_to, last)
        if self._seen.held > MOST_GAPS:
            self._seen = None

    def _take_control(self, log: SlicedLog, header: Sequence[int]) -> None:
        """Take a control batch if it is in the range, or if it ends a transaction that the slice holds."""
        producer_id = header[PRODUCER_ID]
        if producer_id in self._open or self._holds(header):
            self._open.discard(producer_id)
            log.copy(*_offsets(header), header[RECORD_COUNT])
            self._note(log, header[MAX_TIMESTAMP])
        else:
            log.leave_out()

    def _take_data(self, log: SlicedLog, chunk: Chunk, row: int) -> None:
        header = chunk.headers[row]
        first, last = _offsets(header)
        if not self._holds(header):
            log.leave_out()
            return
        if not self._wanted.chooses_records or self._wanted.holds_all(first, last) or not header[RECORD_COUNT]:
            log.copy(first, last, header[RECORD_COUNT])
        else:
            batch = bytes_of(log.source, chunk, row)
            with _placing(log):
                selection = rewriting.select(header, batch, self._keeps(log))
                if selection.kept == selection.count:
                    log.copy(first, last)
                elif selection.kept:
                    log.write(rewriting.retained(header, batch, selection), first, last)
                elif last in self._last_offsets:
                    log.write(rewriting.emptied(header), first, last, is_empty=True)
                else:
                    log.drop()
                    return
        if header[ATTRIBUTES] & TRANSACTIONAL_BIT:
            self._open.add(header[PRODUCER_ID])
        self._note(log, header[MAX_TIMESTAMP])

    def _take_messages(self, log: SlicedLog, chunk: Chunk, row: int) -> None:
        """Take a message of magic 0 or 1, or a wrapper: only its messages say where it starts."""
        last, attributes = chunk.headers[row][MESSAGE_OFFSET], chunk.headers[row][MESSAGE_ATTRIBUTES]
        if last < self._wanted.from_offset or not attributes & COMPRESSION_MASK and last > self._wanted.to_offset:
            log.leave_out()
            return
        message = Message(last, bytes_of(log.source, chunk, row)[LOG_OVERHEAD:])
        with _placing(log):
            overlap = rewriting.select_messages(message, lambda offset, timestamp, _: self._wanted.holds(offset, timestamp))
            if not overlap.kept:
                log.leave_out()
                return
            first = next(iter(unwrap(message))).offset if message.codec else last
            selection = rewriting.select_messages(message, self._keeps(log))
            if selection.kept == selection.count:
                log.copy(first, last)
            elif selection.kept:
                log.write(rewriting.retained_wrapper(message, selection), selection.first_offset, selection.last_offset)
            else:
                log.drop()
                return
        self._note(log, chunk.batches["timestamp"][row])

    def _keeps(self, log: SlicedLog) -> rewriting.Keeps:
        """Whether the slice keeps a record, which the row counts."""
        wanted = self._wanted

        def keeps(offset: int, timestamp: int, key: bytes | None) -> bool:
            return log.count(is_in_range=not wanted.is_exact or wanted.holds(offset, timestamp), has_key=wanted.takes_key(key))

        return keeps

    def _holds(self, header: Sequence[int]) -> bool:
        """Whether a batch of magic 2 may hold records in the range."""
        return self._wanted.holds_offsets(*_offsets(header)) and self._wanted.holds_times(*self._times(header))

    def _times(self, header: Sequence[int]) -> tuple[int | None, int]:
        """The times that a batch of magic 2 may span; a first one of None is unknown."""
        newest = header[MAX_TIMESTAMP]
        if header[ATTRIBUTES] & TIMESTAMP_TYPE_BIT:
            return newest, newest
        is_unknown = self._wanted.is_exact or header[ATTRIBUTES] & DELETE_HORIZON_BIT
        return None if is_unknown else header[BASE_TIMESTAMP], newest

    def _note(self, log: SlicedLog, timestamp: int) -> None:
        self.log_end = log.log_end
        self.newest = max(self.newest, timestamp)


def require_named(part: PartitionPlan) -> None:
    """Raises CorruptData if a log starts with batches that belong in another one by the names: that may hold any range."""
    for base, end in tree.with_next(list(part.logs)):
        path = os.path.join(part.path, part.logs[base])
        with Source(path) as source:
            offsets = offsets_at(source, 0)
        if offsets and not any(base <= offset < (HIGHEST_OFFSET if end is None else end) for offset in offsets):
            message = f"it starts with offset {offsets[0]:,}, which is in another log by the names of the logs"
            fault = CorruptData("offset-below-base", message, path=path, position=0)
            fault.remedy = f"mend it first: kdump recover {part.path} -o DIR"
            raise fault


def require_here(part: PartitionPlan, wanted: Wanted, seen: Ranges, inputs: Inputs) -> None:
    """Raises CorruptData if a log has offsets of the range that are not `seen` where they belong, unless it is compacted."""
    missing = _missing(part, wanted, seen)
    if not missing or _is_compacted(part.path):
        return
    for base, end in tree.with_next(list(part.logs)):
        path = os.path.join(part.path, part.logs[base])
        with Source(path) as source:
            inputs.note(source)
            for position, first, last in _batches(source, base, end):
                if missing.touch(first, last):
                    message = f"it has {offset_range(first, last)}, which are missing where they belong"
                    fault = CorruptData("offset-below-base", message, path=path, position=position)
                    fault.remedy = f"mend it first: kdump recover {part.path} -o DIR"
                    raise fault


def _is_compacted(path: str) -> bool:
    """Whether the cleaner is known to work on the partition, which explains any gap."""
    name = tree.directory_name(path)
    is_cleaned = name is not None and LogDirectory(tree.parent(path)).is_cleaned(name.topic, name.partition)
    return is_cleaned or policy_of(path, Settings(now=current_time())).is_compacted


def _missing(part: PartitionPlan, wanted: Wanted, seen: Ranges) -> Ranges:
    """The offsets of the range that no batch has in the logs that were read, up to the last one that some log may have."""
    missing, bases = Ranges(), list(part.logs)
    if not bases:
        return missing
    next_offset = max(wanted.from_offset, bases[0])
    for first, last in (*seen.merged(), (bases[-1], HIGHEST_OFFSET)):
        end = min(first - 1, wanted.to_offset)
        if next_offset <= end:
            missing.add(next_offset, end)
        next_offset = max(next_offset, last + 1)
    return missing


def _batches(source: Source, base: int, end: int | None) -> Iterator[tuple[int, int, int]]:
    """The position, the first and the last offset of each batch of a log whose checksum fits."""
    for item in salvage.walk(source, base_offset=base, next_base_offset=end):
        if not isinstance(item, Damage) and item.status != DAMAGED:
            batches, lasts = item.chunk.batches, item.chunk.batches["last_offset"]
            yield from zip(batches["position"], lasts if item.chunk.is_legacy else batches["base_offset"], lasts, strict=True)


class SlicedLog:
    """What becomes of the batches of one log. Each is given to `at`, then to one of the others.

    The slice ends at `log_end` so far; `is_after_gap` says whether batches after it were left out.
    """

    def __init__(self, source: Source, base_offset: int, writer: LogWriter, log_end: int, *, is_after_gap: bool) -> None:
        self.source = source
        self.has_gap = is_after_gap
        """Whether batches after the last one that was written were left out."""
        self.position = 0
        """Where the batch at hand starts."""
        self.next_offset = base_offset
        """The offset after the last batch that was read."""
        self.log_end = log_end
        """The offset after the last batch that was written."""
        self._base_offset = base_offset
        self._writer = writer
        self.row = SlicedSegment(None, os.path.basename(source.path), None, None, *[0] * 10)
        self._size = 0
        self._written = Ranges()
        self._copied: tuple[int, int, int, int] | None = None  # start and end of a stretch, its first and its last offset

    def at(self, position: int, size: int) -> None:
        """Go on to the batch at this position of the log."""
        self.position, self._size = position, size
        self.row.batches += 1

    def has(self, first: int, last: int) -> bool:
        """Whether batches with all of these offsets were written, as where a log was joined with itself."""
        return last < self.log_end and self._written.hold(first, last)

    def count(self, *, is_in_range: bool, has_key: bool) -> bool:
        """Count a record of the batch. Returns whether it is kept."""
        self.row.records += 1
        self.row.out_of_range += not is_in_range
        self.row.by_key += is_in_range and not has_key
        self.row.kept += is_in_range and has_key
        return is_in_range and has_key

    def leave_out(self) -> None:
        """The batch is outside of the range."""
        self.row.outside += 1
        self.has_gap = True

    def leave_out_all(self, chunk: Chunk) -> None:
        """All of these batches are outside of the range."""
        self.row.batches += len(chunk)
        self.row.outside += len(chunk)
        self.has_gap = True

    def drop(self) -> None:
        """The batch has lost all of its records."""
        self.row.dropped += 1
        self.has_gap = True

    def copy(self, first: int, last: int, records: int = 0) -> None:
        """Copy the batch; so many records of it were not counted before."""
        self.row.records += records
        self.row.kept += records
        end = self.position + self._size
        if self._copied is not None and self._copied[1] == self.position and end - self._copied[0] <= _COPIED_AT_ONCE:
            self._copied = (self._copied[0], end, self._copied[2], last)
        else:
            self.flush()
            self._copied = (self.position, end, first, last)
        self._start_with(first, last)
        self.row.cloned += 1

    def write(self, data: bytes, first: int, last: int, *, is_empty: bool = False) -> None:
        """Write the batch as it is now."""
        self.flush()
        self._start_with(first, last)
        self._writer.add(data, first, last)
        self.row.emptied += is_empty
        self.row.rewritten += not is_empty

    def start(self, base_offset: int) -> None:
        """Start the segment in the slice."""
        self._writer.start(base_offset)
        self.row.path = f"{base_offset:020}{file_name.LOG}"

    def _start_with(self, first: int, last: int) -> None:
        if self.row.path is None:
            self.start(self._base_for(first))
            self.row.first_offset = first
        self.row.last_offset = last
        self._written.add(first, last)
        self.log_end = last + 1
        self.has_gap = False

    def _base_for(self, first: int) -> int:
        """The base offset of the segment in the slice that starts with the batch at this offset.

        Where batches before it were left out, the slice starts with it, or the segment follows the one before without a gap.
        """
        if not self.has_gap:
            return self._base_offset
        return self.log_end if self._writer.bases else first

    def flush(self) -> None:
        """Write what is to be copied."""
        copied, self._copied = self._copied, None
        if copied is not None:
            self._writer.copy(self.source, *copied)


@contextmanager
def _placing(log: SlicedLog) -> Iterator[None]:
    """Let faults say where the batch at hand is."""
    try:
        yield
    except CorruptData as fault:
        fault.path, fault.position = log.source.path, log.position
        raise


def _offsets(header: Sequence[int]) -> tuple[int, int]:
    return header[BASE_OFFSET], header[BASE_OFFSET] + header[LAST_OFFSET_DELTA]


def extent(chunk: Chunk) -> tuple[int, int, int]:
    """The first and the last offset of batches, and where they end."""
    if chunk.summary is not None:
        return chunk.summary.first_offset, chunk.summary.last_offset, chunk.summary.end
    batches = chunk.batches
    end = batches["position"][-1] + batches["size"][-1]
    return batches.row(0).first_offset, batches["last_offset"][-1], end


def _first_offset(source: Source, chunk: Chunk) -> int:
    """The first offset in the messages of a chunk. Raises CorruptData if they cannot be read."""
    message = Message(chunk.headers[0][MESSAGE_OFFSET], bytes_of(source, chunk, 0)[LOG_OVERHEAD:])
    return next(iter(unwrap(message))).offset if message.codec else message.offset


def _doubtful(source: Source, chunk: Chunk) -> CorruptData:
    """The fault of a batch that is complete but does not fit in, or that is damaged."""
    row = chunk.batches.row(0)
    if not row.isvalid:
        message = f"the CRC of the batch at offset {row.first_offset:,} does not match"
        return CorruptData("crc-mismatch", message, path=source.path, position=row.position)
    message = f"the batch at offset {row.first_offset:,} follows damage, or does not fit the offsets around it"
    return CorruptData("offset-regression", message, path=source.path, position=row.position)
