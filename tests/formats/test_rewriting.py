"""Batches are written again as the log cleaner writes them, and wrappers as a producer would have."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any  # options of builders

import pytest

from kdump.binary import codecs
from kdump.binary.batch_header import BATCH_HEADER
from kdump.binary.codecs import CODECS
from kdump.formats import rewriting
from kdump.formats.message_set import Message
from tests.builders.compression import Codec, compress
from tests.builders.records import TIMESTAMP, Record, TimestampType, batch, message, record, wrapper
from tests.loops import each
from tests.oracle import kafka_records

RECORDED = kafka_records.recorded()
COMPRESSED: list[Codec] = ["gzip", "snappy", "lz4", "zstd"]
TEXT = b"the quick brown fox jumps over the lazy dog " * 5000


def _written(data: bytes, kept: Collection[int]) -> bytes:
    header = BATCH_HEADER.unpack_from(data)
    selection = rewriting.select(header, data, lambda offset, _timestamp, _key: offset in kept)
    if selection.kept == selection.count:
        return data
    return rewriting.retained(header, data, selection) if selection.kept else rewriting.emptied(header)


@pytest.mark.both_kernels
@each("case", RECORDED, ids=[str(case["name"]) for case in RECORDED])
def test_the_cleaner_of_kafka_writes_the_same_bytes(case: dict[str, str]) -> None:
    assert _written(bytes.fromhex(case["batches"]), list(map(int, case["kept"]))).hex() == case["filtered"]


@pytest.mark.oracle
def test_the_cleaner_of_kafka_still_writes_what_was_recorded() -> None:
    if missing := kafka_records.why_not_available():
        pytest.skip(missing)
    with kafka_records.KafkaRecords() as kafka:
        assert [kafka.filtered(data, kept).hex() for _, data, kept in kafka_records.cases()] == [
            case["filtered"] for case in RECORDED
        ]


@pytest.mark.both_kernels
@each("codec", COMPRESSED)
def test_the_codec_stays(codec: Codec) -> None:
    records = [record(key=b"%d" % row, value=b"%d" % row * 3000, timestamp=TIMESTAMP + row) for row in range(50)]
    kept = [replace(records[delta], offset_delta=delta) for delta in (2, 17, 41)]
    whole = batch(records=records, base_offset=100, codec=codec, producer_id=5, producer_epoch=1, base_sequence=7)
    expected = batch(
        records=kept, base_offset=100, codec=codec, producer_id=5, producer_epoch=1, base_sequence=7, last_offset_delta=49
    )
    assert _written(whole, [102, 117, 141]) == expected


@each("codec", COMPRESSED[:3])
@each(("magic", "kind"), [(0, "CreateTime"), (1, "CreateTime"), (1, "LogAppendTime")])
def test_a_wrapper_has_the_offset_of_its_last_message(codec: Codec, magic: int, kind: TimestampType) -> None:
    messages = [
        message(key=b"k%d" % row, value=b"v" * row, magic=magic, offset=50 + row, timestamp=TIMESTAMP - row) for row in range(20)
    ]
    time = TIMESTAMP + 99 if kind == "LogAppendTime" else None
    whole = wrapper(messages=messages, magic=magic, codec=codec, base_offset=50, timestamp=time, timestamp_type=kind)
    unread = Message(69, whole[12:])
    selection = rewriting.select_messages(unread, lambda offset, _timestamp, key: offset in (52, 60) or key == b"k5")
    assert (selection.count, selection.kept, selection.first_offset, selection.last_offset) == (20, 3, 52, 60)
    assert selection.max_timestamp == (-1 if magic == 0 else time or TIMESTAMP - 2)
    kept = [messages[row] for row in (2, 5, 10)]
    expected = wrapper(messages=kept, magic=magic, codec=codec, base_offset=52, timestamp=time, timestamp_type=kind)
    assert rewriting.retained_wrapper(unread, selection) == expected


def test_fields_that_kafka_does_not_use_are_not_kept() -> None:
    """The attributes of a record are 0; all else of it stays as it is."""
    records = [record(key=b"a", attributes=0x7F), record(key=b"b", attributes=0x7F, headers=[("h", b"\xff")])]
    expected = batch(records=[Record(key=b"b", headers=[("h", b"\xff")], offset_delta=1)], last_offset_delta=1)
    assert _written(batch(records=records), [1]) == expected
    fields: dict[str, Any] = {"producer_id": 7, "producer_epoch": 1, "base_sequence": 3}
    empty = batch(last_offset_delta=1, base_timestamp=-1, max_timestamp=TIMESTAMP, **fields)
    assert _written(batch(records=[record(timestamp=TIMESTAMP)] * 2, codec="gzip", **fields), []) == empty, "without a codec"


@each("codec", COMPRESSED)
@each("magic", [0, 1, 2])
@each("data", [b"", b"x", TEXT], ids=["nothing", "a byte", "blocks"])
def test_payloads_are_written_as_clients_write_them(codec: Codec, magic: int, data: bytes) -> None:
    number = CODECS.index(codec)
    for pieces in ([data], [data[at : at + 1000] for at in range(0, len(data), 1000)]):
        written = codecs.compressed(number, pieces, magic)
        if codec != "lz4":  # the package compresses blocks in more than one way
            assert written == compress(data, codec=codec, magic=magic)
        found = codecs.decompress(number, written, magic)
        assert (bytes(found.data), found.error) == (data, None)
