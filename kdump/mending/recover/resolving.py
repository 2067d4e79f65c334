"""Makes one log of the pieces of several: what overlaps or goes back in offsets is resolved, and reported.

Leader epochs decide; then the neighbours in the file; then the order of the files. What two replicas hold at the same offsets in
one leader epoch cannot be decided, and is refused.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right, insort
from itertools import groupby, pairwise

from kdump.binary.arithmetic import differ_in_a_bit, with_a_bit_flipped
from kdump.binary.batch_header import LOG_OVERHEAD, MAGIC_AT
from kdump.errors import CorruptData
from kdump.mending.recover import runs
from kdump.mending.recover.contradicted import Known, put_right
from kdump.mending.recover.copies import without_wrong_copies
from kdump.mending.recover.lone_epochs import with_doubts
from kdump.mending.recover.pieces import NO_EPOCH, Headers, LeftOut, Piece
from kdump.reading.trust import MOST_FOLLOWING, SEGMENT_REACH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kdump.mending.recover.pieces import Log
    from kdump.reading.trust import Extent

_REACH = 1 << 33  # what lies farther above the base of a segment is no offset, but damage; a start splits what lies above 2^31
_UNLESS = "; it is assumed that none of these is wrong instead"
_DUPLICATE, _REGRESSION, _EPOCH = "offset-duplicate", "offset-regression", "leader-epoch-regression"


def resolve(pieces: Sequence[Piece], headers: Headers, known: Known | None = None) -> tuple[list[Piece], list[LeftOut]]:
    """The pieces of the new log, their offsets ascending, and what is left out of it. `pieces` are in the order of the files.

    Raises CorruptData (`replica-divergence`) for what cannot be decided, with both sides named.
    """
    known = known or Known()
    pieces = put_right(pieces, headers, known)
    if _are_in_order(pieces):
        return list(pieces), []
    return _Resolution(pieces, headers, known).to_end()


def _are_in_order(pieces: Sequence[Piece]) -> bool:
    """Whether there is nothing to resolve: each log has one piece, which is beyond doubt; offsets and leader epochs ascend."""
    are_sure = all(piece.is_sure and not (piece.changed or piece.log.rank or piece.log.is_spare) for piece in pieces)
    return are_sure and all(
        before.log is not after.log and before.last < after.first and before.last_epoch <= after.first_epoch
        for before, after in pairwise(pieces)
    )


class _Resolution:
    def __init__(self, pieces: Sequence[Piece], headers: Headers, known: Known) -> None:
        self._pieces = pieces
        self._headers = headers
        self._known = known
        self._left_out: list[LeftOut] = []
        self._in_place: set[int] = set()  # the pieces that fit where they are, by id
        self._placed: dict[int, list[Piece]] | None = None  # these of each log, once they are asked for
        self._damaged: dict[int, int] = {}  # the bytes of each log that are in no whole batch, likewise
        self._has_replicas = any(piece.log.rank for piece in pieces)

    def to_end(self) -> tuple[list[Piece], list[LeftOut]]:
        if self._has_replicas:
            self._pieces, self._left_out = without_wrong_copies(self._pieces, self._headers)
        self._pieces = with_doubts(self._pieces, self._headers)
        placed, strays = self._divided()
        self._in_place = {id(piece) for piece in placed}
        chain = self._in_order(placed)
        for _ in range(2):  # one that is put right speaks for the next, forwards and then backwards
            strays = [stray for stray in strays if not self._is_flipped_back(stray, chain)][::-1]
        homeless: list[Piece] = []
        for stretch in list(runs.joined(strays)):
            if self._contradicts(stretch, chain):
                homeless += stretch
            else:
                homeless += (part for stray in stretch for part in self._without_place(stray, chain))
        for stretch in list(runs.joined(self._without_counted(homeless, chain))):
            is_placed = self._is_placed_by_neighbours(stretch, chain) or self._is_placed_in_gap(stretch, chain)
            if not is_placed and not self._is_kept_between(stretch, chain):
                self._leave_out_run(stretch)
        self._doubt_last(chain)
        return self._with_true_epochs(chain), self._left_out

    def _doubt_last(self, chain: list[Piece]) -> None:
        """Put offsets of the last batches right that one bit alone keeps from the batch before, where other offsets were wrong.

        Where there are gaps that no single bit explains, all stay as they are, and one that a companion knows of does.
        """
        if chain and chain[-1].batches > 1 and chain[-1].has_gaps:
            head, one, _ = self._headers.split(chain[-1], chain[-1].last)
            chain[-1:] = [one] if head is None else [head, one]
        start = max(1, len(chain) - MOST_FOLLOWING)
        shift = 0
        for before, after in pairwise(chain):
            shift = min(shift + after.next_after(before) - after.first, 0)
            if shift and not differ_in_a_bit(after.stated, after.stated + shift) or before.has_gaps:
                return
        for before, one in pairwise(chain[start - 1 :]):
            shift = one.next_after(before) - one.first
            if one.batches > 1 or one.changed or not one.follows(before) or not differ_in_a_bit(one.stated, one.stated + shift):
                continue
            of_snapshot, of_indexes = self._known.ends.get(one.log.path, (-1, set()))
            are_wrong = any(0 in piece.changed for piece in chain if piece.log is one.log)
            if are_wrong and one.last not in (of_snapshot, *of_indexes):
                one.move(shift, "it is assumed that one bit of it seems to be wrong, as of others")
                one.is_assumed = True

    def _divided(self) -> tuple[list[Piece], list[Piece]]:
        """The pieces whose offsets fit between those around them in the file, and the others."""
        placed: list[Piece] = []
        strays: list[Piece] = []
        self._pieces = list(self._without_gaps_out_of_line())
        wrong = set(map(id, _of_each_log(self._pieces, runs.out_of_place)))
        for piece in self._pieces:
            piece.is_sure = piece.is_sure and id(piece) not in wrong
        for piece in _of_each_log((piece for piece in self._pieces if not piece.is_nested), runs.out_of_line):
            piece.is_sure = False
        neighbours = self._neighbours()
        for piece in self._pieces:
            before, after = neighbours[id(piece)]
            fits = (before is None or before.last < piece.first) and (after is None or piece.last < after.first)
            is_inside = before is not None and after is not None or _is_near(piece) and not _is_flipped_far(piece, before)
            fits = fits and id(piece) not in wrong and is_inside
            (placed if piece.is_sure or fits else strays).append(piece)
        # of batches that are not beyond doubt, each may fit between those that are, and contradict the others
        out = {id(piece) for piece in _of_each_log(placed, runs.out_of_line) if not piece.is_sure}
        if out:
            out.update(map(id, strays))
            strays = [piece for piece in self._pieces if id(piece) in out]
            placed = [piece for piece in placed if id(piece) not in out]
        return placed, strays

    def _without_gaps_out_of_line(self) -> Iterator[Piece]:
        """The pieces; those that reach into others of their log, or the next one, and those beside them are divided at gaps."""
        for _, group in groupby(self._pieces, key=lambda piece: id(piece.log)):
            pieces = list(group)
            reach = runs.reaching(pieces)
            for row, piece in enumerate(pieces):
                is_contradicted = row + 1 < len(pieces) and pieces[row + 1].first <= piece.last
                is_divided = piece.is_sure and (is_contradicted or any(reach[max(row - 1, 0) : row + 2]))
                yield from self._headers.without_gaps(piece) if is_divided else (piece,)

    def _neighbours(self) -> dict[int, tuple[Piece | None, Piece | None]]:
        """For each piece the sure ones before and after it in its log."""
        found: dict[int, tuple[Piece | None, Piece | None]] = {}
        before: Piece | None = None
        for piece in self._pieces:
            if before is not None and before.log is not piece.log:
                before = None
            found[id(piece)] = before, None
            before = piece if piece.is_sure else before
        after: Piece | None = None
        for piece in reversed(self._pieces):
            if after is not None and after.log is not piece.log:
                after = None
            found[id(piece)] = found[id(piece)][0], after
            after = piece if piece.is_sure else after
        return found

    # --- overlaps

    def _in_order(self, placed: list[Piece]) -> list[Piece]:
        """The pieces in ascending order of offsets, where several have the same only one of them."""
        chain: list[Piece] = []
        waiting = [(piece.first, piece.log.rank, piece.log.place, piece.start, piece) for piece in placed]
        heapq.heapify(waiting)
        floor = NO_EPOCH  # lower leader epochs have ended here

        def put_back(piece: Piece) -> None:
            heapq.heappush(waiting, (piece.first, piece.log.rank, piece.log.place, piece.start, piece))

        while waiting:
            *_, piece = heapq.heappop(waiting)
            if self._has_replicas and chain and chain[-1].is_sure and chain[-1].last < piece.first:
                floor = max(floor, chain[-1].last_epoch)
            if not piece.is_legacy and piece.first_epoch < floor and (piece.is_sure or self._has_replicas):
                rest = self._without_ended(piece, floor)
                if rest is None:
                    continue
                piece = rest
            if not chain or chain[-1].last < piece.first:
                chain.append(piece)
                continue
            other = chain.pop()
            if other.batches > 1 and piece.batches > 1 and self._is_copy(other, piece, put_back):
                chain.append(other)
                continue
            if other.batches > 1:
                head, other, rest = self._headers.split(other, piece.first)
                if head is not None:
                    chain.append(head)
                if rest is not None:
                    put_back(rest)
                if other.first > piece.last or piece.first > other.last:
                    put_back(other)
                    put_back(piece)
                    continue
            if piece.batches > 1:
                _, piece, rest = self._headers.split(piece, piece.first)
                if rest is not None:
                    put_back(rest)
            kept, left = self._decided(other, piece)
            if kept.first_epoch > left.first_epoch != NO_EPOCH and kept.is_sure:
                floor = max(floor, kept.first_epoch)
            chain.append(kept)
        return chain

    def _without_ended(self, piece: Piece, floor: int) -> Piece | None:
        """The batches of a piece from the one on whose leader epoch is not lower; None if all are."""
        epochs_end = piece.first_epoch, piece.last_epoch
        ended, rest = piece, None
        if epochs_end[1] >= floor:
            first = next(extent for _, _, extent, _, _ in self._headers.of(piece) if (extent[2] or 0) >= floor)
            head, one, after = self._headers.split(piece, first[1])
            assert head is not None
            ended, rest = head, one
            if after is not None:
                one.takes(after)
        reason = f"leader epoch {ended.first_epoch} had ended here: epoch {floor} starts at a lower offset"
        self._left_out.append(LeftOut.of(ended, _EPOCH, reason))
        return rest

    def _is_copy(self, one: Piece, other: Piece, put_back: Callable[[Piece], None]) -> bool:
        """Whether the first batches of `other` are those of `one` at these offsets; what is over of `other` is put back."""
        last: Extent | None = None
        end = other.start
        batches = records = 0
        with Headers() as of_one, Headers() as of_other:
            mine = of_one.of(one)
            for start, stop, extent, crc, count in of_other.of(other):
                same = next((found for found in mine if found[2][0] >= extent[0]), None)
                if same is None or same[2:4] != (extent, crc) or same[1] - same[0] != stop - start:
                    break
                end, last = stop, extent
                batches += 1
                records += count
        if last is None:
            return False
        if one.log.rank == other.log.rank:
            first = (other.first, other.first, None if other.is_legacy else other.first_epoch)
            part = other.part(other.start, end, first, last, batches, records)
            self._leave_out(part, _DUPLICATE, f"the same batches are in {one.log.path}", is_lost=False)
        if end < other.end:
            _, following, rest = self._headers.split(other, last[1] + 1)
            put_back(following)
            if rest is not None:
                put_back(rest)
        return True

    def _decided(self, one: Piece, other: Piece) -> tuple[Piece, Piece]:
        """Which of two batches with common offsets is kept, and which is not."""
        is_same = (one.first, one.last, one.size) == (other.first, other.last, other.size)
        if is_same and self._headers.crc(one) == self._headers.crc(other):
            kept, left = (other, one) if other.is_sure and not one.is_sure else (one, other)
            if kept.log.rank == left.log.rank:
                self._leave_out(left, _DUPLICATE, f"the same batch is in {kept.log.path} at byte {kept.start:,}", is_lost=False)
            return kept, left
        if one.is_sure != other.is_sure:
            kept, left = (one, other) if one.is_sure else (other, one)
            self._leave_out(left, _REGRESSION, f"it is out of line, and an intact batch has offset {kept.first:,}")
            return kept, left
        if one.log.is_spare != other.log.is_spare:
            kept, left = (other, one) if one.log.is_spare else (one, other)
            self._leave_out(left, "leftover-swap", f"{kept.log.path} has these offsets", is_lost=False)
            return kept, left
        if one.log.rank == other.log.rank and _is_below_base(one) != _is_below_base(other):
            kept, left = (other, one) if _is_below_base(one) else (one, other)
            self._leave_out(left, _REGRESSION, f"it lies in the log of higher offsets, and {kept.log.path} has others there")
            return kept, left
        if one.first_epoch != other.first_epoch:
            kept, left = (one, other) if one.first_epoch > other.first_epoch else (other, one)
            reason = f"leader epoch {kept.first_epoch} has other batches at these offsets, and is higher than {left.first_epoch}"
            self._leave_out(left, _EPOCH, reason)
            return kept, left
        if one.log.rank != other.log.rank:
            return self._decided_between_replicas(one, other)
        kept, left = (other, one) if other.joins > one.joins else (one, other)
        where = f"byte {kept.start:,} of {kept.log.path}"
        reason = f"another batch of the same leader epoch has these offsets, and fits better to its neighbours: {where}"
        if kept.joins == left.joins:
            reason = f"another batch of the same leader epoch has these offsets, and comes first: {where}"
        self._leave_out(left, _REGRESSION, reason)
        return kept, left

    def _decided_between_replicas(self, one: Piece, other: Piece) -> tuple[Piece, Piece]:
        """Two batches of one leader epoch: they can only differ by compaction, or else nobody can say which is right."""
        if (one.first, one.last) == (other.first, other.last) and one.records != other.records:
            kept, left = (one, other) if one.log.rank < other.log.rank else (other, one)
            self._leave_out(left, _DUPLICATE, f"compaction left other records of it in {kept.log.path}", is_lost=False)
            return kept, left
        sides = " and ".join(
            f"{side.log.path} at byte {side.start:,} (offsets {side.first:,} to {side.last:,}, CRC {self._headers.crc(side):08x})"
            for side in (one, other)
        )
        message = f"two replicas hold different batches of leader epoch {one.first_epoch} at the same offsets: {sides}"
        fault = CorruptData("replica-divergence", message)
        fault.remedy = "leave one of them out"
        raise fault

    def _leave_out(self, piece: Piece, code: str, reason: str, *, is_lost: bool = True) -> None:
        self._left_out.append(LeftOut.of(piece, code, reason, is_lost=is_lost))

    # --- batches out of line

    def _contradicts(self, stretch: list[Piece], chain: list[Piece]) -> bool:
        """Whether a run of several batches has offsets of others: as a page of another partition has."""
        if len(stretch) == stretch[0].batches == 1:
            return False
        for piece in stretch:
            singles = () if runs.is_free(chain, piece.first, piece.last) else self._singles(piece)
            for single in singles:
                at = bisect_right(chain, single.last, key=_first) - 1
                if at < 0 or chain[at].last < single.first:
                    continue
                holder = self._headers.split(chain[at], single.first)[1] if chain[at].batches > 1 else chain[at]
                if holder.first <= single.last:
                    return self._same_in(holder, single) is None
        return False

    def _without_place(self, stray: Piece, chain: list[Piece]) -> Iterator[Piece]:
        """Put batches where their offsets continue others, or leave them out if they are there already. Yields the others."""
        rest: Piece | None = stray
        while rest is not None:
            stray, rest = rest, None
            if stray.batches > 1 and not runs.is_free(chain, stray.first, stray.last):
                _, stray, rest = self._headers.split(stray, stray.first)
                stray.is_sure = False
                if rest is not None:
                    rest.is_sure = False
            if not self._is_placed_by_offset(stray, chain):
                yield stray

    def _is_placed_by_offset(self, stray: Piece, chain: list[Piece]) -> bool:
        """Put a batch where its offsets join others, or leave it out if it is there already. False if neither is so."""
        at = bisect_right(chain, stray.first, key=_first)
        before = chain[at - 1] if at else None
        after = chain[at] if at < len(chain) else None
        if before is not None and before.last >= stray.first:
            return self._is_duplicate(stray, before) or self._fills_gap_inside(stray, chain, at - 1)
        fits = after is None or stray.last < after.first
        joins = before is not None and before.last + 1 == stray.first
        joins = joins or after is not None and stray.last + 1 == after.first
        if fits and joins and _has_epoch_between(stray, before, after):
            chain.insert(at, stray)
            return True
        return False

    def _is_placed_in_gap(self, stretch: list[Piece], chain: list[Piece]) -> bool:
        """Put a run into a gap that holds it and that something damaged or out of line has left."""
        at = bisect_right(chain, stretch[0].first, key=_first)
        before = chain[at - 1] if at else None
        after = chain[at] if at < len(chain) else None
        if not runs.is_free(chain, stretch[0].first, stretch[-1].last) or before is None and after is None:
            return False
        if after is not None and stretch[-1].last >= after.first:
            return False
        if not (_has_epoch_between(stretch[0], before, after) and _has_epoch_between(stretch[-1], before, after)):
            return False
        log = stretch[0].log
        if before is None and after is not None:
            is_gap = _is_near(stretch[0]) and after.first - stretch[-1].last - 1 <= self._damaged_bytes(log)
        elif before is not None and after is None:
            is_gap = _is_near(stretch[-1]) and stretch[0].first - before.last - 1 <= self._damaged_bytes(log)
        else:
            assert before is not None and after is not None
            is_gap = before.log is not after.log or before.end != after.start
        if len(stretch) == stretch[0].batches == 1 and (
            before is None or after is None or _is_beside(stretch, *self._around(stretch))
        ):
            return False  # a single batch may be the one that is wrong
        if not is_gap:
            return False
        chain[at:at] = stretch
        return True

    def _without_counted(self, homeless: list[Piece], chain: list[Piece]) -> Iterator[Piece]:
        """Put offsets right of several batches that stand between two others, where these leave as many. Yields the others."""
        for _, group in groupby(homeless, key=lambda stray: (id(stray.log), *map(id, self._around([stray])))):
            strays = list(group)
            before, after = self._around(strays)
            around = [before, *strays, after]
            offset = (strays[0].log.base_offset or 0) if before is None else before.last + 1
            end = offset + sum(one.damaged_offsets + one.last - one.first + 1 for one in strays)
            follow = all(one is not None and one.follows(previous) for previous, one in pairwise(around))
            is_exact = follow and after is not None and end == after.first - after.damaged_offsets
            if len(strays) == 1 or not is_exact or not runs.is_free(chain, offset, end - 1):
                yield from strays
                continue
            for stray in strays:
                offset += stray.damaged_offsets
                for single in self._singles(stray):
                    if single.first != offset:
                        single.move(offset - single.first, "the batches around it leave only this one")
                    offset = single.last + 1
                    insort(chain, single, key=_first)

    def _damaged_bytes(self, log: Log) -> int:
        """How many bytes of a log are in no whole batch: more records were not in them."""
        if id(log) not in self._damaged:
            self._damaged[id(log)] = log.size - sum(piece.size for piece in self._pieces if piece.log is log)
        return self._damaged[id(log)]

    def _leave_out_run(self, stretch: list[Piece]) -> None:
        """Leave out a run that there is no place for."""
        offsets = f"{stretch[0].first:,} to {stretch[-1].last:,}"
        left = LeftOut.of(stretch[0], _REGRESSION, f"its offsets, {offsets}, fit neither where it is nor into a gap")
        for piece in stretch[1:]:
            left.end, left.last = piece.end, piece.last
            left.batches += piece.batches
            left.records += piece.records
        if left.batches > 1:
            left.reason = f"the offsets of these {left.batches:,} batches, {offsets}, fit neither where they are nor into a gap"
        self._left_out.append(left)

    def _fills_gap_inside(self, stray: Piece, chain: list[Piece], at: int) -> bool:
        """Put a batch between those of a piece that lacks its offsets."""
        if chain[at].batches == 1:
            return False
        head, one, rest = self._headers.split(chain[at], stray.first)
        if head is None or one.first <= stray.last or not _has_epoch_between(stray, head, one):
            return False
        if head.last + 1 != stray.first and stray.last + 1 != one.first:
            return False
        chain[at : at + 1] = [head, stray, one] if rest is None or one.takes(rest) else [head, stray, one, rest]
        return True

    def _is_duplicate(self, stray: Piece, holder: Piece) -> bool:
        """Leave a batch out if this piece holds the same one."""
        one = self._same_in(holder, stray)
        if one is None:
            return False
        if stray.log.rank == one.log.rank:
            reason = f"the same batch is in {one.log.path} at byte {one.start:,}"
            self._leave_out(stray, _DUPLICATE, reason, is_lost=False)
        return True

    def _same_in(self, holder: Piece, stray: Piece) -> Piece | None:
        """The batch of a piece that is the same as another one, offsets and all."""
        if holder.last < stray.first:
            return None
        one = self._headers.split(holder, stray.first)[1] if holder.batches > 1 else holder
        is_same = (one.first, one.last, one.size) == (stray.first, stray.last, stray.size)
        return one if is_same and self._headers.crc(one) == self._headers.crc(stray) else None

    def _is_held(self, stray: Piece, chain: list[Piece]) -> bool:
        """Whether the chain has the same batch already."""
        at = bisect_right(chain, stray.first, key=_first)
        return at > 0 and self._same_in(chain[at - 1], stray) is not None

    def _is_placed_by_neighbours(self, stretch: list[Piece], chain: list[Piece]) -> bool:
        """Put offsets right that no checksum covers, where the batches around a run in the file leave exactly that gap."""
        before, after = self._around(stretch)
        log, delta = stretch[0].log, stretch[-1].last - stretch[0].first
        first = log.base_offset if before is None else before.last + 1
        end = log.next_base_offset if after is None else after.first
        if first is None or first + delta + 1 != end or any(0 in piece.changed for piece in stretch):
            return False
        at = bisect_right(chain, first, key=_first)
        is_moved = _is_near(stretch[0]) and _is_near(stretch[-1]) and runs.is_free(chain, stretch[0].first, stretch[-1].last)
        is_page = len(stretch) > 1 or stretch[0].batches > 1  # or may be one
        may_be_right = (is_moved or is_page) and not _is_beside(stretch, before, after)
        if may_be_right or not runs.is_free(chain, first, first + delta):
            return False
        shift = first - stretch[0].first
        is_assumed = self._may_be_right(stretch[0], stretch[-1].last)
        singles = [single for piece in stretch for single in self._singles(piece)]
        for single in singles:
            single.move(shift, f"the batches around it leave only this one{_UNLESS * is_assumed}")
            single.is_assumed = is_assumed
        chain[at:at] = singles
        return True

    def _is_flipped_back(self, stray: Piece, chain: list[Piece]) -> bool:
        """Put an offset right of which one bit is wrong, where the batch before or after it in the file says so.

        Where it continues neither of both, it is assumed to be wrong in the only bit that may be.
        """
        if stray.batches > 1 or 0 in stray.changed or self._is_held(stray, chain):
            return False
        before, after = self._around([stray])
        size = stray.last - stray.first + 1
        expected = set()
        if stray.follows(before):
            expected.add(stray.next_after(before))
        if after is not None and after.follows(stray):
            expected.add(after.first - after.damaged_offsets - size)
        firsts = [first for first in expected if differ_in_a_bit(stray.stated, stray.stated + first - stray.first)]
        is_assumed = False
        if not firsts and after is not None and _is_beside([stray], before, after):
            is_assumed = True
            low = (stray.log.base_offset or 0) if before is None else before.last + 1
            inside = stray.stated - stray.first  # of the messages in a wrapper, whose header has the last one
            flipped = with_a_bit_flipped(stray.stated, low + inside, after.first - size + inside)
            firsts = [stated - inside for stated in flipped]
        if len(firsts) != 1:
            return False
        first, last = firsts[0], firsts[0] + size - 1
        is_between = (before is None or before.last < first) and (after is None or last < after.first)
        if first < 0 or not is_between or not runs.is_free(chain, first, last):
            return False
        how = "it is assumed that one bit of it is wrong" if is_assumed else "one bit of it is wrong"
        may_be_right = self._may_be_right(stray, stray.last)
        stray.move(first - stray.first, f"{how}, by the batch{'es' * is_assumed} beside it{_UNLESS * may_be_right}")
        stray.is_assumed = is_assumed or may_be_right
        chain.insert(bisect_right(chain, first, key=_first), stray)
        insort(self._in_place_of(stray.log), stray, key=_start)
        return True

    def _may_be_right(self, stray: Piece, last: int) -> bool:
        """Whether a run up to this offset fits where it is if the batch before or after it is wrong instead, in one bit."""
        placed = self._in_place_of(stray.log)
        at = bisect_right(placed, stray.start, key=_start)
        around = (None, None, *placed, None, None)[at : at + 4]
        lasts = [(stray.log.base_offset or 0) - 1 if one is None else one.last for one in around]
        firsts = [_REACH << 1 if one is None else one.first for one in around]
        ways = [(around[1], lasts[0], stray.first)] if last < firsts[2] else []
        ways += [(around[2], last, firsts[3])] if lasts[1] < stray.first else []
        return any(
            with_a_bit_flipped(other.stated, low + 1 + other.stated - other.first, high - 1 + other.stated - other.last)
            for other, low, high in ways
            if other is not None and other.batches == 1 and not other.changed
        )

    def _is_kept_between(self, stretch: list[Piece], chain: list[Piece]) -> bool:
        """Keep a compressed message whose own offset is in order, though those inside reach into what is around it."""
        piece = stretch[0]
        if len(stretch) > 1 or piece.batches > 1 or not piece.is_legacy or piece.changed or not _is_near(piece):
            return False
        at = bisect_right(chain, piece.last, key=lambda other: other.last)
        before, after = chain[at - 1] if at else None, chain[at] if at < len(chain) else None
        if before is not None and not (before.log is piece.log and before.start < piece.start and before.last < piece.last):
            return False
        if after is not None and not (after.log is piece.log and piece.start < after.start and after.is_legacy):
            return False
        if after is not None and piece.last >= after.first:
            if self._headers.stated_at(after.log, after.start)[1] <= piece.last:
                return False
            after.first = piece.last + 1
        if before is not None:
            piece.first = max(piece.first, before.last + 1)
        chain.insert(at, piece)
        return True

    def _singles(self, piece: Piece) -> Iterator[Piece]:
        """Each batch of a piece that is out of line."""
        if piece.batches == 1:
            yield piece
            return
        for start, end, extent, _, records in self._headers.of(piece):
            if piece.is_legacy:
                extent = self._headers.extent_at(piece.log, start)
            yield Piece(piece.log, start, end, extent, records=records, is_sure=False)

    def _around(self, stretch: list[Piece]) -> tuple[Piece | None, Piece | None]:
        """The pieces before and after a run in its log that fit where they are."""
        placed = self._in_place_of(stretch[0].log)
        at = bisect_right(placed, stretch[0].start, key=_start)
        return placed[at - 1] if at else None, placed[at] if at < len(placed) else None

    def _in_place_of(self, log: Log) -> list[Piece]:
        """The pieces of a log that fit where they are, in the order of the file."""
        if self._placed is None:
            self._placed = {}
            for piece in self._pieces:
                if id(piece) in self._in_place:
                    self._placed.setdefault(id(piece.log), []).append(piece)
        return self._placed.setdefault(id(log), [])

    def _with_true_epochs(self, chain: list[Piece]) -> list[Piece]:
        """Put leader epochs right that no checksum covers, where both neighbours disagree with a batch that is not sure."""
        following: list[Piece | None] = []  # for each piece the next sure one, from the last piece on
        after: Piece | None = None
        for piece in reversed(chain):
            following.append(after)
            after = piece if piece.is_sure and not piece.is_legacy else after
        before: Piece | None = None
        for piece, after in zip(chain, reversed(following), strict=True):
            if piece.is_legacy:
                continue
            if piece.is_sure:
                before = piece
                continue
            lowest = NO_EPOCH if before is None else before.last_epoch
            true = self._known.true_epoch(piece)
            note = f"its leader epoch, which said {piece.first_epoch}, is put right: "
            if after is None and lowest <= true != piece.first_epoch:
                _put_epoch_right(piece, true, f"{note}another one is known at this offset")
            if after is None or lowest > after.first_epoch:
                continue
            if not lowest <= piece.first_epoch <= after.first_epoch:
                true = _true_epoch(piece.first_epoch, after.first_epoch if before is None else lowest, after.first_epoch)
                note += f"that after it is {after.first_epoch}" + (
                    "" if before is None else f", that before it {before.last_epoch}"
                )
                _put_epoch_right(piece, true, note)
        return chain


def _of_each_log(pieces: Iterable[Piece], rule: Callable[[Sequence[Piece]], Iterator[Piece]]) -> Iterator[Piece]:
    """The pieces that a rule names, which is asked for each log; the pieces of one follow each other."""
    for _, group in groupby(pieces, key=lambda piece: id(piece.log)):
        yield from rule(list(group))


def _is_near(piece: Piece) -> bool:
    """Whether the offsets lie in the reach of the segment that the file is, by the names of the logs."""
    log = piece.log
    if log.next_base_offset is not None and piece.last >= log.next_base_offset:
        return False
    return log.base_offset is None or log.base_offset <= piece.first and piece.last - log.base_offset <= _REACH


def _is_below_base(piece: Piece) -> bool:
    """Whether the offsets are lower than any that a broker writes to this log."""
    return piece.log.base_offset is not None and piece.first < piece.log.base_offset


def _is_flipped_far(piece: Piece, before: Piece | None) -> bool:
    """Whether a batch lies above what an index can reach, and one bit of its offset less would continue the one before it."""
    is_far = piece.first - (piece.log.base_offset or 0) > SEGMENT_REACH
    return is_far and before is not None and piece.follows(before) and differ_in_a_bit(piece.stated, before.last + 1)


def _is_beside(stretch: Sequence[Piece], before: Piece | None, after: Piece | None) -> bool:
    """Whether nothing lies in the file between a run and its neighbours, or the ends of the file."""
    begin = 0 if before is None else before.end
    end = stretch[-1].log.size if after is None else after.start
    return (stretch[0].start, stretch[-1].end) == (begin, end)


def _first(piece: Piece) -> int:
    return piece.first


def _start(piece: Piece) -> int:
    return piece.start


def _true_epoch(stated: int, before: int, after: int) -> int:
    """The leader epoch of a batch between two others: that before it, unless that after it alone differs in one bit."""
    return after if differ_in_a_bit(stated, after) and not differ_in_a_bit(stated, before) else before


def _put_epoch_right(batch: Piece, epoch: int, note: str) -> None:
    batch.note(note)
    batch.changed[LOG_OVERHEAD] = epoch.to_bytes(MAGIC_AT - LOG_OVERHEAD, "big", signed=True)
    batch.first_epoch = batch.last_epoch = epoch


def _has_epoch_between(stray: Piece, before: Piece | None, after: Piece | None) -> bool:
    if stray.is_legacy:
        return True
    return (before is None or before.is_legacy or before.last_epoch <= stray.first_epoch) and (
        after is None or after.is_legacy or stray.first_epoch <= after.first_epoch
    )


def gaps(chain: Sequence[Piece]) -> Iterator[tuple[Piece, Piece]]:
    """Neighbours between which offsets are missing."""
    for before, after in pairwise(chain):
        if before.last + 1 < after.first:
            yield before, after
