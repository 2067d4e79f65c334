"""A summary says what batches have in common, and is there only where they are sound and in order."""

import pytest

from kdump.binary import producer_streak
from kdump.formats.log import Log
from kdump.formats.summary import BatchSummary
from tests.builders.records import TIMESTAMP, batch, commit_record, record, transaction_marker
from tests.loops import each
from tests.support import opened

pytestmark = pytest.mark.both_kernels

ONE = [record(value=b"one")]
TWO = [record(value=b"one"), record(value=b"two")]
SIZE = 61 + 10  # of a batch of ONE
SIZE_OF_TWO = 61 + 20


def _summary(data: bytes, start: int = 0) -> BatchSummary | None:
    """The summary of the first chunk of a log."""
    with opened(data) as source:
        return next(iter(Log(source, start).summarized_chunks())).summary


def _sure(data: bytes, start: int = 0) -> BatchSummary:
    summary = _summary(data, start)
    assert summary is not None
    return summary


def test_gaps_are_counted_and_the_first_and_last_of_them_are_known() -> None:
    summary = _sure(b"".join(batch(records=ONE, base_offset=offset) for offset in (0, 1, 5, 6, 16, 20)))
    assert (summary.gaps, summary.missing) == (3, 3 + 9 + 3)
    assert (summary.before_first_gap, summary.after_first_gap) == (1 * SIZE, 2 * SIZE)
    assert (summary.before_last_gap, summary.after_last_gap) == (4 * SIZE, 5 * SIZE)


def test_counts_are_compared_with_offsets_and_sizes() -> None:
    empty = batch(base_offset=3, last_offset_delta=1)
    sparse = [batch(records=TWO, base_offset=offset, last_offset_delta=9) for offset in (10, 20)]
    hollow = batch(records=ONE, base_offset=40, records_count=0)
    overfull = batch(records=TWO, base_offset=50, last_offset_delta=0)
    bare = batch(base_offset=60, last_offset_delta=0, records_count=1)
    summary = _sure(batch(records=ONE) + empty + sparse[0] + sparse[1] + hollow + overfull + bare)
    assert (summary.lowest_count, summary.empty, summary.hollow, summary.bare) == (0, 2, 1, 1)
    assert (summary.sparse, summary.overfull) == (2, 1)
    assert (summary.first_empty, summary.last_empty) == (SIZE, SIZE + 61 + 2 * SIZE_OF_TWO)
    assert (summary.first_sparse, summary.last_sparse) == (SIZE + 61, SIZE + 61 + SIZE_OF_TWO)


def test_attributes_codecs_and_leader_epochs_are_gathered() -> None:
    summary = _sure(
        batch(records=ONE, is_transactional=True, producer_id=4, producer_epoch=1, base_sequence=8, partition_leader_epoch=3)
        + batch(records=ONE, base_offset=1, is_transactional=True, codec="lz4", partition_leader_epoch=2)
        + batch(base_offset=2, attributes=0x50, base_timestamp=TIMESTAMP - 5, max_timestamp=TIMESTAMP, partition_leader_epoch=7)
    )
    assert (summary.any_attributes, summary.all_attributes, summary.codecs) == (0x53, 0x10, 0b1001)
    assert (summary.first_leader_epoch, summary.last_leader_epoch) == (3, 7)
    assert (summary.lowest_leader_epoch, summary.highest_leader_epoch, summary.leader_epochs_back) == (2, 7, 1)
    assert (summary.horizons, summary.lowest_horizon, summary.highest_horizon) == (1, TIMESTAMP - 5, TIMESTAMP - 5)
    assert summary.early_horizons == 1
    assert (summary.lowest_producer_id, summary.highest_producer_id, summary.orphans) == (-1, 4, 2)
    assert (summary.lowest_producer_epoch, summary.highest_producer_epoch, summary.highest_base_sequence) == (-1, 1, 8)


def test_transactions_that_are_committed_in_a_row_are_one_streak() -> None:
    log, offset = b"", 0
    for sequence, coordinator_epoch in ((4, 3), (5, 3), (6, 5), (7, 4)):
        log += batch(
            records=ONE, base_offset=offset, producer_id=8, producer_epoch=2, base_sequence=sequence, is_transactional=True
        )
        log += transaction_marker(
            base_offset=offset + 1, producer_id=8, producer_epoch=2, coordinator_epoch=coordinator_epoch, is_commit=True
        )
        offset += 2
    both = SIZE + 78
    streaks = _sure(log).producer_streaks()
    assert streaks is not None
    assert list(streaks) == [
        (8, 2, producer_streak.TRANSACTIONAL, 4, 7, 6, 3 * both, 3 * both + SIZE, 6, 6, 0, 5, 3, 3, 5, 1),
        (8, 2, producer_streak.MARKER, -1, -1, 7, 4 * both - 78, 4 * both, 7, 7, 1, 4, 0, 0, 0, 0),
    ]


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
        batch(records=ONE, base_offset=1, crc=1),
        batch(records=ONE, base_offset=1, magic=3),
        batch(records=ONE, base_offset=0),
        batch(records=TWO, base_offset=9, last_offset_delta=-1),
        batch(records=TWO, base_offset=(1 << 63) - 1),
    ],
    ids=["wrong CRC", "unknown magic", "same offset again", "last offset below the first", "offset beyond 64 bits"],
)
def test_batches_that_are_damaged_or_out_of_order_have_no_summary(odd: bytes) -> None:
    assert _summary(batch(records=ONE) + odd + batch(records=ONE, base_offset=20)) is None
    assert _summary(batch(records=ONE)) is not None


def test_negative_offsets_have_no_summary() -> None:
    assert _summary(batch(records=ONE, base_offset=-3)) is None
