"""What the writers of the formats write: the bytes of Kafka, which the readers read back."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdump.binary.source import Source
from kdump.errors import CorruptData
from kdump.formats import offset_index, producer_snapshot, text_checkpoint, time_index, transaction_index
from tests.builders import files
from tests.support import INT16, INT32, INT64, opened

pytestmark = pytest.mark.both_kernels

T = 1_700_000_000_000


def test_indexes_have_relative_offsets_with_positions_and_timestamps() -> None:
    assert offset_index.packed([104, 108], [241, 482], 100).hex() == "00000004000000f100000008000001e2"
    assert offset_index.packed([], [], 100) == b""
    assert time_index.packed([T, T + 9], [104, 108], 100).hex() == "0000018bcfe5680000000004" + "0000018bcfe5680900000008"
    assert time_index.packed([], [], 100) == b""


def test_no_index_stores_an_offset_that_does_not_fit() -> None:
    assert offset_index.packed([100 + 0x7FFFFFFF], [0], 100).hex() == "7fffffff00000000"
    for offset, code in ((101 + 0x7FFFFFFF, "offset-overflow-int32"), (99, "offset-below-base")):
        with pytest.raises(CorruptData) as caught:
            offset_index.packed([100, offset, 101], [0, 71, 142], 100)
        assert caught.value.code == code
        with pytest.raises(CorruptData) as caught:
            time_index.packed([T, T, T], [100, offset, 101], 100)
        assert caught.value.code == code


@given(INT64, INT64, INT64, INT64)
def test_an_aborted_transaction_is_written_as_kafka_does(producer_id: int, first: int, last: int, stable: int) -> None:
    expected = files.aborted_transaction(producer_id=producer_id, first_offset=first, last_offset=last, last_stable_offset=stable)
    assert transaction_index.packed(producer_id, first, last, stable) == expected


@given(st.lists(st.tuples(INT64, INT16, INT32, INT64, INT32, INT64, INT32, INT64), max_size=20))
def test_a_snapshot_is_written_as_kafka_does(producers: list[tuple[int, ...]]) -> None:
    names = (
        *("producer_id", "producer_epoch", "last_sequence", "last_offset", "offset_delta", "timestamp"),
        *("coordinator_epoch", "current_txn_first_offset"),
    )
    expected = [files.producer_entry(**dict(zip(names, values, strict=True))) for values in producers]
    data = producer_snapshot.packed(producers)
    assert data == files.producer_snapshot(entries=expected)
    with opened(data) as source:
        read = [row for table in producer_snapshot.read(source) for row in table]
    assert [tuple(getattr(row, name) for name in names) for row in read] == producers


@pytest.mark.parametrize("entries", [[], [(0, 0)], [(3, 17), (2**31 - 1, 2**63 - 1)]])
def test_a_checkpoint_of_leader_epochs_is_written_as_kafka_does(entries: list[tuple[int, int]], tmp_path: Path) -> None:
    data = text_checkpoint.packed(entries)
    assert data == files.checkpoint(entries=entries)
    path = tmp_path / "leader-epoch-checkpoint"
    path.write_bytes(data)
    with Source(str(path)) as source:
        lines = list(text_checkpoint.TextCheckpoint(source, text_checkpoint.EPOCH_FIELDS).lines())
    assert [line.values for line in lines] == entries


def test_a_checkpoint_of_offsets_keeps_names_that_are_not_text() -> None:
    assert text_checkpoint.packed([("orders-\udcff", 3, 1200)]) == b"0\n1\norders-\xff 3 1200\n"
