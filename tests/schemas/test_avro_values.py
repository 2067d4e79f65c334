"""Values of each type of Avro, logical ones included, are those that fastavro reads."""

import base64
import io
import itertools
import json
import random
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from kdump.errors import CorruptData
from kdump.schemas import avro_types
from kdump.schemas.avro import AvroDecoder, date_text
from tests.builders.records import varlong
from tests.loops import each

fastavro = pytest.importorskip("fastavro")

_utc = partial(datetime, tzinfo=UTC)
_UUID = UUID("01234567-89ab-cdef-0123-456789abcdef")
_TREE = {
    "type": "record",
    "name": "Tree",
    "fields": [{"name": "n", "type": "int"}, {"name": "below", "type": {"type": "array", "items": "Tree"}}],
}
_NAMESPACES = {
    "type": "record",
    "name": "a.R",
    "fields": [
        {"name": "out", "type": {"type": "enum", "name": "T", "namespace": "", "symbols": ["OUT"]}},
        {"name": "in", "type": {"type": "enum", "name": "T", "symbols": ["IN", "MORE"]}},
        {"name": "again", "type": "T"},  # a.T
        {"name": "inner", "type": {"type": "record", "name": "S", "namespace": "", "fields": [{"name": "out", "type": "T"}]}},
    ],
}


def _logical(kind: str, logical: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": logical, **fields}


def _decimal(precision: int, scale: int, **fields: Any) -> dict[str, Any]:
    return _logical("fixed" if fields else "bytes", "decimal", precision=precision, scale=scale, **fields)


VALUES: list[tuple[Any, list[Any]]] = [
    ("null", [None]),
    ("boolean", [True, False]),
    ("int", [0, -1, 1, 63, 64, -64, -65, 2**31 - 1, -(2**31)]),
    ("long", [0, -1, 2**32, 2**63 - 1, -(2**63)]),
    ("float", [0.0, -0.0, 0.5, -1.5 * 2**33, float("inf"), float("-inf"), float("nan")]),
    ("double", [0.0, -0.0, 0.1, 5e-324, 1.7976931348623157e308, float("inf"), float("-inf"), float("nan")]),
    ("bytes", [b"", b"\0\xff", b"x" * 200]),
    ("string", ["", "é€😀", 'a "quoted"\nline']),
    ({"type": "fixed", "name": "F", "size": 3}, [b"\0\1\xff"]),
    ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, ["A", "B"]),
    ({"type": "array", "items": "int"}, [[], [1, -2, 3]]),
    ({"type": "map", "values": "string"}, [{}, {"a": "1", "b": ""}]),
    (["null", "int", "string"], [None, 5, "five"]),
    (["int", "null"], [None, -5]),
    ({"type": "array", "items": ["null", {"type": "map", "values": "long"}]}, [[None, {"a": 1}, None]]),
    ({"type": "record", "name": "R", "fields": [{"name": "a", "type": "int", "default": 7}]}, [{"a": 7}, {"a": 0}]),
    ({"type": "record", "name": "Nothing", "fields": []}, [{}]),
    ({"type": "error", "name": "Failed", "fields": [{"name": "a", "type": "int"}]}, [{"a": 7}]),
    ({"type": "array", "items": {"type": "string", "logicalType": "uuid"}}, [[_UUID]]),
    (_TREE, [{"n": 1, "below": [{"n": 2, "below": []}, {"n": 3, "below": [{"n": 4, "below": []}]}]}]),
    (_decimal(4, 2), [Decimal(text) for text in ("0.05", "-0.05", "0.00", "12.34", "-99.99", "1.00", "0.10")]),
    (_decimal(5, 0), [Decimal(text) for text in ("0", "7", "-12345")]),
    (_decimal(30, 5), [Decimal("1234567890123456789012345.00001"), Decimal("-0.00001")]),
    (_decimal(5, 2, name="D", size=4), [Decimal("0.05"), Decimal("-0.01"), Decimal("999.99"), Decimal("-999.99")]),
    (_logical("string", "uuid"), [_UUID]),
    (_logical("int", "date"), [date(1970, 1, 1), date(1969, 12, 31), date(2000, 2, 29), date(1, 1, 1), date(9999, 12, 31)]),
    (_logical("int", "time-millis"), [time(0), time(3, 4, 5, 6000), time(23, 59, 59, 999000)]),
    (_logical("long", "time-micros"), [time(0), time(3, 4, 5, 6), time(23, 59, 59, 999999)]),
    (_logical("long", "timestamp-millis"), [_utc(2026, 1, 31, 3, 4, 5, 6000), _utc(1969, 12, 31, 23, 59, 59, 999000)]),
    (_logical("long", "timestamp-micros"), [_utc(2026, 1, 31, 3, 4, 5, 6), _utc(1, 1, 1), _utc(1900, 2, 28, 1)]),
    (_logical("long", "local-timestamp-millis"), [datetime(2026, 1, 31, 3, 4, 5, 6000), datetime(1969, 12, 31, 23, 59)]),
    (_logical("long", "local-timestamp-micros"), [datetime(2026, 1, 31, 3, 4, 5, 6), datetime(1, 1, 1)]),
    (["null", _logical("int", "date")], [None, date(2026, 1, 31)]),
    ({"type": "map", "values": _decimal(3, 1)}, [{"a": Decimal("0.1"), "b": Decimal("-10.0")}]),
    (_logical("string", "none-of-these"), ["as it is"]),
    (_logical("string", "date"), ["no date"]),
    (_NAMESPACES, [{"out": "OUT", "in": "IN", "again": "MORE", "inner": {"out": "OUT"}}]),
]


CASES = [
    pytest.param(schema, value, id=f"{json.dumps(schema)[:60]}-{row}")
    for schema, values in VALUES
    for row, value in enumerate(values)
]


def for_json(value: Any) -> Any:
    """What docs/schemas.md says of a value in Python."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds").replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, time):
        return value.isoformat(timespec="microseconds")
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, dict):
        return {key: for_json(item) for key, item in value.items()}
    return [for_json(item) for item in value] if isinstance(value, list) else value


@each(("schema", "value"), CASES)
def test_a_value_is_what_fastavro_wrote_and_reads(schema: Any, value: Any) -> None:
    text = json.dumps(schema)
    written = io.BytesIO()
    fastavro.schemaless_writer(written, fastavro.parse_schema(json.loads(text)), value)
    decoder = AvroDecoder(avro_types.parsed(text))
    decoded = json.dumps(decoder.decode(written.getvalue()))
    assert decoded == json.dumps(for_json(value))
    alone = value if schema == "bytes" else written.getvalue()  # as Confluent's serializers write it: bytes have no length then
    assert json.dumps(decoder.decode(b"head" + alone, 4, is_message=True)) == decoded
    read = fastavro.schemaless_reader(io.BytesIO(written.getvalue()), fastavro.parse_schema(json.loads(text)), None)
    assert decoded == json.dumps(for_json(read))
    form = fastavro.schema.to_parsing_canonical_form(json.loads(text))
    assert avro_types.fingerprint(text).hex() == fastavro.schema.fingerprint(form, "CRC-64-AVRO")


def test_dates_of_all_years() -> None:
    expected = {0: "0000-12-31", -366: "-0001-12-31", date.max.toordinal() + 1: "+10000-01-01"}
    for year, month in itertools.product(range(2, 10_000), (1, 3)):
        first = date(year, month, 1).toordinal()
        expected |= {day: date.fromordinal(day).isoformat() for day in (first - 1, first)}
    assert {day: date_text(day - date(1970, 1, 1).toordinal()) for day in expected} == expected


def _decoded(schema: Any, data: bytes) -> Any:
    return AvroDecoder(avro_types.parsed(json.dumps(schema))).decode(data)


@pytest.mark.parametrize("logical", ["time-millis", "time-micros"])
@pytest.mark.parametrize("excess", [0, 1])
def test_a_time_is_within_a_day(logical: str, excess: int) -> None:
    kind, unit = ("int", timedelta(milliseconds=1)) if logical == "time-millis" else ("long", timedelta(microseconds=1))
    last = timedelta(days=1) // unit - 1
    if excess:
        with pytest.raises(CorruptData, match="not within a day"):
            _decoded(_logical(kind, logical), varlong(last + 1))
        with pytest.raises(CorruptData, match="not within a day"):
            _decoded(_logical(kind, logical), varlong(-1))
    else:
        assert _decoded(_logical(kind, logical), varlong(last)).startswith("23:59:59.999")


@each(
    ("schema", "data", "value"),
    [
        ({"type": _logical("int", "date")}, varlong(1), "1970-01-02"),  # which Java reads
        ({"type": {"type": "fixed", "name": "F", "size": 2}}, b"\0\1", "AAE="),
        (_decimal(4, 2), b"\0", "0.00"),  # of no bytes
        *(  # a logical type that is not valid is ignored
            (_logical("bytes", "decimal", **fields), varlong(2) + b"\1\2", "AQI=")
            for fields in ({"precision": 2, "scale": 3}, {"precision": 0}, {"precision": 2, "scale": -1}, {})
        ),
        (_logical("fixed", "uuid", name="U", size=16), _UUID.bytes, str(_UUID)),  # since Avro 1.12
        (_logical("fixed", "uuid", name="U", size=3), b"abc", "YWJj"),
    ],
    quick=9,
)
def test_a_value_that_fastavro_refuses_or_reads_as_bytes(schema: Any, data: bytes, value: str) -> None:
    assert _decoded(schema, data) == value


def test_a_name_is_first_of_the_namespace_around_it_and_then_of_none() -> None:
    """Java: Schema.Names."""
    first, other = ({"type": "fixed", "name": "F", "namespace": namespace, "size": 1} for namespace in ("", "n"))
    for declared, rest in (([first], b"\0"), ([first, {**other, "size": 2}], b"\0\1"), ([{**other, "size": 2}, first], b"\0\1")):
        types = [*declared, "F"]
        record = {"type": "record", "name": "n.R", "fields": [{"name": f"f{row}", "type": one} for row, one in enumerate(types)]}
        data = b"".join(bytes(range(one["size"])) for one in declared)  # type: ignore[arg-type]
        assert list(_decoded(record, data + rest).values())[-1] == base64.b64encode(rest).decode()


def test_a_registry_may_hold_the_bare_name_of_a_type() -> None:
    assert AvroDecoder(avro_types.parsed("int")).decode(varlong(-5)) == -5
    with pytest.raises(CorruptData, match="the schema is no JSON"):
        avro_types.parsed("integer")


@pytest.mark.parametrize("is_sized", [False, True])
def test_arrays_and_maps_come_in_blocks(is_sized: bool) -> None:
    """Of a negative count follows the size of the block in bytes."""

    def block(*items: bytes) -> bytes:
        if not is_sized:
            return varlong(len(items)) + b"".join(items)
        return varlong(-len(items)) + varlong(sum(map(len, items))) + b"".join(items)

    numbers = block(varlong(1), varlong(2)) + block(varlong(300)) + b"\0"
    assert _decoded({"type": "array", "items": "int"}, numbers) == [1, 2, 300]
    entries = block(b"\2a" + varlong(1)) + block(b"\2b" + varlong(2), b"\2a" + varlong(3)) + b"\0"
    assert _decoded({"type": "map", "values": "int"}, entries) == {"a": 3, "b": 2}


@each(
    ("schema", "data", "why"),
    [
        (["null", "int"], varlong(2), "branch 2 of a union of 2"),
        (["null", "int"], varlong(-1), "branch -1 of a union of 2"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, varlong(1), "symbol 1 of an enum of 1"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, varlong(-1), "symbol -1 of an enum of 1"),
        ("string", varlong(-1), "a part of it has -1 bytes"),
        ("string", varlong(3) + b"ab", "ends before a part of 3 bytes"),
        ("string", varlong(1) + b"\xff", "not UTF-8"),
        ("long", b"\xff" * 10, "more than 64 bits"),
        ("long", b"\xff" * 9, "ends inside a number"),
        ("double", bytes(7), "ends before a part of 8 bytes"),
        (_logical("string", "uuid"), varlong(2) + b"no", "a UUID that is none"),
        (_decimal(1001, 1001), b"\2\5", "a decimal of 1 bytes and scale 1001; up to 1000 of each are read"),
        (["null", ["int"]], b"", "a union of the schema contains another one"),
        *(({"type": "fixed", "name": "F", "size": size}, b"", "the size of a fixed type") for size in (-1, True, "3", None)),
        *(({"type": "record", "name": name, "fields": []}, b"", "a type record without a name") for name in ("", None, 7)),
        *(
            ({"type": "record", "name": "R", "fields": [field]}, b"", "a field of a record has no")
            for field in (7, {"type": "int"})
        ),
        *((schema, b"", "neither a name, nor a list, nor an object") for schema in (7, None, {"type": 7}, {})),
    ],
)
def test_what_is_no_value_of_its_type_is_refused(schema: Any, data: bytes, why: str) -> None:
    with pytest.raises(CorruptData, match=why):
        _decoded(schema, data)


utils = pytest.importorskip("fastavro.utils")

_LEAVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string", "enum", "fixed")
_CONTAINERS = ("array", "map", "union", "record")


class _Schemas:
    """Random schemas without logical types, whose values fastavro can generate."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._count = 0

    def type(self, depth: int = 0) -> Any:
        kind = self._random.choice(_LEAVES if depth > 3 else (*_LEAVES, *_CONTAINERS * 2))
        self._count += 1
        named = {"type": kind, "name": f"T{self._count}", "namespace": self._random.choice(["", "a.b"])}
        if kind == "enum":
            return {**named, "symbols": ["A", "B", f"C{self._count}"]}
        if kind == "fixed":
            return {**named, "size": self._random.randint(0, 20)}
        if kind == "record":
            return {
                **named,
                "fields": [{"name": f"f{n}", "type": self.type(depth + 1)} for n in range(self._random.randint(0, 5))],
            }
        if kind == "union":
            other = self.type(depth + 1)
            return ["null"] if other == "null" or isinstance(other, list) else ["null", other]
        if kind in ("array", "map"):
            return {"type": kind, "items" if kind == "array" else "values": self.type(depth + 1)}
        return kind


@each("seed", range(60))
def test_values_are_decoded_and_schemas_identified_as_fastavro_does(seed: int) -> None:
    text = json.dumps(_Schemas(seed).type())
    schema = fastavro.parse_schema(json.loads(text))
    decoder = AvroDecoder(avro_types.parsed(text))
    for _ in range(5):
        written = io.BytesIO()
        fastavro.schemaless_writer(written, schema, utils.generate_one(schema))
        expected = for_json(fastavro.schemaless_reader(io.BytesIO(written.getvalue()), schema))
        assert json.dumps(decoder.decode(written.getvalue())) == json.dumps(expected), text
    form = fastavro.schema.to_parsing_canonical_form(json.loads(text))
    assert avro_types.fingerprint(text).hex() == fastavro.schema.fingerprint(form, "CRC-64-AVRO")
