"""Headers of batches as columns: the same numbers with both kernels, and those of the headers."""

from array import array
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdump.binary.batch_columns_reference import BATCH_COLUMNS, batch_columns
from tests.builders.records import TIMESTAMP, batch, record

_kernel: Any = pytest.importorskip("kdump.binary._kernel", reason="the kernel in C was not built")

BOTH = pytest.mark.parametrize("make", [_kernel.batch_columns, batch_columns], ids=["c", "python"])


def _named(made: tuple[bytes, ...]) -> dict[str, list[int]]:
    return {name: array(kind, column).tolist() for (name, kind), column in zip(BATCH_COLUMNS.items(), made, strict=True)}


@BOTH
def test_columns_have_the_numbers_of_headers(make: Any) -> None:
    first = batch(records=[record(timestamp=TIMESTAMP + 5)] * 3, base_offset=7, partition_leader_epoch=2)
    second = batch(records=[record()] * 2, base_offset=10, producer_id=9, producer_epoch=1, base_sequence=0x7FFFFFFF)
    named = _named(make(first + second, 1000, 2, 4))
    assert named["base_offset"] == [7, 10]
    assert named["last_offset"] == [9, 11]
    assert named["count"] == [3, 2]
    assert named["base_sequence"] == [-1, 0x7FFFFFFF]
    assert named["last_sequence"] == [-1, 0]
    assert named["producer_id"] == [-1, 9]
    assert named["producer_epoch"] == [-1, 1]
    assert named["partition_leader_epoch"][0] == 2
    assert named["position"] == [1000, 1000 + len(first)]
    assert named["timestamp"][0] == TIMESTAMP + 5
    assert named["size"] == [len(first), len(second)]
    assert named["magic"] == [2, 2]
    assert named["crc"] == [int.from_bytes(data[17:21], "big") for data in (first, second)]


@given(st.lists(st.binary(min_size=61, max_size=61), max_size=4), st.integers(-(1 << 63), (1 << 63) - 1), st.integers(-1, 5))
def test_both_kernels_make_the_same_of_any_headers(headers: list[bytes], position: int, count: int) -> None:
    window = b"".join(header[:8] + (49).to_bytes(4, "big") + header[12:16] + b"\2" + header[17:] for header in headers)
    found = []
    for make in (_kernel.batch_columns, batch_columns):
        try:
            found.append(make(window, position, count, 7))
        except ValueError as error:
            found.append(str(error))
    assert found[0] == found[1]


@BOTH
@pytest.mark.parametrize("count", [-1, 3, 1 << 40])
def test_a_window_with_fewer_batches_is_refused(make: Any, count: int) -> None:
    with pytest.raises(ValueError, match="fewer regular batches"):
        make(batch(records=[record()]) * 2 + b"rest", 0, count, 4)
