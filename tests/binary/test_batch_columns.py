"""Headers of batches as columns: the same numbers with both kernels, and those of the headers."""

import tempfile
from array import array
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdump.binary.batch_columns_reference import BATCH_COLUMNS, batch_columns
from tests.builders.checksums import crc32c
from tests.builders.records import TIMESTAMP, batch, message, message_set, record

_kernel: Any = pytest.importorskip("kdump.binary._kernel", reason="the kernel in C was not built")


def _in_c(data: bytes, position: int, count: int, max_codec: int) -> tuple[bytes, ...]:
    """The columns of a log whose batches start at this position."""
    with tempfile.TemporaryFile() as file:
        file.seek(position)
        file.write(data)
        file.flush()
        end = position + len(data)
        window = bytearray(len(data) + 100)
        found = _kernel.summarize_log(file.fileno(), position, end, end, count, max_codec, window, True)
    columns: tuple[bytes, ...] = found[3]
    return columns


def _named(made: tuple[bytes, ...]) -> dict[str, list[int]]:
    return {name: array(kind, column).tolist() for (name, kind), column in zip(BATCH_COLUMNS.items(), made, strict=True)}


@pytest.mark.parametrize("make", [_in_c, batch_columns], ids=["c", "python"])
def test_columns_have_the_numbers_of_headers(make: Any) -> None:
    first = batch(records=[record(timestamp=TIMESTAMP + 5)] * 3, base_offset=7, partition_leader_epoch=2)
    second = batch(records=[record()] * 2, base_offset=10, producer_id=9, producer_epoch=1, base_sequence=0x7FFFFFFF)
    named = _named(make(first + second, 1000, 2, 4))
    assert (named["partition_leader_epoch"][0], named["timestamp"][0]) == (2, TIMESTAMP + 5)
    expected = {
        "base_offset": [7, 10],
        "last_offset": [9, 11],
        "count": [3, 2],
        "base_sequence": [-1, 0x7FFFFFFF],
        "last_sequence": [-1, 0],
        "producer_id": [-1, 9],
        "producer_epoch": [-1, 1],
        "position": [1000, 1000 + len(first)],
        "size": [len(first), len(second)],
        "magic": [2, 2],
        "crc": [int.from_bytes(data[17:21], "big") for data in (first, second)],
    }
    assert {name: named[name] for name in expected} == expected


@given(st.binary(min_size=61, max_size=61), st.integers(0, 1 << 40), st.integers(0, 3))
def test_both_kernels_make_the_same_of_any_header(header: bytes, position: int, codec: int) -> None:
    offset, delta = header[0] & 0x7F, header[23] & 0x7F  # neither is negative
    data = bytes((offset,)) + header[1:8] + (49).to_bytes(4, "big") + header[12:16] + b"\2" + header[17:]
    covered = data[21:22] + bytes((data[22] & 0xF8 | codec, delta)) + data[24:]
    data = data[:17] + crc32c(covered).to_bytes(4, "big") + covered
    if int.from_bytes(data[:8], "big") + int.from_bytes(data[23:27], "big") < 1 << 63:
        assert _in_c(data, position, 1, 7) == batch_columns(data, position, 1, 7)


def test_old_messages_have_no_such_columns() -> None:
    assert _in_c(message_set(messages=[message(value=b"one")]), 0, 1, 4) is None


@pytest.mark.parametrize("count", [-1, 3, 1 << 40])
def test_a_window_with_fewer_batches_is_refused(count: int) -> None:
    with pytest.raises(ValueError, match="fewer regular batches"):
        batch_columns(batch(records=[record()]) * 2 + b"rest", 0, count, 4)
