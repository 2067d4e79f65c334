"""Which of two batches stays, and which leader epochs are put right, where only one reading of the pieces is possible."""

from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import pytest

from kdump.mending.recover import lost_records
from kdump.mending.recover.contradicted import Known
from kdump.mending.recover.filling import Filling
from kdump.mending.recover.left_out import Losses
from kdump.mending.recover.lone_epochs import with_doubts
from kdump.mending.recover.pieces import Headers, LeftOut, Log, Piece
from kdump.mending.recover.resolving import _Resolution, gaps, resolve
from tests.builders.records import batch, record
from tests.loops import each


def _piece(
    offsets: tuple[int, int], epoch: int, *, is_sure: bool = True, is_spare: bool = False, joins: int = 0, base: int = 0
) -> Piece:
    log = Log("a.log", base_offset=base)
    log.is_spare = is_spare
    piece = Piece(log, 0, 70 + joins, (*offsets, epoch), is_sure=is_sure)
    piece.joins = joins
    return piece


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"is_sure": True, "epoch": 1}, {"is_sure": False, "epoch": 2}),
        ({"is_spare": False, "epoch": 1}, {"is_spare": True, "epoch": 2}),
        ({"epoch": 1}, {"epoch": 2, "base": 9}),  # in the log of another partition, or of later offsets
        ({"epoch": 2}, {"epoch": 1, "joins": 2}),
        ({"epoch": 1, "joins": 1}, {"epoch": 1}),
    ],
)
def test_of_two_batches_the_better_one_stays_whichever_comes_first(better: dict[str, Any], worse: dict[str, Any]) -> None:
    kept, left = _piece((5, 6), **better), _piece((6, 7), **worse)
    for order in ((kept, left), (left, kept)):
        resolution = _Resolution(order, Headers(), Known())
        assert resolution._decided(*order) == (kept, left)


def test_what_is_missing_in_a_log_is_what_no_batch_has_and_lost_where_something_was_left_out() -> None:
    held = [(0, 3), (4, 6), (9, 9), (12, 15)]
    chain = [_piece(offsets, 1) for offsets in held]
    there = {offset for first, last in held for offset in range(first, last + 1)}
    filling = Filling(chain, Headers(), [], [])
    for first, last in combinations_with_replacement(range(18), 2):
        assert filling.has_all(first, last + 1) == there.issuperset(range(first, last + 1)), (first, last)
        losses = Losses([LeftOut("b.log", 0, 9, "", "", first=first, last=last)])
        for before, after in gaps(chain):
            assert losses.are_between(before, after) == (first < after.first and before.last < last), (first, last)


EPOCHS = [((3, 9, 5), 3), ((3, 4, 5), 4), ((5, 3, 2), 3), ((7, 25, 9), 9), ((7, 71, 9), 7), ((None, -(1 << 31) + 3, 3), 3)]


@each("epochs, then", EPOCHS)
def test_an_epoch_is_put_right_only_between_epochs_that_ascend(epochs: tuple[int | None, int, int], then: int) -> None:
    same = [_piece((row, row), 1) for row in range(3)]  # each in a log of its own
    assert all(piece.is_sure for piece in with_doubts(same, Headers()))
    chain = [_piece((row, row), epoch, is_sure=row != 1) for row, epoch in enumerate(epochs) if epoch is not None]
    _Resolution(chain, Headers(), Known())._with_true_epochs(chain)
    assert [piece.first_epoch for piece in chain[-2:]] == [then, epochs[2]]


DOUBTED = [((3, 3, 7, 3, 3), 2), ((3, 9, 5, 5, 5), 1), ((3, 3, 1, 3, 3), 2), ((3, 3, 5, 5, 7), None), ((9, 3, 3, 3, 3), 0)]


@each("epochs, unsure", DOUBTED)
def test_a_batch_beside_damage_is_doubted_for_an_epoch_that_those_around_contradict(
    epochs: tuple[int, ...], unsure: int | None, tmp_path: Path
) -> None:
    """Each batch is a piece, as where damaged ones are between them."""
    log, data, pieces = Log(str(tmp_path / "0.log")), b"", []
    for row, epoch in enumerate(epochs):
        one = batch(base_offset=row, partition_leader_epoch=epoch, records=[record()])
        pieces.append(Piece(log, len(data), len(data + one), (row, row, epoch), is_sure=True))
        data += one + b"damaged"
    Path(log.path).write_bytes(data.removesuffix(b"damaged"))
    found = with_doubts(pieces, Headers())
    assert [row for row, piece in enumerate(found) if not piece.is_sure] == ([] if unsure is None else [unsure])
    for rank, piece in enumerate(pieces):  # those of another replica say nothing
        piece.log, piece.is_sure = Log(log.path, rank=rank), True
    assert all(piece.is_sure for piece in with_doubts(pieces, Headers()))


@each("stated, first", [(5, None), (8, 10), (1, 17)])
def test_an_offset_that_several_wrong_bits_explain_is_not_put_right(stated: int, first: int | None) -> None:
    """Between offsets 10 and 31; nothing else says which it was."""
    log = Log("0.log", base_offset=0)
    pieces = [
        Piece(log, 0, 70, (0, 9, 0)),
        Piece(log, 70, 140, (stated, stated, 0), is_sure=False),
        Piece(log, 140, 210, (31, 39, 0)),
    ]
    chain, left_out = resolve(pieces, Headers())
    assert [piece.first for piece in chain] == ([0, 31] if first is None else [0, first, 31])
    assert len(left_out) == (first is None)


@each("stated, first", [(10 + (1 << 32), 10), (11 + (1 << 32), 11 + (1 << 32)), (10 + (1 << 20), 10 + (1 << 20))])
def test_the_last_offset_is_put_right_if_one_bit_takes_it_out_of_the_reach_of_an_index(stated: int, first: int) -> None:
    log = Log("0.log", base_offset=0)
    pieces = [Piece(log, 0, 70, (0, 9, 0)), Piece(log, 70, 140, (stated, stated + 9, 0), is_sure=False)]
    chain, left_out = resolve(pieces, Headers())
    assert [(piece.first, piece.last) for piece in chain] == [(0, 9), (first, first + 9)]
    assert left_out == []


@each(
    "fields, deltas, offsets",
    [
        *(({}, [0, 1, 2], [5, 6, 7]), ({}, [0, 2], [5, 7]), ({}, [0, 0, 1], [5]), ({}, [1, 0], [6]), ({}, [-1, 0], [])),
        *(({"last_offset_delta": 1}, [0, 1, 2], [5, 6]), ({"records_count": 0}, [0, 1], [])),
        *(({"base_offset": -1}, [0, 1], []), ({"base_offset": 2**63 - 2}, [0, 1, 2], [2**63 - 2, 2**63 - 1])),
        *(({"magic": 3}, [0], []), ({"attributes": 5}, [0], [])),
    ],
)
def test_lost_records_are_listed_up_to_one_out_of_order(fields: dict[str, Any], deltas: list[int], offsets: list[int]) -> None:
    records = [record(offset_delta=delta) for delta in deltas]
    data = batch(records=records, **{"base_offset": 5, "last_offset_delta": 2} | fields)
    assert [offset for offset, _, _ in lost_records.of_batch(data)] == offsets
