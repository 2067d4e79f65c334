"""Generated functions from bytes to Kafka's JSON: they print what reader and JSON writer print, or are irregular."""

from __future__ import annotations

import random

import pytest

from kdump.decoders import consumer_offsets
from kdump.errors import CorruptData
from kdump.messages import kafka_json, schema
from kdump.messages.consumer_offsets import RECORDS
from kdump.messages.generated import IRREGULAR
from kdump.messages.json_functions import JsonFunctions
from kdump.messages.schema import Field, Message, Reader
from kdump.output.kafka.regular_records import RegularRecords, coordinator_text, metadata_text
from tests.any_message import any_message, damaged, messages, versions
from tests.builders.messages import int16, int32, sized, string, tagged
from tests.builders.records import unsigned_varint
from tests.loops import each

SAMPLES = 60


def _reference(message: Message, data: bytes, version: int) -> str:
    return kafka_json.dumps(message, schema.read(message, Reader(data), version), version)


def _regular(message: Message, data: bytes, version: int) -> str | None:
    try:
        return JsonFunctions(message).text(data, 0, version)
    except IRREGULAR:
        return None


@each("message", list(messages()), ids=lambda message: message.name)
def test_a_function_prints_what_reader_and_writer_print(message: Message) -> None:
    chance = random.Random(message.name)
    functions = JsonFunctions(message)
    for version in versions(message):
        for _ in range(SAMPLES):
            data = any_message(message, version, chance)
            assert functions.text(data, 0, version) == _reference(message, data, version)


@each("message", list(messages()), ids=lambda message: message.name)
def test_a_function_of_damaged_bytes_prints_the_same_or_nothing(message: Message) -> None:
    chance = random.Random(message.name)
    for version in versions(message):
        functions = JsonFunctions(message)
        for _ in range(SAMPLES):
            data = damaged(any_message(message, version, chance), chance)
            try:
                text = functions.text(data, 0, version)
            except IRREGULAR:
                continue
            assert text == _reference(message, data, version)


def test_members_of_consumer_groups_have_messages_in_bytes() -> None:
    group, chance = RECORDS[2][1], random.Random(29)
    functions = JsonFunctions(group, consumer_offsets.PROTOCOL)
    regular = 0
    for _ in range(1000):
        version = chance.choice(versions(group))
        data = any_message(group, version, chance, consumer_offsets.PROTOCOL)
        fields = schema.read(group, Reader(data), version) | {"protocolType": "consumer"}
        wanted = kafka_json.dumps(group, consumer_offsets.with_protocol_as_json(fields), version)
        try:
            text = functions.text(data, 0, version)
        except IRREGULAR:
            continue
        regular += 1
        assert text.partition('","generation"')[2] == wanted.partition('","generation"')[2]
    assert regular > 600


def test_an_undeclared_version_is_irregular() -> None:
    message = Message("Test", Field("x", "int16"), last_version=1)
    assert [_regular(message, int16(5), version) for version in (-1, 0, 1, 2)] == [None, '{"x":5}', '{"x":5}', None]


def test_a_tag_of_a_later_version_is_irregular() -> None:
    message = Message("Test", Field("x", "int16", since=1, tag=0, tagged_since=1), flexible_since=0, last_version=1)
    assert _regular(message, tagged(_0=int16(5)), 1) == '{"x":5}'
    assert _regular(message, tagged(_0=int16(5)), 0) is None
    with pytest.raises(CorruptData, match="no field with tag 0"):
        _reference(message, tagged(_0=int16(5)), 0)


@each(
    ("type_of_field", "data"),
    [
        ("string", string("abc")[:-1]),
        ("string", int16(-1)),
        ("string", int16(-2)),
        ("bytes", sized(b"abc")[:-1]),
        ("bytes", int32(-1)),
        ("[]int32", int32(1 << 30)),
        ("[]uuid", int32(1 << 30)),
        ("[]string", int32(-1)),
        ("uuid", bytes(15)),
        ("int64", bytes(7)),
    ],
)
def test_a_size_past_the_end_is_irregular(type_of_field: str, data: bytes) -> None:
    assert _regular(Message("Test", Field("x", type_of_field)), data, 0) is None


def test_a_compact_string_above_the_limit_is_irregular() -> None:
    message = Message("Test", Field("x", "string"), flexible_since=0)
    for size, is_regular in ((schema.MAX_STRING, True), (schema.MAX_STRING + 1, False)):
        data = unsigned_varint(size + 1) + b"x" * size + b"\0"
        assert (_regular(message, data, 0) is not None) is is_regular


def test_an_empty_array_needs_no_bytes_after_its_count() -> None:
    assert _regular(Message("Test", Field("x", "[]int32")), int32(0), 0) == '{"x":[]}'


@pytest.mark.parametrize("count", [1, 64, 65, 1000])
def test_arrays_of_numbers_of_any_length(count: int) -> None:
    message = Message("Test", Field("x", "[]int32"), Field("y", "int16"))
    data = int32(count) + b"".join(int32(number - 500) for number in range(count)) + int16(7)
    numbers = ",".join(str(number - 500) for number in range(count))
    functions = JsonFunctions(message)
    assert [functions.text(data, 0, 0) for _ in range(2)] == [f'{{"x":[{numbers}],"y":7}}'] * 2
    for cut in (1, 2, 3):
        with pytest.raises(IRREGULAR):
            functions.text(data[:-cut], 0, 0)


def test_a_tagged_field_may_come_first() -> None:
    tag = Field("x", "int16", tag=0, tagged_since=0)
    message = Message("Test", tag, Field("y", "int16"), flexible_since=0)
    assert _regular(message, int16(5) + tagged(_0=int16(6)), 0) == '{"x":6,"y":5}'
    assert _regular(message, int16(5) + tagged(_0=int16(0)), 0) == '{"y":5}'
    assert _regular(Message("Test", tag, flexible_since=0), tagged(_0=int16(0)), 0) == "{}"


@pytest.mark.parametrize("size", [3, 300])
def test_the_text_of_a_key_may_be_used_again(size: int) -> None:
    message = Message("Test", Field("x", "string"), last_version=0)
    known = RegularRecords.of_coordinator({0: (message, message)}, "version", {})
    texts = coordinator_text(known)
    key, other = int16(0) + string("a" * size), int16(0) + string("b" * size)
    value = int16(0) + string("v")
    shown = f'{{"type":"0","data":{{"x":"{"a" * size}"}}}}'
    assert texts(key, value) == (shown, '{"version":"0","data":{"x":"v"}}')
    assert texts(other, None)[0] == shown.replace("a" * size, "b" * size)
    assert texts(key, None) == (shown, "<DELETE>")
    for bad_key, bad_value in ((int16(1), value), (b"\0", value), (key, b"\0"), (key, int16(1)), (key, value[:-1])):
        with pytest.raises(IRREGULAR):
            texts(bad_key, bad_value)


def test_a_metadata_record_that_is_cut_off_is_irregular() -> None:
    text = metadata_text(
        RegularRecords.of_metadata({2: Message("TestRecord", Field("x", "int16"), last_version=0)}, is_preview=False)
    )
    record = bytes((1, 2, 0)) + int16(5)
    assert text(record) == '{"type":"TEST_RECORD","version":0,"data":{"x":5}}'
    for size in range(len(record)):
        with pytest.raises(IRREGULAR):
            text(record[:size])
    for odd in (record + b"\0", bytes((0, 2, 0)) + int16(5), bytes((1, 3, 0)) + int16(5), bytes((1, 2, 1)) + int16(5)):
        with pytest.raises(IRREGULAR):
            text(odd)
