"""Headers of batches and messages as one table: every field, and arithmetic that wraps as Java's does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdump.binary.arithmetic import as_int64, decrement_sequence
from kdump.formats.record_batch import codec_name
from tests.builders.checksums import crc32c
from tests.builders.compression import CODEC_IDS
from tests.builders.records import batch, message, message_set, record
from tests.loops import each
from tests.support import INT16, INT32, INT64, Values, walk

pytestmark = pytest.mark.both_kernels

MAX_INT32 = 2147483647


def _only_row(data: bytes) -> Values:
    found = walk(data)
    assert found.fault is None
    (row,) = found.rows
    return row


def test_what_a_message_does_not_have_is_absent_from_its_row() -> None:
    data = message_set(messages=[message(key=b"k1", value=b"v1")], base_offset=5)
    of_producer = ("producer_id", "producer_epoch", "base_sequence", "last_sequence", "is_transactional", "is_control")
    of_batch = ("base_offset", "count", "partition_leader_epoch", "delete_horizon_ms")
    assert _only_row(data) == {
        **dict.fromkeys((*of_producer, *of_batch)),
        "last_offset": 5,
        "position": 0,
        "timestamp_type": "CreateTime",
        "timestamp": 1_700_000_000_000,
        "size": 38,
        "magic": 1,
        "compresscodec": "none",
        "crc": 2782554722,
        "isvalid": True,
    }


@each(
    ("data", "fields"),
    [
        (
            message_set(messages=[message(key=b"k1", value=b"v1", magic=0)], base_offset=5),
            {"timestamp_type": "NoTimestampType", "timestamp": -1, "crc": 1474775406},
        ),
        (message_set(messages=[message(magic=0, attributes=8)]), {"timestamp_type": "NoTimestampType"}),
        (
            batch(records=[record()], attributes=0x7F80),
            {
                "compresscodec": "none",
                "is_transactional": False,
                "is_control": False,
                "timestamp_type": "CreateTime",
                "delete_horizon_ms": None,
                "isvalid": True,
            },
        ),
    ],
    ids=["magic 0 has no timestamp", "nor a type of it", "the upper bits of the attributes mean nothing"],
)
def test_bits_and_fields_without_meaning_are_not_read(data: bytes, fields: dict[str, object]) -> None:
    row = _only_row(data)
    assert {name: row[name] for name in fields} == fields


def test_a_delete_horizon_beside_batches_without_one_stays_where_it_is() -> None:
    rows = walk(batch(records=[record()]) + batch(records=[record()], delete_horizon_ms=9) + batch(records=[record()])).rows
    assert [row["delete_horizon_ms"] for row in rows] == [None, 9, None]


def test_a_codec_that_is_not_taken_is_reported_by_its_id() -> None:
    assert [codec_name(attributes) for attributes in (5, 6, 7, 8 | 4)] == ["unknown(5)", "unknown(6)", "unknown(7)", "zstd"]


@each(
    ("base_sequence", "last_offset_delta", "last_sequence"),
    [
        *((0, 0, 0), (100, 1, 101), (-1, 5, -1), (MAX_INT32, 0, MAX_INT32), (MAX_INT32, 1, 0), (MAX_INT32 - 1, 5, 3)),
        (5, MAX_INT32, 4),
    ],
)
def test_after_the_greatest_sequence_follows_0(base_sequence: int, last_offset_delta: int, last_sequence: int) -> None:
    without = batch(records=[record()], last_offset_delta=last_offset_delta)
    after = batch(records=[record()], base_sequence=base_sequence, last_offset_delta=last_offset_delta)
    assert [row["last_sequence"] for row in walk(without + after).rows] == [-1, last_sequence]
    if base_sequence >= 0:
        assert decrement_sequence(last_sequence, last_offset_delta) == base_sequence


def test_a_batch_shorter_than_its_header_is_never_valid() -> None:
    first = walk(batch(batch_length=14, crc=crc32c(batch()[21:26])) + bytes(40)).rows[0]
    assert (first["size"], first["isvalid"]) == (26, False)


@given(
    base_offset=INT64,
    partition_leader_epoch=INT32,
    magic=st.integers(2, 127),
    attributes=st.integers(0, 0x7F).filter(lambda bits: bits & 7 <= 4),
    last_offset_delta=INT32,
    base_timestamp=INT64,
    max_timestamp=INT64,
    producer_id=INT64,
    producer_epoch=INT16,
    base_sequence=INT32,
    records_count=INT32,
    crc=st.none() | st.integers(0, 0xFFFFFFFF),
)
def test_a_header_is_read_as_it_was_built(**fields: int) -> None:
    row = _only_row(batch(payload=b"", **fields))  # type: ignore[arg-type]  # mypy takes every field for every keyword
    for name in ("base_offset", "producer_id", "producer_epoch", "base_sequence", "partition_leader_epoch", "magic"):
        assert row[name] == fields[name]
    bits = fields["attributes"]
    assert row["count"] == fields["records_count"]
    assert row["timestamp"] == fields["max_timestamp"]
    assert row["is_transactional"] == bool(bits & 16)
    assert row["is_control"] == bool(bits & 32)
    assert row["timestamp_type"] == ("LogAppendTime" if bits & 8 else "CreateTime")
    assert row["delete_horizon_ms"] == (fields["base_timestamp"] if bits & 64 else None)
    assert CODEC_IDS[row["compresscodec"]] == bits & 7
    assert as_int64(row["last_offset"] - fields["base_offset"]) == fields["last_offset_delta"]
    with_sound_checksum = _only_row(batch(payload=b"", **fields | {"crc": None}))  # type: ignore[arg-type]  # as above
    assert with_sound_checksum["isvalid"]
    assert row["isvalid"] == (fields["crc"] in (None, with_sound_checksum["crc"]))
