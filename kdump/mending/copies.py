"""Finds copies of one batch in several replicas that disagree in what no checksum covers: their offsets and leader epochs."""

from __future__ import annotations

from itertools import groupby

from kdump.mending.pieces import LeftOut
from kdump.reading.trust import is_lower

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kdump.mending.pieces import Headers, Piece
    from kdump.reading.trust import Extent

    Key = tuple[int, int, int]  # CRC, size, records

_MOST_DOUBTFUL = 1 << 18
_MOST_ROUNDS = 4


class _Copy:
    """One copy of a batch: what it claims, and how much of what is around it in the file agrees with that.

    In its file it lies after the offsets below `low`, and before `high` (None for the end of the file). `is_joined` says that
    its own offsets continue one of these, or leave no more room than what was skipped may have filled.
    """

    __slots__ = ("agreement", "claim", "high", "is_in_order", "is_joined", "key", "low", "piece", "start")

    def __init__(self, piece: Piece, start: int, claim: Extent, key: Key, before: Extent | None, skipped: int) -> None:
        """`skipped` bytes before it are no whole batch."""
        self.piece = piece
        self.start = start
        self.claim = claim
        self.key = key
        self.agreement = 0 if before is None else _agreement(before, claim)
        self.low = (piece.log.base_offset or 0) if before is None else before[1] + 1
        self.high: int | None = None
        self.is_in_order = self.low <= claim[0] and not (before is not None and is_lower(claim, before))
        self.is_joined = 0 <= claim[0] - self.low <= skipped  # a record has more than a byte

    def precedes(self, after: Extent) -> None:
        """Take what the batch after it claims."""
        self.agreement += _agreement(self.claim, after)
        self.high = after[0]
        self.is_in_order = self.is_in_order and self.claim[1] < after[0] and not is_lower(after, self.claim)
        self.is_joined = self.is_joined or self.claim[1] + 1 == after[0]

    def may_be_at(self, claim: Extent) -> bool:
        """Whether these offsets fit where it lies, and its own do not continue what is around it."""
        if claim[:2] == self.claim[:2]:
            return True
        return not self.is_joined and self.low <= claim[0] and (self.high is None or claim[1] < self.high)


_SURE = 6  # the offsets of both neighbours ascend and continue, and their leader epochs are the same


def without_wrong_copies(pieces: Sequence[Piece], headers: Headers) -> tuple[list[Piece], list[LeftOut]]:
    """The pieces without batches that claim other offsets or another leader epoch than the same batch in other replicas.

    The claim wins that more replicas make, then one whose offsets and leader epoch lie between those of its neighbours in the
    file, one that continues them, the one that agrees better with them, and the one that leaves the smaller gap. Where neighbours are wrong themselves, that is
    seen only without them: so what is left is compared again.
    """
    kept, left_out = list(pieces), []
    for _ in range(_MOST_ROUNDS):
        kept, wrong = _without_obviously_wrong(kept, headers)
        left_out += wrong
        if not wrong:
            break
    return kept, left_out


def _without_obviously_wrong(pieces: Sequence[Piece], headers: Headers) -> tuple[list[Piece], list[LeftOut]]:
    """One round of comparing, with what is in the files at the moment as neighbours."""
    doubtful: dict[Key, list[_Copy]] = {}
    for copy in _copies(pieces, headers):
        if copy.agreement < _SURE and len(doubtful) < _MOST_DOUBTFUL:
            doubtful.setdefault(copy.key, []).append(copy)
    if not doubtful:
        return list(pieces), []
    for copy in _copies(pieces, headers):
        if copy.agreement >= _SURE and copy.key in doubtful:
            doubtful[copy.key].append(copy)
    wrong: dict[int, list[int]] = {}
    for copies in doubtful.values():
        for copy in _wrong_of(copies):
            wrong.setdefault(id(copy.piece), []).append(copy.start)
    kept: list[Piece] = []
    left_out: list[LeftOut] = []
    for piece in pieces:
        kept += _without(piece, sorted(wrong.get(id(piece), ())), headers, left_out)
    return kept, left_out


def _wrong_of(copies: list[_Copy]) -> list[_Copy]:
    claims: dict[Extent, list[_Copy]] = {}
    for copy in copies:
        claims.setdefault(copy.claim, []).append(copy)
    if len(claims) < 2:
        return []

    def weight(claim: Extent) -> tuple[int, bool, bool, int, int]:
        of_claim = claims[claim]
        ranks = {copy.piece.log.rank for copy in of_claim}
        is_joined = any(copy.is_joined for copy in of_claim)
        return (
            len(ranks),
            any(copy.is_in_order for copy in of_claim),
            is_joined,
            max(copy.agreement for copy in of_claim),
            -min(abs(claim[0] - copy.low) for copy in of_claim),
        )

    best = max(claims, key=weight)
    ranks = {copy.piece.log.rank for copy in claims[best]}
    # what one replica holds twice, or where it belongs, may be two batches of the same contents
    return [
        copy
        for copy in copies
        if copy.claim != best and copy.piece.log.rank not in ranks and copy.may_be_at(best) and weight(copy.claim) < weight(best)
    ]


def _copies(pieces: Sequence[Piece], headers: Headers) -> Iterator[_Copy]:
    """Each batch of all pieces."""
    for _, of_log in groupby(pieces, key=lambda piece: id(piece.log)):
        before: Extent | None = None
        held: _Copy | None = None
        read = 0
        for piece in of_log:
            if piece.changed:
                continue
            for start, end, extent, crc, count in headers.of(piece):
                if held is not None:
                    held.precedes(extent)
                    yield held
                held = _Copy(piece, start, extent, (crc, end - start, count), before, start - read)
                before, read = extent, end
        if held is not None:
            yield held


def _agreement(before: Extent, after: Extent) -> int:
    return (before[1] + 1 == after[0]) + (before[1] < after[0]) + (before[2] == after[2])


def _without(piece: Piece, starts: list[int], headers: Headers, left_out: list[LeftOut]) -> Iterator[Piece]:
    """A piece without the batches at these positions."""
    rest: Piece | None = piece
    for start in starts:
        assert rest is not None
        one, head = rest, None
        if rest.batches > 1:
            offset = next(extent[1] for at, _, extent, _, _ in headers.of(rest) if at == start)
            head, one, rest = headers.split(rest, offset)
        else:
            rest = None
        if head is not None:
            yield head
        reason = "a replica has the same batch, with other offsets or another leader epoch, which fit better"
        left_out.append(LeftOut.of(one, "replica-divergence", reason, is_lost=False))
    if rest is not None:
        yield rest
