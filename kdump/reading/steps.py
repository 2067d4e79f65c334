"""One step of a walk past damage: the batch at a position and its status, or what is damaged there, up to the next batch."""

from __future__ import annotations

from typing import NamedTuple

from kdump.binary import zeros
from kdump.binary.batch_header import (
    BATCH_HEADER,
    BATCH_HEADER_SIZE,
    HEADER_UP_TO_MAGIC,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAGIC_AT,
    MIN_BATCH_LENGTH,
    MIN_RECORD_OVERHEAD,
    batch_length,
    batch_offset,
    batch_size,
)
from kdump.errors import CorruptData
from kdump.formats.record_batch import RecordBatch, message_header
from kdump.reading import damages, search, spans
from kdump.reading.found_batches import KNOWN_MAGIC, FoundBatch, FoundBatches
from kdump.reading.items import BY_LENGTH, BY_REPAIRED_LENGTH, BY_SCAN, DAMAGED, END, INTACT, SALVAGED, Damage, Section
from kdump.reading.plausible import LONGEST_BATCH, is_header_but_for, is_plausible, may_be_header
from kdump.reading.search import Search, evidence
from kdump.reading.trust import MOST_FOLLOWING, extent_of, is_lower
from kdump.reading.wrapped import WrapperContents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kdump.binary.source import SizedReadable
    from kdump.reading.trust import Extent, Order
    from kdump.reading.tuning import ReadTuning

_KEPT_CRC_BYTES = 16 << 20  # of those fed to checksums, for batches that are small
_BYTES_PER_FREE_TRY = 16  # of the log, for each header that may be examined: four for each of the smallest batches
_TIMES_CHECKED = 4  # may each byte be read on average for the CRCs of large batches
_NEGATIVE = 0x80  # magics from here on, as a byte without sign
_PAST_THE_END = ("torn-tail", "batch-length-absurd")  # of a batch whose length says so
_STEPPED_OVER = ("magic-negative", "codec-unknown")  # faults of headers whose length may be right


class Step(NamedTuple):
    """What one step found: a `batch` with its `status`, or else `damages`; and the position where the next step starts.

    `claimed_length` is the wrong length of a batch whose header is otherwise given corrected.
    """

    end: int
    batch: FoundBatch | None = None
    status: str = ""
    claimed_length: int | None = None
    damages: tuple[Damage, ...] = ()

    def items(self, *, is_nested: bool) -> Sequence[Section | Damage]:
        """What a walk yields of it; `is_nested` says that it lies inside the span that a damaged batch claims."""
        if self.batch is None:
            return self.damages
        return (Section(self.batch.chunk, self.status, is_nested=is_nested, claimed_length=self.claimed_length),)


class Steps:
    """Takes a walk from one position to the next. What it finds depends on the bytes and on the order so far."""

    def __init__(
        self, source: SizedReadable, search: Search, found: FoundBatches, order: Order, tuning: ReadTuning, start: int = 0
    ) -> None:
        """Prepare a walk from `start` on."""
        self._source = source
        self._search = search
        self._found = found
        self._order = order
        self._tuning = tuning
        self.ends = spans.HeadersAhead(search)
        self._zeros = spans.ZerosAtTheEnd(search)
        self.contents = WrapperContents(search, order, start)
        self.damaged: tuple[int, Extent] | None = None
        """Where the last batch ends, if it is damaged, and what it claims."""

    def at(self, position: int) -> Step:
        """The step from this position on, which takes at least one byte."""
        damaged, self.damaged = self.damaged, None
        fault: CorruptData | None = None
        try:
            batch = self._found.at(position)
        except CorruptData as found:
            batch, fault = None, found.with_traceback(None)  # which this frame is in: a cycle for each damage
        if batch is None:
            return self._past(position, fault)
        if batch.is_valid:
            status = self._status(batch, damaged)
            if status == INTACT:
                self.contents.sound_batch = position
            return Step(batch.end, batch=batch, status=status)
        inside = self._first_inside(batch)
        if inside is not None:
            row = batch.chunk.batches.row(0)
            return self._past(position, CorruptData("crc-mismatch", "", row=row, through="isvalid"), inside)
        self.damaged = batch.end, batch.extent
        return Step(batch.end, batch=batch, status=DAMAGED)

    def _status(self, batch: FoundBatch, damaged: tuple[int, Extent] | None) -> str:
        """The status of a valid batch; `damaged` is the batch before it, if that is damaged and ends here or before."""
        extent, order = batch.extent, self._order
        if not batch.has_known_magic:
            self.damaged = batch.end, extent
            return DAMAGED

        def following() -> list[Extent]:
            return self._found.extents_from(batch.end, MOST_FOLLOWING)

        if order.is_in_doubt:
            return order.judge_found(extent, batch.position, batch.size, following)
        if damaged is not None and damaged[0] == batch.position and order.fits(damaged[1]) and extent[0] <= damaged[1][0]:
            return SALVAGED  # one of the two headers is wrong
        if not order.is_near(extent, 0) and self._is_claimed_after(batch):
            return SALVAGED  # likewise
        return order.judge(extent, batch.size, following)

    def _is_claimed_after(self, batch: FoundBatch) -> bool:
        """Whether a damaged batch follows this one that claims to be at its offsets, or before it, and fits there."""
        after = self._found.small_at(batch.end)
        if after is None or after.is_valid or not after.has_known_magic:
            return False
        return after.extent[0] <= batch.extent[1] and self._order.fits(after.extent)

    # Batches whose CRC does not fit

    def _first_inside(self, batch: FoundBatch) -> int | None:
        """None if the length of this damaged batch is right: it leads to a batch or to the end of the file.

        Otherwise where batches start inside the span that it claims, 0 if that is not known.
        """
        start, end = batch.position, batch.end
        if self._order.is_in_doubt or not self._leads_on(start, end, batch.is_legacy) or self._repaired_size(start, end):
            return 0
        return self._run_inside(start, end) or None

    def _run_inside(self, start: int, end: int) -> int:
        """Where the first batches start that lie in the span a damaged batch claims but are not its payload; 0 for nowhere.

        They fill the span to its end without a gap, and their offsets continue from the damaged batch, or up to the next one.
        If the offsets of the damaged batch reach up to the next one, the batch holds what it claims.
        """
        header_bytes = self._source.read(start, BATCH_HEADER_SIZE)
        own, following = extent_of(header_bytes), self._order.header_at(end)
        if following is not None and own[1] + 1 == following[0]:
            return 0
        found = spans.run_up_to(
            self._search,
            end,
            start + HEADER_UP_TO_MAGIC,
            is_legacy=header_bytes[MAGIC_AT] < 2,
            fits=lambda extent: extent[0] > own[0] and self._order.fits(extent),
        )
        if found is None:
            return 0
        position, first, last = found
        if following is None:
            return position if first == own[1] + 1 else 0
        leads_to_next = last[1] < following[0] and not is_lower(following, last)
        return position if leads_to_next and (first == own[1] + 1 or last[1] + 1 == following[0]) else 0

    def _leads_on(self, start: int, end: int, is_legacy: bool) -> bool:
        """Whether the length of a damaged batch from `start` to `end` leads to what may be a batch, or to the end of the log.

        Old messages follow only each other. Zeros up to the end of the file end a log as well, unless the length leads over
        other batches to them.
        """
        source = self._source
        if end == source.size:
            return True
        header_bytes = source.read(end, BATCH_HEADER_SIZE)
        if self._starts_batch(end, header_bytes) and not self._is_beside_header(start, end, header_bytes):
            if not is_legacy:
                return header_bytes[MAGIC_AT] >= 2
            return header_bytes[MAGIC_AT] >= 2 or self._ends_with_its_value(start) or self._ends_with_its_value(end)
        if not is_zero(header_bytes) or not self._zeros.follow(start, end):
            return False
        return not self._zeros.hide_batches(start, end, is_legacy=is_legacy, fits=self._order.fits)

    def _is_beside_header(self, start: int, end: int, header_bytes: bytes) -> bool:
        """Whether the header at `end` leads nowhere, but one that starts a few bytes from there does, as after a missing byte."""
        found = self._found.small_at(end)
        if found is not None and found.is_valid or evidence(self._source, end, header_bytes) > 1:
            return False
        near = self._search.candidates(max(start + 1, end - BATCH_HEADER_SIZE), end + BATCH_HEADER_SIZE)
        return any(evidence(self._source, position, beside) > 1 for position, beside in near if position != end)

    def _ends_with_its_value(self, start: int) -> bool:
        """Whether the length of a message of magic 0 or 1 and the sizes of its key and value say the same."""
        return evidence(self._source, start, self._source.read(start, BATCH_HEADER_SIZE)) > 1

    def _starts_batch(self, position: int, header_bytes: bytes) -> bool:
        """Whether this header is plausible, or the CRC of its batch fits."""
        rest = self._source.size - position
        if is_plausible(header_bytes, rest):
            return True
        may_be = len(header_bytes) > MAGIC_AT and may_be_header(header_bytes, rest)
        return may_be and self._search.is_intact(position, header_bytes)

    # Going on

    def _past(self, start: int, fault: CorruptData | None, inside: int = 0) -> Step:
        """The damage at this position, and where the next batch is; `inside` is where batches start in the span it claims."""
        source = self._source
        header_bytes = source.read(start, BATCH_HEADER_SIZE)
        if is_zero(header_bytes[:HEADER_UP_TO_MAGIC]):
            return self._over_zeros(start)
        if source.size - start <= HEADER_UP_TO_MAGIC:
            return Step(source.size, damages=(damages.torn_header(start, source.size),))
        if fault is not None and fault.code == "resync-budget":
            return self._over_unchecked(start, header_bytes)
        is_header = is_header_but_for(header_bytes, source.size - start)
        damage, claimed_end = self._named(start, header_bytes, fault, is_header=is_header)
        is_stepped_over = fault is not None and fault.code in _STEPPED_OVER and claimed_end
        if is_stepped_over and not self._order.is_in_doubt and self._leads_on(start, claimed_end, header_bytes[MAGIC_AT] < 2):
            damage.end, damage.resync = claimed_end, BY_LENGTH
            return Step(claimed_end, damages=(damage,))
        size = self._repaired_size(start) if is_header else 0
        if size:
            return self._repaired(start, header_bytes, size)
        if inside:
            self._search.budget.gave_up = False  # what lies before it was not searched
            damage.end, damage.message, claimed_end = inside, damages.LEADS_OVER_BATCHES, 0
        else:
            damage.end = self._next_intact(start + 1, header_bytes)
        if damage.code in _PAST_THE_END and damage.end < source.size:
            damage = damages.length_past_end(start, damage.end, batch_length(header_bytes))
        damage.resync = END if damage.end >= source.size else BY_SCAN
        if not damage.is_batch or header_bytes[MAGIC_AT] < 2 and not self._ends_with_its_value(start):
            claimed_end = 0  # nothing says that it is not its length that is wrong
        # a header whose magic is wrong as well is none: a page in the wrong place starts inside of one
        is_believed = header_bytes[MAGIC_AT] <= KNOWN_MAGIC and claimed_end - start <= LONGEST_BATCH
        self._order.doubt(claimed_end if is_believed else 0)
        return Step(damage.end, damages=tuple(self._divided(damage)))

    def _over_unchecked(self, start: int, header_bytes: bytes) -> Step:
        """Go on after a large batch whose CRC was not computed, because too many claim to be large."""
        end = self._next_intact(start + 1, header_bytes)
        self._order.doubt(start + batch_size(header_bytes))
        damage = Damage(start, end, "", "", resync=END if end >= self._source.size else BY_SCAN)
        damages.leave_unchecked(damage)
        return Step(end, damages=(damage,))

    def _over_zeros(self, start: int) -> Step:
        source = self._source
        zeros_end = zeros.end(source, start, self._tuning.window_bytes)
        # a batch may begin with zeros
        end = source.size if zeros_end == source.size else self._next_intact(max(start + 1, zeros_end - LOG_OVERHEAD), b"")
        self._order.doubt(0)
        found = [damages.zeros(start, min(zeros_end, end), source.size)]
        if zeros_end < end:
            found += self._divided(damages.garbage(zeros_end, end, resync=END if end == source.size else BY_SCAN))
        return Step(end, damages=tuple(found))

    def _next_intact(self, start: int, damaged: bytes) -> int:
        self._search.budget.gave_up = False  # from here on, it says whether a batch may have been passed over
        found = self._search.next_intact(start)
        while contents_end := self.contents.end_at(found, damaged):
            found = self._search.next_intact(contents_end)
        return found

    def _named(self, start: int, header_bytes: bytes, fault: CorruptData | None, *, is_header: bool) -> tuple[Damage, int]:
        """The damage that starts with this header, without its end, and where the batch claims to end (0: nowhere)."""
        rest = self._source.size - start
        length, magic = batch_length(header_bytes), header_bytes[MAGIC_AT]
        claimed_end = start + LOG_OVERHEAD + length if 0 < length <= rest - LOG_OVERHEAD else 0
        if fault is not None and fault.code in _STEPPED_OVER:
            code = "bad-magic" if fault.code == "magic-negative" else fault.code
            damage = Damage(start, start, code, fault.message, fault.row, fault.through)
            if code == "codec-unknown" and not fault.row.isvalid:
                damage.code = "crc-mismatch"
            if code == "bad-magic" and not is_header:
                damage = damages.garbage(start, start, row=fault.row, through=fault.through)
            return damage, claimed_end
        row, through = (None, "") if fault is None or fault.row is None else (fault.row, fault.through)
        if not is_header:
            return damages.garbage(start, start, row=row, through=through), 0
        if length < 0:
            return damages.negative_length(start, start, length), 0
        if length < (MIN_BATCH_LENGTH if magic >= 2 else MIN_RECORD_OVERHEAD + 8 * magic):
            return damages.small_length(start, start, length), 0
        if not claimed_end:
            return damages.torn(start, length, rest - LOG_OVERHEAD), start + LOG_OVERHEAD + length
        return damages.wrong_crc(start, start, row, through), claimed_end

    def _divided(self, damage: Damage) -> Iterator[Damage]:
        """A damaged range, divided by the runs of zeros in it. Nothing of it was examined if the search gave up."""
        if self._search.budget.take_gave_up():
            damages.leave_unchecked(damage)
            yield damage
            return
        end, resync = damage.end, damage.resync
        for zeros_start, zeros_end in zeros.runs(self._source, damage.start, end, self._tuning.window_bytes):
            if zeros_start > damage.start:
                damage.end, damage.resync = zeros_start, BY_SCAN
                yield damage
            yield damages.zeros(zeros_start, zeros_end, self._source.size)
            damage = damages.garbage(zeros_end, end, resync=resync)
        if damage.start < end:
            damage.end, damage.resync = end, resync
            yield damage

    # Wrong lengths

    def _repaired_size(self, position: int, claimed_end: int | None = None) -> int:
        """The size at which the CRC of this batch fits, or 0. If its claimed length leads on, only smaller sizes are tried."""
        header_bytes = self._source.read(position, BATCH_HEADER_SIZE)
        end = spans.fitting_end(self._search, self.ends, position, header_bytes, claimed_end)
        return end - position if end else 0

    def _repaired(self, start: int, header_bytes: bytes, size: int) -> Step:
        """The batch at this position with its length corrected; of a negative magic, which no reader lists, the damage."""
        length, magic = size - LOG_OVERHEAD, header_bytes[MAGIC_AT]
        if magic >= _NEGATIVE:
            return Step(start + size, damages=(self._of_negative_magic(start, header_bytes, size),))
        patched = header_bytes[:LENGTH_AT] + length.to_bytes(4, "big") + header_bytes[LOG_OVERHEAD:]
        data: bytes | None = None
        if size <= self._tuning.window_bytes:
            data = patched[:size] + self._source.read(start + len(patched), max(0, size - len(patched)))
        header: tuple[int, ...] = BATCH_HEADER.unpack(patched) if magic >= 2 else message_header(patched)
        batch = FoundBatch(header, start, size, data, is_legacy=magic < 2, is_valid=True)
        status = SALVAGED if batch.has_known_magic else DAMAGED
        if status == SALVAGED:
            self._order.take_salvaged(batch.extent, batch.size)
        claimed_length = batch_length(header_bytes)
        return Step(batch.end, batch=batch, status=status, claimed_length=claimed_length if claimed_length != length else None)

    def _of_negative_magic(self, start: int, header_bytes: bytes, size: int) -> Damage:
        """A batch whose CRC matches with this size and which no reader lists."""
        claimed_length = batch_length(header_bytes)
        length, magic = size - LOG_OVERHEAD, header_bytes[MAGIC_AT] - 0x100
        message, resync = damages.magic_message(magic), BY_LENGTH
        if claimed_length != length:
            message += f", and its length says {claimed_length:,} instead of {length:,}"
            resync = BY_REPAIRED_LENGTH
        row = RecordBatch.partial(None, batch_offset(header_bytes))
        return Damage(start, start + size, "bad-magic", message, row, "last_offset", resync=resync)


def steps_of_walk(source: SizedReadable, order: Order, start: int, tuning: ReadTuning) -> Steps:
    """What takes a walk that began at `start` past damage, with the budgets for all damage of the log."""
    size = source.size - start
    of_small = search.SMALL_BATCH_TIMES * size
    tries = tuning.free_tries + size // _BYTES_PER_FREE_TRY
    of_large = _TIMES_CHECKED * size + tuning.free_crc_bytes
    budget = search.Budget(
        size + tuning.free_crc_bytes, tries, kept_crc_bytes=_KEPT_CRC_BYTES + of_small, kept_for_likely=of_large
    )
    # what large batches claim is read again for each of them; the search has a budget of its own
    for_large = search.Budget(of_large, kept_for_likely=of_large)
    looked = Search(source, budget, start=start, tuning=tuning)
    return Steps(source, looked, FoundBatches(source, start, tuning, for_large), order, tuning, start)


def is_zero(data: bytes) -> bool:
    """Whether all bytes are zero."""
    return not data.strip(b"\x00")
