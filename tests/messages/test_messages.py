"""Message schemas: the generic reader, and Kafka's JSON of messages."""

from __future__ import annotations

import functools
import math
import random
import struct
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdump.errors import CorruptData
from kdump.messages import control_records, kafka_json, schema
from kdump.messages.layout import layout_of
from kdump.messages.schema import Field, Message, Reader
from tests.any_message import any_message, damaged, messages, versions
from tests.builders.records import unsigned_varint
from tests.loops import each

if TYPE_CHECKING:
    from kdump.messages.schema import Value


def _read(message: Message, data: bytes, version: int = 0) -> dict[str, Value]:
    return schema.read(message, Reader(data), version)


def _code(message: Message, data: bytes, version: int = 0) -> str:
    with pytest.raises(CorruptData) as caught:
        _read(message, data, version)
    return caught.value.code


def _one(kind: str, *fields: Field, nullable_since: int = schema.NEVER, flexible_since: int = schema.NEVER) -> Message:
    return Message("Test", Field("x", kind, *fields, nullable_since=nullable_since), flexible_since=flexible_since)


_flexible = functools.partial(_one, flexible_since=0)


@each(
    ("type_of_field", "encoded", "value"),
    [
        *(("bool", "00", False), ("bool", "01", True), ("bool", "ff", True), ("int8", "80", -128), ("int16", "ffff", -1)),
        *(("int32", "80000000", -2147483648), ("int64", "7fffffffffffffff", 9223372036854775807), ("uint16", "ffff", 65535)),
        *(("uint32", "ffffffff", 4294967295), ("float64", "3ff8000000000000", 1.5)),
        ("uuid", "00112233445566778899aabbccddeeff", bytes.fromhex("00112233445566778899aabbccddeeff")),
        *(("string", "0002c3bc", "ü"), ("string", "0000", ""), ("bytes", "0000000300ff01", b"\x00\xff\x01")),
        *(("bytes", "00000000", b""), ("[]int16", "000000020001ffff", [1, -1]), ("[]string", "00000001000161", ["a"])),
        ("[]int8", "00000000", []),
    ],
)
def test_a_value_is_read_by_its_type(type_of_field: str, encoded: str, value: Value) -> None:
    assert _read(_one(type_of_field), bytes.fromhex(encoded)) == {"x": value}


@pytest.mark.parametrize(
    ("type_of_field", "encoded", "value"),
    [
        *(("string", "03c3bc", "ü"), ("string", "01", ""), ("bytes", "0400ff01", b"\x00\xff\x01")),
        *(("[]int16", "030001ffff", [1, -1]), ("[]string", "020261", ["a"]), ("[]int8", "01", [])),
    ],
)
def test_compact_lengths_are_stored_one_higher(type_of_field: str, encoded: str, value: Value) -> None:
    assert _read(_flexible(type_of_field), bytes.fromhex(encoded) + b"\0") == {"x": value}


@pytest.mark.parametrize(("type_of_field", "null"), [("string", "ffff"), ("bytes", "ffffffff"), ("[]int8", "ffffffff")])
def test_null_is_distinguished_from_empty_where_it_is_allowed(type_of_field: str, null: str) -> None:
    data = bytes.fromhex(null)
    assert _read(_one(type_of_field, nullable_since=0), data) == {"x": None}
    assert _read(_flexible(type_of_field, nullable_since=0), b"\0\0") == {"x": None}
    assert _code(_one(type_of_field), data) == "message-null"
    assert _code(_one(type_of_field, nullable_since=1), data) == "message-null"
    assert _code(_flexible(type_of_field), b"\0\0") == "message-null"


LATER_TAG = Message("Test", Field("x", "int8", since=1, tag=0, tagged_since=1), flexible_since=0)
STRUCTS = _flexible("[]struct", Field("a", "int8"))
PAIRS = _one("[]struct", Field("name", "int8"), Field("port", "int8"))
TAGGED_STRUCT = Message("Test", Field("x", "struct", Field("a", "int8"), tag=0, nullable_since=0), flexible_since=0)
NULLABLE = _one("struct", Field("a", "int8"), nullable_since=0)
PORTS: dict[str, Value] = {"x": [{"name": 1, "port": 10}, {"name": 2, "port": 11}, {"name": 1, "port": 12}]}


READ: dict[str, tuple[Message, int, bytes, dict[str, Value]]] = {
    "tagged fields of every struct": (STRUCTS, 0, b"\3\1\0\2\1\x07\2zz\0", {"x": [{"a": 1}, {"a": 2}]}),
    "a struct that is null": (NULLABLE, 0, b"\xff", {"x": None}),
    "a struct that is not": (NULLABLE, 0, b"\1\5", {"x": {"a": 5}}),
    "a tagged struct that is null": (TAGGED_STRUCT, 0, b"\1\0\1\0", {"x": None}),
    "a tagged struct that is not": (TAGGED_STRUCT, 0, b"\1\0\3\1\5\0", {"x": {"a": 5}}),
    "elements with equal keys, which are all kept": (PAIRS, 0, b"\0\0\0\3\1\x0a\2\x0b\1\x0c", PORTS),
    "a tag of a later version": (LATER_TAG, 1, b"\1\0\1\5", {"x": 5}),
    "the longest text": (_flexible("string"), 0, unsigned_varint(32768) + b"x" * 32767 + b"\0", {"x": "x" * 32767}),
    "text that is not UTF-8, as Java decodes it": (_one("string"), 0, b"\0\4a\xffb\xc3", {"x": "a\ufffdb\ufffd"}),
    "encoded surrogates, which are one replacement character": (_one("string"), 0, b"\0\5\xed\xa0\x80ab", {"x": "\ufffdab"}),
}


@each("message, version, data, fields", READ.values(), ids=READ, quick=8)
def test_a_message_is_read_by_its_schema(message: Message, version: int, data: bytes, fields: dict[str, Value]) -> None:
    assert _read(message, data, version) == fields


VERSIONED = Message(
    "Versioned",
    Field("always", "int8"),
    Field("later", "int8", since=1, default=9),
    Field("gone", "int8", until=2),
    Field("tagged", "string", tag=0, tagged_since=2, since=2, default="none"),
    flexible_since=2,
)


@each(
    "data",
    [b"\1\2\1\0\4\4abc", b"\1\2\3\0\4\4abc\x05\3xyz" + unsigned_varint(300) + b"\0"],
    ids=["where it stands", "before unknown ones, which are skipped"],
)
def test_a_tagged_field_is_read(data: bytes) -> None:
    assert _read(VERSIONED, data, 2)["tagged"] == "abc"


def test_a_negative_size_may_not_lead_back_or_out_of_a_message() -> None:
    back_to_its_tag = b"\5" + unsigned_varint(0xFFFFFFFA)
    _code(VERSIONED, b"\1\2" + unsigned_varint(1000) + back_to_its_tag, 2)
    _code(control_records.MESSAGES[4], b"\0\0" + b"\2" + b"\0" + unsigned_varint(0x80000000))


CUT = [(_one(kind), b"") for kind in ("bool", "int8", "int16", "int32", "int64", "uint16", "float64", "uuid")]
CUT += [(_one("uuid"), bytes(15)), *((_one(kind), b"\0") for kind in ("string", "bytes", "[]int8"))]
CUT += [(_flexible(kind), b"\x80") for kind in ("string", "bytes", "[]int8")]


WRAPPED = unsigned_varint(0x80000000)  # as Java's numbers do
REFUSED = {
    **{f"cut {number}": (message, 0, data, "message-underflow") for number, (message, data) in enumerate(CUT)},
    "an element that is null": (_one("[]string", nullable_since=0), 0, bytes.fromhex("00000001ffff"), "message-null"),
    "a tag of a later version": (LATER_TAG, 0, b"\1\0\1\5", "message-tag-not-in-version"),
    "an unknown tagged field past the end": (VERSIONED, 2, b"\1\2\1\5\4abc", "message-bytes-past-end"),
    "a compact length that wraps": (_flexible("[]int8", nullable_since=0), 0, WRAPPED + b"abc", "message-array-too-large"),
}


@each("message, version, data, code", REFUSED.values(), ids=REFUSED)
def test_what_no_message_can_be_is_refused(message: Message, version: int, data: bytes, code: str) -> None:
    assert _code(message, data, version) == code


FIELDS = {"fields": ("x",)}
LENGTH, LONG = 0x7FFFFFFF, unsigned_varint(32769) + b"x" * 32768


@each(
    "message, data, code, values",
    [
        (_flexible("string"), b"\0", "message-null", {"field": "x"}),
        (_flexible("[]string"), b"\2\0", "message-null", {"field": "x element"}),
        (_one("[]int8"), struct.pack(">i", LENGTH) + b"abc", "message-array-too-large", {"count": LENGTH, "remaining": 3}),
        (_flexible("[]int8"), unsigned_varint(LENGTH) + b"abc", "message-array-too-large", {"count": LENGTH - 1, "remaining": 3}),
        (_flexible("string"), LONG, "message-string-too-long", {"field": "x", "size": 32768, **FIELDS}),
        (_flexible("string"), b"\xff" * 6, "message-varint-too-long", {"value": 0xFFFFFFFF, **FIELDS}),
    ],
    quick=6,
)
def test_a_fault_says_where_it_is_and_what_was_found(message: Message, data: bytes, code: str, values: dict[str, object]) -> None:
    with pytest.raises(CorruptData) as caught:
        _read(message, data)
    assert caught.value.code == code
    assert caught.value.values | values == caught.value.values


CODES = {
    *("message-underflow", "message-bytes-past-end", "message-null", "message-string-too-long", "message-array-too-large"),
    "message-varint-too-long",
}


# As long as those above fail, sizes of five bytes are left out.
BYTES = st.binary(max_size=60).filter(lambda data: not any(min(data[at : at + 4]) >= 0x80 for at in range(len(data) - 4)))


@given(BYTES, st.sampled_from(sorted(control_records.MESSAGES)))
def test_any_bytes_are_a_message_or_a_fault(data: bytes, control_type: int) -> None:
    message = control_records.MESSAGES[control_type]
    try:
        values = _read(message, data)
    except CorruptData as fault:
        assert fault.code in CODES
        assert not _is_whole(control_type, data)
    else:
        kafka_json.dumps(message, values, 1)


def _is_whole(control_type: int, data: bytes) -> bool:
    """Whether bytes are for certain a control record's message: its fields of fixed size, then no tagged fields."""
    fixed = {3: 10, 4: 2, 5: 4}.get(control_type)
    return fixed is not None and len(data) > fixed and data[fixed] == 0


def _json(type_of_field: str, value: Value, *fields: Field) -> str:
    return kafka_json.dumps(_one(type_of_field, *fields), {"x": value}, 0)


@each(
    ("type_of_field", "value", "text"),
    [
        ("bool", True, '{"x":true}'),
        ("bool", False, '{"x":false}'),
        ("int64", -9223372036854775808, '{"x":-9223372036854775808}'),
        *(("string", "", '{"x":""}'), ("string", None, '{"x":null}'), ("[]string", ["a", "b"], '{"x":["a","b"]}')),
        *(("[]string", [], '{"x":[]}'), ("bytes", b"\xfb\xff\xfe", '{"x":"+//+"}'), ("bytes", b"\x01\x02", '{"x":"AQI="}')),
        *(("bytes", b"", '{"x":""}'), ("uuid", bytes(16), '{"x":"AAAAAAAAAAAAAAAAAAAAAA"}')),
        ("uuid", struct.pack(">qq", 1, 2), '{"x":"AAAAAAAAAAEAAAAAAAAAAg"}'),
        ("uuid", b"\xfb\xff\xfe" * 5 + b"\xff", '{"x":"-__--__--__--__--__-_w"}'),
        ("[]uuid", [bytes(16)], '{"x":["AAAAAAAAAAAAAAAAAAAAAA"]}'),
    ],
)
def test_json_has_no_blanks_and_jacksons_forms(type_of_field: str, value: Value, text: str) -> None:
    assert _json(type_of_field, value) == text


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        *(('say "hi"', r"say \"hi\""), ("a\\b", r"a\\b"), ("\b\t\n\f\r", r"\b\t\n\f\r"), ("\x00\x1b\x1f", r"\u0000\u001B\u001F")),
        *(("/\x7f\u2028é😀", "/\x7f\u2028é😀"), ("\ufffd", "\ufffd")),
    ],
)
def test_json_escapes_quotes_backslashes_and_control_characters_only(text: str, escaped: str) -> None:
    assert _json("string", text) == f'{{"x":"{escaped}"}}'


DOUBLES = [(1e10, "1.0E10"), (1e-5, "1.0E-5"), (1e16, "1.0E16"), (math.nan, '"NaN"'), (math.inf, '"Infinity"')]
DOUBLES += [(1234567.0, "1234567.0"), (0.1, "0.1"), (100.0, "100.0"), (-0.0, "-0.0"), (1e-3, "0.001"), (1e7, "1.0E7")]


@each("value, text", DOUBLES)
def test_doubles_are_written_as_java_does(value: float, text: str) -> None:
    assert _json("float64", value) == f'{{"x":{text}}}'


def test_json_keeps_the_order_of_the_schema_and_leaves_out_what_the_version_does_not_have() -> None:
    values: dict[str, Value] = {"tagged": "none", "gone": 3, "later": 2, "always": 1}
    assert kafka_json.dumps(VERSIONED, values, 0) == '{"always":1,"gone":3}'
    assert kafka_json.dumps(VERSIONED, values, 1) == '{"always":1,"later":2,"gone":3}'
    assert kafka_json.dumps(VERSIONED, values, 2) == '{"always":1,"later":2}'


def test_a_layout_has_what_its_version_reads_and_the_tags_that_it_refuses() -> None:
    later = Field("later", "int8", since=2, tag=0, tagged_since=2)
    message = Message("M", Field("plain", "int8"), later, flexible_since=1, last_version=2)
    assert [layout_of(message, version) for version in (-1, 3)] == [None, None]
    for version, tagged, refused in ((0, [], ()), (1, [], (0,)), (2, ["later"], ())):
        layout = layout_of(message, version)
        assert layout is not None and layout.later_tags == refused and layout.is_flexible == (version > 0)
        names = [[field.name for field in fields] for fields in (layout.fields, layout.tagged, layout.shown)]
        assert names == [["plain"], tagged, ["plain", *tagged]]


SAMPLES = 60


def _outcome(message: Message, data: bytes, version: int, *, keep: bool) -> object:
    """Where reading ends, or what is wrong, and the field."""
    reader = Reader(data)
    try:
        schema.read(message, reader, version, keep=keep)
    except CorruptData as fault:
        return fault.code, fault.message, fault.values
    return reader.position


@each("message", list(messages()), ids=lambda message: message.name)
def test_what_is_passed_over_ends_where_it_is_read(message: Message) -> None:
    chance = random.Random(message.name)
    for version in (*versions(message), -1, 99):
        for _ in range(SAMPLES):
            data = any_message(message, version, chance)
            for one in (data, data + b"\x01\x02", damaged(data, chance), data[: chance.randrange(len(data) + 1)]):
                outcome = _outcome(message, one, version, keep=True)
                assert _outcome(message, one, version, keep=False) == outcome, (version, one.hex())
                assert schema.is_readable(message, one, version) == isinstance(outcome, int), (version, one.hex())
