"""Which of two batches stays, and which leader epochs are put right, where only one reading of the pieces is possible."""

from typing import Any

import pytest

from kdump.mending.recover.copies import _Copy, _with_wrong_offsets
from kdump.mending.recover.lone_epochs import with_doubts
from kdump.mending.recover.pieces import Headers, Log, Piece
from kdump.mending.recover.resolving import _Resolution


def _piece(offsets: tuple[int, int], epoch: int, *, is_sure: bool = True, is_spare: bool = False, joins: int = 0) -> Piece:
    log = Log("a.log")
    log.is_spare = is_spare
    piece = Piece(log, 0, 70 + joins, (*offsets, epoch), is_sure=is_sure)
    piece.joins = joins
    return piece


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"is_sure": True, "epoch": 1}, {"is_sure": False, "epoch": 2}),
        ({"is_spare": False, "epoch": 1}, {"is_spare": True, "epoch": 2}),
        ({"epoch": 2}, {"epoch": 1, "joins": 2}),
        ({"epoch": 1, "joins": 1}, {"epoch": 1}),
    ],
)
def test_of_two_batches_the_better_one_stays_whichever_comes_first(better: dict[str, Any], worse: dict[str, Any]) -> None:
    kept, left = _piece((5, 6), **better), _piece((6, 7), **worse)
    for order in ((kept, left), (left, kept)):
        resolution = _Resolution(order, Headers())
        assert resolution._decided(*order) == (kept, left)


@pytest.mark.parametrize(("epochs", "then"), [((3, 9, 5), 3), ((3, 4, 5), 4), ((5, 3, 2), 3)])
def test_an_epoch_is_put_right_only_between_epochs_that_ascend(epochs: tuple[int, int, int], then: int) -> None:
    same = [_piece((row, row), 1) for row in range(3)]  # each in a log of its own
    assert all(piece.is_sure for piece in with_doubts(same, Headers()))
    chain = [_piece((row, row), epoch, is_sure=row != 1) for row, epoch in enumerate(epochs)]
    _Resolution(chain, Headers())._with_true_epochs(chain)
    assert [piece.first_epoch for piece in chain] == [epochs[0], then, epochs[2]]


@pytest.mark.parametrize(
    ("lows", "offsets", "wrong"),
    [
        ((0, 0), (10, 20), [1]),  # the smaller gap wins
        ((5, 6, 15), (10, 20, 50), [1]),  # offset 20, where the last one may be, is refuted itself
    ],
)
def test_of_copies_with_different_offsets_those_are_wrong_that_may_be_where_better_ones_are(
    lows: tuple[int, ...], offsets: tuple[int, ...], wrong: list[int]
) -> None:
    copies = []
    for rank, (low, offset) in enumerate(zip(lows, offsets, strict=True)):
        claim = offset, offset, 0
        piece = Piece(Log("a.log", rank=rank), 0, 70, claim)
        copies.append(_Copy(piece, 0, claim, (0, 70, 1), (low - 1, low - 1, 5), 0))
    assert [copies.index(copy) for copy in _with_wrong_offsets(copies)] == wrong
