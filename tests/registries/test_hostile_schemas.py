"""Hostile schemas and values are rows with an error: no traceback, no end of memory, no endless loop."""

import json
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kdump.cli.commands import main
from tests.builders.records import batch, record

CLEAN, FINDINGS = 0, 1
MIB = 1 << 20
MEMORY = 64 * MIB

Row = dict[str, Any]
Lister = Callable[..., list[Row]]


def schema(
    id: int, text: str, type: str = "AVRO", *, subject: str = "", references: Sequence[tuple[str, str, int]] = ()
) -> bytes:
    """A batch that registers the first version of a subject."""
    subject = subject or f"s{id}"
    key = {"keytype": "SCHEMA", "subject": subject, "version": 1, "magic": 1}
    refers = [{"name": name, "subject": other, "version": number} for name, other, number in references]
    value = {"subject": subject, "version": 1, "id": id, "schemaType": type, "schema": text, "references": refers}
    return batch(records=[record(key=json.dumps(key).encode(), value=json.dumps(value).encode())])


def framed(id: int, data: bytes) -> bytes:
    return b"\0" + id.to_bytes(4, "big") + data


def write_log(partition: Path, data: bytes) -> None:
    """Write the first segment of a partition, which may exist."""
    partition.mkdir(exist_ok=True)
    (partition / f"{0:020d}.log").write_bytes(data)


@pytest.fixture
def listed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Lister:
    """Lists these values of a topic beside a registry with these batches, within the memory that kdump may take."""

    def list_log(registry: Sequence[bytes], values: Sequence[bytes], *, status: int = CLEAN, measures: bool = False) -> list[Row]:
        for name, data in (("_schemas-0", b"".join(registry)), ("t-0", batch(records=[record(value=value) for value in values]))):
            write_log(tmp_path / name, data)
        if measures:
            tracemalloc.start()
        try:
            assert main(["log", "--deep", "--output", "ndjson", str(tmp_path / "t-0")]) == status
            assert tracemalloc.get_traced_memory()[1] < MEMORY
        finally:
            tracemalloc.stop()
        out, err = capfd.readouterr()
        assert "Traceback" not in err and "internal error" not in err
        rows = [json.loads(line) for line in out.splitlines()]
        assert len(rows) == len(values), "no record is lost"
        return rows

    return list_log


def _reason(row: Row) -> str:
    assert row["decodedValue"] is None and row["valueSchema"]["error"] == "undecodable"
    return str(row["decodeError"])


LIST = json.dumps({"type": "record", "name": "N", "fields": [{"name": "n", "type": ["null", "N"]}]})
NULLS = json.dumps({"type": "array", "items": "null"})
DOUBLING = json.dumps(
    [
        {"type": "record", "name": "R0", "fields": []},
        *(
            {"type": "record", "name": f"R{n}", "fields": [{"name": part, "type": f"R{n - 1}"} for part in "ab"]}
            for n in range(1, 60)
        ),
    ]
)


@pytest.mark.parametrize(
    ("text", "data", "reason"),
    [
        pytest.param(LIST, b"\x02" * 100_000, "nested more than 100 levels", id="a list of 100,000 records within each other"),
        pytest.param(NULLS, b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f\0", "it would become more than", id="2^62 nulls in ten bytes"),
        pytest.param(NULLS, b"\xfd" + b"\xff" * 8 + b"\x01\x02\0", "it would become more than", id="as many, with a size"),
        pytest.param(DOUBLING, b"\x76", "it would become more than", id="2^59 empty records in one byte"),
        pytest.param('"string"', b"\x80\x80\x80\x80\x20", "ends before a part of", id="a string of 4 GB"),
    ],
)
def test_a_hostile_avro_value_is_a_row_with_an_error(listed: Lister, text: str, data: bytes, reason: str) -> None:
    rows = listed([schema(1, text), schema(2, '"string"')], [framed(1, data), framed(2, b"\x02x")], measures=True)
    assert reason in _reason(rows[0])
    assert rows[1]["decodedValue"] == "x"


DEEP_JSON = '{"type":"array","items":' * 5000 + '"null"' + "}" * 5000


@pytest.mark.parametrize(
    ("type", "text", "reason"),
    [
        pytest.param("AVRO", DEEP_JSON, "nested", id="nested 5000 levels"),
        pytest.param("AVRO", '{"type":"array","items":' * 200 + '"null"' + "}" * 200, "more than 100 levels", id="200 levels"),
        pytest.param("AVRO", "[" + ",".join(['"int"'] * 30_000) + "]", "more than 20,000 types", id="too many types"),
        pytest.param("AVRO", '{"type":"record","name":"R","fields":7}', "no list", id="fields that are a number"),
        pytest.param("AVRO", '"Missing"', "does not declare", id="a type that is not there"),
        pytest.param("PROTOBUF", "message M {" * 5000, "more than 100 levels", id="messages within messages"),
        pytest.param("PROTOBUF", "message M { int32 a = 1;", "ends too early", id="a message without end"),
        pytest.param("PROTOBUF", "message M { \0 }", "something unexpected in line 1", id="a zero byte"),
        pytest.param("PROTOBUF", "/*" + "*" * 100_000, "something unexpected", id="a comment without end"),
        pytest.param("PROTOBUF", "enum E { " + "A=1;" * 20_001 + "}", "more than 20,000", id="too many names"),
        pytest.param("PROTOBUF", "", "which the schema does not have", id="an empty text"),
    ],
)
def test_a_hostile_schema_is_an_error_of_its_records(listed: Lister, type: str, text: str, reason: str) -> None:
    rows = listed([schema(1, text, type), schema(2, '"string"')], [framed(1, b"\0"), framed(2, b"\x02x")])
    assert reason in _reason(rows[0])
    assert rows[1]["decodedValue"] == "x"


def test_a_long_chain_of_references(listed: Lister) -> None:
    def link(number: int, field: str) -> str:
        return json.dumps({"type": "record", "name": f"R{number}", "fields": [{"name": "f", "type": field}]})

    chain = [schema(1, link(1, "int"), subject="s1")]
    for n in range(2, 1200):
        chain.append(schema(n, link(n, f"R{n - 1}"), subject=f"s{n}", references=[(f"R{n - 1}", f"s{n - 1}", 1)]))
    rows = listed(chain, [framed(50, b"\x02"), framed(900, b"\x02"), framed(1199, b"\x02")])
    assert json.dumps(rows[0]["decodedValue"]).count("f") == 50
    assert "long a chain" in _reason(rows[1])
    assert "more than 1000 others" in _reason(rows[2])


PROTO = """
    syntax = "proto3";
    message M { M m = 1; repeated M many = 2; repeated int32 n = 3; string s = 4; map<string, M> by = 5; Gone gone = 6; }
"""


def _nested(levels: int) -> bytes:
    data = b""
    for _ in range(levels):
        size = len(data)
        data = b"\x0a" + (bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])) + data
    return data


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(_nested(200), "nested more than 100 levels", id="200 messages within each other"),
        pytest.param(b"\x12\0" * 200_000, "it would become more than", id="200,000 empty messages"),
        pytest.param(b"\x0b" * 1000, "nested more than 100 levels", id="groups within groups"),
        pytest.param(b"\x0a\xff\xff\xff\xff\x0f", "ends inside a field", id="a field of 4 GB"),
        pytest.param(b"\x30\x01", "does not say what the type 'Gone' is", id="a type that is not there"),
    ],
)
def test_a_hostile_protobuf_value_is_a_row_with_an_error(listed: Lister, data: bytes, reason: str) -> None:
    rows = listed([schema(1, PROTO, "PROTOBUF")], [framed(1, b"\0" + data), framed(1, b"\0\x22\x01x")], measures=True)
    assert reason in _reason(rows[0])
    assert rows[1]["decodedValue"] == {"s": "x"}


@pytest.mark.parametrize("indexes", [b"\x02\x02", b"\x04\0\x08", b"\x01", b"\xfe\xff\xff\xff\x0f", b"\x80", b""])
def test_numbers_that_lead_to_no_message(listed: Lister, indexes: bytes) -> None:
    _reason(listed([schema(1, PROTO, "PROTOBUF")], [framed(1, indexes)])[0])


@pytest.mark.parametrize("document", [b"[" * 100_000, b"[" * 800 + b"]" * 800, b"\xff", b"", b'{"a":', b"1" * 10_000])
def test_a_hostile_document_is_a_row_with_an_error(listed: Lister, document: bytes) -> None:
    rows = listed([schema(1, "{}", "JSON")], [framed(1, document)])
    if rows[0]["decodeError"] is None:
        assert document.startswith(b"[[") and rows[0]["decodedValue"]  # as deep as can be written
    else:
        _reason(rows[0])


@pytest.mark.parametrize("at", [-5, 17], ids=["schema", "checksum"])
def test_damage_to_the_registrys_topic_is_a_finding(tmp_path: Path, capfd: pytest.CaptureFixture[str], at: int) -> None:
    good, bad = schema(1, '"string"'), bytearray(schema(2, '"string"'))
    bad[at] ^= 1
    write_log(tmp_path / "_schemas-0", good + bytes(bad))
    write_log(tmp_path / "t-0", batch(records=[record(value=framed(number, b"\x02x")) for number in (1, 2)]))
    assert main(["log", "--deep", "--output", "ndjson", str(tmp_path / "t-0")]) == FINDINGS
    out, err = capfd.readouterr()
    assert [json.loads(line)["decodedValue"] for line in out.splitlines()] == ["x", None]
    assert "_schemas-0: schemas may be missing: 00000000000000000000.log, byte" in err and "CRC" in err


@pytest.mark.parametrize(
    "key",
    [b"{", b"[]", b"7", b"{}", b'{"keytype":"SCHEMA"}', b'{"keytype":"SCHEMA","subject":"s","version":"x"}', b"[" * 100_000],
)
def test_records_that_are_none_of_a_registry_do_no_harm(listed: Lister, key: bytes) -> None:
    strange = batch(records=[record(key=key, value=b"{")])
    status = CLEAN if key == b"{}" else FINDINGS
    rows = listed([strange, schema(1, '"string"')], [framed(1, b"\x02x")], status=status)
    assert rows[0]["decodedValue"] == "x"
