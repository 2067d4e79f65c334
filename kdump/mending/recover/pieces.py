"""The batches of damaged logs in pieces: stretches that are whole, with what is left out between them."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from itertools import islice, pairwise

from kdump.binary.batch_header import (
    BASE_OFFSET,
    BATCH_HEADER,
    BATCH_HEADER_SIZE,
    CRC,
    CRC_AT,
    LAST_OFFSET_DELTA,
    LEADER_EPOCH,
    LENGTH,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAGIC,
    MESSAGE_CRC_AT,
    MESSAGE_HEADER_SIZE,
    RECORD_COUNT,
    batch_offset,
    batch_size,
    is_wrapper,
    stored_crc,
)
from kdump.binary.codecs import CODECS, NONE
from kdump.binary.source import Source
from kdump.errors import CorruptData, MissingPackage
from kdump.formats import batch_writer, message_set, record
from kdump.formats.record import BatchRecords
from kdump.mending.recover import lost_records
from kdump.mending.recover.claims import Claims
from kdump.mending.recover.inside import InsideSearch
from kdump.reading import salvage
from kdump.reading.headers import HeaderWindow
from kdump.reading.items import BY_SCAN, DAMAGED, INTACT, ZERO, Damage
from kdump.reading.trust import extent_of
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from types import TracebackType
    from typing import Self

    from kdump.formats.log import Chunk
    from kdump.formats.summary import BatchSummary
    from kdump.mending.recover.lost_records import Lost
    from kdump.reading.items import Section
    from kdump.reading.trust import Extent

NO_EPOCH = -1
NESTED = "resync-nested-candidate"
MOST_PAYLOAD = 64 << 20  # of a compressed message that is opened
_SIGN = 1 << 63
_HIGHEST_OFFSET = _SIGN - 1
_SIZES = 8  # bytes of the sizes of key and value, which every message has
_MOST_DECODED, _MOST_TRIED = 10_000, 1_000  # records of damaged batches of a log, and these: payloads may be bombs
_NOT_COMPRESSED = 1 << NONE  # of the codecs of a summary
_BATCHES_PER_MARK = 64
_SMALL_WINDOW, _LARGE_WINDOW = 1 << 11, 1 << 18


class Log(Declared):
    """A log that batches are taken from.

    `base_offset` and `next_base_offset` are those of its name and of the next log's; None if its name says nothing. `rank` is 0
    for the directory that is mended, and counts the replicas. `place` is its place in the order of all logs. A spare log, which
    was to replace others, counts only where these have nothing.
    """

    path: str
    base_offset: int | None = None
    next_base_offset: int | None = None
    rank: int = 0
    place: int = 0
    size: int = 0
    is_spare: bool = False


class Piece:
    """Neighbouring whole batches of a log, their offsets ascending: one, or any number that are beyond doubt.

    `first_epoch` and `last_epoch` are leader epochs, NO_EPOCH for messages of magic 0 and 1. `is_sure` says that the walk called
    them intact. `joins` says how many neighbours in the file the offsets of the batch continue: 0, 1 or 2. `changed` are bytes to
    be written in place of those from a position in the batch on, and `change` says why; `is_assumed` says that no other file
    confirms it. A compressed message, whose own offset is that of its last one, has the offsets of those in it. `has_gaps` says
    that offsets may be missing between batches of it, `may_have_wrappers` that some may be compressed messages. `messages` are
    those in these and beside them, 0 if that is not known or one of these does not end with a message. `damaged_bytes` and
    `damaged_offsets` are those of damaged batches before it, up to the piece before that, as they claim.
    """

    def __init__(
        self, log: Log, start: int, end: int, extent: Extent, *, batches: int = 1, records: int = 1, is_sure: bool = True
    ) -> None:
        self.log = log
        self.start = start
        self.end = end
        self.first, self.last, epoch = extent
        self.is_legacy = self.may_have_wrappers = epoch is None
        self.first_epoch = self.last_epoch = NO_EPOCH if epoch is None else epoch
        self.batches = batches
        self.records = records
        self.messages = 0
        self.is_sure = is_sure
        self.is_nested = self.is_assumed = False
        self.has_gaps = False
        self.joins = 0
        self.damaged_bytes = self.damaged_offsets = 0
        self.changed: dict[int, bytes] = {}
        self.change = ""

    @property
    def size(self) -> int:
        return self.end - self.start

    @property
    def stated(self) -> int:
        """The offset in the header of a single batch: that of its last message in magic 0 and 1."""
        return self.last if self.is_legacy else self.first

    def move(self, shift: int, reason: str) -> None:
        """Give a single batch other offsets."""
        self.note(f"its offset, which said {self.stated:,}, is put right: {reason}")
        self.first, self.last = self.first + shift, self.last + shift
        self.changed[0] = self.stated.to_bytes(8, "big")

    def note(self, change: str) -> None:
        """Say one more thing that is changed."""
        self.change = f"{self.change}; {change}" if self.change else change

    def follows(self, before: Self | None) -> bool:
        """Whether nothing lies between the two in the file but damaged batches that say how many offsets they have.

        None is for the start of the log, if its name says where that is.
        """
        if before is None:
            return self.log.base_offset is not None and self.start == self.damaged_bytes
        return self.log is before.log and before.end == self.start - self.damaged_bytes

    def next_after(self, before: Self | None) -> int:
        """The first offset of a single batch that follows another one, or starts the log."""
        return (self.log.base_offset or 0 if before is None else before.last + 1) + self.damaged_offsets

    def takes(self, other: Self) -> bool:
        """Add the batches that follow, if they continue the piece in the file and in offsets, and all are beyond doubt."""
        if not (self.is_sure and other.is_sure and self.end == other.start and self.last < other.first):
            return False
        if other.last == _HIGHEST_OFFSET:  # it is left out
            return False
        if self.last + 1 != other.first:  # it may yet turn out to be out of line
            return False
        if self.changed or other.changed or self.is_legacy != other.is_legacy or other.first_epoch < self.last_epoch:
            return False
        self.end, self.last, self.last_epoch = other.end, other.last, other.last_epoch
        self.batches += other.batches
        self.records += other.records
        self.messages = self.messages + other.messages if self.messages and other.messages else 0
        self.has_gaps |= other.has_gaps
        self.may_have_wrappers |= other.may_have_wrappers
        return True

    def part(self, start: int, end: int, first: Extent, last: Extent, batches: int, records: int) -> Piece:
        """Some of its batches, between two positions, by the extents of the first and the last of them."""
        part = Piece(self.log, start, end, (first[0], last[1], first[2]), batches=batches, records=records)
        part.last_epoch = NO_EPOCH if last[2] is None else last[2]
        part.joins = (start > self.start) + (end < self.end)
        part.has_gaps = self.has_gaps and batches > 1
        if start == self.start:
            part.damaged_bytes, part.damaged_offsets = self.damaged_bytes, self.damaged_offsets
        return part


def opened_wrapper(wrapper: message_set.Message) -> tuple[Extent, int]:
    """The offsets of the messages in one, and how many there are, 0 if it does not end with one.

    One that cannot be opened has its own offset.
    """
    count = 0
    try:
        unwrapped = message_set.unwrap(wrapper, message_set.Limits(MOST_PAYLOAD))
        count = unwrapped.count if unwrapped.cut is None else 0
        lowest, last = unwrapped.lowest_offset(), unwrapped.last_offset()
    except (CorruptData, MissingPackage):
        return (wrapper.offset, wrapper.offset, None), count
    return (last if lowest is None else lowest + last - wrapper.offset, last, None), count


class Headers:
    """Reads the headers of batches in pieces; the last log stays open."""

    def __init__(self) -> None:
        self._source: Source | None = None
        self._marks: dict[tuple[int, int], tuple[_Marks, int, int]] = {}  # by log and start, with what is before that in them

    def source(self, log: Log) -> Source:
        """The open file of a log. Raises Unreadable."""
        if self._source is None or self._source.path != log.path:
            self.close()
            self._source = Source(log.path)
        return self._source

    def of(self, piece: Piece, start: int | None = None) -> Iterator[tuple[int, int, Extent, int, int]]:
        """Start, end, extent, CRC and records of each batch of a piece of several, from the one at `start` on.

        No message is opened for its extent.
        """
        window = HeaderWindow(self.source(piece.log), _SMALL_WINDOW, _LARGE_WINDOW)
        position = piece.start if start is None else start
        while position < piece.end:
            data, at = window.at(position)
            if piece.is_legacy:
                header_bytes = data[at : at + BATCH_HEADER_SIZE]
                extent, crc, count = extent_of(header_bytes), stored_crc(header_bytes), 1
                end = position + batch_size(header_bytes)
            else:  # unpacked at once, since all batches of replicas are compared
                header = BATCH_HEADER.unpack_from(data, at)
                first, crc, count = header[BASE_OFFSET], header[CRC], max(header[RECORD_COUNT], 0)
                extent = first, first + header[LAST_OFFSET_DELTA] % (1 << 32), header[LEADER_EPOCH]
                end = position + LOG_OVERHEAD + header[LENGTH]
            yield position, end, extent, crc, count
            position = end

    def split(self, piece: Piece, offset: int) -> tuple[Piece | None, Piece, Piece | None]:
        """The batches that end before an offset, the next one, and the rest; the piece must end at or after the offset."""
        marks, batches_before, records_before = self._marks_of(piece)
        start, batches, records = marks.before(offset, piece.start, batches_before, records_before)
        before: Extent | None = None
        for position, end, extent, _, count in self.of(piece, start):
            if extent[1] >= offset:
                head = None
                if before is not None:
                    first = (piece.first, piece.first, None if piece.is_legacy else piece.first_epoch)
                    head = piece.part(piece.start, position, first, before, batches, records)
                if extent[2] is None:  # the header of a wrapper says its last offset only
                    is_first = position == piece.start
                    extent = (piece.first, extent[1], None) if is_first else self.extent_at(piece.log, position)
                one = piece.part(position, end, extent, extent, 1, count)
                self._note(one, marks, batches_before + batches, records_before + records)
                rest = None
                if end < piece.end:
                    following = self.extent_at(piece.log, end)
                    last = (piece.last, piece.last, None if piece.is_legacy else piece.last_epoch)
                    rest = piece.part(
                        end, piece.end, following, last, piece.batches - batches - 1, piece.records - records - count
                    )
                    self._note(rest, marks, batches_before + batches + 1, records_before + records + count)
                return head, one, rest
            before = extent
            batches += 1
            records += count
        raise AssertionError("the piece ends before the offset")

    def _marks_of(self, piece: Piece) -> tuple[_Marks, int, int]:
        """Marks in the log of a piece, and how many batches and records are before it in what they cover."""
        known = self._marks.get((id(piece.log), piece.start))
        if known is None or known[0].end < piece.end:
            known = _Marks(piece.end, self.of(piece)), 0, 0
            self._marks[id(piece.log), piece.start] = known
        return known

    def _note(self, part: Piece, marks: _Marks, batches: int, records: int) -> None:
        if part.end <= marks.end:
            self._marks[id(part.log), part.start] = marks, batches, records

    def without_gaps(self, piece: Piece) -> Iterator[Piece]:
        """The parts of a piece between which offsets are missing."""
        part: Piece | None = None
        for start, end, extent, _, count in self.of(piece) if piece.has_gaps else ():
            batch = piece.part(start, end, extent, extent, 1, count)
            if part is None or not part.takes(batch):
                if part is not None:
                    yield part
                part = batch
        yield piece if part is None else part

    def stated_at(self, log: Log, position: int) -> Extent:
        """The extent in the header of the batch at a position."""
        return extent_of(self.source(log).read(position, BATCH_HEADER_SIZE))

    def extent_at(self, log: Log, position: int) -> Extent:
        """The extent of the batch at a position. A compressed message of magic 0 or 1 is opened for its first offset."""
        source = self.source(log)
        header_bytes = source.read(position, BATCH_HEADER_SIZE)
        if not is_wrapper(header_bytes):
            return extent_of(header_bytes)
        data = source.read_exactly(position + LOG_OVERHEAD, batch_size(header_bytes) - LOG_OVERHEAD)
        return opened_wrapper(message_set.Message(batch_offset(header_bytes), data))[0]

    def crc(self, piece: Piece) -> int:
        """The stored CRC of the first batch."""
        return stored_crc(self.source(piece.log).read(piece.start, BATCH_HEADER_SIZE))

    def close(self) -> None:
        if self._source is not None:
            self._source.close()
        self._source = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class _Marks:
    """Every so many batches of a stretch of a log: where one starts, its last offset, and how many records are before it.

    So a batch is found by its offset without reading all that is before it.
    """

    def __init__(self, end: int, batches: Iterable[tuple[int, int, Extent, int, int]]) -> None:
        self.end = end
        self._starts, self._lasts, self._records = array("q"), array("q"), array("q")
        records = 0
        for row, (position, _, extent, _, count) in enumerate(batches):
            if row % _BATCHES_PER_MARK == 0:
                self._starts.append(position)
                self._lasts.append(extent[1])
                self._records.append(records)
            records += count

    def before(self, offset: int, start: int, batches: int, records: int) -> tuple[int, int, int]:
        """A batch from `start` on that ends before an offset, and how many batches and records are between them.

        Before `start` are this many batches and records. If no mark is between, it is the batch at `start`.
        """
        at = bisect_left(self._lasts, offset) - 1
        if at < 0 or self._starts[at] <= start:
            return start, 0, 0
        return self._starts[at], at * _BATCHES_PER_MARK - batches, self._records[at] - records


class LeftOut(Declared):
    """Bytes of a log that are not taken over. `code` is one of the catalogue's, `reason` says why.

    `is_lost` is false for what is also elsewhere, such as a duplicate. `decoded` are the records that can still be read in it.
    A damaged message that holds others (`is_wrapper`) claims the last offset only.
    """

    path: str
    start: int
    end: int
    code: str
    reason: str
    batches: int = 0
    records: int = 0
    first: int | None = None
    last: int | None = None
    is_lost: bool = True
    decoded: Sequence[Lost] = ()
    is_wrapper: bool = False

    @classmethod
    def of(cls, piece: Piece, code: str, reason: str, *, is_lost: bool = True) -> Self:
        counts = piece.batches, piece.records
        return cls(piece.log.path, piece.start, piece.end, code, reason, *counts, piece.first, piece.last, is_lost)


class Walk:
    """What one log holds: pieces in the order of the file, and what is left out.

    `accept` are offsets of damaged batches that are taken over if they decode; `accepted` are those found here. `to_end`
    walks the log; a caller that walks a sound one itself gives each section to `take`, then calls `join`.
    """

    def __init__(
        self, log: Log, source: Source, *, accept: Collection[int] = (), tick: Callable[[int], None] | None = None
    ) -> None:
        self.pieces: list[Piece] = []
        self.left_out: list[LeftOut] = []
        self.accepted: set[int] = set()
        self._decoded = self._tried = 0  # records of damaged batches, and these
        self._damaged_bytes = self._damaged_offsets = 0  # of damaged batches since the last piece, as they claim
        self._log = log
        self._source = source
        self._accept = accept
        self._claims = Claims()
        self._inside: InsideSearch | None = None  # made for the first damaged batch
        self._tick = tick
        log.size = source.size

    def to_end(self) -> Self:
        """Walk the log."""
        log = self._log
        items = salvage.walk(self._source, base_offset=log.base_offset, next_base_offset=log.next_base_offset)
        position = 0
        try:
            for item in items:
                if isinstance(item, Damage):
                    self._damage(item)
                    end = item.end
                else:
                    end = self.take(item)
                if self._tick is not None:
                    self._tick(end - position)
                position = end
        finally:
            items.close()
        self.join()
        return self

    def _damage(self, item: Damage) -> None:
        row = item.row
        first = getattr(row, "base_offset", None) if item.is_batch else None
        last = getattr(row, "last_offset", None) if first is not None else None
        header_bytes = self._source.read(item.start, BATCH_HEADER_SIZE)
        self._claims.reach(item.start, header_bytes)
        header_bytes = header_bytes if item.is_batch else b""
        if first is not None and last is not None:
            self._claims.add(item.start, first, last, header_bytes)
        self._claims.add_wrapper(item.start, header_bytes)
        reason = item.message or "bytes that were not examined: too many of them look like headers of batches"
        if item.status == ZERO:
            reason = f"{item.message}; zeros hold no batch"
        self.left_out.append(
            LeftOut(self._log.path, item.start, item.end, item.code, reason, batches=int(item.is_batch), first=first, last=last)
        )
        if item.is_batch and item.status != ZERO:
            self._decode(self.left_out[-1])
            if item.resync != BY_SCAN:
                self._look_inside(self.left_out[-1])

    def take(self, section: Section) -> int:
        """Add the batches of a section. Returns where it ends."""
        summary = section.summary
        if summary is not None and _are_fit(summary) and not (summary.is_legacy and summary.codecs & ~_NOT_COMPRESSED):
            self._take_summary(summary)
            return summary.end
        batches = section.chunk.batches
        for row in range(len(section.chunk)):
            self._take_batch(section, row)
        return int(batches["position"][-1] + batches["size"][-1])

    def _take_summary(self, summary: BatchSummary) -> None:
        """Add neighbouring sound batches as one piece."""
        records = summary.count if summary.is_legacy else summary.records
        epoch = None if summary.is_legacy else summary.first_leader_epoch
        extent = (summary.first_offset, summary.last_offset, epoch)
        piece = Piece(self._log, summary.positions[0], summary.end, extent, batches=summary.count, records=records)
        piece.messages = records
        piece.has_gaps = summary.gaps > 0
        piece.may_have_wrappers = False
        if not summary.is_legacy:
            piece.last_epoch = summary.last_leader_epoch
        self._add(piece)

    def _take_batch(self, section: Section, row: int) -> None:
        """Add a single batch, or leave it out."""
        chunk, batches, status = section.chunk, section.chunk.batches, section.status
        start, size = batches["position"][row], batches["size"][row]
        first, last = batches["base_offset"][row], batches["last_offset"][row]
        epoch, count = batches["partition_leader_epoch"][row], batches["count"][row]
        extent = (last if first is None else first, last, epoch)
        records = messages = 1 if count is None else max(count, 0)
        if status == DAMAGED:
            self._damaged_batch(chunk, row, start, start + size, extent, records)
            return
        if batches["magic"][row] == 1 and size < MESSAGE_HEADER_SIZE + _SIZES:
            reason = f"a message of magic 1 has {size} bytes, too few for its fields"
            left = LeftOut(self._log.path, start, start + size, "batch-length-too-small", reason, batches=1, records=1)
            self.left_out.append(left)
            return
        is_wrapper = chunk.is_legacy and batches["compresscodec"][row] != CODECS[NONE]
        if is_wrapper:
            wrapper = message_set.Message(last, message_set.bytes_of_message(self._source, chunk, row))
            extent, messages = opened_wrapper(wrapper)
        piece = Piece(self._log, start, start + size, extent, records=records, is_sure=status == INTACT)
        piece.may_have_wrappers, piece.messages = is_wrapper, messages
        if extent[1] != last:
            piece.first, piece.last = extent[0] + last - extent[1], last
            piece.move(extent[1] - last, "the messages in it have others")
            piece.is_sure = False
        piece.is_nested = status != INTACT and section.is_nested and self._claims.may_hold(piece.end)
        if section.claimed_length is not None:
            piece.changed[LENGTH_AT] = (size - LOG_OVERHEAD).to_bytes(4, "big")
            said = f"its length, which said {section.claimed_length:,} bytes"
            piece.change = f"{said}, is put right: the CRC fits {size:,} bytes"
        self._add(piece)

    def _damaged_batch(self, chunk: Chunk, row: int, start: int, end: int, extent: Extent, records: int) -> None:
        first, last, _ = extent
        is_known = chunk.is_legacy or chunk.headers[row][MAGIC] == 2
        code = "crc-mismatch" if is_known else "bad-magic"
        reason = "its CRC does not match" if is_known else "its magic does not exist"
        named = [offset for offset in self._accept if first <= offset <= last and is_known]
        if named and not chunk.batches["isvalid"][row]:
            self.accepted.update(named)
            fault = self._why_not_decoded(chunk, row)
            if fault is None:
                data = batch_writer.with_crc(record.bytes_of(self._source, chunk, row))
                at = MESSAGE_CRC_AT if chunk.is_legacy else CRC_AT
                piece = Piece(self._log, start, end, extent, records=records, is_sure=False)
                piece.changed[at] = data[at : at + 4]
                piece.change = "accepted as named: its CRC does not match, its records decode, and it has a new CRC"
                self._add(piece)
                return
            reason = f"named to be accepted, but it does not decode: {fault}"
        header_bytes = self._source.read(start, BATCH_HEADER_SIZE)
        self._claims.reach(start, header_bytes)
        self._claims.add(start, first, last, header_bytes)
        self._claims.add_wrapper(start, header_bytes)
        if is_known and first <= last and not is_wrapper(header_bytes):
            self._damaged_bytes += end - start
            self._damaged_offsets += last - first + 1
        left = LeftOut(self._log.path, start, end, code, reason, batches=1, records=records, first=first, last=last)
        left.is_wrapper = is_known and is_wrapper(header_bytes)
        self.left_out.append(left)
        self._decode(left)
        self._look_inside(left)

    def _is_claimed(self, piece: Piece) -> bool:
        header_bytes = self._source.read(piece.start, BATCH_HEADER_SIZE)
        return self._claims.hold(piece.start, piece.first, piece.last, header_bytes)

    def _may_be_payload(self, piece: Piece) -> bool:
        """Whether a batch may be the contents of the damaged batch that it lies in: a wrapper is never in another one."""
        if not piece.is_legacy:
            return True
        return self._claims.may_hold_message(piece.start, self._source.read(piece.start, BATCH_HEADER_SIZE))

    def _look_inside(self, left: LeftOut) -> None:
        """Report the intact batches inside a damaged one whose length leads on: the walk did not look there."""
        inside = self._inside = self._inside or InsideSearch(self._source)
        for batch in inside.within(left.start + 1, left.end):
            reason = "lies inside of a damaged batch, and may be its payload"
            found = LeftOut(self._log.path, batch.start, batch.end, NESTED, reason, batches=1, records=batch.records)
            found.first, found.last = batch.first, batch.last
            self.left_out.append(found)
        if inside.gave_up:
            left.reason += "; not all of its bytes were searched for batches: too many look like headers"

    def _decode(self, left: LeftOut) -> None:
        """Note the records of a damaged batch that can still be read."""
        room = _MOST_DECODED - self._decoded
        self._tried += 1
        if room > 0 and self._tried <= _MOST_TRIED:
            data = self._source.read(left.start, min(left.end - left.start, lost_records.MOST_BYTES))
            left.decoded = list(islice(lost_records.of_batch(data), room))
            self._decoded += len(left.decoded)

    def _why_not_decoded(self, chunk: Chunk, row: int) -> str | None:
        """Why the records of a batch cannot be read; None if all can."""
        try:
            if chunk.is_legacy:
                for message in message_set.messages_of(self._source, chunk, row):
                    message.key, message.value  # noqa: B018  # raise where they are not there
                return None
            header = chunk.headers[row]
            delta = chunk.batches["last_offset"][row] - chunk.batches["base_offset"][row]
            before = -1
            for rows in BatchRecords(header, record.bytes_of(self._source, chunk, row)).parts():
                for _, offset_delta, *_ in rows:
                    if not before < offset_delta <= delta:
                        return f"a record has the offset delta {offset_delta}"
                    before = offset_delta
            if before < 0 < header[RECORD_COUNT]:
                return "it holds no records"
        except CorruptData as fault:
            return fault.message
        return None

    def _add(self, piece: Piece) -> None:
        piece.damaged_bytes, piece.damaged_offsets = self._damaged_bytes, self._damaged_offsets
        self._damaged_bytes = self._damaged_offsets = 0
        if not (self.pieces and self.pieces[-1].takes(piece)):
            self.pieces.append(piece)

    def join(self) -> None:
        """Note which batches continue their neighbours, and leave out those that can be no part of the log."""
        self._note_neighbours()
        single = [piece for piece in self.pieces if piece.batches == 1]
        self._claims.leave_out([piece.start for piece in single], [piece.end for piece in single])
        sure = [piece for piece in self.pieces if piece.is_sure]
        self._claims.limit([piece.start for piece in sure], [piece.first for piece in sure])
        kept: list[Piece] = []
        for piece in self.pieces:
            previous = kept[-1] if kept else None
            if piece.first < 0 and piece.follows(previous) and piece.first + _SIGN == piece.next_after(previous):
                piece.move(_SIGN, "its sign is wrong, by the batch before it")
            left_out = self._left_out(piece)
            if left_out is not None:
                self.left_out.append(left_out)
            elif previous is None or not previous.takes(piece):
                kept.append(piece)
        self.pieces = kept

    def _note_neighbours(self) -> None:
        """Note which batches continue each other, and trust a first batch after a step that the next ones continue."""
        for before, after in pairwise(self.pieces):
            if before.last + 1 == after.first:
                before.joins += 1
                after.joins += 1
        for piece, after in reversed(list(pairwise(self.pieces))):
            continues = piece.last + 1 == after.first and piece.end == after.start and piece.last_epoch == after.first_epoch
            if continues and after.is_sure and not (piece.is_nested or piece.changed):
                piece.is_sure = True

    def _left_out(self, piece: Piece) -> LeftOut | None:
        """A batch that may be the payload of another one, or whose offsets are impossible; None for any other."""
        if piece.is_nested and self._may_be_payload(piece):
            is_claimed = self._is_claimed(piece)
            if is_claimed or piece.is_legacy and not piece.joins:
                same = " that has the same offsets" if is_claimed else ""
                return LeftOut.of(piece, NESTED, f"lies inside of a damaged batch{same}, and may be its payload")
        if piece.first < 0 or piece.last < piece.first:
            reason = f"its offsets, {piece.first:,} to {piece.last:,}, are impossible"
            return LeftOut.of(piece, "offset-negative", reason)
        if piece.last == _HIGHEST_OFFSET:
            reason = f"its offset, {piece.last:,}, is the highest of all: no log can end after it"
            return LeftOut.of(piece, "offset-negative", reason)
        return None


def _are_fit(summary: BatchSummary) -> bool:
    """Whether all batches can be taken over, as far as sizes and offsets say."""
    if summary.last_offset == _HIGHEST_OFFSET:
        return False
    least = MESSAGE_HEADER_SIZE + _SIZES
    positions = summary.positions if summary.highest_magic == 1 else ()
    return not any(end - start < least and summary.magic_at(start) for start, end in pairwise([*positions, summary.end]))
