"""`kdump scan --records --decode auto` writes decoded keys and values, the same as the listing shows."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from kdump.cli.commands import main
from kdump.pipeline import decoded_tables
from kdump.schemas.shapes import INT64, NotedShapes, Shape
from tests.registries import answers, has_schema, unpack
from tests.support import Capture

pq = pytest.importorskip("pyarrow.parquet")

TOPICS = ("jade-both", "lotus-proto", "viola-odd", "amber-header-avro", "heron-json")
USAGE = 2


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("registries")
    unpack(folder)
    for path in (folder / "schemas-a").iterdir():
        if path.name.rpartition("-")[0] not in (*TOPICS, "_schemas", "iris-bare") and path.name != "files":
            shutil.rmtree(path)
    return folder


def _records(brokers: Path, out: Path, *options: str) -> dict[tuple[str, int, int], Any]:
    main(["scan", "--engine", "local", "--jobs", "1", "--records", "--tables-to", str(out), *options, str(brokers / "schemas-a")])
    rows = pq.read_table(out / "records").to_pylist()
    return {(row["topic"], row["partition"], row["offset"]): row for row in rows}


def test_records_are_decoded_with_the_registry_beside_them(brokers: Path, tmp_path: Path) -> None:
    rows = _records(brokers, tmp_path / "out", "--decode", "auto")
    compared = 0
    for (case, _, options), recorded in answers().items():
        for answer in recorded:
            if case != "schemas-a" or options or answer["topic"] not in TOPICS:
                continue
            row, part = rows[answer["topic"], answer["partition"], answer["offset"]], answer["part"]
            text, schema = row[f"decoded{part.capitalize()}"], row[f"{part}Schema"]
            assert (None if text is None else json.loads(text)) == (answer.get("decoded") if has_schema(answer) else None)
            assert (schema is not None) == has_schema(answer)
            assert ("error" in answer) <= (row["decodeError"] is not None)
            compared += 1
    assert compared > 100


def test_records_are_decoded_with_a_schema_that_is_named(brokers: Path, tmp_path: Path) -> None:
    schema = str(brokers / "schemas-a" / "files" / "cedar.avsc")
    rows = _records(brokers, tmp_path / "out", "--value-decoder", "avro", "--schemas", schema, "--topics", "iris-bare")
    first = json.loads(rows["iris-bare", 0, 0]["decodedValue"])
    assert (first["maple"], first["wren"]) == (-1, (1 << 63) - 1)
    assert json.loads(rows["iris-bare", 0, 0]["valueSchema"])["framing"] == "bare"


def test_without_the_option_records_have_no_decoded_columns(brokers: Path, tmp_path: Path) -> None:
    rows = _records(brokers, tmp_path / "out", "--topics", "jade-both")
    assert "decodedValue" not in rows["jade-both", 0, 0]
    assert not (tmp_path / "out" / "decoded").exists()


def test_only_records_can_be_decoded(brokers: Path, capsys: Capture) -> None:
    assert main(["scan", "--engine", "local", "--decode", "auto", str(brokers / "schemas-a")]) == USAGE
    assert "--records writes it" in capsys.readouterr().err


def _decoded(out: Path, topic: str) -> Any:
    return pq.read_table(out / "decoded" / f"topic={topic}")


def test_each_topic_with_schemas_has_a_table_with_columns_of_their_types(brokers: Path, tmp_path: Path, capsys: Capture) -> None:
    rows = _records(brokers, tmp_path / "out", "--decode", "auto")
    of_topics = {path.name.removeprefix("topic=") for path in (tmp_path / "out" / "decoded").iterdir()}
    assert "Decoded keys and values of 5 topics, with typed columns: " in capsys.readouterr().out
    assert of_topics == {row["topic"] for row in rows.values() if row["decodedKey"] or row["decodedValue"]} == {*TOPICS}
    table = _decoded(tmp_path / "out", "jade-both")
    assert str(table.schema.field("decodedKey").type) == "struct<id: int64, region: string>"
    found = {(row["partition"], row["offset"]): row for row in table.to_pylist()}
    assert found[0, 5]["decodedKey"] == {"id": 1042352526091, "region": None}
    assert found[0, 5]["decodedValue"]["x"] == -4
    recorded = {(partition, offset): row for (topic, partition, offset), row in rows.items() if topic == "jade-both"}
    for name in ("keySchema", "valueSchema", "decodeError", "timestamp", "position", "path"):
        assert {place: row[name] for place, row in found.items()} == {place: row[name] for place, row in recorded.items()}


def test_the_tables_of_topics_have_the_columns_of_the_listing(brokers: Path, tmp_path: Path) -> None:
    _records(brokers, tmp_path / "out", "--decode", "auto", "--target-bytes", "1k")
    names = ["decodedKey", "decodedValue", "keySchema", "valueSchema", "decodeError", "offset"]
    for topic in (*TOPICS, "viola-odd"):
        file = tmp_path / f"{topic}.parquet"
        paths = sorted((brokers / "schemas-a").glob(f"{topic}-[0-9]"))
        main(["log", "--deep", "--output", "parquet", "-o", str(file), *map(str, paths)])
        listed = pq.read_table(file, columns=[*names, "partition"]).sort_by([("partition", "ascending"), ("offset", "ascending")])
        scanned = _decoded(tmp_path / "out", topic).sort_by([("partition", "ascending"), ("offset", "ascending")])
        scanned = scanned.select(listed.column_names)
        assert scanned.schema.field("decodedValue").type == listed.schema.field("decodedValue").type
        assert repr(scanned.to_pylist()) == repr(listed.to_pylist())  # NaN does not equal itself


def test_tables_of_topics_that_cannot_be_listed_are_not_taken_for_missing(tmp_path: Path) -> None:
    (tmp_path / "decoded").write_bytes(b"")
    with pytest.raises(NotADirectoryError):
        decoded_tables.topics_in(str(tmp_path))


@pytest.mark.parametrize("topic", ["a b", "t" * 250, "..%2f", "caf\udce9"])
def test_a_name_that_no_broker_accepts_makes_no_path(topic: str, tmp_path: Path) -> None:
    shapes = NotedShapes([Shape(INT64)]), NotedShapes()
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "not-opened.parquet").write_bytes(b"")
    decoded_tables.write(str(tmp_path), {topic: shapes})
    assert not (tmp_path / "decoded").exists()
