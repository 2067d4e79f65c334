"""A row class is all that a new kind of row needs: every format follows from its schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kdump.output import schemas
from kdump.output.rows.formatters import formatter_of
from kdump.output.rows.row_writer import RowWriter
from kdump.output.text.style import ReportStyle
from kdump.tables import Bool, Float64, Int64, Pair, Row, Table, Text
from tests.loops import each


class Match(Row, kind="match"):
    """What a search found; for these tests."""

    offset: Int64
    key: Text | None
    is_tombstone: Bool
    share: Float64 | None
    tags: list[Text]
    ranges: list[Pair] | None
    changes: list[dict[Text, Text | Int64 | None]]
    file: Text


class SearchSummary(Row, kind="search-summary"):
    """How a search ended; for these tests."""

    matches: Int64
    verdict: Text


FIRST = Match(7, "k,1", False, 0.25, ["a", "b"], [[1, 2]], [{"name": "x", "size": 3, "newName": None}], "x.log")
SECOND = Match(8, None, True, None, [], None, [], "x.log")
SUMMARY = SearchSummary(2, "found")


def _written(name: str, *rows: Row) -> str:
    texts: list[str] = []
    others = [SearchSummary] if SUMMARY in rows else []
    writer = RowWriter(formatter_of(name, texts.append, ReportStyle()), Match, *others)
    for row in rows:
        writer.write(row)
    writer.end()
    return "".join(texts)


def test_a_json_document_has_an_array_for_each_class_and_one_summary() -> None:
    text = _written("json", FIRST, SUMMARY, SECOND)
    document = json.loads(text)
    assert list(document) == ["matches", "summary"]
    assert [match["offset"] for match in document["matches"]] == [7, 8]
    assert document["summary"] == {"matches": 2, "verdict": "found"}
    assert len(text.splitlines()) == 5  # the start, each match, the end of the array, the summary
    assert json.loads(_written("json")) == {"matches": []}


def test_a_table_has_the_rows_of_the_first_class_under_the_name_of_their_file() -> None:
    heading, names, _, *rows = _written("table", FIRST, SUMMARY, SECOND).splitlines()
    assert (heading, names.split()) == ("x.log", ["offset", "key", "isTombstone", "share", "tags", "ranges", "changes"])
    assert [row.split() for row in rows] == [
        ["7", "k,1", "False", "0.25", "a,b", "[1,2]", '{"name":"x","size":3,"newName":null}'],
        ["8", "-", "True", "-", "-", "-", "-"],
    ]


def _in_a_file(path: Path, *rows: Match, file_format: str = "parquet") -> None:
    from kdump.output.arrow.builder import record_batch
    from kdump.output.arrow.files import TableFile
    from kdump.output.arrow.schemas import schema_of

    schema = schema_of(Match.schema)
    with TableFile(str(path), schema, file_format) as file:
        file.write(record_batch(Match.schema, dict(Table.of_rows(Match, rows).columns), len(rows), schema))


@each("file_format", ["parquet", "arrow"])
def test_a_file_of_tables_has_the_same_columns_with_types(tmp_path: Path, file_format: str) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "matches"
    _in_a_file(path, FIRST, SECOND, file_format=file_format)
    table = pq.read_table(path) if file_format == "parquet" else pa.ipc.open_file(path).read_all()
    assert table.column_names == ["offset", "key", "isTombstone", "share", "tags", "ranges", "changes", "file"]
    assert [tuple(row.values()) for row in table.to_pylist()] == [
        (7, "k,1", False, 0.25, ["a", "b"], [[1, 2]], '[{"name":"x","size":3,"newName":null}]', "x.log"),
        (8, None, True, None, [], None, "[]", "x.log"),
    ]
    assert [field.name for field in table.schema if not field.nullable] == ["offset", "isTombstone", "tags", "changes", "file"]


def test_bytes_of_paths_that_are_not_text_do_not_end_a_file_of_tables(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "matches.parquet"
    _in_a_file(path, Match(1, None, False, None, ["\udcff"], None, [{"name": "\udcff"}], "\udcff.log"))
    (row,) = pq.read_table(path).to_pylist()
    assert (row["tags"], row["changes"], row["file"]) == (["\ufffd"], '[{"name":"\\udcff"}]', "\ufffd.log")


@each("name", schemas.ROWS)
def test_a_json_schema_takes_null_where_a_row_may_lack_a_value(name: str) -> None:
    of_row: Any = schemas.schema_of(name)
    found = {key: "null" in one["type"] for key, one in of_row["properties"].items() if "type" in one}
    columns = schemas.ROWS[name].schema
    assert found.items() >= {column.key: column.is_nullable or column.type == "Json" for column in columns}.items()
    for column in columns:
        of_column = of_row["properties"][column.key]
        assert column.type == "Json" or column.about.items() <= of_column.items()
        bits = {"Int8": 8, "Int16": 16, "Int32": 32, "Int64": 64}.get(column.type)
        assert bits is None or (of_column["minimum"], of_column["maximum"]) == (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
