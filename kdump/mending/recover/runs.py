"""Tells the batches of a log that are in order from runs that are out of line, such as a page of another partition."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise
from operator import attrgetter

from kdump.reading.largest_order import rows_in_order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kdump.mending.recover.pieces import Piece

_FIRST = attrgetter("first")


def out_of_line(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Those of the pieces of one log, in the order of the file, that contradict larger ones.

    The pieces that are the most bytes with ascending offsets are in order. Of the others, those are out of line that lie between
    them in the file, or share no offset with them. What remains is decided by leader epochs.
    """
    if all(before.last < after.first for before, after in pairwise(pieces)):
        return
    rows = rows_in_order((piece.first, piece.last, piece.size) for piece in pieces)
    chosen = [pieces[row] for row in rows]
    for row, piece in enumerate(pieces):
        at = bisect_left(rows, row)
        if at < len(rows) and rows[at] == row:
            continue
        if 0 < at < len(rows) or is_free(chosen, piece.first, piece.last):
            yield piece


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
