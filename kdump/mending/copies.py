"""Finds copies of one batch in several replicas that disagree in what no checksum covers: their offsets and leader epochs."""

from __future__ import annotations

from itertools import groupby

from kdump.mending.pieces import LeftOut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kdump.mending.pieces import Headers, Piece
    from kdump.reading.trust import Extent

    Key = tuple[int, int, int]  # CRC, size, records

_MOST_DOUBTFUL = 1 << 18


class _Copy:
    """One copy of a batch: what it claims, and how many of its neighbours and fields agree with that."""

    __slots__ = ("agreement", "claim", "piece", "start")

    def __init__(self, piece: Piece, start: int, claim: Extent, agreement: int) -> None:
        self.piece = piece
        self.start = start
        self.claim = claim
        self.agreement = agreement


_SURE = 6  # the offsets of both neighbours ascend and continue, and their leader epochs are the same


def without_wrong_copies(pieces: Sequence[Piece], headers: Headers) -> tuple[list[Piece], list[LeftOut]]:
    """The pieces without batches that claim other offsets or another leader epoch than the same batch in other replicas.

    The claim wins that more replicas make, then the one that agrees better with its neighbours in the file.
    """
    doubtful: dict[Key, list[_Copy]] = {}
    for piece, start, claim, key, agreement in _batches(pieces, headers):
        if agreement < _SURE and len(doubtful) < _MOST_DOUBTFUL:
            doubtful.setdefault(key, []).append(_Copy(piece, start, claim, agreement))
    if not doubtful:
        return list(pieces), []
    for piece, start, claim, key, agreement in _batches(pieces, headers):
        if agreement >= _SURE and key in doubtful:
            doubtful[key].append(_Copy(piece, start, claim, agreement))
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

    def weight(claim: Extent) -> tuple[int, int, int]:
        of_claim = claims[claim]
        ranks = {copy.piece.log.rank for copy in of_claim}
        return len(ranks), max(copy.agreement for copy in of_claim), -min(ranks)

    best = max(claims, key=weight)
    ranks = {copy.piece.log.rank for copy in claims[best]}
    # what one replica holds twice may be two batches of the same contents
    return [copy for copy in copies if copy.claim != best and copy.piece.log.rank not in ranks]


def _batches(pieces: Sequence[Piece], headers: Headers) -> Iterator[tuple[Piece, int, Extent, Key, int]]:
    """Each batch of all pieces: its piece, start, claim, what identifies its contents, and how much agrees with its claim."""
    for _, of_log in groupby(pieces, key=lambda piece: id(piece.log)):
        before: Extent | None = None
        held: tuple[Piece, int, Extent, Key, int] | None = None
        for piece in of_log:
            if piece.changed:
                continue
            for start, end, extent, crc, count in headers.of(piece):
                if held is not None:
                    yield _with_next(held, extent)
                agreement = 0 if before is None else _agreement(before, extent)
                held = piece, start, extent, (crc, end - start, count), agreement
                before = extent
        if held is not None:
            yield held


def _with_next(batch: tuple[Piece, int, Extent, Key, int], after: Extent) -> tuple[Piece, int, Extent, Key, int]:
    piece, start, extent, key, agreement = batch
    return piece, start, extent, key, agreement + _agreement(extent, after)


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
