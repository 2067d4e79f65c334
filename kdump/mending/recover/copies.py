"""Finds copies of one batch in several replicas that disagree in what no checksum covers: their offsets and leader epochs."""

from __future__ import annotations

from bisect import bisect_left
from operator import itemgetter

from kdump.mending.recover.pieces import LeftOut
from kdump.reading.trust import is_lower

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from kdump.mending.recover.pieces import Headers, Log, Piece
    from kdump.reading.trust import Extent

    Key = tuple[int, int, int]  # CRC, size, records
    Offsets = tuple[int, int]  # first, last

_MOST_DOUBTFUL = 1 << 18
_MOST_ROUNDS = 6
_MOST_PLACES = 64  # at which a copy may be, of those that other copies claim


class _Copy:
    """One copy of a batch: what it claims, and how much of what is around it agrees with that.

    In its file it lies after the offsets below `low`, and before `high` (None for the end of the newest log). `is_joined` says
    that its own offsets continue one of these, or leave no more room than bytes that were skipped may have filled. Leader epochs
    are compared with the batches before and after it in its replica, in whichever log.
    """

    def __init__(self, piece: Piece, start: int, claim: Extent, before: Extent | None, skipped: int | None) -> None:
        """`skipped` bytes before it are no whole batch; None if the batch before it is in another log."""
        self.piece = piece
        self.start = start
        self.claim = claim
        self.before = before
        self.after: Extent | None = None
        self.agreement = 0 if before is None else _agreement(before, claim)
        self.has_epoch_in_order = before is None or not is_lower(claim, before)
        self.low = (piece.log.base_offset or 0) if before is None or skipped is None else before[1] + 1
        self.high = piece.log.next_base_offset
        self.is_in_order = self.low <= claim[0]
        room = start if skipped is None else skipped  # a record has more than a byte
        self.is_joined = 0 <= claim[0] - self.low <= room
        self._continues = self.low == claim[0] and not room

    @property
    def offsets(self) -> Offsets:
        return self.claim[:2]

    @property
    def rank(self) -> int:
        return self.piece.log.rank

    def precedes(self, after: Extent, skipped: int | None) -> None:
        """Take what the batch after it claims, and how many bytes lie between the two; None if it is in another log."""
        self.after = after
        self.agreement += _agreement(self.claim, after)
        self.has_epoch_in_order = self.has_epoch_in_order and not is_lower(after, self.claim)
        if skipped is None:
            return
        self.high = after[0]
        self.is_in_order = self.is_in_order and self.claim[1] < after[0]
        if self.claim[1] + 1 == after[0]:
            self.is_joined = True
        elif not (skipped or self._continues):
            self.is_joined = False  # offsets are missing where no bytes are

    @property
    def place(self) -> tuple[int | None, int]:
        """The log and the position: replicas have the same batches at the same places, as long as all are whole."""
        return self.piece.log.base_offset, self.start

    @property
    def continues(self) -> bool:
        """Whether its offsets continue a batch beside it exactly."""
        return self.is_joined and (self.claim[0] == self.low or self.claim[1] + 1 == self.high)

    def may_be_at(self, offsets: Offsets, places: Container[tuple[int | None, int]]) -> bool:
        """Whether these offsets fit where it lies; not asked of a copy that `continues` what is around it.

        Other copies with these offsets lie at `places`. One that is joined by room alone may be at other offsets only there.
        """
        if self.is_joined and self.place not in places:
            return False
        return self.low <= offsets[0] and (self.high is None or offsets[1] < self.high)


_SURE = 6  # the offsets of both neighbours ascend and continue, and their leader epochs are the same


def without_wrong_copies(pieces: Sequence[Piece], headers: Headers) -> tuple[list[Piece], list[LeftOut]]:
    """The pieces without batches that claim other offsets or another leader epoch than the same batch in other replicas.

    The offsets win that more replicas claim, then those between the neighbours in the file, those that continue what is around
    any copy, the ones that agree better with their neighbours, and the ones that leave the smaller gap. Where neighbours are
    wrong themselves, that is seen only without them: so what is left is compared again. Leader epochs are compared when all
    offsets are decided: the one wins that more replicas claim, then one in order with its neighbours, then the one that the
    nearest batches of any replica have.
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
    for key, copy in _copies(pieces, headers):
        if copy.agreement < _SURE and len(doubtful) < _MOST_DOUBTFUL:
            doubtful.setdefault(key, []).append(copy)
    if not doubtful:
        return list(pieces), []
    for key, copy in _copies(pieces, headers):
        if copy.agreement >= _SURE and key in doubtful:
            doubtful[key].append(copy)
    several = [copies for copies in doubtful.values() if any(copy.claim != copies[0].claim for copy in copies)]
    wrong = [copy for copies in several for copy in _with_wrong_offsets(copies)]
    wrong = wrong or [copy for copies in several for copy in _with_wrong_epochs(copies)]
    starts: dict[int, list[int]] = {}
    for copy in wrong:
        starts.setdefault(id(copy.piece), []).append(copy.start)
    kept: list[Piece] = []
    left_out: list[LeftOut] = []
    for piece in pieces:
        kept += _without(piece, sorted(starts.get(id(piece), ())), headers, left_out)
    return kept, left_out


class _Claimed:
    """Offsets that copies of one batch claim: what speaks for them, and in which replicas and where these copies lie."""

    def __init__(self, copies: Sequence[_Copy], *, is_joined: bool) -> None:
        self.weight = _weight_of_offsets(copies, is_joined=is_joined)
        self.ranks = {copy.rank for copy in copies}
        self.places = {copy.place for copy in copies}


def _with_wrong_offsets(copies: list[_Copy]) -> Iterator[_Copy]:
    """Those that lie where a copy of another replica says that they are, which has more to say for it."""
    claiming: dict[Offsets, list[_Copy]] = {}
    for copy in copies:
        claiming.setdefault(copy.offsets, []).append(copy)
    lows, highs = {copy.low for copy in copies}, {copy.high for copy in copies}
    claimed = {}
    for offsets, of_offsets in sorted(claiming.items(), key=itemgetter(0)):
        is_joined = offsets[0] in lows or offsets[1] + 1 in highs or any(copy.is_joined for copy in of_offsets)
        claimed[offsets] = _Claimed(of_offsets, is_joined=is_joined)
    ascending = list(claimed)
    for offsets in sorted(ascending, key=lambda offsets: claimed[offsets].weight, reverse=True):
        wrong = [copy for copy in claiming[offsets] if not copy.continues and _has_better_offsets(copy, ascending, claimed)]
        yield from wrong
        if len(wrong) == len(claiming[offsets]):
            del claimed[offsets]  # they are refuted


def _has_better_offsets(copy: _Copy, ascending: Sequence[Offsets], claimed: dict[Offsets, _Claimed]) -> bool:
    """Whether another replica has the batch at offsets that a copy may have too, and that have more weight than its own.

    What one replica holds twice may be two batches of the same contents.
    """
    start, own = bisect_left(ascending, (copy.low, copy.low)), claimed[copy.offsets]
    for offsets in ascending[start : start + _MOST_PLACES]:
        other = claimed.get(offsets)
        if (
            other is not None
            and other.weight > own.weight
            and copy.rank not in other.ranks
            and copy.may_be_at(offsets, other.places)
        ):
            return True
    return False


def _weight_of_offsets(copies: Sequence[_Copy], *, is_joined: bool) -> tuple[int, bool, bool, int, int]:
    """What speaks for the offsets that these copies claim; `is_joined` says that they continue what is around any copy."""
    return (
        len({copy.rank for copy in copies}),
        any(copy.is_in_order for copy in copies),
        is_joined,
        max(copy.agreement for copy in copies),
        -min(abs(copy.claim[0] - copy.low) for copy in copies),
    )


def _with_wrong_epochs(copies: list[_Copy]) -> Iterator[_Copy]:
    """Those that claim another leader epoch for the same offsets than the copies that have more to say for it."""
    of_offsets: dict[Offsets, list[_Copy]] = {}
    for copy in copies:
        of_offsets.setdefault(copy.offsets, []).append(copy)
    for of_one in of_offsets.values():
        claiming: dict[Extent, list[_Copy]] = {}
        for copy in of_one:
            claiming.setdefault(copy.claim, []).append(copy)
        if len(claiming) > 1:
            before = max((copy.before for copy in of_one if copy.before is not None), key=_offsets_of, default=None)
            after = min((copy.after for copy in of_one if copy.after is not None), key=_offsets_of, default=None)
            weights = {claim: _weight_of_epoch(of_claim, before, after) for claim, of_claim in claiming.items()}
            best = max(weights.values())
            yield from (copy for copy in of_one if weights[copy.claim] < best)


def _weight_of_epoch(copies: Sequence[_Copy], before: Extent | None, after: Extent | None) -> tuple[int, bool, int, int]:
    epoch = copies[0].claim[2]
    return (
        len({copy.rank for copy in copies}),
        any(copy.has_epoch_in_order for copy in copies),
        sum(nearest is not None and nearest[2] == epoch for nearest in (before, after)),
        max(copy.agreement for copy in copies),
    )


def _offsets_of(extent: Extent) -> Offsets:
    return extent[:2]


def _copies(pieces: Sequence[Piece], headers: Headers) -> Iterator[tuple[Key, _Copy]]:
    """Each batch of all pieces, with what the same batch has in other replicas."""
    before: Extent | None = None
    log: Log | None = None
    held: tuple[Key, _Copy] | None = None
    read = 0
    for piece in pieces:
        is_apart = piece.log.is_spare and log is not piece.log
        if log is not None and (log.rank != piece.log.rank or is_apart):
            before = None
        for start, end, extent, crc, count in [_whole(piece, headers)] if piece.changed else headers.of(piece):
            skipped = start - read if log is piece.log else None
            if held is not None:
                if before is not None:
                    held[1].precedes(extent, skipped)
                yield held
            held = (crc, end - start, count), _Copy(piece, start, extent, before, skipped)
            before, log, read = extent, piece.log, end
    if held is not None:
        yield held


def _whole(piece: Piece, headers: Headers) -> tuple[int, int, Extent, int, int]:
    """The only batch of a piece, whose header has another length."""
    extent = piece.first, piece.last, None if piece.is_legacy else piece.first_epoch
    return piece.start, piece.end, extent, headers.crc(piece), piece.records


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
