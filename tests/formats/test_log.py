"""The walk through a log: where batches are, where it stops, and that windows do not matter."""

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdump.binary.source import Source
from kdump.errors import CorruptData, Unreadable
from kdump.formats import records
from kdump.formats.log import Chunk, Log, LogRules, SummarizedChunk
from tests.builders.files import write_log
from tests.builders.records import batch, encode_message, message, message_set, record
from tests.loops import each
from tests.support import LOGS, damaged, opened, read_records, values_of, walk

pytestmark = pytest.mark.both_kernels

ONE = batch(records=[record(value=b"v")], base_offset=7)
ONE_MESSAGE = message_set(messages=[message(value=b"v")], base_offset=7)
_WITHOUT_MAGIC = encode_message(message(magic=-1, value=bytes(20)))


def _ended(data: bytes, **options: Any) -> tuple[int, int, str, str]:  # the options of Log, of several types
    found = walk(data, **options)
    return len(found.rows), found.position, found.trailing, found.code


# --- the end of a log


@each("rest", [0, 1, 12, 17])
@each("byte", [b"\0", b"\xff"])
def test_up_to_17_bytes_after_the_last_batch_are_trailing(rest: int, byte: bytes) -> None:
    assert _ended(ONE + byte * rest) == (1, len(ONE), "torn-header" if rest else "", "")


def test_18_zero_bytes_after_the_last_batch_are_a_batch_that_cannot_be() -> None:
    found = walk(ONE + bytes(18))
    assert (len(found.rows), found.code) == (1, "record-size-too-small")
    assert found.fault is not None
    values = found.fault.values
    assert (found.fault.position, values["size"], values["minimum"]) == (len(ONE), 0, 14)


@each("length", [-0x80000000, -1, 0, 13])
@each("magic", [0, 1, 2, -1])
def test_a_length_below_14_ends_the_walk_with_a_fault(length: int, magic: int) -> None:
    data = ONE + struct.pack(">qi4xb", 8, length, magic) + bytes(100)
    assert _ended(data) == (1, len(ONE), "", "record-size-too-small")


def test_a_batch_that_reaches_past_the_end_or_is_cut_anywhere_is_trailing() -> None:
    for length in (100, 0x7FFFFFFF):
        torn = batch(records=[record(value=b"v")], batch_length=length)
        assert _ended(ONE + torn) == (1, len(ONE), "torn-batch", "")
    for size in range(1, len(ONE)):
        expected = "torn-header" if size < 18 else "torn-batch"
        assert _ended(ONE + ONE[:size]) == (1, len(ONE), expected, ""), size
    assert (_ended(ONE[:-1]), _ended(b"")) == ((0, 0, "torn-batch", ""), (0, 0, "", ""))


# --- batches that cannot be read


def test_a_batch_shorter_than_its_header_is_read_into_the_next() -> None:
    data = batch(batch_length=20, base_offset=3, payload=b"") + ONE
    first, *_ = walk(data).rows
    assert (first["base_offset"], first["size"], first["isvalid"]) == (3, 32, False)


_OLD = LogRules(reads_records_only=True)  # as deep iteration of old releases
_STRICT, _OVERFLOWING = LogRules(), LogRules(fails_on_overflow=True)
_CUT = batch(batch_length=20, payload=b"")[:40]
_MOST = 0x7FFFFFFF


@each(
    ("data", "rules", "code", "through"),
    [
        *((ONE + _CUT, rules, code, "") for rules, code in ((_STRICT, "batch-header-cut"), (_OLD, "batch-shorter-than-header"))),
        (batch(records=[record()], codec="zstd"), LogRules(5), "", ""),
        (batch(records=[record()], codec="zstd"), LogRules(4), "codec-unknown", "delete_horizon_ms"),
        *((batch(records=[record()], attributes=5), rules, "codec-unknown", "delete_horizon_ms") for rules in (_STRICT, _OLD)),
        *((message_set(messages=[message(attributes=5)]), rules, "codec-unknown", "last_offset") for rules in (_STRICT, _OLD)),
        *((batch(attributes=5), rules, code, "delete_horizon_ms") for rules, code in ((_STRICT, "codec-unknown"), (_OLD, ""))),
        *((_WITHOUT_MAGIC, rules, code, "last_offset") for rules, code in ((_STRICT, "magic-negative"), (_OLD, ""))),
        *((ONE + batch(batch_length=_MOST - more), _STRICT, "", "torn-batch") for more in (0, 11, 12)),
        *((batch(batch_length=_MOST - more), _OVERFLOWING, "length-overflow", "delete_horizon_ms") for more in (0, 11)),
        (batch(batch_length=_MOST - 12), _OVERFLOWING, "", "torn-batch"),
        (message_set(messages=[message(size=_MOST, value=bytes(50))]), _OVERFLOWING, "length-overflow", "last_offset"),
    ],
)
def test_what_a_reader_does_not_accept_is_a_fault_with_the_fields_before_it(
    data: bytes, rules: LogRules, code: str, through: str
) -> None:
    found = walk(data, rules=rules)
    assert found.code == code
    if found.fault is None:
        assert found.trailing == ("torn-batch" if through == "torn-batch" else "")
        return
    values, row = found.fault.values, found.fault.row
    start = len(ONE) if data[: len(ONE)] == ONE else 0
    assert (found.fault.position, values["batch_size"], values["view"]) == (start, 12 + _int(data, start + 8), (0, len(data)))
    if code.startswith("batch"):
        assert code == "batch-shorter-than-header" or (values["header_size"], values["read"], row) == (61, 40, None)
    else:
        assert (found.fault.through, row and row.last_offset) == (through, 0)
    if code == "length-overflow":
        assert values["capacity"] == values["batch_size"] - (1 << 32)


def _int(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "big", signed=True)


# --- a view that ends early or begins late


def test_a_batch_that_crosses_the_end_of_the_view_is_not_seen() -> None:
    for end, count in [(0, 0), (17, 0), (len(ONE) - 1, 0), (len(ONE), 1), (2 * len(ONE) + 5, 2), (1 << 40, 3)]:
        found = walk(ONE * 3, end=end)
        assert (len(found.rows), found.fault) == (count, None), end
    assert _ended(ONE, start=len(ONE)) == (0, len(ONE), "", "")  # nor one before its start


# --- windows


@each(
    ("small", "large", "sizes"),
    [
        (ONE, batch(records=[record(value=bytes(1_200_000))], base_offset=8), (69, 1_200_074)),
        (ONE_MESSAGE, message_set(messages=[message(value=bytes(1_200_000), key=b"k")]), (35, 1_200_035)),
    ],
    ids=["batch", "message"],
)
def test_what_is_larger_than_a_window_is_read(small: bytes, large: bytes, sizes: tuple[int, int]) -> None:
    found = walk(small + large + small).rows
    (little, much) = sizes
    places = [(0, little, True), (little, much, True), (little + much, little, True)]
    assert [(row["position"], row["size"], row["isvalid"]) for row in found] == places
    assert [row["value_size"] for row in read_records(small + large + small).rows] == [1, 1_200_000, 1]
    wrong = small + large[:-1] + b"?"
    assert [row["isvalid"] for row in walk(wrong).rows] == [True, False]


def test_what_is_larger_than_a_window_is_only_read_if_it_may_be() -> None:
    large = batch(records=[record(value=bytes(500))], base_offset=8)
    for may_be, code in ((True, ""), (False, "resync-budget")):
        may_check = mock.Mock(return_value=may_be)
        found = walk(ONE + large, max_window_size=100, may_check=may_check)
        assert (found.code, len(found.rows)) == (code, 1 if code else 2)
        may_check.assert_called_once_with(len(large))


@given(damaged(LOGS), st.integers(17, 300))
def test_any_window_size_gives_the_same_rows(data: bytes, window_size: int) -> None:
    plain, windowed = walk(data), walk(data, window_size=window_size)
    assert windowed.rows == plain.rows
    assert windowed[1:3] == plain[1:3]
    assert windowed.code == plain.code


# --- against the walk written down once more


@given(damaged(LOGS))
def test_starts_are_the_positions_of_extents(data: bytes) -> None:
    with opened(data) as source:
        extents, starts = Log(source).extents(), Log(source).starts()
        positions = _up_to_a_fault(position for some, _ in extents for position in some)
        found = _up_to_a_fault(window_position + start for some, _, window_position in starts for start in some)
    assert found == positions


def _up_to_a_fault(positions: Iterator[int]) -> list[int | str]:
    found: list[int | str] = []
    try:
        for position in positions:
            found.append(position)
    except CorruptData as error:
        found.append(error.code)
    return found


def _whole(data: bytes) -> list[int]:
    """Where batches start that are whole, going by their lengths, and where the first bytes stand that are none."""
    starts, position = [0], 0
    while position + 12 < len(data):
        (length,) = struct.unpack_from(">i", data, position + 8)
        position += 12 + length
        if length <= 0 or position > len(data):
            break
        starts.append(position)
    return starts


@given(damaged(LOGS))
def test_damage_is_a_fault_that_names_the_first_batch_it_lies_in_or_nothing(data: bytes) -> None:
    found = read_records(data)
    starts = _whole(data)
    if found.fault is None:
        assert len(found.batches) == len(starts) - 1
    else:
        assert found.fault.path is not None
        count = len(found.batches)  # of the last of them, only some records may have been read
        assert found.fault.position in starts[max(count - 1, 0) : count + 1]


@given(LOGS)
def test_a_sound_log_has_only_valid_batches_and_ends_at_its_end(data: bytes) -> None:
    found = walk(data)
    assert all(row["isvalid"] for row in found.rows)
    assert (found.position, found.trailing, found.code) == (len(data), "", "")
    assert read_records(data).code == ""


def _rows(chunk: Chunk) -> list[Any]:  # of any type
    rows = [values_of(row) for row in chunk.batches]
    return [len(chunk), chunk.is_legacy, list(chunk.headers), list(chunk.record_counts()), rows]


@each("kind", ["batches", "messages"])
@each("before", [0, 2])
def test_a_summary_comes_with_the_same_batches_and_reads_them_when_they_are_asked_for(
    tmp_path: Path, kind: str, before: int
) -> None:
    made = {
        "batches": [batch(records=[record()] * count, base_offset=count) for count in (1, 2, 4)],
        "messages": [message_set(messages=[message(value=bytes(count))], base_offset=count) for count in (1, 2, 4)],
    }
    parts, other = made[kind], b"".join(made["messages" if kind == "batches" else "batches"][:before])
    path = write_log(tmp_path, other + b"".join(parts))
    with Source(str(path)) as source:
        plain = list(Log(source).chunks())[-1]
        assert _rows(plain.slice(1, 3)) == [
            2,
            plain.is_legacy,
            plain.headers[1:],
            list(plain.record_counts())[1:],
            _rows(plain)[4][1:],
        ]
        assert list(plain.record_counts()) == ([1, 2, 4] if kind == "batches" else [1, 1, 1])

        def summarized() -> SummarizedChunk:
            chunk = list(Log(source).summarized_chunks())[-1]
            assert isinstance(chunk, SummarizedChunk)
            assert (len(chunk), chunk.is_legacy, chunk.summary.end) == (3, kind == "messages", source.size)
            return chunk

        assert _rows(summarized()) == _rows(summarized().headers_only()) == _rows(plain)
        kept = summarized()
        kept.kept = memoryview(path.read_bytes())[len(other) :]
        assert _rows(kept.headers_only()) == _rows(plain)
        assert (kept.headers_only().window, kept.headers_only().starts) == (b"", [0, 0, 0])
        again = SummarizedChunk.read_again(kept.summary, source, len(other))
        assert (_rows(again), again.starts) == (_rows(plain), [start - len(other) for start in plain.starts])
        assert all(chunk.summary is None for chunk in Log(source).summarized_chunks(lambda: False))
        for changed in (parts[0] * 3, parts[0] + parts[1] + b"\xff" * len(parts[2])):
            path.write_bytes((other + changed).ljust(source.size, b"\0"))
            with pytest.raises(Unreadable, match="was changed while it was being read") as caught:
                _rows(SummarizedChunk.read_again(kept.summary, source, len(other)))
            assert (caught.value.path, caught.value.position) == (str(path), len(other))


# --- a log that changes while it is read


@each(("size", "count"), [(0, 0), (5, 0), (17, 0), (30, 0), (len(ONE), 1), (2 * len(ONE) + 5, 2)])
def test_a_log_truncated_before_it_is_walked_is_read_to_its_end_and_reported(tmp_path: Path, size: int, count: int) -> None:
    path = write_log(tmp_path, ONE * 3)
    found = 0
    with Source(str(path)) as source:
        os.truncate(path, size)
        log = Log(source)
        with pytest.raises(Unreadable, match=f"was cut to {size} bytes while it was read") as caught:
            for chunk in log.chunks():
                found += len(chunk.batches)
        assert (found, caught.value.code, log.position) == (count, "file-shrank", count * len(ONE))


@each(
    ("data", "size"),
    [
        (batch(records=[record(value=bytes(1_200_000))], crc=0), 30),
        (message_set(messages=[message(value=bytes(1_200_000), crc=0)]), 14),
    ],
    ids=["batch", "message"],
)
def test_a_log_truncated_before_its_large_records_are_read_is_reported(tmp_path: Path, data: bytes, size: int) -> None:
    path = write_log(tmp_path, data)
    with Source(str(path)) as source:
        (chunk,) = Log(source).chunks()
        os.truncate(path, size)
        with pytest.raises(Unreadable) as caught:
            list(records.read(source, chunk))
    assert caught.value.code == "file-shrank"


# --- all magics in one log


def test_a_message_of_14_bytes_is_the_shortest_of_magic_0() -> None:
    row, *_ = walk(encode_message(message(magic=0)) * 2).rows
    assert (row["size"], row["isvalid"], row["crc"]) == (26, True, zlib.crc32(b"\0\0" + b"\xff" * 8))
