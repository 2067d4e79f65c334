"""Decoded keys and values are typed columns in Parquet files."""

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from kdump.cli.commands import main
from tests.builders.records import batch, record
from tests.registries.test_hostile_schemas import framed, schema, write_log
from tests.support import Capture

pq = pytest.importorskip("pyarrow.parquet")


def _table(cases: Path, partition: str, file: Path, *options: str) -> Any:
    assert main(["log", "--deep", "--output", "parquet", "-o", str(file), *options, str(cases / partition)]) == 0
    return pq.read_table(file)


def test_columns_have_the_types_of_an_avro_schema_in_all_its_versions(cases: Path, tmp_path: Path) -> None:
    table = _table(cases, "schemas-a/topaz-avro-0", tmp_path / "x.parquet")
    value = table.schema.field("decodedValue").type
    types = {field.name: str(field.type) for field in value}
    expected = {"maple": "int64", "lotus": "float", "coral": "double", "heron": "binary", "price": "decimal128(20, 4)"}
    expected |= {"day": "date32[day]", "clock": "time64[us]", "ts3": "timestamp[us, tz=UTC]", "local3": "timestamp[us]"}
    expected |= {"nadir": "bool", "nadir_new": "bool", "nested": "struct<a: string, b: int32>", "maybe": "string"}
    assert {name: types[name] for name in expected} == expected
    first = table["decodedValue"][0].as_py()
    assert (first["price"], first["day"]) == (Decimal("-79707536113.1438"), date(1947, 9, 11))
    assert (first["nadir"], first["nadir_new"]) == (False, None)
    assert table["decodeError"].null_count == 40
    assert b'"id":1' in table["valueSchema"][0].as_py().encode()


def test_columns_have_the_types_of_a_protobuf_schema(cases: Path, tmp_path: Path) -> None:
    table = _table(cases, "schemas-b/amber-proto-0", tmp_path / "x.parquet", "--from-offset", "3", "--to-offset", "3")
    value = table.schema.field("decodedValue").type
    types = {field.name: str(field.type) for field in value}
    expected = {"d": "int64", "e": "int64", "f": "decimal128(20, 0)", "o": "binary", "shade": "string", "b": "float"}
    expected |= {"packed": "list<element: int32>", "at": "timestamp[us, tz=UTC]", "wrapped": "string"}
    assert {name: types[name] for name in expected} == expected
    (row,) = table["decodedValue"].to_pylist()
    assert row["f"] == 18446744073709551615 and isinstance(row["at"], datetime) and row["at"].tzinfo in (UTC, row["at"].tzinfo)


def test_schemas_that_do_not_fit_together_are_json_text(cases: Path, tmp_path: Path) -> None:
    table = _table(cases, "schemas-a/coral-mixed-0", tmp_path / "x.parquet")
    assert str(table.schema.field("decodedKey").type) == "struct<heron: string, n: int32>"
    both = [str(cases / "schemas-a" / name) for name in ("coral-mixed-0", "jade-both-0")]
    main(["log", "--deep", "--output", "parquet", "-o", str(tmp_path / "y.parquet"), *both])
    table = pq.read_table(tmp_path / "y.parquet")
    assert str(table.schema.field("decodedValue").type) == "string"
    assert table["decodedValue"].to_pylist()[:7] == ["0", "1000", "2000", "3000", "4000", '{"x":-2}', '{"x":4}']


def test_what_is_not_decoded_is_null_with_its_reason_beside_its_bytes(cases: Path, tmp_path: Path) -> None:
    table = _table(cases, "schemas-a/viola-odd-0", tmp_path / "x.parquet")
    rows = {row["offset"]: row for row in table.to_pylist()}
    assert len(rows) == 22
    assert rows[0]["decodedValue"]["n"] == 1 << 40
    why = "schema-id-unknown: the value was not decoded: no schema has the id 7722"
    assert (rows[6]["decodedValue"], rows[6]["decodeError"]) == (None, why)
    assert rows[6]["value"].startswith(b"\0\0\0\x1e\x2a")


def test_a_value_that_does_not_fit_into_its_column_is_null_and_a_finding(tmp_path: Path, capfd: Capture) -> None:
    after_9999 = bytes.fromhex("000000000182 83e602".replace(" ", ""))  # the day 2,932,929
    write_log(tmp_path / "_schemas-0", schema(1, '{"type":"int","logicalType":"date"}'))
    write_log(tmp_path / "t-0", batch(records=[record(value=value) for value in (after_9999, framed(1, b"\0"))]))
    assert main(["log", "--deep", "--output", "parquet", "-o", str(tmp_path / "x.parquet"), str(tmp_path / "t-0")]) == 1
    assert "decoded values that do not fit into their columns: 1 (schema-column-unfit)" in capfd.readouterr().err
    table = pq.read_table(tmp_path / "x.parquet")
    assert table["decodedValue"].to_pylist() == [None, date(1970, 1, 1)]
    assert [error is None for error in table["decodeError"].to_pylist()] == [False, True]


def test_without_schemas_the_file_has_the_columns_of_records(cases: Path, tmp_path: Path) -> None:
    table = _table(cases, "schemas-a/viola-odd-0", tmp_path / "x.parquet", "--decode", "none")
    assert not {"decodedKey", "decodedValue", "decodeError"} & set(table.column_names)
