"""Compares the tables that two scans wrote: their columns, types and rows, in whatever order and files the rows are."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from kdump.output.arrow.rows import TABLES

if TYPE_CHECKING:
    from pyarrow import Table
    from pyarrow.dataset import Dataset, Expression

MAX_ROWS = 1_000_000
"""Rows of a table that are compared at once; of larger tables, those of one path."""

_PLACE = ("path", "position", "offset", "entry", "start", "code", "message")
"""Columns that order most tables: rows that tie are counted one by one if the tables then differ."""


def differing(one: Path, other: Path) -> list[str]:
    """The tables of two scans that are not the same, with how they differ; empty if all are the same."""
    return [f"{table}: {difference}" for table in TABLES if (difference := _difference(one / table, other / table))]


def _difference(one: Path, other: Path) -> str:
    from pyarrow.dataset import dataset

    if not one.is_dir() or not other.is_dir():
        return f"no table in {one.parent if other.is_dir() else other.parent}"
    schemas = [_schemas(folder) for folder in (one, other)]
    if schemas[0] != schemas[1] or len(schemas[0]) != 1:
        return "columns, types or what may be null"
    here, there = (dataset(folder, format="parquet") for folder in (one, other))
    if here.count_rows() != there.count_rows():
        return f"{here.count_rows():,} and {there.count_rows():,} rows"
    wrong = sum(not _are_same(here, there, chosen) for chosen in _portions(here))
    return f"the rows of {wrong} portions" if wrong else ""


def _schemas(folder: Path) -> set[str]:
    import pyarrow.parquet as pq

    return {pq.read_schema(part).remove_metadata().to_string() for part in folder.glob("*.parquet")}


def _portions(table: "Dataset") -> "Iterator[Expression | None]":
    """Filters that choose all rows of a table, each once."""
    import pyarrow.compute as pc

    if table.count_rows() <= MAX_ROWS:
        yield None
        return
    path = pc.field("path")
    for value in table.to_table(columns=["path"]).column("path").unique().to_pylist():
        yield path.is_null() if value is None else path == value


def _are_same(here: "Dataset", there: "Dataset", chosen: "Expression | None") -> bool:
    tables = [table.to_table(filter=chosen) for table in (here, there)]
    if _in_order(tables[0]).equals(_in_order(tables[1])):
        return True
    rows = [Counter(hash(repr(row)) for batch in table.to_batches() for row in batch.to_pylist()) for table in tables]
    return rows[0] == rows[1]


def _in_order(table: "Table") -> "Table":
    keys = [(name, "ascending") for name in _PLACE if name in table.column_names]
    return table.sort_by(keys).combine_chunks()
