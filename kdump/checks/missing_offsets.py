"""Finds which offsets are missing because of damaged bytes of a log: those between the batches that are not damaged."""

from __future__ import annotations

import functools
from bisect import bisect_left, bisect_right
from itertools import islice, pairwise

from kdump.binary.batch_header import BATCH_HEADER_SIZE
from kdump.binary.codecs import CODECS, NONE
from kdump.checks.packed_ints import PackedInts
from kdump.reading.largest_order import rows_in_order
from kdump.reading.trust import SEGMENT_REACH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kdump.checks.segment_facts import SegmentFacts
    from kdump.formats.record_batch import RecordBatch

    Offsets = tuple[int, int]
    Claim = tuple[int, int, Offsets]
    """The first and the last of a range."""

MAX_OFFSETS_PER_BYTE = 100  # that damaged bytes may hold: records that are well compressed, or cleaned away
_SMALLEST_RECORD = 7  # bytes of a record of magic 2 without a key, a value and headers
_MOST_OF_A_RUN = 1 << 10  # batches that are looked at
_HIGHEST = (1 << 63) - 1


class MissingOffsets:
    """The offsets of one log that no batch has, once the log was read.

    What stands in the wrong place of the file, such as a stale page, has its offsets all the same. Those that the log cannot have
    are wrong, if there are others, and those of a single batch that has some of the offsets of others. `next_base_offset` is that
    of the next segment, None if it is not known. `claims` are the first byte, the one after the last, and the offsets of damaged
    batches whose lengths are right, in the order of the file.
    """

    def __init__(self, facts: SegmentFacts, next_base_offset: int | None, claims: Sequence[Claim] = ()) -> None:
        self._facts = facts
        self._claims = claims
        self._next = next_base_offset
        firsts, lasts = facts.lowest_offsets, facts.last_offsets
        self._firsts, self._lasts = firsts, lasts
        self._runs: list[tuple[int, int]] | None = None  # rows of batches in order, from one up to another; None for all
        self._last_run = 0  # the first offset of the last of these
        self._bounds = firsts  # first offsets, ascending, up to which offsets may be missing at the end
        base = facts.base_offset or 0
        end = _HIGHEST if facts.base_offset is None else base + SEGMENT_REACH if next_base_offset is None else next_base_offset
        self._end = end
        is_outside = bool(firsts) and (min(firsts) < base or max(lasts) >= end)
        if is_outside or any(first <= last for first, last in zip(islice(firsts, 1, None), lasts)):  # noqa: B905  # one is shorter
            runs = _runs(firsts, lasts)
            runs = [(start, stop) for start, stop in runs if base <= firsts[start] and lasts[stop - 1] < end] or runs
            starts = [(facts.positions[start], (firsts[start], lasts[stop - 1])) for start, stop in runs]
            self._runs, bounds = _in_order(runs, starts, claims, self._is_page)
            self._bounds = PackedInts(bounds)
            self._last_run = firsts[self._runs[-1][0]] if self._runs else 0
            self._firsts, self._lasts = _merged(sorted(_without_wrong(runs, self._runs, [extent for _, extent in starts])))
        self._found: set[Offsets] = set()

    def of(
        self, start: int, end: int, claimed: Offsets | None, header: RecordBatch | None = None, *, is_one_batch: bool
    ) -> tuple[Offsets | None, bool, bool]:
        """The offsets that are missing because of a damaged range of bytes, and whether they are those that it claims.

        None if no more are missing than were said before, or if it is not known. Then whether it may have fewer of those claimed.

        Those that its header claims are believed if no batch has them and they lie next to the batches around the range.
        `is_one_batch` says that the range is a single batch, so that it may have less than all that are missing. The records that
        its `header` claims bound the offsets where nothing else does.
        """
        records = None if header is None else header.count
        facts = self._facts
        row = self._row_at(start)
        row_before, row_after = self._rows_around(row)
        if row_before < row == row_after and self._is_of_batch(row, start):
            return claimed, True, _has_fewer(records, claimed)
        claimed = None if claimed is not None and claimed[0] >= self._end else claimed
        gaps = self._gaps_around(row, row_before, row_after)
        bounded = [gap for gap in gaps if gap[1] < _HIGHEST]
        most = (end - start) * MAX_OFFSETS_PER_BYTE
        if header is not None and header.magic == 2 and header.compresscodec == CODECS[NONE]:
            most = (max(header.size, end - start) - BATCH_HEADER_SIZE) // _SMALLEST_RECORD
        claimed, is_least = _believed(claimed, records, gaps, most)
        if claimed is not None and is_one_batch:
            return claimed, True, is_least
        # other ranges between the same batches may be damaged, too
        begin = facts.positions[row_before] if row_before >= 0 else 0
        room = (facts.positions[row_after] if row_after < len(facts.positions) else facts.size) - begin
        for gap in bounded:
            if gap not in self._found and gap[1] - gap[0] < min(SEGMENT_REACH, room * MAX_OFFSETS_PER_BYTE):
                self._found.add(gap)
                return gap, False, False
        return claimed, claimed is not None, is_least

    def _gaps_around(self, row: int, row_before: int, row_after: int) -> list[Offsets]:
        """The offsets that are missing before the batch of a row: after that of `row_before`, and before that of `row_after`."""
        facts = self._facts
        base = facts.base_offset
        before = facts.last_offsets[row_before] if row_before >= 0 else None if base is None else base - 1
        after = facts.lowest_offsets[row_after] if row_after < len(facts.positions) else self._next
        is_last = row == len(facts.positions)
        gaps = [] if before is None else [self._from(before + 1, is_last=is_last)]
        gaps += [] if after is None else [self._up_to(after - 1)]
        # if a run out of order is there, too, what is missing between those in order may be next to it
        if (row_before, row_after) != (row - 1, row):
            beside = [self._from(facts.last_offsets[row - 1] + 1, is_last=False)] if self._is_of_page(row - 1) else []
            beside += [self._up_to(facts.lowest_offsets[row] - 1)] if self._is_of_page(row) else []
            gaps += [gap for gap in beside if gap is not None and gap[1] < self._last_run]
        return [gap for gap in gaps if gap is not None]

    def settled(self) -> list[Offsets]:
        """The offsets that the damaged batches of the claims have.

        A claim that those of both neighbours contradict is wrong: its batch has what these leave, if they leave any.
        """
        facts, batches = self._facts, self._claims
        claims: list[Offsets] = []
        for at, (start, end, (first, last)) in enumerate(batches):
            row_before, row_after = self._rows_around(facts.positions.bisect_left(start))
            before = facts.last_offsets[row_before] if row_before >= 0 else (facts.base_offset or 0) - 1
            after = facts.lowest_offsets[row_after] if row_after < len(facts.positions) else self._next
            if at + 1 < len(batches) and batches[at + 1][0] == end:
                after = batches[at + 1][2][0]
            if at and batches[at - 1][1] == start:
                claimed, before = batches[at - 1][2], claims[-1][1]
                if claimed[0] == claims[-1][0] and claimed[1] + 1 + last - first + 1 == after:  # only this one's first is wrong
                    claims[-1], before = claimed, claimed[1]
            room = 0 if after is None else after - before - 1
            is_wrong = not before < last <= before + room or first <= before and room == last - first + 1
            claims.append((before + 1, before + room) if is_wrong and room > 0 else (first, last))
        return claims

    @functools.cached_property
    def has_gaps(self) -> bool:
        """Whether offsets are missing where nothing is damaged, as where the cleaner was."""
        facts = self._facts
        offsets = zip(facts.last_offsets, islice(facts.lowest_offsets, 1, None))  # noqa: B905  # one is shorter
        rows = (row for row, (last, first) in enumerate(offsets) if first > last + 1)
        around = ((facts.positions[row], facts.positions[row + 1]) for row in rows)
        is_whole = (bisect_left(facts.damage_starts, start) == bisect_left(facts.damage_starts, end) for start, end in around)
        return facts.last_thinned is not None or any(is_whole)

    def _row_at(self, start: int) -> int:
        """The row of the batch that these bytes are of, or of the next one, if they are damaged."""
        row = self._facts.positions.bisect_right(start)
        return row - 1 if self._is_of_batch(row - 1, start) else row

    def _is_of_batch(self, row: int, start: int) -> bool:
        """Whether the bytes that start here are of the batch in this row, which is intact, though its records cannot be read."""
        facts = self._facts
        if not 0 <= row < len(facts.positions) or start < facts.positions[row]:
            return False
        damage = bisect_right(facts.damage_starts, start) - 1
        return start == facts.positions[row] or damage < 0 or facts.damage_ends[damage] <= facts.positions[row]

    def _is_of_page(self, row: int) -> bool:
        """Whether the batch in this row may be of a page in the wrong place, and not one with a wrong offset.

        So it is if it continues the one before it, if the next one continues it, or if it stands between two damaged ranges.
        """
        facts = self._facts
        firsts, lasts = facts.lowest_offsets, facts.last_offsets
        if not 0 <= row < len(firsts) or firsts[row] < (facts.base_offset or 0):
            return False
        position, following = facts.positions[row], facts.positions[row + 1] if row + 1 < len(firsts) else facts.size
        damage = bisect_right(facts.damage_starts, position)
        follows_damage = damage > 0 and facts.damage_ends[damage - 1] == position
        if follows_damage and damage < len(facts.damage_starts) and facts.damage_starts[damage] < following:
            return True
        return row > 0 and lasts[row - 1] + 1 == firsts[row] or row + 1 < len(firsts) and lasts[row] + 1 == firsts[row + 1]

    def _is_page(self, start: int, end: int) -> bool:
        """Whether two batches of a run stand next to each other, as in a page, and not with damaged bytes between them."""
        positions, damages = self._facts.positions, self._facts.damage_starts
        between = [bisect_left(damages, position) for position in positions[start : min(end, start + _MOST_OF_A_RUN)]]
        return any(before == after for before, after in pairwise(between))

    def _rows_around(self, row: int) -> tuple[int, int]:
        """The rows of the batches in order before and after what stands before this row; one before the first, or after the last.

        Batches that others contradict, such as one with a wrong offset, do not say what is missing beside them.
        """
        if self._runs is None:
            return row - 1, row
        at = bisect_left(self._runs, (row,))  # of the first run that starts there or later
        before = min(row, self._runs[at - 1][1]) - 1 if at else -1
        if at and row < self._runs[at - 1][1]:
            return before, row
        return before, self._runs[at][0] if at < len(self._runs) else len(self._facts.positions)

    def _from(self, offset: int, *, is_last: bool) -> Offsets | None:
        """The missing offsets from this one on; None if no batch has a higher one, except at the end of the file."""
        at = self._firsts.bisect_right(offset)
        if at and self._lasts[at - 1] >= offset:
            return None
        bounds = self._bounds if is_last else self._firsts
        above = bounds.bisect_right(offset)
        last = bounds[above] - 1 if above < len(bounds) else _HIGHEST
        if self._next is not None and offset < self._next:
            last = min(last, self._next - 1)
        return (offset, last) if offset <= last and (is_last or last < _HIGHEST) else None

    def _up_to(self, offset: int) -> Offsets | None:
        """The missing offsets up to this one."""
        at = self._firsts.bisect_right(offset)
        if at and self._lasts[at - 1] >= offset:
            return None
        first = self._lasts[at - 1] + 1 if at else self._facts.base_offset
        return None if first is None or first > offset else (first, offset)


def _believed(claimed: Offsets | None, records: int | None, gaps: Sequence[Offsets], most: int) -> tuple[Offsets | None, bool]:
    """The offsets of what a header claims that lie in one of these gaps, None if they do not; whether it may have fewer of them.

    A batch has an offset for each of its records, or for more that were cleaned away; in a gap without end, it has these, if
    they are no more than the `most` records that its bytes may hold. Of a header that contradicts itself, or cannot be right,
    the offset of the first record is known.
    """
    if claimed is None or claimed[0] < 0:
        return None, False
    first, last = claimed
    by_records = first + records - 1 if records is not None and records > 0 else last
    around = [gap for gap in gaps if gap[0] <= first <= gap[1]]
    if any(gap[1] < _HIGHEST for gap in around):
        fitting = [end for end in (max(last, by_records), last) if first <= end and any(end <= gap[1] for gap in around)]
        found = (first, fitting[0]) if fitting else None
        return found, _has_fewer(records, found)
    if not around:
        return None, False
    end = next((end for end in sorted((by_records, last)) if 0 <= end - first < most), first)
    return (first, end), end != by_records or by_records > last or _has_fewer(records, (first, end))


def _has_fewer(records: int | None, offsets: Offsets | None) -> bool:
    """Whether a batch claims fewer records than these offsets."""
    return offsets is not None and records is not None and records <= offsets[1] - offsets[0]


def _runs(firsts: PackedInts, lasts: PackedInts) -> list[tuple[int, int]]:
    """Rows of batches that continue each other, from one up to another."""
    starts = [0]
    starts += (row for row, (first, last) in enumerate(zip(islice(firsts, 1, None), lasts), 1) if first != last + 1)  # noqa: B905
    return list(zip(starts, [*starts[1:], len(firsts)], strict=True))


def _in_order(
    runs: Sequence[tuple[int, int]],
    starts: Sequence[tuple[int, Offsets]],
    claims: Sequence[Claim],
    is_page: Callable[[int, int], bool],
) -> tuple[list[tuple[int, int]], list[int]]:
    """The rows of the batches in order, from one up to another: of these runs, the most whose offsets ascend.

    `starts` has the first byte and the offsets of each run. What damaged batches claim decides where two are as many.

    Then the first offsets, ascending, of these and of other runs that may be pages: a single batch may have a wrong offset.
    """
    places = [(position, extent, 2 * (end - start)) for (position, extent), (start, end) in zip(starts, runs, strict=True)]
    rows = {position: row for row, (position, _) in enumerate(starts)}
    places = sorted([*places, *((position, extent, 1) for position, _, extent in claims if extent[0] <= extent[1])])
    chosen = [places[row][0] for row in rows_in_order((*extent, size) for _, extent, size in places)]
    found = [rows[position] for position in chosen if position in rows]
    several = [row for row, run in enumerate(runs) if is_page(*run)]
    return [runs[row] for row in found], sorted({starts[row][1][0] for row in (*found, *several)})


def _without_wrong(
    runs: Sequence[tuple[int, int]], in_order: Sequence[tuple[int, int]], extents: Sequence[Offsets]
) -> Iterator[Offsets]:
    """The offsets of the runs, without those of single batches that those in order have, too: copies, or wrong ones."""
    known = dict(zip(runs, extents, strict=True))
    firsts = [known[run][0] for run in in_order]
    for (start, end), (first, last) in known.items():
        at = bisect_right(firsts, last) - 1
        if end - start > 1 or at < 0 or in_order[at] == (start, end) or known[in_order[at]][1] < first:
            yield first, last


def _merged(ranges: Sequence[Offsets]) -> tuple[PackedInts, PackedInts]:
    """The first and the last offsets of these ranges, in ascending order; those that overlap as one."""
    firsts: list[int] = []
    lasts: list[int] = []
    for first, last in ranges:
        if lasts and first <= lasts[-1]:
            lasts[-1] = max(lasts[-1], last)
        else:
            firsts.append(first)
            lasts.append(last)
    return PackedInts(firsts), PackedInts(lasts)
