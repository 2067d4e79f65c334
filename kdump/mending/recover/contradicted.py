"""Puts right what no checksum covers, offsets and leader epochs, where the companions of a log contradict a batch of it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from operator import itemgetter
from typing import NamedTuple

from kdump.binary.arithmetic import differ_in_a_bit
from kdump.binary.batch_header import BATCH_HEADER_SIZE
from kdump.mending.recover.pieces import NO_EPOCH
from kdump.reading.flipped_end import is_flipped
from kdump.reading.trust import MANY_ELECTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.mending.recover.pieces import Headers, Piece


class Contradiction(NamedTuple):
    """What says that a batch has a wrong offset, and its true last one, None if it may be any of several.

    If it `is_assumed`, that follows from what a check compares; else the offset index says so.
    """

    last: int | None
    reason: str
    is_assumed: bool = False


class Known:
    """What companions say; without any, nothing.

    `places` are positions of batches in a log, ascending, by its path, with what contradicts their offsets. `ends` are last
    offsets of batches of the newest log, by its path: as the newest snapshot says, and its indexes.
    `highest` is the highest offset that any file beside that log knows of; None if replicas say more.
    `epochs` are leader epochs and their first offsets, both ascending.
    """

    def __init__(self) -> None:
        self.places: dict[str, list[tuple[int, Contradiction]]] = {}
        self.ends: dict[str, tuple[int, set[int]]] = {}
        self.highest: int | None = None
        self.epochs: Sequence[tuple[int, int]] = ()
        self._numbers: set[int] = set()  # of these epochs

    def has_epoch(self, epoch: int) -> bool:
        """Whether a leader epoch is known, or nothing is known of it."""
        self._numbers = self._numbers or {number for number, _ in self.epochs}
        return not self.epochs or epoch == NO_EPOCH or epoch in self._numbers

    def true_epoch(self, batch: Piece) -> int:
        """The leader epoch of a batch: its own, unless that is not known, and differs in one bit from that known there.

        One that is a few elections after the last known one stays: the file may be older than the log.
        """
        at = bisect_right(self.epochs, batch.first, key=itemgetter(1)) - 1
        stated = batch.last_epoch
        if batch.is_legacy or at < 0 or self.has_epoch(stated):
            return stated
        known = self.epochs[at][0]
        is_later = at + 1 == len(self.epochs) and 0 < stated - known < MANY_ELECTIONS
        return known if differ_in_a_bit(stated % (1 << 32), known) and not is_later else stated


def put_right(pieces: Sequence[Piece], headers: Headers, known: Known) -> list[Piece]:
    """The pieces, each batch that companions contradict a piece of its own that is not sure, with the offsets that they say.

    An offset is put right only if it fits between those around it, and either joins what is before it or differs in one bit from
    what the batch says.
    """
    found: list[Piece] = []
    for row, piece in enumerate(pieces):
        log = piece.log
        after = pieces[row + 1] if row + 1 < len(pieces) and pieces[row + 1].log is log else None
        places = known.places.get(log.path, [])
        start, end = (bisect_left(places, (position,)) for position in (piece.start, piece.end))
        rest: Piece | None = piece
        for position, said in places[start:end]:
            if rest is not None:
                rest = _moved(found, rest, after, headers, position, said)
        if rest is not None:
            found.append(rest)
        _at_end(found, headers, known, is_last=after is None)
    return found


def _moved(
    found: list[Piece], piece: Piece, after: Piece | None, headers: Headers, position: int, said: Contradiction
) -> Piece | None:
    """Move the batch at a position of a piece, if that may be, or doubt its offset. Returns what is after it."""
    first, stated_last, _ = headers.stated_at(piece.log, position)
    last = stated_last if said.last is None else said.last
    is_inside = piece.has_gaps and piece.first <= first <= stated_last <= piece.last or piece.batches == 1
    is_flip = said.last is None or differ_in_a_bit(first, first + last - stated_last)
    if not is_inside or 0 in piece.changed or not is_flip or said.is_assumed and not piece.is_sure:
        return piece
    head, one, rest = (None, piece, None) if piece.batches == 1 else headers.split(piece, stated_last)
    before = head or (found[-1] if found and found[-1].log is piece.log else None)
    following = rest or after
    if said.is_assumed and not all(other is None or other.is_sure for other in (before, following)):
        return piece
    if one.start != (0 if before is None else before.end) or one.end != (one.log.size if following is None else following.start):
        return piece
    if one.start != position or not _is_moved_or_noted(one, last - one.last, before, following, said):
        return piece
    found += [one] if head is None else [head, one]
    return rest


def _is_moved_or_noted(one: Piece, shift: int, before: Piece | None, following: Piece | None, said: Contradiction) -> bool:
    """Move a batch to where it may be, or note a doubt about its offset, if what is said fits between those around it."""
    is_between = (before is None or before.last < one.first + shift) and (following is None or one.last + shift < following.first)
    is_free = is_between if said.is_assumed else _may_move(one, shift, before, following)
    if not (is_free or is_between):
        return False
    if shift and is_free:
        one.move(shift, said.reason)
        one.is_assumed, one.is_sure = said.is_assumed, False
    else:
        one.note(f"its offset, {one.stated:,}, is kept, but one bit of it may be wrong: {said.reason}")
        one.is_assumed = True
    return True


def _may_move(one: Piece, shift: int, before: Piece | None, after: Piece | None) -> bool:
    """Whether a batch continues neither of those around it, and may have other offsets there."""
    if before is not None:
        is_free = before.last < one.first + shift or not (before.is_sure or before.changed)
        if not is_free or before.last + 1 == one.first:
            return False
    return after is None or one.last + 1 != after.first and (one.last + shift < after.first or not after.is_sure)


def _at_end(found: list[Piece], headers: Headers, known: Known, *, is_last: bool) -> None:
    """Doubt the leader epoch of the last batch of a piece, and move that of the newest log to where it ends as companions say."""
    piece = found[-1]
    has_ends = is_last and piece.log.path in known.ends and (piece.has_gaps or piece.batches == 1)
    if not has_ends and known.has_epoch(piece.last_epoch):
        return
    head, one, _ = (None, piece, None) if piece.batches == 1 else headers.split(piece, piece.last)
    before = head or (found[-2] if len(found) > 1 and found[-2].log is piece.log else None)
    end = _true_end(one, before, known.ends[piece.log.path]) if has_ends and 0 not in one.changed else one.last
    if end != one.last:
        one.move(end - one.last, "companions of the log know where its last batch ends")
    elif has_ends and before is not None and _is_flipped(found, one, before, headers, known.highest):
        shift = before.last + 1 - one.first
        one.move(shift, "it is assumed that one bit of it is wrong, by the times of the batches before it; no other file says so")
        one.is_assumed = True
    if 0 in one.changed or known.true_epoch(one) != one.last_epoch:
        one.is_sure = False
        found[-1:] = [one] if head is None else [head, one]


def _is_flipped(found: Sequence[Piece], one: Piece, before: Piece, headers: Headers, highest: int | None) -> bool:
    """Whether the last batch of a log, which may be part of the last piece found, has one bit wrong by the batches before it."""
    shift = before.last + 1 - one.first
    if not differ_in_a_bit(one.stated, one.stated + shift) or not one.follows(before) or one.damaged_offsets or one.changed:
        return False
    if highest is None or highest > one.last + shift:
        return False
    pieces = [piece for piece in found if piece.log is one.log]
    missing = end = last = 0
    for start, stop, extent in (batch[:3] for piece in pieces for batch in headers.of(piece)):
        if start == one.start:
            break
        missing += max(extent[0] - last - 1, 0) if start == end > 0 else 0
        position, end, last = start, stop, extent[1]
    read = headers.source(one.log).read
    starts = pieces[0].start, position, one.start
    return is_flipped([read(start, BATCH_HEADER_SIZE) for start in starts], one.stated + shift, missing)


def _true_end(one: Piece, before: Piece | None, known: tuple[int, set[int]]) -> int:
    """The last offset of the last batch of a log: its own, unless only one of those known may be, and that is another one.

    One at which it joins what is before it counts if a snapshot says so: an index may know of a batch there that is gone.
    """
    of_snapshot, of_indexes = known
    low = (one.log.base_offset or 0) if before is None else before.last + 1
    size = one.last - one.first
    joined = one.next_after(before) + size if one.follows(before) else None
    ends = {end for end in (of_snapshot, *of_indexes) if low <= end - size and end <= one.last}
    fitting = [end for end in ends if end == joined == of_snapshot or differ_in_a_bit(one.stated, one.stated + end - one.last)]
    return fitting[0] if len(fitting) == 1 and one.last not in ends else one.last
