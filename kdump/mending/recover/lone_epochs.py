"""Doubts batches beside damage, and at the ends of logs, whose leader epochs fit neither what is before nor what is after.

No checksum covers the leader epoch. The walk doubts a batch that disagrees with its neighbours on both sides. Where the leader
epoch goes back from one log to the next, or across damage, the last batch before and the first batch after are compared with the
batch before the two and the batch after them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.mending.recover.pieces import Headers, Piece


def with_doubts(pieces: Sequence[Piece], headers: Headers) -> list[Piece]:
    """The pieces, each batch whose leader epoch alone is out of line a piece of its own that is not sure.

    `pieces` are in the order of the files. Neighbours are those of the same replica: one broker has written them, so that their
    leader epochs ascend.
    """
    found: list[Piece] = []
    sure: list[int] = []  # where in `found` the pieces beyond doubt of this replica are
    for row, piece in enumerate(pieces):
        if found and found[-1].log.rank != piece.log.rank:
            sure.clear()
        if not _is_known(piece):
            found.append(piece)
            continue
        rest: Piece | None = piece
        if sure and _goes_back(found[sure[-1]], piece):
            at = sure[-1]
            head, last, _ = headers.split(found[at], found[at].last)
            _, first, rest = headers.split(piece, piece.first)
            earlier = head or (found[sure[-2]] if len(sure) > 1 else None)
            later = rest or _next_known(pieces, row + 1)
            wrong = _out_of_line(earlier, last, first, later)
            if wrong is not None:
                wrong.is_sure = False
            if wrong is last:
                found[at : at + 1] = [last] if head is None else [head, last]
                sure[-1:] = [] if head is None else [at]
            if wrong is first:
                found.append(first)
            else:
                rest = piece
        if rest is not None:
            sure.append(len(found))
            found.append(rest)
    return found


def _is_known(piece: Piece) -> bool:
    """Whether the leader epoch of a piece can vouch for others."""
    return piece.is_sure and not (piece.is_legacy or piece.changed or piece.log.is_spare or piece.first_epoch < 0)


def _next_known(pieces: Sequence[Piece], start: int) -> Piece | None:
    rank = pieces[start - 1].log.rank
    for row in range(start, len(pieces)):
        if pieces[row].log.rank != rank:
            return None
        if _is_known(pieces[row]):
            return pieces[row]
    return None


def _goes_back(before: Piece, after: Piece) -> bool:
    """Whether the leader epoch goes back from the end of one piece to the start of the next, and the offsets do not."""
    return before.last < after.first and after.first_epoch < before.last_epoch


def _out_of_line(earlier: Piece | None, last: Piece, first: Piece, later: Piece | None) -> Piece | None:
    """Which of two batches is wrong: the one without which all leader epochs ascend, as they do not without the other."""
    if earlier is None and later is None:
        return None
    ascends_without_last = earlier is None or earlier.last_epoch <= first.first_epoch
    ascends_without_first = later is None or last.last_epoch <= later.first_epoch
    if ascends_without_last and (later is None or first.last_epoch <= later.first_epoch < last.last_epoch):
        return last
    return first if ascends_without_first and not ascends_without_last and later is not None else None
