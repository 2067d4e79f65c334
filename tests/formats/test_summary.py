"""A summary says what batches have in common, and is there only where they are sound and in order."""

from typing import Any  # options of builders

import pytest

from kdump.formats.log import Log
from kdump.formats.summary import BatchSummary
from tests.builders.records import batch, commit_record, record
from tests.loops import each
from tests.support import opened

pytestmark = pytest.mark.both_kernels

ONE = [record(value=b"one")]
TWO = [record(value=b"one"), record(value=b"two")]
SIZE = 61 + 10  # of a batch of ONE


def _summary(data: bytes) -> BatchSummary | None:
    with opened(data) as source:
        return next(iter(Log(source).summarized_chunks())).summary


def _sure(data: bytes) -> BatchSummary:
    summary = _summary(data)
    assert summary is not None
    return summary


def test_gaps_are_counted_and_the_first_and_last_of_them_are_known() -> None:
    summary = _sure(b"".join(batch(records=ONE, base_offset=offset) for offset in (3, 4, 8, 9, 19, 23)))
    assert (summary.gaps, summary.missing) == (3, 3 + 9 + 3)
    assert (summary.before_first_gap, summary.after_first_gap) == (1 * SIZE, 2 * SIZE)
    assert (summary.before_last_gap, summary.after_last_gap) == (4 * SIZE, 5 * SIZE)
    summary = summary.with_first_offsets((1, 4, 6, 9, 17, 23))  # as records say them
    assert (summary.first_offset, summary.gaps, summary.missing) == (1, 3, 1 + 7 + 3)
    assert (summary.after_first_gap, summary.before_last_gap) == (2 * SIZE, 4 * SIZE)


def test_a_summary_has_the_ends_and_the_number_of_all_that_matters() -> None:
    of_seven: dict[str, Any] = {"producer_id": 7, "producer_epoch": 1, "base_sequence": 5}
    of_three: dict[str, Any] = {"producer_id": 3, "producer_epoch": 0, "base_sequence": 0}
    batches = [
        batch(records=TWO, base_offset=10, base_timestamp=100, max_timestamp=150, partition_leader_epoch=4, **of_seven),
        batch(
            records=ONE, base_offset=15, last_offset_delta=3, max_timestamp=90, partition_leader_epoch=2, is_transactional=True
        ),
        batch(
            records=TWO, base_offset=19, last_offset_delta=0, delete_horizon_ms=120, max_timestamp=300, codec="gzip", **of_three
        ),
        batch(base_offset=22, last_offset_delta=1, max_timestamp=300, partition_leader_epoch=9),
    ]
    starts = [sum(map(len, batches[:row])) for row in range(5)]
    summary = _sure(b"".join(batches))
    for names, expected in (
        ("count end last_position highest_size records", (4, starts[4], starts[3], max(map(len, batches)), 5)),
        ("any_attributes all_attributes codecs lowest_magic highest_magic", (0x51, 0, 0b11, 2, 2)),
        ("first_offset last_offset gaps missing orphans", (10, 23, 2, 5, 1)),
        ("before_first_gap after_first_gap before_last_gap after_last_gap", (0, *starts[1:4])),
        ("first_timestamp last_timestamp lowest_timestamp highest_timestamp timestamps_back", (150, 300, 90, 300, 1)),
        ("first_leader_epoch last_leader_epoch lowest_leader_epoch highest_leader_epoch", (4, 9, 0, 9)),
        ("leader_epochs_back lowest_count empty first_empty last_empty", (2, 0, 1, starts[3], starts[3])),
        ("sparse first_sparse last_sparse overfull hollow bare", (1, starts[1], starts[1], 1, 0, 0)),
        ("horizons lowest_horizon highest_horizon early_horizons highest_base_sequence", (1, 120, 120, 1, 5)),
        ("lowest_producer_id highest_producer_id lowest_producer_epoch highest_producer_epoch", (-1, 7, -1, 1)),
    ):
        assert tuple(getattr(summary, name) for name in names.split()) == expected, names
    assert list(summary.positions) == starts[:4]
    assert [summary.extent_at(start) for start in starts[:2]] == [(10, 11, starts[1]), (15, 18, starts[2])]
    assert (list(summary.timestamps), summary.times_at(0), summary.magic_at(0)) == ([150, 90, 300, 300], (100, 150), 2)


@each(
    "odd",
    [
        batch(records=ONE, producer_id=7, producer_epoch=0),
        batch(records=TWO, producer_id=7, producer_epoch=0, base_sequence=0x7FFFFFFF),
        batch(records=[commit_record()], is_control=True),
        batch(records=[commit_record(), commit_record()], is_control=True, is_transactional=True, producer_id=7),
        batch(records=[commit_record(version=1)], is_control=True, is_transactional=True, producer_id=7),
    ],
    ids=["no sequence", "sequences that wrap", "no producer", "two markers", "marker of another version"],
)
def test_odd_batches_of_producers_make_no_runs(odd: bytes) -> None:
    assert _sure(odd).producer_streaks() is None


@each(
    "odd",
    [
        *(batch(records=ONE, base_offset=1, crc=1), batch(records=ONE, base_offset=1, magic=3)),
        *(batch(records=ONE, base_offset=0), batch(records=TWO, base_offset=9, last_offset_delta=-1)),
        batch(records=TWO, base_offset=(1 << 63) - 1),
    ],
    ids=["wrong CRC", "unknown magic", "same offset again", "last offset below the first", "offset beyond 64 bits"],
)
def test_batches_that_are_damaged_or_out_of_order_or_have_negative_offsets_have_no_summary(odd: bytes) -> None:
    assert _summary(batch(records=ONE) + odd + batch(records=ONE, base_offset=20)) is None
    assert _summary(batch(records=ONE)) is not None
    assert _summary(batch(records=ONE, base_offset=-3)) is None


@each(("count", "hollow"), [(0, 1), (-1, 1), (1, 0)])
def test_batches_that_say_they_are_empty_and_are_not_are_counted(count: int, hollow: int) -> None:
    assert _sure(batch(records=ONE, records_count=count)).hollow == hollow
    assert _sure(batch(records=[], last_offset_delta=1)).hollow == 0
    assert _sure(batch(records=[], records_count=count)).bare == (count > 0)


def test_an_epoch_of_a_producer_is_a_streak_of_its_own_though_sequences_go_on() -> None:
    batches = [
        batch(records=ONE, base_offset=row, producer_id=7, producer_epoch=epoch, base_sequence=row)
        for row, epoch in enumerate((5, 5, 6, 3))
    ]
    streaks = _sure(b"".join(batches)).producer_streaks()
    assert streaks is not None and len(list(streaks)) == 3


def test_a_marker_belongs_to_a_transaction_that_is_open() -> None:
    of_producer: dict[str, Any] = {"is_transactional": True, "producer_id": 7, "producer_epoch": 5}
    data = batch(records=ONE, base_sequence=0, **of_producer)
    commits = [batch(records=[commit_record()], is_control=True, base_offset=row, **of_producer) for row in (1, 2)]
    for batches, count in (([data, commits[0]], 1), ([data, *commits], 2), (commits, 2)):
        streaks = _sure(b"".join(batches)).producer_streaks()
        assert streaks is not None and len(list(streaks)) == count
