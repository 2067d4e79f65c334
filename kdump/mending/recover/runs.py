"""Tells the batches of a log that are in order from runs that are out of line, such as a page of another partition."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise
from operator import attrgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kdump.mending.recover.pieces import Piece

_FIRST = attrgetter("first")
_LOWEST, _HIGHEST = -1, 1 << 63


def out_of_line(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Those of the pieces of one log, in the order of the file, that contradict larger ones.

    The pieces that are the most bytes with ascending offsets are in order. Of the others, those are out of line that lie between
    them in the file, or share no offset with them. What remains is decided by leader epochs.
    """
    if all(before.last < after.first for before, after in pairwise(pieces)):
        return
    rows = _largest(pieces)
    chosen = [pieces[row] for row in rows]
    for row, piece in enumerate(pieces):
        at = bisect_left(rows, row)
        if at < len(rows) and rows[at] == row:
            continue
        if 0 < at < len(rows) or is_free(chosen, piece.first, piece.last):
            yield piece


def _largest(pieces: Sequence[Piece]) -> list[int]:
    """The rows of the pieces whose offsets ascend and that are the most bytes."""
    lasts = sorted({piece.last for piece in pieces})
    tree: list[tuple[int, int]] = [(0, -1)] * (len(lasts) + 1)  # the most bytes of pieces that end up to an offset, and the last
    before: list[int] = []
    for row, piece in enumerate(pieces):
        size, previous = _most(tree, bisect_left(lasts, piece.first))
        before.append(previous)
        found, at = (size + piece.size, row), bisect_left(lasts, piece.last) + 1
        while at < len(tree):
            if tree[at][0] < found[0]:
                tree[at] = found
            at += at & -at
    rows: list[int] = []
    row = _most(tree, len(lasts))[1]
    while row >= 0:
        rows.append(row)
        row = before[row]
    return rows[::-1]


def _most(tree: Sequence[tuple[int, int]], count: int) -> tuple[int, int]:
    """The highest of the first `count` values of a binary indexed tree."""
    found = tree[0]
    while count:
        if found[0] < tree[count][0]:
            found = tree[count]
        count -= count & -count
    return found


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
