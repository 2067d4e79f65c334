"""Values of each type of Protobuf, from bytes written by hand, are those of its JSON mapping (ProtoJSON)."""

import base64
import struct
from typing import Any

import pytest

from kdump.errors import CorruptData
from kdump.schemas import proto_descriptors, proto_known, proto_text, protobuf_bare
from kdump.schemas.proto_types import Types
from kdump.schemas.protobuf import ProtobufDecoder
from tests.builders.records import unsigned_varint
from tests.loops import each

VARINT, I64, LENGTH, GROUP, END_GROUP, I32 = range(6)
MINUS_1 = b"\xff" * 9 + b"\x01"  # as numbers of 32 bits are written, too
CAFE = "é€😀"


def _field(number: int, wire_type: int, value: bytes) -> bytes:
    size = unsigned_varint(len(value)) if wire_type == LENGTH else b""
    return unsigned_varint(number << 3 | wire_type) + size + value


def _text(number: int, value: bytes) -> bytes:
    return _field(number, LENGTH, value)


def _number(number: int, value: int) -> bytes:
    return _field(number, VARINT, unsigned_varint(value))


def _decoded(declared: str, data: bytes, syntax: str = 'syntax = "proto3";') -> Any:
    types = Types(proto_known.known_types())
    proto_text.parse(f"{syntax}\n{declared}", types)
    types.link()
    return ProtobufDecoder(types.messages["M"], types).decode(data)


SCALARS: list[tuple[str, int, bytes, Any]] = [
    *(("int32", VARINT, data, value) for data, value in ((b"\x01", 1), (MINUS_1, -1), (b"\xff\xff\xff\xff\x07", 2**31 - 1))),
    ("int32", VARINT, b"\x80\x80\x80\x80\xf8\xff\xff\xff\xff\x01", -(2**31)),
    ("int32", VARINT, unsigned_varint(2**32 + 5), 5),  # what has more bits is cut
    *(
        ("int64", VARINT, data, value)
        for data, value in ((b"\x01", "1"), (MINUS_1, "-1"), (unsigned_varint(2**63 - 1), str(2**63 - 1)))
    ),
    *(("uint32", VARINT, data, value) for data, value in ((b"\xff\xff\xff\xff\x0f", 2**32 - 1), (MINUS_1, 2**32 - 1))),
    ("uint64", VARINT, MINUS_1, str(2**64 - 1)),
    *(("sint32", VARINT, data, value) for data, value in ((b"\x01", -1), (b"\x02", 1), (b"\xff\xff\xff\xff\x0f", -(2**31)))),
    *(("sint64", VARINT, data, value) for data, value in ((b"\x01", "-1"), (b"\x02", "1"), (MINUS_1, str(-(2**63))))),
    *(("bool", VARINT, data, True) for data in (b"\x01", b"\x02", unsigned_varint(2**32))),
    ("fixed32", I32, b"\xff\xff\xff\xff", 2**32 - 1),
    ("sfixed32", I32, b"\xff\xff\xff\xff", -1),
    ("fixed64", I64, b"\xff" * 8, str(2**64 - 1)),
    ("sfixed64", I64, b"\xff" * 8, "-1"),
    *(("double", I64, struct.pack("<d", value), value) for value in (0.1, -1.5, 5e-324, 1.7976931348623157e308)),
    *(("double", I64, struct.pack("<d", float(text)), text) for text in ("NaN", "Infinity", "-Infinity")),
    *(("float", I32, struct.pack("<f", value), value) for value in (0.1, -1.5, 1.1754944e-38, 3.4028235e38, 16777216.0)),
    *(("float", I32, struct.pack("<f", float(text)), text) for text in ("NaN", "Infinity", "-Infinity")),
    ("string", LENGTH, CAFE.encode(), CAFE),
    ("bytes", LENGTH, b"\0\xff", base64.b64encode(b"\0\xff").decode()),
    ("E", VARINT, b"\x01", "ONE"),
    ("E", VARINT, MINUS_1, "BELOW"),
    ("E", VARINT, b"\x09", 9),
]
ENUM = "enum E { NONE = 0; ONE = 1; BELOW = -1; }"
EMPTY: dict[str, Any] = {"string": "", "bytes": "", "bool": False, "E": "NONE", "float": 0.0, "double": 0.0}
IDS = [f"{type}-{row}" for row, (type, *_) in enumerate(SCALARS)]


def _zero(type: str) -> Any:
    return EMPTY.get(type, "0" if type.endswith("64") else 0)


@each(("type", "wire_type", "data", "value"), SCALARS, ids=IDS)
def test_a_scalar_alone_repeated_packed_in_a_oneof_and_in_a_map(type: str, wire_type: int, data: bytes, value: Any) -> None:
    one = _field(1, wire_type, data)
    assert _decoded(f"{ENUM} message M {{ {type} f = 1; }}", one) == {"f": value}
    assert _decoded(f"{ENUM} message M {{ optional {type} f = 1; }}", one) == {"f": value}
    assert _decoded(f"{ENUM} message M {{ oneof o {{ {type} f = 1; int32 g = 2; }} }}", one) == {"f": value}
    repeated = f"{ENUM} message M {{ repeated {type} f = 1; }}"
    assert _decoded(repeated, one * 2) == {"f": [value] * 2}
    if wire_type != LENGTH:
        assert _decoded(repeated, _field(1, LENGTH, data * 3) + one) == {"f": [value] * 4}
    entry = _text(1, _text(1, b"k") + _field(2, wire_type, data))
    assert _decoded(f"{ENUM} message M {{ map<string, {type}> f = 1; }}", entry) == {"f": {"k": value}}


def test_minus_zero_is_no_default() -> None:
    for type, wire_type, data in (("double", I64, struct.pack("<d", -0.0)), ("float", I32, struct.pack("<f", -0.0))):
        assert str(_decoded(f"message M {{ {type} d = 1; }}", _field(1, wire_type, data))) == "{'d': -0.0}"


def test_what_comes_later_replaces_and_messages_are_merged() -> None:
    declared = "message M { int32 a = 1; N n = 2; message N { int32 x = 1; int32 y = 2; repeated int32 z = 3; } }"
    assert _decoded(declared, _number(1, 5) + _number(1, 6)) == {"a": 6}
    parts = _text(2, _number(1, 1) + _number(3, 1)), _text(2, _number(1, 2) + _number(2, 3) + _number(3, 2))
    assert _decoded(declared, b"".join(parts)) == {"n": {"x": 2, "y": 3, "z": [1, 2]}}
    assert _decoded(declared, _text(2, b"")) == {"n": {}}


ONEOF = "message M { oneof o { int32 a = 1; string b = 2; M m = 3; } oneof p { int32 c = 4; int32 d = 5; } int32 e = 6; }"


@each(
    "data, value",
    [
        (_number(1, 5) + _text(2, b"x"), {"b": "x"}),
        (_text(2, b"x") + _number(1, 5), {"a": 5}),
        (_number(1, 5) + _text(2, b"x") + _number(1, 7), {"a": 7}),
        (_number(1, 5) + _text(3, _number(4, 1)), {"m": {"c": 1}}),
        (_text(3, _number(4, 1)) + _number(1, 0), {"a": 0}),
        (_text(3, _number(4, 1)) + _number(1, 0) + _text(3, _number(6, 2)), {"m": {"e": 2}}),
        (_number(1, 5) + _number(4, 6) + _number(6, 7), {"a": 5, "c": 6, "e": 7}),
    ],
    ids=repr,
    quick=7,
)
def test_of_a_oneof_only_the_last_field_is_set(data: bytes, value: Any) -> None:
    assert _decoded(ONEOF, data) == value


MAP_KEYS: list[tuple[str, bytes, str]] = [
    ("bool", b"\x08\x01", "true"),
    ("bool", b"\x08\x00", "false"),
    ("bool", b"", "false"),
    ("int32", b"\x08" + MINUS_1, "-1"),
    ("int64", b"\x08" + MINUS_1, "-1"),
    ("uint64", b"\x08" + MINUS_1, str(2**64 - 1)),
    ("sint32", b"\x08\x01", "-1"),
    ("fixed32", b"\x0d\xff\xff\xff\xff", str(2**32 - 1)),
    ("sfixed64", b"\x09" + b"\xff" * 8, "-1"),
    ("string", _text(1, CAFE.encode()), CAFE),
    ("string", b"", ""),
    ("int32", b"", "0"),
]


@each(("type", "key", "text"), MAP_KEYS)
def test_keys_of_maps_are_text(type: str, key: bytes, text: str) -> None:
    assert _decoded(f"message M {{ map<{type}, int32> f = 1; }}", _text(1, key + _number(2, 5))) == {"f": {text: 5}}
    assert _decoded(f"message M {{ map<{type}, int32> f = 1; }}", _text(1, _number(2, 5) + key)) == {"f": {text: 5}}


def test_the_last_entry_of_a_key_counts_and_a_message_in_a_map_may_lack() -> None:
    both = _text(1, b"\x08\x01" + _number(2, 5)) + _text(1, b"\x08\x00" + _number(2, 6))
    assert _decoded("message M { map<bool, int32> f = 1; }", both) == {"f": {"true": 5, "false": 6}}
    declared = "message M { map<string, N> f = 1; message N { int32 x = 1; } }"
    entries = [_text(1, _text(1, b"a") + value) for value in (_text(2, _number(1, 1)), _text(2, _number(1, 2)), b"")]
    assert _decoded(declared, entries[0] + entries[1]) == {"f": {"a": {"x": 2}}}
    assert _decoded(declared, entries[0] + entries[2]) == {"f": {"a": {}}}


CLOSED = 'syntax = "proto2";'
FIVES = "enum E { FIVE = 5; SIX = 6; } message M { optional E e = 1; repeated E r = 2; map<string, E> m = 3; }"


@each(
    ("data", "value"),
    [
        (_number(1, 6), {"e": "SIX"}),
        (_number(1, 0), {}),
        (_number(1, 6) + _number(1, 7), {"e": "SIX"}),
        (_number(2, 5) + _number(2, 7) + _text(2, b"\6\7\5"), {"r": ["FIVE", "SIX", "FIVE"]}),
        (_text(3, _text(1, b"k")), {"m": {"k": "FIVE"}}),  # the first that the enum declares
        (_text(3, _text(1, b"k") + _number(2, 6)), {"m": {"k": "SIX"}}),
        (_text(3, _text(1, b"k") + _number(2, 7)), {}),
        (_text(3, _text(1, b"k") + _number(2, 7)) + _text(3, _text(1, b"l")), {"m": {"l": "FIVE"}}),
    ],
)
def test_a_closed_enum_has_no_other_numbers(data: bytes, value: Any) -> None:
    assert _decoded(FIVES, data, CLOSED) == value


@each(
    ("syntax", "option", "is_closed"),
    [
        ('syntax = "proto3";', "", False),
        ('syntax = "proto2";', "", True),
        ("", "", True),  # proto2
        ('edition = "2023";', "", False),
        ('edition = "2024";', "", False),
        ('edition = "2023";', "option features.enum_type = CLOSED;", True),
        ('edition = "2023"; option features.enum_type = CLOSED;', "", True),
        ('edition = "2023"; option features.enum_type = CLOSED;', "option features.enum_type = OPEN;", False),
    ],
)
def test_an_enum_is_open_or_closed_as_its_file_says(syntax: str, option: str, is_closed: bool) -> None:
    declared = f"enum E {{ {option} NONE = 0; ONE = 1; }} message M {{ repeated E e = 1; }}"
    assert _decoded(declared, b"\x08\x01\x08\x07", syntax) == {"e": ["ONE", *([] if is_closed else [7])]}


OPEN, SHUT, EXPLICIT, IMPLICIT = 1, 2, 1, 2  # the features `enum_type` and `field_presence`


@pytest.mark.parametrize(
    ("syntax", "of_file", "of_enum", "is_closed"),
    [
        (b"", None, None, True),  # proto2
        (b"proto3", None, None, False),
        (b"editions", None, None, False),
        (b"editions", SHUT, None, True),
        (b"editions", None, SHUT, True),
        (b"editions", SHUT, OPEN, False),
    ],
)
def test_a_compiled_enum_is_open_or_closed_as_its_descriptors_say(
    syntax: bytes, of_file: int | None, of_enum: int | None, is_closed: bool
) -> None:
    """The numbers of the fields are those of Protobuf's descriptor.proto."""
    enum = _text(1, b"E") + _text(2, _text(1, b"NONE") + _number(2, 0)) + _text(2, _text(1, b"ONE") + _number(2, 1))
    enum += b"" if of_enum is None else _text(3, _text(7, _number(2, of_enum)))
    field = _text(1, b"e") + _number(3, 1) + _number(4, 3) + _number(5, 14) + _text(6, b".E")
    file = _text(4, _text(1, b"M") + _text(2, field)) + _text(5, enum) + (_text(12, syntax) if syntax else b"")
    file += b"" if of_file is None else _text(8, _text(50, _number(2, of_file)))
    assert _compiled(file, b"\x08\x01\x08\x07") == {"e": ["ONE", *([] if is_closed else [7])]}


@pytest.mark.parametrize(
    ("syntax", "of_file", "of_field", "has_presence"),
    [
        ("proto2", None, None, True),
        ("proto3", None, None, False),
        ("2023", None, None, True),
        ("2023", IMPLICIT, None, False),
        ("2023", None, IMPLICIT, False),
        ("2023", IMPLICIT, EXPLICIT, True),
    ],
)
def test_a_field_has_presence_as_its_file_or_itself_says(
    syntax: str, of_file: int | None, of_field: int | None, has_presence: bool
) -> None:
    words = {EXPLICIT: "EXPLICIT", IMPLICIT: "IMPLICIT"}
    first = f'edition = "{syntax}";' if syntax.isdigit() else f'syntax = "{syntax}";'
    first += f" option features.field_presence = {words[of_file]};" if of_file else ""
    options = f" [features.field_presence = {words[of_field]}]" if of_field else ""
    label = "optional " if syntax == "proto2" else ""
    expected = {"f": 0} if has_presence else {}
    assert _decoded(f"message M {{ {label}int32 f = 1{options}; }}", b"\x08\x00", first) == expected
    field = _text(1, b"f") + _number(3, 1) + _number(4, 1) + _number(5, 5)
    field += _text(8, _text(21, _number(1, of_field))) if of_field else b""
    file = _text(4, _text(1, b"M") + _text(2, field)) + _text(12, b"editions" if syntax.isdigit() else syntax.encode())
    file += _text(8, _text(50, _number(1, of_file))) if of_file else b""
    assert _compiled(file, b"\x08\x00") == expected


def test_an_optional_field_of_a_set_has_presence_and_what_holds_no_file_is_none() -> None:
    field = _text(1, b"f") + _number(3, 1) + _number(4, 1) + _number(5, 5) + _number(9, 0) + _number(17, 1)
    file = _text(4, _text(1, b"M") + _text(2, field) + _text(8, _text(1, b"_f"))) + _text(12, b"proto3")
    assert _compiled(file, b"\x08\x00") == {"f": 0}
    inner, outer = (_text(1, b"e") + _text(2, b".M") + _number(3, n) + _number(4, 1) + _number(5, 5) for n in (2, 3))
    file = _text(4, _text(1, b"M")) + _text(4, _text(1, b"H") + _text(6, inner)) + _text(7, outer)
    assert _compiled(file, _number(2, 7) + _number(3, 8)) == {"[H.e]": 7, "[e]": 8}, "extensions of a message and of a file"
    with pytest.raises(CorruptData, match="no set of Protobuf descriptors"):
        proto_descriptors.parse_set(b"", Types())


def _compiled(file: bytes, data: bytes) -> Any:
    types = Types()
    proto_descriptors.parse_set(_text(1, file), types)
    types.link()
    return ProtobufDecoder(types.messages["M"], types).decode(data)


def test_groups_are_messages_and_unknown_fields_are_passed_over() -> None:
    group = _field(1, GROUP, _number(2, 5) + _field(9, GROUP, b"" + _field(9, END_GROUP, b"")) + _field(1, END_GROUP, b""))
    assert _decoded("message M { optional group G = 1 { optional int32 x = 2; } }", group, CLOSED) == {"g": {"x": 5}}
    of_size = _text(8, b"abc") + _field(7, I32, bytes(4)) + _field(6, I64, bytes(8))
    unknown = group + of_size + _number(5, 1) + _number(3, 4)
    assert _decoded("message M { int32 f = 3; }", unknown) == {"f": 4}
    assert _decoded("message M { int32 f = 3; }", _text(3, b"ab") + _number(3, 4)) == {"f": 4}, "another wire type"


OPTIONS = "option (o) = { a: [{ b: 1 }, { b: 2 }] }; ; import 'x'; service S { rpc R (M) returns (M) { option (o) = 1; } }"
NUMBERS = "enum E { NONE = 0; reserved 5; option (o) = 1; ; NEG = -1; APART = - 2; OCTAL = 010 [(o) = 1]; HEX = 0x10; }"
ENTRY = "message M { repeated E m = 1; message E { option map_entry = true; string key = 1; int32 value = 2; } }"
IN_ONEOF = "message M { reserved 2 to max; ; oneof o { option (o) = 1; int32 a = 1 [(o) = { b: ']' }]; ; } }"
EXTENDED = """message M { extensions 2 to max; reserved "b"; optional int32 a = 1; }
    extend M { ; optional int32 b = 2; } message H { extend M { optional E e = 3; } enum E { I = 1; } } enum E { O = 1; }"""


@each(
    ("declared", "data", "value"),
    [
        (f"{OPTIONS} message M {{ int32 f = 1; }}", _number(1, 5), {"f": 5}),
        (f"{NUMBERS} message M {{ repeated E e = 1; }}", _text(1, MINUS_1 + b"\x08\x10"), {"e": ["NEG", "OCTAL", "HEX"]}),
        (f"{NUMBERS} message M {{ E e = 1; }}", b"\x08\xfe" + MINUS_1[1:], {"e": "APART"}),
        (ENTRY, _text(1, _text(1, b"k") + _number(2, 5)), {"m": {"k": 5}}),
        (IN_ONEOF, _number(1, 0), {"a": 0}),
        ("enum E { option allow_alias = true; NONE = 0; ONE = 1; UNO = 1; } message M { E e = 1; }", _number(1, 1), {"e": "ONE"}),
        (EXTENDED, _number(1, 1) + _number(2, 2) + _number(3, 1), {"a": 1, "[b]": 2, "[H.e]": "I"}),
        (
            "message M { map map = 1; message map { enum enum = 536870911; enum enum { A = 0; B = 1; } } }",
            _text(1, _number(536870911, 1)),
            {"map": {"enum": "B"}},
        ),
        *(
            (f"message M {{ {declared} }}", b"", f"^{why}")
            for declared, why in (
                *((f"int32 a = {number};", f"a field has the number {number}") for number in (0, -1, 536870912)),
                *((f"int32 a = {text};", f"the .proto text has '{text}' where a number") for text in ("1.5", "08", "1e3")),
                ("int32 a : 1;", "the .proto text has ':' where '=' was expected"),
            )
        ),
    ],
)
def test_the_text_of_a_file_is_read_with_all_that_decides_nothing(declared: str, data: bytes, value: Any) -> None:
    if isinstance(value, str):
        with pytest.raises(CorruptData, match=value):
            _decoded(declared, data)
    else:
        assert _decoded(declared, data) == value


SECOND, NANOS = _number(1, 1), _number(2, 500_000_000)
KNOWN: list[tuple[str, bytes, Any]] = [
    ("Timestamp", b"", "1970-01-01T00:00:00Z"),
    ("Timestamp", SECOND + NANOS, "1970-01-01T00:00:01.500Z"),
    ("Timestamp", b"\x08" + MINUS_1 + _number(2, 999_999_999), "1969-12-31T23:59:59.999999999Z"),
    ("Timestamp", _number(1, 253_402_300_799) + _number(2, 1000), "9999-12-31T23:59:59.000001Z"),
    ("Timestamp", _number(1, -62_135_596_800 & (1 << 64) - 1), "0001-01-01T00:00:00Z"),
    ("Duration", b"", "0s"),
    ("Duration", SECOND + NANOS, "1.500s"),
    ("Duration", b"\x10" + MINUS_1, "-0.000000001s"),
    ("Duration", b"\x08" + MINUS_1, "-1s"),
    ("Empty", b"", {}),
    ("FieldMask", _text(1, b"a.b_c") + _text(1, b"d"), "a.bC,d"),
    ("DoubleValue", b"", 0.0),
    ("FloatValue", _field(1, I32, struct.pack("<f", 0.1)), 0.1),
    ("Int64Value", b"", "0"),
    ("UInt64Value", b"\x08" + MINUS_1, str(2**64 - 1)),
    ("Int32Value", b"\x08" + MINUS_1, -1),
    ("UInt32Value", _number(1, 7), 7),
    ("BoolValue", b"", False),
    ("BoolValue", _number(1, 1), True),
    ("StringValue", b"", ""),
    ("BytesValue", _text(1, b"\xff"), "/w=="),
    ("Value", _number(1, 0), None),
    ("Value", _field(2, I64, struct.pack("<d", 2.5)), 2.5),
    ("Value", _text(3, b"x"), "x"),
    ("Value", _number(4, 0), False),
    ("Value", _text(6, _text(1, _text(3, b"x")) + _text(1, _number(1, 0))), ["x", None]),
    ("Value", _text(5, b""), {}),
    ("ListValue", b"", []),
    ("Struct", _text(1, _text(1, b"k") + _text(2, _number(4, 1))), {"k": True}),
    ("Any", b"", {}),
    ("Any", _text(1, b"x/google.protobuf.Duration") + _text(2, SECOND), {"@type": "x/google.protobuf.Duration", "value": "1s"}),
    ("Any", _text(1, b"x/N") + _text(2, SECOND), {"@type": "x/N", "n": 1}),
    ("Any", _text(1, b"x/Other") + _text(2, b"\1"), {"@type": "x/Other", "value": "AQ=="}),
]


@each(("type", "data", "value"), KNOWN)
def test_types_of_google_have_forms_of_their_own(type: str, data: bytes, value: Any) -> None:
    name = f"google.protobuf.{type}"
    declared = f"message M {{ {name} f = 1; repeated {name} r = 2; }} message N {{ int32 n = 1; }}"
    assert _decoded(declared, _text(1, data) + _text(2, data)) == {"f": value, "r": [value]}


@each(
    ("type", "data", "why"),
    [
        ("string", _text(1, b"\xff"), "not UTF-8"),
        ("int32", b"\x08" + b"\xff" * 10, "more than 64 bits"),
        ("int32", b"\x08\xff", "ends inside a number"),
        ("string", b"\x0a\x05abc", "ends inside a field of 5 bytes"),
        ("int32", b"\x0f", "unknown wire type 7"),
        ("int32", b"\x0c", "a group ends that did not start"),
        ("int32", b"\x0b\x14", "a group ends that did not start"),
        ("int32", b"\x0b\x08\x01", "ends inside a group"),
        ("int32", b"\x00\x01", "a field with the number 0"),
        ("google.protobuf.Timestamp", _text(1, _number(1, 253_402_300_800)), "a timestamp of 253402300800 seconds"),
        ("google.protobuf.Timestamp", _text(1, _number(2, 1_000_000_000)), "1000000000 nanoseconds"),
        ("google.protobuf.Duration", _text(1, SECOND + b"\x10" + MINUS_1), "a duration of 1 seconds and -1 nanoseconds"),
    ],
)
def test_what_is_no_message_is_refused(type: str, data: bytes, why: str) -> None:
    with pytest.raises(CorruptData, match=why):
        _decoded(f"message M {{ {type} f = 1; }}", data)


@each(
    ("data", "shown"),
    [
        (b"", {}),
        (_number(1, 150), {"1": 150}),
        (_field(1, VARINT, MINUS_1), {"1": 2**64 - 1}),  # only a schema says that it has a sign
        (_field(4, I32, b"\xff\xff\xff\xff") + _field(5, I64, b"\2" + bytes(7)), {"4": 2**32 - 1, "5": 2}),
        (_number(1, 1) + _number(2, 9) + _number(1, 2), {"1": [1, 2], "2": 9}),
        (_text(2, CAFE.encode()), {"2": CAFE}),
        (_text(3, _number(1, 150)), {"3": {"1": 150}}),
        (_text(2, b"\0\1"), {"2": "AAE="}),  # neither text nor a message: its first field would have the number 0
        (_text(2, b"\xff\0"), {"2": "/wA="}),
        (_text(2, b""), {"2": ""}),
        (_text(2, _text(1, b"\xff") + _text(3, b"a")), {"2": {"1": "/w==", "3": "a"}}),
        (_field(1, GROUP, _number(1, 150) + _field(1, END_GROUP, b"")), {"1": {"1": 150}}),
    ],
)
def test_without_a_schema_fields_are_shown_by_their_numbers(data: bytes, shown: dict[str, object]) -> None:
    assert protobuf_bare.decode(data) == shown


@each("data", [b"\x08", _text(1, b"abc")[:-1], b"\x00\x01", b"\x0f"])
def test_what_is_no_message_is_not_shown_as_one(data: bytes) -> None:
    with pytest.raises(CorruptData):
        protobuf_bare.decode(data)
