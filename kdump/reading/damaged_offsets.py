"""The offsets that cannot be read because of damage, noted while a log is walked."""

from __future__ import annotations

from collections import deque
from itertools import pairwise

from kdump.binary.arithmetic import differ_in_a_bit, with_a_bit_flipped
from kdump.binary.codecs import CODECS, NONE
from kdump.reading.items import DAMAGED, Damage
from kdump.reading.trust import MOST_FOLLOWING, SEGMENT_REACH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.reading.items import Section

FOREVER = 0x7FFFFFFFFFFFFFFF
"""The next offset where no intact batch follows."""

_MAX_KEPT = 50_000  # ranges of a log: some 10 MiB


class DamagedRange:
    """A byte range of a log, `end` exclusive: a damaged batch, or bytes that are not a batch.

    `offset` is the first offset that cannot be read because of it, `next_offset` the first one of the next intact batch.
    `claimed` is the offset in its header, if it has one, and `count` how many offsets it needs by that, FOREVER if that is not
    known. `log` is the path of the log, where there are several.
    """

    def __init__(
        self,
        start: int,
        end: int,
        is_batch: bool,
        offset: int,
        next_offset: int = FOREVER,
        claimed: int | None = None,
        count: int = FOREVER,
    ) -> None:
        self.start = start
        self.end = end
        self.is_batch = is_batch
        self.offset = offset
        self.next_offset = next_offset
        self.claimed = claimed
        self.count = count if is_batch else 0
        self.log = ""


class Stray(DamagedRange):
    """A batch whose checksum fits, and whose header claims offsets, from `first` to `last`, which those around it contradict.

    What these leave room for is from `offset` to `next_offset`, from `lowest` on if it may be one of these that is wrong: then
    `doubted` is the first offset of a batch beside a gap, if one bit of it would fill that. `is_alone` if no other such batch
    stands there, `fills_room` if they are as many offsets as there is room for. `is_last` if nothing but the only gap before it
    speaks against it, at the end of a log in which other offsets are wrong.
    """

    def __init__(self, start: int, end: int, first: int, last: int) -> None:
        super().__init__(start, end, True, first, count=max(last - first + 1, 1))
        self.first = self.lowest = first
        self.last = last
        self.is_alone = self.fills_room = self.is_last = False
        self.doubted: int | None = None

    @property
    def is_misplaced(self) -> bool:
        """Whether only its own offset seems to be wrong: it fills what there is room for, or fits there but for one bit."""
        if self.offset == self.next_offset:
            return False
        most = self.next_offset - self.count
        fits_in_a_bit = with_a_bit_flipped(self.first, self.offset, most)
        return self.fills_room or self.is_alone and (self.offset == most or bool(fits_in_a_bit))


class DamagedOffsets:
    """The damaged ranges of one log, in order. It takes each item of its walk, at least from the last before damage on.

    `strays` are batches out of line, in order, once the walk has ended.
    """

    def __init__(self, base_offset: int) -> None:
        self.strays: list[Stray] = []
        self._base_offset = self._expected = base_offset
        # the first offset that is missing before some of the last batches in line, and that of the batch
        self._gaps: deque[tuple[int, int]] = deque(maxlen=MOST_FOLLOWING)
        self._after_damaged = base_offset  # the offset after what has come, if the header of a damaged wrapper is right
        self._is_after_message = False  # of magic 0 or 1: the header of a wrapper has the last of its offsets
        self._is_after_wrapper = False
        # where the last batch in line starts and ends, its first and last offset
        self._last: tuple[int, int, int, int] | None = None
        self._gaps_beside = 0  # between batches in line with nothing between them
        self._gap_beside = 0, 0  # the last of these, as in `_gaps`
        self._ranges: list[DamagedRange] = []
        self._open: list[DamagedRange] = []  # since the last batch that is in line

    def __len__(self) -> int:
        return len(self._ranges) + len(self.strays) + len(self._open)

    @property
    def is_too_long(self) -> bool:
        """Whether there are more ranges than a reader should keep."""
        return len(self) > _MAX_KEPT

    def take(self, item: Section | Damage) -> None:
        """Note the next item of the walk."""
        if isinstance(item, Damage):
            self._note_damage(item)
            return
        if item.summary is not None:
            summary = item.summary
            self._last = summary.positions[-1], summary.end, summary.first_offsets[-1], summary.last_offset
            self._end_ranges(summary.first_offset)
            self._expect(summary.first_offset, summary.last_offset + 1)
            if summary.gaps:
                firsts, lasts = summary.first_offsets[-MOST_FOLLOWING:], summary.last_offsets[-MOST_FOLLOWING:]
                self._gaps.extend((last + 1, first) for last, first in zip(lasts, firsts[1:], strict=False) if last + 1 < first)
                self._gaps_beside += summary.gaps
                self._gap_beside = self._gaps[-1] if self._gaps else (0, 0)
            self._is_after_message = item.chunk.is_legacy
            self._is_after_wrapper = item.chunk.is_legacy and summary.codecs != 1 << NONE
            return
        self._take_batch(item)

    def _take_batch(self, section: Section) -> None:
        """Note a single batch."""
        batches, is_legacy = section.chunk.batches, section.chunk.is_legacy
        start, last = batches["position"][0], batches["last_offset"][0]
        first = last if is_legacy else batches["base_offset"][0]
        end = start + batches["size"][0]
        is_wrapper = is_legacy and batches["compresscodec"][0] != CODECS[NONE]
        if section.status == DAMAGED or section.claimed_length is not None:
            offset, count = first, last - first + 1
            # the header of a wrapper has the last of its offsets; that it is not compressed may be wrong
            if is_wrapper or is_legacy and self._is_after_wrapper:
                offset, self._after_damaged, count = self._after_damaged, first + 1, 0
            self._open.append(DamagedRange(start, end, True, offset, claimed=first, count=count if count > 0 else FOREVER))
            return
        if section.is_intact:
            self._last = start, end, first, last
            self._end_ranges(first)
            self._expect(first, last + 1)
        else:
            self._open.append(Stray(start, end, first, last))
        if section.is_intact or first >= self._expected:
            self._is_after_message, self._is_after_wrapper = is_legacy, is_wrapper

    def ranges(self, end: int | None = None) -> list[DamagedRange]:
        """All damaged ranges, once the walk has ended; `end` is an offset that the log does not reach, if one is known."""
        if self._open:
            self._end_ranges(FOREVER if end is None else end)
        self._doubt_last()
        return self._ranges

    def _doubt_last(self) -> None:
        """Call the last batch out of line if one bit of its offset makes the only gap between batches, and others are wrong."""
        last, self._last = self._last, None
        gap = self._gap_beside
        is_only_gap = last is not None and self._gaps_beside == 1 and gap[1] == last[2]
        if last is not None and is_only_gap and self.strays and differ_in_a_bit(*gap):
            stray = Stray(*last)
            stray.offset = stray.lowest = gap[0]
            stray.next_offset = max(gap[1], gap[0] + stray.count)
            stray.is_last = True
            self.strays.append(stray)

    @property
    def log_end(self) -> int:
        """The offset after the last batch in line, or the base offset, once the walk has ended."""
        return self._expected

    def _expect(self, first: int, offset: int) -> None:
        """Go on after a batch in line, from its first offset to the one after it."""
        if self._expected < first:
            self._gaps.append((self._expected, first))
        self._expected = self._after_damaged = offset

    def _note_damage(self, damage: Damage) -> None:
        claimed = None if self._is_after_message else damage.claimed_offset
        offset = self._expected if claimed is None else claimed
        self._open.append(DamagedRange(damage.start, damage.end, damage.is_batch, offset, claimed=claimed))

    def _end_ranges(self, offset: int) -> None:
        """Note what lies before a batch in line with this offset.

        Batches that were found there are in line themselves if they lie between their neighbours, and either no damaged header
        contradicts them, or they leave room for what the others have, as a batch after these may say. Where some contradict each
        other, one is in line only if the others have as many offsets as it leaves on one side.
        """
        ranges, self._open = self._open, []
        limit = offset if offset < FOREVER else self._base_offset + SEGMENT_REACH
        if not any(isinstance(each, Stray) for each in ranges):
            self._close(ranges, offset, limit)
            return
        extents = [
            (self._expected - 1, self._expected - 1),
            *((each.first, each.last) for each in ranges if isinstance(each, Stray)),
        ]
        are_in_order = all(before[1] < first <= last < limit for before, (first, last) in pairwise(extents))
        claims = [each.claimed for each in ranges]
        trusted = [claim if claim is not None and self._expected <= claim < limit else None for claim in claims]
        lowest_after, needed_after = [offset], [0]
        for each, claim in zip(reversed(ranges), reversed(trusted), strict=True):
            lowest_after.append(lowest_after[-1] if claim is None else min(claim, lowest_after[-1]))
            needed_after.append(needed_after[-1] + each.count)
        done = needed = 0
        highest = self._expected - 1
        for row, (each, claim) in enumerate(zip(ranges, trusted, strict=True), 1):
            needed += each.count
            if claim is not None:
                highest = max(highest, claim)
            if not isinstance(each, Stray) or not self._expected <= each.first <= each.last < limit:
                continue
            is_before_others = each.last < lowest_after[-row - 1]
            is_agreed = highest < each.first and is_before_others
            room, room_after = each.first - self._expected, offset - each.last - 1
            needed_before, needed_here = needed - each.count, needed_after[-row - 1]
            has_room = needed_before <= room and needed_here <= room_after and (is_before_others or offset < FOREVER)
            is_counted = needed_before == room or needed_here == room_after
            if is_counted or are_in_order and (is_agreed or has_room):
                self._close(ranges[done : row - 1], each.first, each.first)
                self._expect(each.first, each.last + 1)
                done, needed, highest = row, 0, each.last
        self._close(ranges[done:], offset, limit)

    def _close(self, ranges: list[DamagedRange], offset: int, limit: int) -> None:
        """Note ranges between two batches in line.

        The offsets that damaged batches claim are trusted if they lie between those, and no batch out of line contradicts them.
        Where a batch out of line has no room, or would fit into a gap shortly before, what stands after the gap may be wrong.
        """
        if not ranges and self._expected < offset:
            self._gaps_beside, self._gap_beside = self._gaps_beside + 1, (self._expected, offset)
        strays = [each for each in ranges if isinstance(each, Stray)]
        room_end = offset if offset < FOREVER else self._expected + sum(stray.count for stray in strays)
        trusted_to = min([limit, *(stray.first for stray in strays if stray.first >= self._expected)])
        needed = sum(each.count for each in ranges)
        for each in ranges:
            each.next_offset = offset
            if isinstance(each, Stray):
                each.offset, each.next_offset, each.is_alone = self._expected, room_end, len(strays) == 1
                has_room = room_end - self._expected >= each.count
                each.fills_room = room_end - self._expected == needed
                gaps = [gap for gap in self._gaps if not has_room or gap[0] <= each.first < self._expected]
                each.lowest, first = gaps[-1] if gaps else (self._expected, self._expected)
                each.doubted = first if not has_room and differ_in_a_bit(each.lowest, first) else None
                self.strays.append(each)
            else:
                if not self._expected <= each.offset < trusted_to:
                    each.offset = self._expected
                self._ranges.append(each)
