"""Searches one log: only batches that may hold a match become records. What was not read intact is noted."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from functools import partial

from kdump.binary import codecs, kernel
from kdump.binary.batch_header import (
    ATTRIBUTES_AT,
    BATCH_HEADER_SIZE,
    COMPRESSION_MASK,
    LENGTH,
    LOG_OVERHEAD,
    MESSAGE_ATTRIBUTES,
    MESSAGE_LENGTH,
    PRODUCER_ID,
    RECORD_COUNT,
)
from kdump.binary.source import WINDOW_SIZE
from kdump.errors import CorruptData, MissingPackage, Unreadable
from kdump.formats.record import MAX_PAYLOAD_AT_ONCE
from kdump.formats.record_selection import owners
from kdump.reading import batch_faults, salvage
from kdump.reading.damaged_offsets import FOREVER, DamagedOffsets
from kdump.reading.records import UnreadableBatch, past_bad_batches
from kdump.reading.tuning import DEFAULT
from kdump.searching.left_out import CUT_MESSAGE, HOLLOW_MESSAGE, is_cut
from kdump.searching.undecidable import Undecidable
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from kdump.binary.kernel import Buffer
    from kdump.binary.tolerant_source import TolerantSource
    from kdump.formats.log import Chunk
    from kdump.formats.record import RecordChunk
    from kdump.formats.summary import BatchSummary
    from kdump.reading.tuning import ReadTuning
    from kdump.searching.decoding import ConditionDecoder
    from kdump.searching.query import Query

_NO_CODEC = 1  # as the codecs of a summary
_MAX_GAPS = 20_000  # of one file that are kept apart
_TOO_MANY = "too-many-faults"  # the code of the last one, if there are more: all from there on


class Found(Declared):
    """Records of a log: `rows` are those that match, and `matched` says where. All batches have this `status`."""

    part: RecordChunk
    status: str
    rows: list[int]
    matched: list[list[str]]


class Gap(Declared):
    """Bytes that were not read intact, `end` exclusive: why, and which offsets may be missing (None: not known)."""

    start: int
    end: int
    code: str
    message: str
    offset: int | None = None
    next_offset: int | None = None


class LogSearch:
    """One search through one log. After `found` has ended, `gaps` and the counts are complete.

    With `walks_all`, `found` has all records, for context. `partition` is that of the log, if it is known.
    `decoder` decodes keys and values for conditions; control records are as they are.
    """

    def __init__(
        self,
        source: TolerantSource,
        query: Query,
        *,
        partition: int | None = None,
        base_offset: int = 0,
        walks_all: bool = False,
        progress: Callable[[int], None] | None = None,
        tuning: ReadTuning = DEFAULT,
        decoder: ConditionDecoder | None = None,
    ) -> None:
        self.gaps: list[Gap] = []
        self.known_fields = query.known_fields()
        self.batches = self.records = self.claimed_records = 0
        self.first_offset: int | None = None
        self.last_offset: int | None = None
        self._source = source
        self._query = query
        self._partition = partition
        self._walks_all = walks_all
        self._progress = progress
        self._tuning = tuning
        self._decoder = decoder
        self._base_offset = base_offset
        self._offsets: DamagedOffsets | None = None  # from what is not intact on
        self._decompressor = codecs.BatchDecompressor(MAX_PAYLOAD_AT_ONCE)
        self._window = bytearray(WINDOW_SIZE)
        self._position = 0

    def found(self) -> Iterator[Found]:
        """The records that match, in the order of the file. Nothing is raised: what cannot be read becomes a gap."""
        sound: salvage.Section | None = None  # the last section before anything that is not intact
        try:
            for item in salvage.walk(self._source, tuning=self._tuning):
                if self._progress is not None:
                    self._progress(self._position)
                if self._offsets is None and not isinstance(item, salvage.Damage) and item.summary is not None:
                    sound = item
                else:
                    if self._offsets is None:
                        self._offsets = DamagedOffsets(self._base_offset)
                        if sound is not None:
                            self._offsets.take(sound)
                    if not self._offsets.is_too_long:
                        self._offsets.take(item)
                if isinstance(item, salvage.Damage):
                    self._position = item.end
                    self._note(item.start, item.end, item.code, item.message)
                else:
                    yield from self._in_section(item)
        except Unreadable as error:
            self._note(error.position or self._position, self._source.size, error.code, error.message)
        for start, end in self._source.bad_ranges:
            self._note(start, end, "io-error", "the device does not give these bytes")
        if self._offsets is not None and not self._offsets.is_too_long:
            self._place_gaps(self._offsets)

    # Sections

    def _in_section(self, section: salvage.Section) -> Iterator[Found]:
        summary = section.summary
        if summary is not None and self._passes(summary):
            self._count(summary.count, summary.count if summary.is_legacy else summary.records)
            self._extend(summary.first_offset, summary.last_offset)
            self._position = summary.end
            rows = self._rows_to_read(summary, section.chunk)
            if rows:
                yield from self._in_batches(section.chunk, rows, salvage.INTACT)
            return
        chunk, is_sound = section.chunk, section.status != salvage.DAMAGED
        self._note_damaged(section)
        self._count(len(chunk), len(chunk) if chunk.is_legacy else sum(max(header[RECORD_COUNT], 0) for header in chunk.headers))
        firsts = chunk.batches["last_offset" if chunk.is_legacy else "base_offset"]
        self._extend(min(firsts), max(chunk.batches["last_offset"]))
        rows = [row for row in range(len(chunk)) if self._may_match(chunk, row, is_sound=is_sound)]
        yield from self._in_batches(chunk, rows, section.status)
        self._position = chunk.batches["position"][-1] + chunk.batches["size"][-1]

    def _passes(self, summary: BatchSummary) -> bool:
        """Whether intact batches can be searched as they lie in the file."""
        if self._walks_all or summary.hollow:
            return False
        producer_id = self._query.producer_id
        if producer_id is not None:
            return summary.is_legacy or not summary.lowest_producer_id <= producer_id <= summary.highest_producer_id
        has_wrappers = summary.is_legacy and summary.codecs != _NO_CODEC
        return self._query.literal is not None and not has_wrappers

    def _rows_to_read(self, summary: BatchSummary, chunk: Chunk) -> list[int]:
        """The batches of a stretch in which the literal stands, and those of which nobody has seen yet that they can be read."""
        if self._query.producer_id is not None:
            return []  # none is of this producer
        if summary.codecs != _NO_CODEC:
            return self._rows_of_payloads(summary, chunk)
        if kernel.native is None:
            return list(range(summary.count))
        literal, source, window = self._query.literal, self._source, memoryview(self._window)
        assert literal is not None
        rows: set[int] = set()
        positions, ends = summary.positions, [*summary.positions[1:], summary.end]
        first = 0
        while first < summary.count:
            start = positions[first]
            end = bisect_right(ends, start + len(window))  # no batch of a summary is larger than a window
            size = ends[end - 1] - start
            source.read_plainly(window[:size], start)
            for next_place in (partial(literal.place_in, window), partial(self._irregular_place, window, summary.is_legacy)):
                at = 0
                while at < size and (place := next_place(at, size)) >= 0:
                    row = bisect_right(positions, start + place) - 1
                    rows.add(row)
                    at = ends[row] - start
            first = end
        return sorted(rows)

    def _irregular_place(self, window: Buffer, is_legacy: bool, start: int, end: int) -> int:
        """Where the first batch without compression starts whose records may not be readable; -1 for nowhere."""
        native = kernel.native
        assert native is not None
        if is_legacy:
            place: int = native.skip_messages(window, start, end, False, 1, 0, _never)
        else:
            place, *_ = native.skip_ordinary(window, start, end, False)
        return place if place < end else -1

    def _rows_of_payloads(self, summary: BatchSummary, chunk: Chunk) -> list[int]:
        """The batches of a stretch in whose payload the literal stands, or is not known to be readable."""
        literal, source, window = self._query.literal, self._source, memoryview(self._window)
        assert literal is not None
        rows: list[int] = []
        position = held = 0  # what the window holds
        ends = [*summary.positions[1:], summary.end]
        for row, (start, end) in enumerate(zip(summary.positions, ends, strict=True)):
            if end > position + held:
                position, held = start, min(len(window), summary.end - start)  # no batch of a summary is larger than a window
                source.read_plainly(window[:held], position)
            if self._may_match_in(window, start - position, end - position):
                rows.append(row)
        return rows

    def _may_match_in(self, window: Buffer, start: int, end: int, *, is_sound: bool = True) -> bool:
        """Whether the literal stands in a batch of magic 2, or it may not be readable."""
        literal, native = self._query.literal, kernel.native
        assert literal is not None
        window = memoryview(window)
        codec = window[start + ATTRIBUTES_AT + 1] & COMPRESSION_MASK
        compressed = window[start + BATCH_HEADER_SIZE : end]
        if not codec:
            return (
                literal.place_in(compressed) >= 0
                or is_sound
                and (native is None or self._irregular_place(window, False, start, end) >= 0)
            )
        payload = self._decompressed(codec, compressed)
        if payload is None:
            return True  # large, or it cannot be decompressed: its records are looked at
        return (
            literal.place_in(payload) >= 0
            or is_sound
            and (native is None or native.ordinary_records(window, start, payload, False) is None)
        )

    def _decompressed(self, codec: int, payload: memoryview) -> Buffer | None:
        try:
            return self._decompressor.decompress(codec, payload)
        except MissingPackage:
            return None  # the walk says so

    # Batches

    def _may_match(self, chunk: Chunk, row: int, *, is_sound: bool) -> bool:
        """Whether the batch in this row may hold a match, or, if it `is_sound`, may not be readable: the walk says why."""
        query, header = self._query, chunk.headers[row]
        if self._walks_all:
            return True
        if query.producer_id is not None and (chunk.is_legacy or header[PRODUCER_ID] != query.producer_id):
            return False
        literal = query.literal
        if literal is None or not chunk.window:
            return True
        start = chunk.starts[row]
        if not chunk.is_legacy:
            end = start + LOG_OVERHEAD + header[LENGTH]
            return self._may_match_in(chunk.window, start, end, is_sound=is_sound)
        if header[MESSAGE_ATTRIBUTES] & COMPRESSION_MASK:
            return True
        end = start + LOG_OVERHEAD + header[MESSAGE_LENGTH]
        if literal.place_in(chunk.window, start, end) >= 0:
            return True
        return is_sound and (kernel.native is None or self._irregular_place(chunk.window, True, start, end) >= 0)

    def _in_batches(self, chunk: Chunk, rows: Sequence[int], status: str) -> Iterator[Found]:
        """What matches in the batches in these rows."""
        if chunk.is_legacy:
            for row in rows:
                if is_cut(self._source, chunk, row):
                    self._note_batch(chunk, row, "wrapper-cut", CUT_MESSAGE)
        for first, end in _runs(rows):
            try:
                yield from self._in_whole_batches(chunk.slice(first, end), status)
            except MissingPackage as missing:
                for row in range(first, end):
                    self._note_batch(chunk, row, "codec-missing", missing.message)

    def _in_whole_batches(self, chunk: Chunk, status: str) -> Iterator[Found]:
        """What matches in these batches."""
        decoded: Counter[int] = Counter()
        bad: set[int] = set()
        try:
            for part in past_bad_batches(self._source, chunk):
                if isinstance(part, UnreadableBatch):
                    bad.add(part.row)
                    self._note_batch(chunk, part.row, part.fault.code, part.fault.message)
                    continue
                for position, of_batch in zip(part.batches["position"], part.counts, strict=True):
                    decoded[position] += of_batch
                found = self._matching(part, status)
                if found.rows or self._walks_all:
                    yield found
        except CorruptData as fault:
            bad = set(range(len(chunk)))
            self._note(chunk.batches["position"][0], self._end_of(chunk, len(chunk) - 1), fault.code, fault.message)
        except MissingPackage:
            bad = set(range(len(chunk)))
            raise
        finally:
            self._count_decoded(chunk, decoded, bad)

    def _matching(self, part: RecordChunk, status: str) -> Found:
        query, records = self._query, part.records
        found = Found(part, status, [], [])
        owner_of = owners(part)
        is_asked = [query.producer_id is None or each == query.producer_id for each in part.batches["producer_id"]]
        if query.misplaced_of is not None:  # markers are in each partition of a transaction
            is_asked = [each and not is_control for each, is_control in zip(is_asked, part.batches["is_control"], strict=True)]
        columns = [records[name] for name in ("offset", "timestamp", "key", "value", "headers")]
        if status != salvage.DAMAGED:
            self._note_damaged_messages(part, owner_of)
        are_control = part.batches["is_control"]
        for row, (offset, timestamp, key, value, headers) in enumerate(zip(*columns, strict=True)):
            if not is_asked[owner_of[row]] or not query.range.holds(offset, timestamp):
                continue
            try:
                is_control = are_control[owner_of[row]]
                decoder = None if is_control else self._decoder
                matched = query.matched(
                    key, value, headers, self._partition, decoder, is_control=is_control, fields=self.known_fields
                )
            except Undecidable as error:
                self._note_undecidable(part, owner_of[row], offset, error)
                continue
            if matched is None:
                continue
            found.rows.append(row)
            found.matched.append(matched)
        return found

    # Counts

    def _count(self, batches: int, records: int) -> None:
        self.batches += batches
        self.records += records
        self.claimed_records += records

    def _count_decoded(self, chunk: Chunk, decoded: Counter[int], bad: Collection[int]) -> None:
        """Correct the counts of batches that were read, by the number of records that were `decoded` at each position.

        In `bad` ones, by their rows, others were not. Of a wrapper, only its messages are known, one at least if it is bad.
        """
        for row in range(len(chunk)) if chunk.is_legacy else bad:
            count = decoded[chunk.batches["position"][row]]
            claimed = 1 if chunk.is_legacy else max(chunk.headers[row][RECORD_COUNT], 0)
            self.records += count - claimed
            if chunk.is_legacy:
                self.claimed_records += count - (row not in bad)

    def _extend(self, first: int, last: int) -> None:
        self.first_offset = first if self.first_offset is None else min(first, self.first_offset)
        self.last_offset = last if self.last_offset is None else max(last, self.last_offset)

    # Gaps

    def _note_damaged(self, section: salvage.Section) -> None:
        """Note what is wrong with the batches of a section."""
        chunk = section.chunk
        if section.status == salvage.DAMAGED:
            fault = batch_faults.of_batch(chunk.batches, 0)
            self._note_batch(chunk, 0, fault.code, fault.message)
            return
        if section.claimed_length is not None:
            fault = batch_faults.of_length(chunk.batches, 0, section.claimed_length)
            self._note_batch(chunk, 0, fault.code, fault.message)
        for row, header in enumerate(chunk.headers):
            if not chunk.is_legacy and header[RECORD_COUNT] <= 0 and header[LENGTH] + LOG_OVERHEAD > BATCH_HEADER_SIZE:
                self._note_batch(chunk, row, "record-count-too-low", HOLLOW_MESSAGE)

    def _note_damaged_messages(self, part: RecordChunk, owner_of: list[int]) -> None:
        """Note messages of magic 0 and 1 that are damaged inside sound wrappers."""
        for row, fault in batch_faults.of_messages(part).items():
            self._note_record(part, owner_of[row], fault.code, fault.message)

    def _note_record(self, part: RecordChunk, row: int, code: str, message: str) -> None:
        start = part.batches["position"][row]
        self._note(start, start + part.batches["size"][row], code, message)

    def _note_undecidable(self, part: RecordChunk, row: int, offset: int, error: Undecidable) -> None:
        """Note a record of which nobody can say whether it matches, with others of its kind in adjacent batches."""
        start = part.batches["position"][row]
        end = start + part.batches["size"][row]
        last = self.gaps[-1] if self.gaps else None
        if last is not None and last.code == error.code and last.next_offset is not None and start <= last.end:
            last.end, last.next_offset = max(end, last.end), max(offset + 1, last.next_offset)
            return
        self._note(start, end, error.code, f"offset {offset}: {error.message}")
        last = self.gaps[-1]
        if last.code == error.code:  # else there are too many to list
            last.offset, last.next_offset = offset, offset + 1

    def _note_batch(self, chunk: Chunk, row: int, code: str, message: str) -> None:
        """Note a batch, with the offsets that its header claims; those of damaged batches are found out later."""
        self._note(chunk.batches["position"][row], self._end_of(chunk, row), code, message)
        last = self.gaps[-1]
        if last.code == code and not chunk.is_legacy:  # else there are too many to list, or the first offset is not known
            last.offset, last.next_offset = chunk.batches["base_offset"][row], chunk.batches["last_offset"][row] + 1

    def _end_of(self, chunk: Chunk, row: int) -> int:
        end: int = chunk.batches["position"][row] + chunk.batches["size"][row]
        return min(end, self._source.size)

    def _note(self, start: int, end: int, code: str, message: str) -> None:
        last = self.gaps[-1] if self.gaps else None
        if last is not None and (start, end, code) == (last.start, last.end, last.code):
            return
        if last is not None and len(self.gaps) >= _MAX_GAPS:
            last.end = max(last.end, end)
            last.code, last.message = _TOO_MANY, "more faults than are listed one by one lie here"
            last.offset = last.next_offset = None
            return
        self.gaps.append(Gap(start, end, code, message))

    def _place_gaps(self, offsets: DamagedOffsets) -> None:
        """Find out which offsets may be missing."""
        by_start = {damaged.start: damaged for damaged in offsets.ranges()}
        for gap in self.gaps:
            damaged = by_start.get(gap.start)
            if damaged is not None and gap.code != _TOO_MANY:
                gap.offset = damaged.offset
                gap.next_offset = None if damaged.next_offset == FOREVER else damaged.next_offset


def _never(_payload: Buffer) -> None:
    """What decompresses nothing: messages are not compressed."""


def _runs(rows: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The start and end of each run of consecutive rows."""
    first = end = -1
    for row in rows:
        if row != end:
            if end > first:
                yield first, end
            first = row
        end = row + 1
    if end > first:
        yield first, end
