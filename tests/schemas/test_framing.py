"""What headers and first bytes say about a schema, and what is none of a serializer."""

import json
from pathlib import Path

import pytest

from kdump.cli.commands import main
from kdump.exit_codes import CLEAN, USAGE
from kdump.schemas import framing, json_values
from tests.builders.files import write_partition
from tests.builders.records import batch, record
from tests.loops import each

NAME = framing.HEADER_NAMES["value"]
ID = b"\0\0\0\1\2"  # 258
GUID = bytes(range(16))
Said = tuple[int | None, bytes, bytes] | None  # id, GUID, what follows in the header


def _said(headers: list[tuple[bytes, bytes | None]]) -> Said:
    framed = framing.by_header(tuple(headers), NAME)
    assert framed is None or (framed.framing, framed.start, framed.is_message) == ("header", 0, True)
    return None if framed is None else (framed.id, framed.guid, framed.in_header)


@each(
    ("headers", "said"),
    [
        ([], None),
        ([(NAME, ID)], (258, b"", b"")),
        ([(NAME, ID + b"\0")], (258, b"", b"\0")),
        ([(NAME, b"\1" + GUID)], (None, GUID, b"")),
        ([(NAME, b"\1" + GUID + b"\2\4")], (None, GUID, b"\2\4")),
        ([(NAME, ID), (NAME, b"\0\0\0\0\7")], (7, b"", b"")),  # Kafka's `lastHeader`
        ([(NAME, ID), (b"trace", b"x"), (NAME, b"\1" + GUID), (b"other", b"")], (None, GUID, b"")),
        *(([(NAME, ID), (NAME, last)], None) for last in (b"", b"\2" + GUID)),
        *(([(NAME, value)], None) for value in (b"", None, ID[:4], b"\1" + GUID[:15], b"\1" + ID)),
        *(([(name, ID)], None) for name in (framing.HEADER_NAMES["key"], NAME.upper(), NAME + b" ")),
    ],
)
def test_the_last_header_of_the_name_counts_if_a_serializer_wrote_it(
    headers: list[tuple[bytes, bytes | None]], said: Said
) -> None:
    assert _said(headers) == said


@pytest.mark.parametrize(
    ("data", "id"),
    [
        *((ID, 258), (ID + b"rest", 258), (b"\0\xff\xff\xff\xff", 2**32 - 1), (ID[:4], None), (b"", None)),
        *((b"\1" + ID, None), (b'{"a":1}', None)),
    ],
)
def test_a_prefix_is_a_zero_and_an_id(data: bytes, id: int | None) -> None:
    framed = framing.by_prefix(data)
    assert (None if framed is None else (framed.framing, framed.id, framed.start)) == (None if id is None else ("prefix", id, 5))


@pytest.mark.parametrize(
    ("data", "fingerprint"),
    [
        (b"\xc3\x01" + GUID[:8], GUID[:8]),
        (b"\xc3\x01" + GUID, GUID[:8]),
        *((data, None) for data in (b"\xc3\x01" + GUID[:7], b"\xc3\x02" + GUID[:8], b"\x01\xc3" + GUID[:8], b"")),
    ],
)
def test_single_object_encoding_is_two_bytes_and_a_fingerprint(data: bytes, fingerprint: bytes | None) -> None:
    framed = framing.by_fingerprint(data)
    found = None if framed is None else (framed.framing, framed.fingerprint, framed.start, framed.is_message)
    assert found == (None if fingerprint is None else ("single-object", fingerprint, 10, False))


def test_numbers_that_json_cannot_write_are_text() -> None:
    found = json_values.decode(b'{"a": [NaN, Infinity, -Infinity], "b": 1e999, "c": 1.5}')
    assert json.loads(json_values.encode(found)) == {"a": ["NaN", "Infinity", "-Infinity"], "b": "Infinity", "c": 1.5}


PROTO_SHOP = """syntax = "proto3"; package shop;
message Order { int32 id = 1; message Item { int32 n = 1; } }
message Other { int32 o = 1; }"""
PROTO_STOCK = 'syntax = "proto3"; package stock; message Order { uint32 count = 1; }'
AVRO_SHOP = '{"type": "record", "name": "shop.Order", "fields": [{"name": "id", "type": "int"}]}'
AVRO_CHAIN = {
    f"{name}.avsc": f'{{"type": "record", "name": "{name}", "fields": [{{"name": "of", "type": "{type}"}}]}}'
    for name, type in (("a", "b"), ("b", "c"), ("c", "int"))
}
IMPORTING = {
    "a.proto": 'syntax = "proto3"; package shop; import "b.proto"; message Order { stock.E id = 1; }',
    "b.proto": 'syntax = "proto3"; package stock; enum E { NONE = 0; FULL = 150; }',
}
SET = bytes.fromhex("0a11 220f 0a014d 120a 0a026964 1801 2001 2805")  # message M { optional int32 id = 1; }
TWO = {"a.proto": PROTO_SHOP, "b.proto": PROTO_STOCK}
SEVERAL = "--schemas has several schemas: "


@each(
    ("files", "decoder", "shown"),
    [
        ({"a.proto": PROTO_SHOP}, "protobuf", {"id": 150}),  # the first message of the only file
        (TWO, "protobuf:shop.Order", {"id": 150}),
        (TWO, "protobuf:stock.Order", {"count": 150}),
        (TWO, "protobuf:shop.Order.Item", {"n": 150}),
        (TWO, "protobuf:shop.Other", {"o": 150}),
        (TWO, "protobuf:shop.Item", "no schema of --schemas declares shop.Item"),
        (TWO, "protobuf", SEVERAL + "a.proto, b.proto"),
        ({"orders.proto": PROTO_SHOP, "b.proto": PROTO_STOCK}, "protobuf", {"id": 150}),
        ({"orders.proto": PROTO_SHOP, "orders-value.proto": PROTO_STOCK}, "protobuf", {"count": 150}),
        ({"orders-key.proto": PROTO_SHOP, "b.proto": PROTO_STOCK}, "protobuf", SEVERAL + "b.proto, orders-key.proto"),
        ({"a.proto": PROTO_SHOP, "a.avsc": AVRO_SHOP}, "avro", {"id": 4}),
        ({"a.proto": PROTO_SHOP, "a.avsc": AVRO_SHOP}, "avro:shop.Order", {"id": 4}),
        ({"a.proto": PROTO_SHOP, "a.avsc": AVRO_SHOP}, "avro:stock.Order", "no schema of --schemas declares stock.Order"),
        ({**AVRO_CHAIN, "d.avsc": '"none"'}, "avro:a", {"of": {"of": {"of": 4}}}),
        ({**IMPORTING, "a.avsc": AVRO_SHOP}, "protobuf:shop.Order", {"id": "FULL"}),
        ({"a.desc": SET}, "protobuf", {"id": 150}),
        ({"a.json": AVRO_SHOP}, "avro", {"id": 4}),
        ({"a.desc": SET, **TWO}, "protobuf:M", {"id": 150}),
        ({"a.desc": SET, "b.proto": PROTO_STOCK.replace("package stock", "import 'a'")}, "protobuf:Order", {"count": 150}),
        ({"a.avsc": AVRO_SHOP}, "protobuf", "--schemas has no schema for --value-decoder protobuf"),
    ],
)
def test_a_decoder_names_the_type_of_data_that_name_none(
    files: dict[str, str | bytes], decoder: str, shown: object, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "schemas").mkdir()
    for name, text in files.items():
        (tmp_path / "schemas" / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    value = b"\x08\x96\x01" if decoder.startswith("protobuf") else b"\x08"
    path = write_partition(tmp_path, topic="orders", partition=0, segments={0: [batch(records=[record(key=value, value=value)])]})
    for part in ("value", "key") if not any("orders" in name for name in files) else ("value",):
        options = ["--schemas", str(tmp_path / "schemas"), f"--{part}-decoder", decoder, "--output", "ndjson"]
        status = main(["log", *options, str(path)])
        out, err = capfd.readouterr()
        if isinstance(shown, str):
            assert (status, out) == (USAGE, "") and err.startswith(f"kdump: {shown.replace('--value', f'--{part}')}")
        else:
            assert (status, json.loads(out)[f"decoded{part.title()}"]) == (CLEAN, shown)
