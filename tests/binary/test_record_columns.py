"""Columns of records and of headers of batches: both kernels make the same, which are the values that a walk finds."""

import tempfile
from array import array
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdump.binary import columns_reference
from kdump.binary.batch_columns_reference import BATCH_COLUMNS, batch_columns
from kdump.binary.columns_reference import RECORD_COLUMNS
from tests import kernels
from tests.builders.checksums import crc32c
from tests.builders.records import TIMESTAMP, batch, encode_record, message, message_set, record

if missing := kernels.why_no_c():
    pytest.skip(missing, allow_module_level=True)

from kdump.binary import _kernel

ALL = (1 << len(RECORD_COLUMNS)) - 1
SEQUENCE, HEADERS, KEY, VALUE = (RECORD_COLUMNS.index(name) for name in ("sequence", "headers", "key", "value"))

RECORD = st.builds(
    record,
    key=st.none() | st.binary(max_size=5),
    value=st.none() | st.binary(max_size=200),
    headers=st.lists(st.tuples(st.text(max_size=3), st.none() | st.binary(max_size=3)), max_size=3),
    timestamp=st.integers(-(1 << 62), 1 << 62),
    offset_delta=st.none() | st.integers(-(1 << 31), (1 << 31) - 1),
)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)


def encoded(*records: Any) -> bytes:
    return b"".join(encode_record(one, base_timestamp=0, row=row) for row, one in enumerate(records))


@st.composite
def plain_batches(draw: st.DrawFn) -> tuple[Any, ...]:
    """Batches as the kernel gets them, most of them regular."""
    records = draw(st.lists(RECORD, max_size=5))
    data = bytearray(encoded(*records))
    if data and draw(st.integers(0, 9)) == 0:
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    before, after = draw(st.binary(max_size=3)), draw(st.binary(max_size=3))
    count = len(records) if draw(st.integers(0, 9)) else draw(st.integers(0, 7))
    whole = draw(st.sampled_from([bytes, bytearray]))(before + data + after)
    base_sequence = draw(st.integers(-1, 5) | st.integers((1 << 31) - 5, (1 << 31) - 1))
    return whole, len(before), len(before) + len(data), count, draw(INT64), draw(INT64), draw(st.booleans()), base_sequence


@given(st.lists(plain_batches(), max_size=5), st.integers(0, ALL) | st.just(ALL), st.integers(0, 6) | st.just(1 << 17))
def test_both_kernels_make_the_same_columns(batches: Sequence[Any], wanted: int, max_headers: int) -> None:
    made = _kernel.record_columns(batches, wanted, max_headers)
    regular = made[0]
    assert made == columns_reference.record_columns(batches[:regular], wanted, max_headers)
    if columns_reference.record_columns(batches, 0, max_headers)[0] > regular:  # varints of more bytes than they need, and so on
        data, start, end, count, *_ = batches[regular]
        rows: list[Any] = []
        assert _kernel.walk_records(data, start, end, count, 1 << 60, rows)[1] < count


def test_columns_have_the_layout_of_arrow() -> None:
    data = encoded(
        record(key=b"k", value=None, headers=[("a", b"1"), ("ö", None)], timestamp=1),
        record(key=None, value=b"", headers=[], timestamp=2),
        record(key=b"", value=b"vw", headers=[("", b"")], timestamp=0),
    )
    for make in (_kernel.record_columns, columns_reference.record_columns):
        regular, largest, columns = make([(data, 0, len(data), 3, 7, 100, False, (1 << 31) - 2)], ALL, 9)
        assert (regular, largest) == (1, 2)
        assert columns == (
            *(array("q", [7, 8, 9]).tobytes(), array("q", [101, 102, 100]).tobytes(), array("i", [1, -1, 0]).tobytes()),
            *(array("i", [-1, 0, 2]).tobytes(), array("i", [(1 << 31) - 2, (1 << 31) - 1, 0]).tobytes()),
            (
                array("i", [0, 2, 2, 3]).tobytes(),
                (None, array("i", [0, 1, 3, 3]).tobytes(), "aö".encode()),
                (b"\x05", array("i", [0, 1, 1, 1]).tobytes(), b"1"),
            ),
            (b"\x05", array("i", [0, 1, 1, 1]).tobytes(), b"k"),
            (b"\x06", array("i", [0, 0, 0, 2]).tobytes(), b"vw"),
        )


@pytest.mark.parametrize("make", [_kernel.record_columns, columns_reference.record_columns], ids=["c", "python"])
def test_columns_end_before_the_first_irregular_batch(make: Any) -> None:
    good = encoded(record(key=b"k", headers=[("a", b"1")] * 2))
    whole = (good, 0, len(good), 1, 0, 0, False, -1)
    not_text, many = encoded(record(headers=[(b"\xff", b"1")])), encoded(record(headers=[("a", b"1")] * 3))
    irregular = {
        "bytes are left": (good + b"\0", 0, len(good) + 1, 1, 0, 0, False, -1),
        "a record is missing": (good, 0, len(good), 2, 0, 0, False, -1),
        "a record is cut off": (good, 0, len(good) - 1, 1, 0, 0, False, -1),
        "a key of a header is not text": (not_text, 0, len(not_text), 1, 0, 0, False, -1),
        "there are too many headers": (many, 0, len(many), 1, 0, 0, False, -1),
    }
    for one in irregular.values():
        assert make([whole, whole, one, whole], 1 << KEY, 2) == make([whole, whole], 1 << KEY, 2)
        assert make([one], ALL, 2)[0] == 0
    assert make([whole], ALL, 2)[0] == 1
    regular, largest, columns = make([(b"nothing is read of an empty one", 0, 8, 0, 0, 0, False, -1)], ALL, 9)
    assert (regular, largest, columns[VALUE]) == (1, 0, (None, bytes(4), b""))
    assert columns[HEADERS] == (bytes(4), (None, bytes(4), b""), (None, bytes(4), b""))


@pytest.mark.parametrize("one", [(b"", 0, 1, 0), (b"", -1, 0, 0), (b"ab", 2, 1, 0), (b"", 0, 0, -1), (b"", 1 << 62, 1 << 62, 1)])
def test_batches_outside_of_their_bytes_are_refused(one: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match="out of bounds"):
        _kernel.record_columns([(b"", 0, 0, 0, 0, 0, False, -1), (*one, 0, 0, False, -1)], ALL, 9)


def test_names_of_columns_are_those_of_the_kernel() -> None:
    assert _kernel.RECORD_COLUMNS == RECORD_COLUMNS


def _in_c(data: bytes, position: int, count: int, max_codec: int) -> tuple[bytes, ...]:
    """The columns of a log whose batches start at this position."""
    with tempfile.TemporaryFile() as file:
        file.seek(position)
        file.write(data)
        file.flush()
        end = position + len(data)
        window = bytearray(len(data) + 100)
        found: Any = _kernel.summarize_log(file.fileno(), position, end, end, count, max_codec, window, True)
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
