"""Tells the batches of a log that are in order from runs that are out of line, such as a page of another partition."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from heapq import heappop, heappush
from itertools import accumulate, pairwise
from operator import attrgetter

from kdump.reading.largest_order import rows_in_order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kdump.mending.recover.pieces import Piece

_FIRST = attrgetter("first")


def out_of_line(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Those of the pieces of one log, in the order of the file, that contradict larger ones.

    The pieces that are the most bytes with ascending offsets are in order; those count first that are beyond doubt or continue
    others. Of the rest, those are out of line that lie between them in the file, or share no offset with them. What remains is
    decided by leader epochs.
    """
    if all(before.last < after.first for before, after in pairwise(pieces)):
        return
    sizes = ((2 * piece.size + piece.is_sure) << 32 * (piece.is_sure or piece.joins > 0) for piece in pieces)
    rows = rows_in_order((piece.first, piece.last, size) for piece, size in zip(pieces, sizes, strict=True))
    chosen = [pieces[row] for row in rows]
    for row, piece in enumerate(pieces):
        at = bisect_left(rows, row)
        if at < len(rows) and rows[at] == row:
            continue
        if 0 < at < len(rows) or is_free(chosen, piece.first, piece.last):
            yield piece


def reaching(pieces: Sequence[Piece]) -> list[bool]:
    """Which pieces of one log, in the order of the file, are beyond doubt and reach into others that are."""
    sure = [piece for piece in pieces if piece.is_sure]
    lowest = list(accumulate((piece.first for piece in reversed(sure)), min))  # of the last ones
    highest = -1
    found = []
    for piece in pieces:
        if piece.is_sure:
            lowest.pop()
        found.append(piece.is_sure and (bool(lowest) and lowest[-1] <= piece.last or piece.first <= highest))
        highest = max(highest, piece.last) if piece.is_sure else highest
    return found


def out_of_place(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Those of the pieces of one log, in the order of the file, that larger ones before and after them have no room for.

    Where nothing lies between pieces in the file but damaged batches, the offsets from one to another are at least those of the
    batches between them. If they are no more, none of these has other offsets; if one says so, it is wrong, or those around it
    are.
    """
    for stretch in _touching(pieces):
        base = stretch[0].log.base_offset if stretch[0].follows(None) else None  # the name says where the first one starts
        shifts: list[int] = []  # of the first offset, against how many offsets came before
        count = 0
        for piece in stretch:
            count += piece.damaged_offsets
            shifts.append(piece.first - count)
            count += piece.last - piece.first + 1
        sizes: dict[int, int] = {}
        last_rows = {shift: row for row, shift in enumerate(shifts)}
        for piece, shift in zip(stretch, shifts, strict=True):
            sizes[shift] = sizes.get(shift, 0) + piece.size
        around: list[tuple[int, int]] = []  # a heap: the size of those with a shift, the largest first, and the last of them
        begun: set[int] = set()
        if base in sizes:
            sizes[base] += 1
            begun.add(base)
            around.append((-sizes[base], last_rows[base]))
        for row, (piece, shift) in enumerate(zip(stretch, shifts, strict=True)):
            while around and around[0][1] < row:
                heappop(around)
            if around and -around[0][0] > sizes[shift]:
                yield piece
            if shift not in begun and row < last_rows[shift]:
                begun.add(shift)
                heappush(around, (-sizes[shift], last_rows[shift]))


def _touching(pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    """The pieces in stretches between which the number of offsets is not known."""
    starts = [0, *(row for row in range(1, len(pieces)) if not pieces[row].follows(pieces[row - 1])), len(pieces)]
    return (list(pieces[start:end]) for start, end in pairwise(starts))


def joined(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    """The pieces in runs: each one starts where the one before ends, in the file and in offsets."""
    stretch: list[Piece] = []
    for piece in pieces:
        if stretch and not (
            stretch[-1].log is piece.log and stretch[-1].end == piece.start and stretch[-1].last + 1 == piece.first
        ):
            yield stretch
            stretch = []
        stretch.append(piece)
    if stretch:
        yield stretch


def is_free(chain: Sequence[Piece], first: int, last: int) -> bool:
    """Whether no piece of a chain has any of these offsets."""
    at = bisect_right(chain, first, key=_FIRST)
    return (at == 0 or chain[at - 1].last < first) and (at == len(chain) or chain[at].first > last)
