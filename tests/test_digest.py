"""A digest says what batches have in common, and is there only where they are sound and in order."""

import pytest

from kdump.binary import digest_reference, producer_run
from kdump.formats.digest import Digest
from kdump.formats.log import DigestedChunk, Log

from .builders.records import TIMESTAMP, batch, commit_record, message, message_set, record, transaction_marker
from .support import opened

pytestmark = pytest.mark.both_kernels

ONE = [record(value=b"one")]
TWO = [record(value=b"one"), record(value=b"two")]
SIZE = 61 + 10  # of a batch of ONE
SIZE_OF_TWO = 61 + 20


def _digest(data: bytes, start: int = 0) -> Digest | None:
    """The digest of the first chunk of a log."""
    with opened(data) as source:
        return next(iter(Log(source, start).digested_chunks())).digest


def _sure(data: bytes, start: int = 0) -> Digest:
    digest = _digest(data, start)
    assert digest is not None
    return digest


def test_a_digest_has_what_it_says_it_has() -> None:
    assert tuple(Digest.__annotations__) == digest_reference.DIGEST


def test_a_digest_tells_of_places_offsets_and_timestamps() -> None:
    log = batch(records=ONE, base_offset=5) + batch(records=TWO, base_offset=6, max_timestamp=TIMESTAMP - 1)
    digest = _sure(bytes(100) + log, 100)
    assert (digest.count, digest.last_position, digest.end) == (2, 100 + SIZE, 100 + SIZE + SIZE_OF_TWO)
    assert (digest.first_offset, digest.last_offset, digest.highest_size) == (5, 7, SIZE_OF_TWO)
    assert (digest.first_timestamp, digest.last_timestamp) == (TIMESTAMP, TIMESTAMP - 1)
    assert (digest.lowest_timestamp, digest.highest_timestamp, digest.timestamps_back) == (TIMESTAMP - 1, TIMESTAMP, 1)
    assert list(digest.positions) == [100, 100 + SIZE]
    assert (list(digest.first_offsets), list(digest.last_offsets)) == ([5, 6], [5, 7])
    assert list(digest.timestamps) == [TIMESTAMP, TIMESTAMP - 1]
    assert digest.extent_at(100 + SIZE) == (6, 7, 100 + SIZE + SIZE_OF_TWO)


def test_gaps_are_counted_and_the_first_and_last_of_them_are_known() -> None:
    digest = _sure(b"".join(batch(records=ONE, base_offset=offset) for offset in (0, 1, 5, 6, 16, 20)))
    assert (digest.gaps, digest.missing) == (3, 3 + 9 + 3)
    assert (digest.before_first_gap, digest.behind_first_gap) == (1 * SIZE, 2 * SIZE)
    assert (digest.before_last_gap, digest.behind_last_gap) == (4 * SIZE, 5 * SIZE)


def test_counts_are_compared_with_offsets_and_sizes() -> None:
    empty = batch(base_offset=3, last_offset_delta=1)
    sparse = [batch(records=TWO, base_offset=offset, last_offset_delta=9) for offset in (10, 20)]
    hollow = batch(records=ONE, base_offset=40, records_count=0)
    overfull = batch(records=TWO, base_offset=50, last_offset_delta=0)
    bare = batch(base_offset=60, last_offset_delta=0, records_count=1)
    digest = _sure(batch(records=ONE) + empty + sparse[0] + sparse[1] + hollow + overfull + bare)
    assert (digest.lowest_count, digest.empty, digest.hollow, digest.bare) == (0, 2, 1, 1)
    assert (digest.sparse, digest.overfull) == (2, 1)
    assert (digest.first_empty, digest.last_empty) == (SIZE, SIZE + 61 + 2 * SIZE_OF_TWO)
    assert (digest.first_sparse, digest.last_sparse) == (SIZE + 61, SIZE + 61 + SIZE_OF_TWO)


def test_attributes_codecs_and_leader_epochs_are_gathered() -> None:
    digest = _sure(
        batch(records=ONE, is_transactional=True, producer_id=4, producer_epoch=1, base_sequence=8, partition_leader_epoch=3)
        + batch(records=ONE, base_offset=1, is_transactional=True, codec="lz4", partition_leader_epoch=2)
        + batch(base_offset=2, attributes=0x50, base_timestamp=TIMESTAMP - 5, max_timestamp=TIMESTAMP, partition_leader_epoch=7)
    )
    assert (digest.any_attributes, digest.all_attributes, digest.codecs) == (0x53, 0x10, 0b1001)
    assert (digest.first_leader_epoch, digest.last_leader_epoch) == (3, 7)
    assert (digest.lowest_leader_epoch, digest.highest_leader_epoch, digest.leader_epochs_back) == (2, 7, 1)
    assert (digest.horizons, digest.lowest_horizon, digest.highest_horizon) == (1, TIMESTAMP - 5, TIMESTAMP - 5)
    assert digest.early_horizons == 1
    assert (digest.lowest_producer_id, digest.highest_producer_id, digest.orphans) == (-1, 4, 2)
    assert (digest.lowest_producer_epoch, digest.highest_producer_epoch, digest.highest_base_sequence) == (-1, 1, 8)


def test_producers_are_told_by_runs() -> None:
    def data(offset: int, producer_id: int, sequence: int, *, is_transactional: bool = False) -> bytes:
        return batch(
            records=ONE,
            base_offset=offset,
            producer_id=producer_id,
            producer_epoch=2,
            base_sequence=sequence,
            is_transactional=is_transactional,
        )

    marker = transaction_marker(base_offset=5, producer_id=8, producer_epoch=2, coordinator_epoch=6, is_commit=False)
    log = data(0, 8, 0, is_transactional=True) + data(1, 9, 3) + batch(records=ONE, base_offset=2)
    log += data(3, 9, 4) + data(4, 8, 1, is_transactional=True) + marker + data(6, 9, 7)
    runs = _sure(log).producer_runs()
    assert runs is not None
    assert list(runs) == [
        (8, 2, producer_run.TRANSACTIONAL, 0, 1, 0, 0, SIZE, 4, 4, 0, 0, 0, 0, 0, 1),
        (9, 2, producer_run.PLAIN, 3, 4, 1, SIZE, 2 * SIZE, 3, 3, 0, 0, 0, 0, 0, 1),
        (8, 2, producer_run.MARKER, -1, -1, 5, 5 * SIZE, 5 * SIZE + 78, 5, 5, 0, 6, 0, 0, 0, 0),
        (9, 2, producer_run.PLAIN, 7, 7, 6, 5 * SIZE + 78, 6 * SIZE + 78, 6, 6, 0, 0, 0, 0, 0, 1),
    ]


def test_transactions_that_are_committed_in_a_row_are_one_run() -> None:
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
    runs = _sure(log).producer_runs()
    assert runs is not None
    assert list(runs) == [
        (8, 2, producer_run.TRANSACTIONAL, 4, 7, 6, 3 * both, 3 * both + SIZE, 6, 6, 0, 5, 3, 3, 5, 1),
        (8, 2, producer_run.MARKER, -1, -1, 7, 4 * both - 78, 4 * both, 7, 7, 1, 4, 0, 0, 0, 0),
    ]


@pytest.mark.parametrize(
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
    assert _sure(odd).producer_runs() is None


def test_messages_have_digests_too() -> None:
    log = message_set(messages=[message(value=b"old", magic=0), message(value=b"new", magic=1, timestamp=TIMESTAMP, offset=4)])
    digest = _sure(log)
    assert digest.is_legacy
    assert (digest.count, digest.first_offset, digest.last_offset, digest.gaps, digest.missing) == (2, 0, 4, 1, 3)
    assert (digest.lowest_magic, digest.highest_magic) == (0, 1)
    assert (digest.lowest_timestamp, digest.highest_timestamp) == (-1, TIMESTAMP)
    assert list(digest.first_offsets) == list(digest.last_offsets) == [0, 4]
    assert digest.extent_at(digest.last_position) == (4, 4, len(log))


@pytest.mark.parametrize(
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
def test_batches_that_are_damaged_or_out_of_order_have_no_digest(odd: bytes) -> None:
    assert _digest(batch(records=ONE) + odd + batch(records=ONE, base_offset=20)) is None
    assert _digest(batch(records=ONE)) is not None


def test_negative_offsets_have_no_digest() -> None:
    assert _digest(batch(records=ONE, base_offset=-3)) is None


def test_a_chunk_with_a_digest_makes_its_columns_when_they_are_wanted() -> None:
    with opened(batch(records=ONE) + batch(records=TWO, base_offset=1)) as source:
        (chunk,) = Log(source).digested_chunks()
    assert isinstance(chunk, DigestedChunk)
    assert len(chunk) == 2
    assert list(chunk.batches["last_offset"]) == [0, 2]
    assert list(chunk.starts) == [0, SIZE]
    assert [header[0] for header in chunk.headers] == [0, 1]
    with pytest.raises(AttributeError):
        _ = chunk.nothing
