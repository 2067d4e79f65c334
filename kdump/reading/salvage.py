"""Walks a log past damage: every intact batch is listed, and every damaged range is named."""

from __future__ import annotations

from kdump.binary import kernel
from kdump.binary.batch_header import (
    BATCH_HEADER,
    BATCH_HEADER_SIZE,
    HEADER_UP_TO_MAGIC,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAGIC_AT,
    MESSAGE_HEADER,
    MESSAGE_HEADER_SIZE,
    MESSAGE_TIMESTAMP_AT,
    MIN_BATCH_LENGTH,
    MIN_RECORD_OVERHEAD,
    batch_length,
    batch_offset,
    batch_size,
)
from kdump.errors import CorruptData
from kdump.formats import record_batch
from kdump.formats.log import Chunk, Log, MixedChunk
from kdump.reading import search, spans, zeros
from kdump.reading.damages import GARBAGE, claim, garbage, length_past_end, negative_length, small_length, unchecked, zero_hole
from kdump.reading.items import (
    BY_LENGTH,
    BY_REPAIRED_LENGTH,
    BY_SCAN,
    DAMAGED,
    END,
    INTACT,
    NOT_EXAMINED,
    SALVAGED,
    ZERO,
    Damage,
    Patches,
    Section,
    Shown,
)
from kdump.reading.lone_batches import LoneBatches, PatchesUnderWay
from kdump.reading.patches import PatchWalk
from kdump.reading.plausible import LONGEST_BATCH, is_header_but_for, is_plausible, may_be_header
from kdump.reading.recent import RecentBytes
from kdump.reading.trust import KNOWN_MAGIC, Order, extent_of, extents_of, is_lower
from kdump.reading.tuning import DEFAULT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from kdump.binary.source import Source
    from kdump.reading.read_ahead import ReadAhead
    from kdump.reading.trust import Extent
    from kdump.reading.tuning import ReadTuning

__all__ = [
    "DAMAGED",
    "INTACT",
    "LEADS_OVER_BATCHES",
    "NOT_EXAMINED",
    "SALVAGED",
    "ZERO",
    "Damage",
    "Patches",
    "Section",
    "Shown",
    "walk",
    "walk_patches",
]

_KEPT_CRC_BYTES = 16 << 20  # of those fed to checksums, for batches that are small
_TIMES_CHECKED = 4  # may each byte be read on average for the CRCs of large batches


def walk(
    source: Source,
    start: int = 0,
    *,
    base_offset: int | None = None,
    next_base_offset: int | None = None,
    threads: int = 0,
    keeps_bytes: bool = False,
    fills_headers: bool = False,
    tuning: ReadTuning = DEFAULT,
) -> Generator[Section | Damage]:
    """All batches of a log from `start` on, and all damaged ranges between them; together they cover every byte.

    A damaged batch is skipped by its length if that leads to a batch or to the end of the file. If the stored CRC fits another
    end, only the length is wrong. Otherwise the next intact batch is searched byte by byte. Offsets must lie between the base
    offsets of this segment and the next one, if these are known. `threads` summarize a large log ahead of the walk.
    With `keeps_bytes`, large sections keep their bytes until the next item is asked for; with `fills_headers`, they have the
    columns of their headers.
    """
    for item in walk_patches(
        source,
        start,
        lambda: True,
        base_offset=base_offset,
        next_base_offset=next_base_offset,
        threads=threads,
        keeps_bytes=keeps_bytes,
        fills_headers=fills_headers,
        tuning=tuning,
    ):
        if isinstance(item, Patches):
            yield from item.items()
        else:
            yield item


def walk_patches(
    source: Source,
    start: int,
    gathers: Callable[[], bool],
    *,
    base_offset: int | None = None,
    next_base_offset: int | None = None,
    threads: int = 0,
    keeps_bytes: bool = False,
    fills_headers: bool = False,
    tuning: ReadTuning = DEFAULT,
    shows: Callable[[int], Shown | None] | None = None,
    mixes: Callable[[], bool] | None = None,
) -> Generator[Section | Damage | Patches]:
    """The same for a caller that takes several batches with damage between them as one item, wherever `gathers` allows it.

    With `keeps_bytes`, large sections keep their bytes until the next item is asked for; with `fills_headers`, they have the
    columns of their headers.

    A caller that can show batches from a position on by itself does so in `shows`, if they are intact and in order; the walk
    continues after them. It returns None if there are none.

    Wherever `mixes` allows it, a section may have a MixedSummary: of messages and of batches of magic 2 that alternate.
    """
    items = _Walk(source, start, base_offset, next_base_offset, tuning, gathers, shows, mixes)
    if kernel.native is None or not source.is_direct:
        yield from items.by_windows(source.size)
        return
    from kdump.reading.read_ahead import ReadAhead

    with ReadAhead(source, start, threads, tuning, keeps_bytes=keeps_bytes, fills_headers=fills_headers) as read_ahead:
        yield from items.by_stretches(read_ahead)


class _Walk:
    """One walk through a log. Each step takes `position` on by at least one byte."""

    def __init__(
        self,
        source: Source,
        start: int,
        base_offset: int | None,
        next_base_offset: int | None,
        tuning: ReadTuning,
        gathers: Callable[[], bool],
        shows: Callable[[int], Shown | None] | None,
        mixes: Callable[[], bool] | None,
    ) -> None:
        recent = RecentBytes(source, tuning)
        self._source = recent
        self._tuning = tuning
        self._position = start
        budget = search.Budget(source.size - start + tuning.free_crc_bytes, tuning.free_tries, kept_crc_bytes=_KEPT_CRC_BYTES)
        self._search = search.Search(recent, budget, start=start, tuning=tuning)
        # what large batches claim is read again for each of them; the search has a budget of its own
        self._for_large = search.Budget(_TIMES_CHECKED * (source.size - start) + tuning.free_crc_bytes)
        self._may_check = self._for_large.spend
        self._order = Order(recent, base_offset, next_base_offset, tuning, may_check=self._may_check)
        self._ends = spans.HeadersAhead(self._search)
        self._lone = LoneBatches(recent, start, tuning)
        self._patches: PatchWalk | None = None
        if kernel.native is not None:
            self._patches = PatchWalk(kernel.native, self._search, self._ends, self._order, self._for_large, tuning)
        self._gathers = gathers
        self._shows = shows
        self._mixes = mixes
        self._next_inside = 0  # where batches begin that the next damaged batch claims, and does not hold

    def by_stretches(self, read_ahead: ReadAhead) -> Iterator[Section | Damage | Patches]:
        """Everything up to the end of the log: in large stretches, or in windows where something is wrong."""
        size = self._source.size
        while self._position < size:
            if self._shows is not None and self._order.continues(self._position):
                shown = self._shows(self._position)
                if shown is not None:
                    self._order.take_on(shown.last)
                    self._position = shown.end
                    continue
            chunk = read_ahead.at(self._position)
            if chunk is not None and self._order.takes(chunk.summary):
                yield Section(chunk, None, self._order.nested_end)
                self._position = chunk.summary.end
            else:
                read_ahead.rest(self._position)
                yield from self.by_windows(read_ahead.next_try)

    def by_windows(self, until: int) -> Iterator[Section | Damage | Patches]:
        """Everything up to the end of the log, or up to the first batch after `until`."""
        source, tuning = self._source, self._tuning
        window_size, is_first = tuning.window_bytes, True
        while self._position < min(until, source.size):
            if self._order.is_in_doubt and not is_first:  # the first window may hold what claims to be large
                yield from self._lone_batches(until)
                if self._position >= min(until, source.size):
                    return
            log = Log(
                source,  # type: ignore[arg-type]  # a walk needs only path, size and read
                self._position,
                window_size=window_size,
                max_window_size=tuning.window_bytes,
                may_check=self._may_check,
            )
            window_size, is_first = tuning.near_bytes, False
            fault: CorruptData | None = None
            try:
                for chunk in self._chunks(log):
                    if chunk.summary is not None and self._order.takes(chunk.summary):
                        for section in self._sections(chunk):
                            yield section
                            assert section.chunk.summary is not None
                            self._position = section.chunk.summary.end
                        if self._position >= until:
                            return
                        continue
                    count = self._rows_in_step(chunk)
                    if count:
                        part = chunk.slice(0, count) if count < len(chunk) else chunk
                        yield Section(part, self._order.statuses(part), self._order.nested_end)
                        self._position = part.batches["position"][-1] + part.batches["size"][-1]
                    if count < len(chunk):
                        fault = _derailed(chunk, count)
                        break
            except CorruptData as found:
                fault = found
            if self._position < source.size:
                yield from self._go_on(fault)

    def _chunks(self, log: Log) -> Iterator[Chunk]:
        """The chunks of a log from here on; runs of alternating magics together only if they are in order."""
        for chunk in log.summarized_chunks(self._order.wants_summary, mixes=kernel.native is not None):
            if isinstance(chunk, MixedChunk) and not self._order.may_take(chunk.summary):
                yield from chunk.parts()
            else:
                yield chunk

    def _sections(self, chunk: Chunk) -> Iterator[Section]:
        """A summarized chunk, all of whose batches are intact; runs of alternating magics one by one if that is wanted."""
        section = Section(chunk, None, self._order.nested_end)
        if isinstance(chunk, MixedChunk) and not (self._mixes is not None and self._mixes()):
            yield from section.parts()
        else:
            yield section

    def _lone_batches(self, until: int) -> Iterator[Section | Damage | Patches]:
        """Small batches that stand alone, with the damage after each, from `position` on; nothing if none stands there."""
        under_way: PatchesUnderWay | None = None
        while self._position < min(until, self._source.size) and self._order.is_in_doubt:
            found = self._patches.at(self._position, until) if self._patches is not None and self._may_gather() else None
            if found is not None:
                if under_way is not None:
                    yield under_way.patches()
                    under_way = None
                patches, self._position = found
                yield patches
                continue
            batch, nested_end = self._lone.at(self._position), self._order.nested_end
            if batch is None or 0 < batch.claimed_size <= self._for_large.crc_bytes:
                break  # what follows has to be walked, or its CRC computed
            fault = CorruptData("resync-budget", "") if batch.claimed_size else None
            status = self._order.judge_found(batch.extent, batch.position)
            if under_way is not None and not under_way.takes(batch, status, nested_end):
                yield under_way.patches()
                under_way = None
            if status != SALVAGED or not self._gathers():
                yield batch.section(status, nested_end)
            elif under_way is None:
                under_way = PatchesUnderWay(batch, nested_end)
            else:
                under_way.add(batch)
            self._position += batch.size
            for item in self._go_on(fault):
                if under_way is None:
                    yield item
                elif isinstance(item, Damage):
                    under_way.add_damage(item)
                else:
                    yield under_way.patches()
                    yield item
                    under_way = None
        if under_way is not None:
            yield under_way.patches()

    def _may_gather(self) -> bool:
        """Whether the batch at `position` may come with others that stand alone."""
        return self._order.salvages_next and self._gathers()

    def _rows_in_step(self, chunk: Chunk) -> int:
        """The number of leading batches that are valid, or whose length leads to a batch or the end of the file."""
        valid = chunk.batches["isvalid"]
        if False not in valid:
            return len(valid)
        positions, sizes = chunk.batches["position"], chunk.batches["size"]
        for row in [row for row, is_valid in enumerate(valid) if not is_valid]:
            end = positions[row] + sizes[row]
            goes_on = row + 1 < len(valid) and valid[row + 1]
            if not (goes_on or self._leads_on(end, chunk.is_legacy)) or self._order.distrusts(positions[row]):
                return row
            if self._repaired_size(positions[row], end):
                return row
            before = extents_of(chunk.slice(row - 1, row))[0] if row and valid[row - 1] else None
            self._next_inside = self._first_inside(positions[row], end, before)
            if self._next_inside:
                return row
        return len(valid)

    def _first_inside(self, start: int, end: int, before: Extent | None) -> int:
        """Where the first batches start that lie in the span a damaged batch claims but are not its payload; 0 for nowhere.

        They fill the span to its end without a gap, and their offsets continue from the damaged batch, or up to the next one.
        If the offsets of the damaged batch reach up to the next one, the batch holds what it claims. Leader epochs continue
        from the batch `before`, if that is valid.
        """

        def fits(extent: Extent) -> bool:
            return extent[0] > own[0] and self._order.fits(extent) and not (before is not None and is_lower(extent, before))

        header_bytes = self._source.read(start, BATCH_HEADER_SIZE)
        own, following = extent_of(header_bytes), self._order.header_at(end)
        if following is not None and own[1] + 1 == following[0]:
            return 0
        found = spans.run_up_to(self._search, end, start + HEADER_UP_TO_MAGIC, is_legacy=header_bytes[MAGIC_AT] < 2, fits=fits)
        if found is None:
            return 0
        position, first, last = found
        if following is None:
            return position if first == own[1] + 1 else 0
        leads_to_next = last[1] < following[0] and not is_lower(following, last)
        return position if leads_to_next and (first == own[1] + 1 or last[1] + 1 == following[0]) else 0

    def _leads_on(self, position: int, is_legacy: bool) -> bool:
        """Whether a batch may start here, only zeros follow, or the file ends. Old messages follow only each other."""
        source = self._source
        if position == source.size:
            return True
        header_bytes = source.read(position, BATCH_HEADER_SIZE)
        if self._starts_batch(position, header_bytes):
            return is_legacy or header_bytes[MAGIC_AT] >= 2
        return _is_zero(header_bytes) and zeros.end(source, position, self._tuning.window_bytes) == source.size

    def _starts_batch(self, position: int, header_bytes: bytes) -> bool:
        """Whether this header is plausible, or the CRC of its batch fits."""
        rest = self._source.size - position
        if is_plausible(header_bytes, rest):
            return True
        may_be = len(header_bytes) > MAGIC_AT and may_be_header(header_bytes, rest)
        return may_be and self._search.is_intact(position, header_bytes)

    # Going on

    def _go_on(self, fault: CorruptData | None) -> Iterator[Section | Damage]:
        """Report the damage at `position`, and move on to the next batch."""
        start, source = self._position, self._source
        inside, self._next_inside = self._next_inside, 0
        header_bytes = source.read(start, BATCH_HEADER_SIZE)
        if _is_zero(header_bytes[:HEADER_UP_TO_MAGIC]):
            yield from self._step_over_zeros()
            return
        if source.size - start <= HEADER_UP_TO_MAGIC:
            self._position = source.size
            yield Damage(
                start, source.size, "torn-header", "the file ends inside a batch: too few bytes for its header", resync=END
            )
            return
        if fault is not None and fault.code == "resync-budget":
            yield from self._step_over_unchecked(header_bytes)
            return
        is_header = is_header_but_for(header_bytes, source.size - start)
        damage, claimed_end = self._named(header_bytes, fault, is_header=is_header)
        is_stepped_over = fault is not None and fault.code in ("magic-negative", "codec-unknown")
        if (
            is_stepped_over
            and claimed_end
            and not self._order.distrusts(start)
            and self._leads_on(claimed_end, header_bytes[MAGIC_AT] < 2)
        ):
            damage.end, damage.resync = claimed_end, BY_LENGTH
            self._position = claimed_end
            yield damage
            return
        size = self._repaired_size(start) if is_header else 0
        if size:
            is_negative = header_bytes[MAGIC_AT] >= _NEGATIVE
            yield self._of_negative_magic(header_bytes, size) if is_negative else self._repaired(header_bytes, size)
            return
        if inside:
            damage.end = inside
            damage.message, claimed_end = LEADS_OVER_BATCHES, 0
        else:
            damage.end = self._search.next_intact(start + 1)
        self._position = damage.end
        if damage.code in _PAST_THE_END and damage.end < source.size:
            absurd = length_past_end(start, damage.end, batch_length(header_bytes))
            damage.code, damage.message = absurd.code, absurd.message
        damage.resync = END if damage.end >= source.size else BY_SCAN
        self._order.doubt(claimed_end if claimed_end - start <= LONGEST_BATCH else 0)
        yield from self._divided(damage)

    def _step_over_unchecked(self, header_bytes: bytes) -> Iterator[Damage]:
        """Go on after a large batch whose CRC was not computed, because too many claim to be large."""
        start = self._position
        self._position = self._search.next_intact(start + 1)
        self._order.doubt(start + batch_size(header_bytes))
        self._search.budget.gave_up = True
        resync = END if self._position >= self._source.size else BY_SCAN
        yield from self._divided(Damage(start, self._position, "resync-budget", "", resync=resync))

    def _step_over_zeros(self) -> Iterator[Damage]:
        start, source = self._position, self._source
        zeros_end = zeros.end(source, start, self._tuning.window_bytes)
        # a batch may begin with zeros
        end = source.size if zeros_end == source.size else self._search.next_intact(max(start + 1, zeros_end - LOG_OVERHEAD))
        self._position = end
        self._order.doubt(0)
        yield _zeros(start, min(zeros_end, end), source.size)
        if zeros_end < end:
            yield from self._divided(garbage(zeros_end, end, resync=END if end == source.size else BY_SCAN))

    def _named(self, header_bytes: bytes, fault: CorruptData | None, *, is_header: bool) -> tuple[Damage, int]:
        """The damage that starts with this header, without its end, and where the batch claims to end (0: nowhere)."""
        start = self._position
        rest = self._source.size - start
        length, magic = batch_length(header_bytes), header_bytes[MAGIC_AT]
        claimed_end = start + LOG_OVERHEAD + length if 0 < length <= rest - LOG_OVERHEAD else 0
        if fault is not None and fault.code in ("magic-negative", "codec-unknown"):
            code = "bad-magic" if fault.code == "magic-negative" else fault.code
            damage = Damage(start, start, code, fault.message, fault.row, fault.through)
            if code == "codec-unknown" and not fault.row.isvalid:
                damage.code = "crc-mismatch"
            if code == "bad-magic" and not is_header:
                return Damage(start, start, "garbage-region", GARBAGE, fault.row, fault.through, is_batch=False), claimed_end
            return damage, claimed_end
        if not is_header:
            row, through = (fault.row, fault.through) if fault is not None else (None, "")
            return Damage(start, start, "garbage-region", GARBAGE, row, through, is_batch=False), 0
        if length < 0:
            return negative_length(start, start, length), 0
        if length < (MIN_BATCH_LENGTH if magic >= 2 else MIN_RECORD_OVERHEAD + 8 * magic):
            return small_length(start, start, length), 0
        if not claimed_end:
            claimed_end = start + LOG_OVERHEAD + length
            message = f"{claim(length)}, of which {rest - LOG_OVERHEAD:,} are there: the file may be cut off"
            code = "torn-tail" if length <= LONGEST_BATCH else "batch-length-absurd"
            return Damage(start, start, code, message), claimed_end
        message = "the CRC of a record batch does not match, and its length leads to no batch"
        if fault is not None and fault.row is not None:
            return Damage(start, start, "crc-mismatch", message, fault.row, fault.through), claimed_end
        return Damage(start, start, "crc-mismatch", message), claimed_end

    def _divided(self, damage: Damage) -> Iterator[Damage]:
        """A damaged range, divided by the runs of zeros in it. Nothing of it was examined if the search gave up."""
        if self._search.budget.take_gave_up():
            given_up = unchecked(damage.start, damage.end)
            damage.code, damage.status, damage.message = given_up.code, given_up.status, given_up.message
            yield damage
            return
        end, resync = damage.end, damage.resync
        for zeros_start, zeros_end in zeros.runs(self._source, damage.start, end, self._tuning.window_bytes):
            if zeros_start > damage.start:
                damage.end, damage.resync = zeros_start, BY_SCAN
                yield damage
            yield _zeros(zeros_start, zeros_end, self._source.size)
            damage = garbage(zeros_end, end, resync=resync)
        if damage.start < end:
            damage.end, damage.resync = end, resync
            yield damage

    # Wrong lengths

    def _repaired_size(self, position: int, claimed_end: int | None = None) -> int:
        """The size at which the CRC of this batch fits, or 0. If its claimed length leads on, only smaller sizes are tried."""
        header_bytes = self._source.read(position, BATCH_HEADER_SIZE)
        end = spans.fitting_end(self._search, self._ends, position, header_bytes, claimed_end)
        return end - position if end else 0

    def _repaired(self, header_bytes: bytes, size: int) -> Section:
        """The batch at `position` with its length corrected."""
        start = self._position
        length = size - LOG_OVERHEAD
        patched = header_bytes[:LENGTH_AT] + length.to_bytes(4, "big") + header_bytes[LOG_OVERHEAD:]
        window = b""
        if size <= self._tuning.window_bytes:
            window = patched[:size] + self._source.read(start + len(patched), max(0, size - len(patched)))
        if header_bytes[MAGIC_AT] >= 2:
            fields: tuple[int, ...] = BATCH_HEADER.unpack(patched)
            table = record_batch.table_of_batches([fields], [start], [True])  # type: ignore[list-item]  # 13 fields
        else:
            timestamp = (
                int.from_bytes(patched[MESSAGE_TIMESTAMP_AT:MESSAGE_HEADER_SIZE], "big", signed=True)
                if header_bytes[MAGIC_AT]
                else record_batch.NO_TIMESTAMP
            )
            fields = (*MESSAGE_HEADER.unpack_from(patched), timestamp)
            table = record_batch.table_of_messages([fields], [start], [True])  # type: ignore[list-item]  # 6 fields
        chunk = Chunk(table, [fields], [0], window, header_bytes[MAGIC_AT] < 2)
        status = SALVAGED if header_bytes[MAGIC_AT] <= KNOWN_MAGIC else DAMAGED
        if status == SALVAGED:
            self._order.take_salvaged(chunk)
        self._position = start + size
        claimed_length = batch_length(header_bytes)
        return Section(chunk, [status], self._order.nested_end, claimed_length if claimed_length != length else None)

    def _of_negative_magic(self, header_bytes: bytes, size: int) -> Damage:
        """The batch at `position`, whose CRC matches with this size and which no reader lists."""
        start, claimed_length = self._position, batch_length(header_bytes)
        length, magic = size - LOG_OVERHEAD, header_bytes[MAGIC_AT] - 0x100
        message, resync = f"magic {magic} does not exist", BY_LENGTH
        if claimed_length != length:
            message += f", and its length says {claimed_length:,} instead of {length:,}"
            resync = BY_REPAIRED_LENGTH
        self._position = start + size
        row = record_batch.RecordBatch.partial(None, batch_offset(header_bytes))
        return Damage(start, start + size, "bad-magic", message, row, "last_offset", resync=resync)


_NEGATIVE = 0x80  # magics from here on, as a byte without sign
_PAST_THE_END = ("torn-tail", "batch-length-absurd")  # of a batch whose length says so
LEADS_OVER_BATCHES = "the CRC of a record batch does not match, and its length leads over batches that go on with its offsets"


def _derailed(chunk: Chunk, row: int) -> CorruptData:
    """The fault of the batch in this row, whose CRC does not fit."""
    return CorruptData("crc-mismatch", "", row=chunk.batches.row(row), through="isvalid")


def _zeros(start: int, end: int, file_size: int) -> Damage:
    if end < file_size:
        return zero_hole(start, end)
    size = end - start
    message = "the last byte of the file is zero" if size == 1 else f"the last {size:,} bytes of the file are zero"
    return Damage(start, end, "zero-tail", message, status=ZERO, resync=END, is_batch=False)


def _is_zero(data: bytes) -> bool:
    return not data.strip(b"\x00")
