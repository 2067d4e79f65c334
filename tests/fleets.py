"""Tables of trees of brokers, read in process, for tests that ask questions of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from kdump.output.arrow.schemas import table_schema
from kdump.pipeline.fleet import local
from kdump.pipeline.fleet.query import Query
from kdump.pipeline.options import Options
from kdump.pipeline.planning import plan
from kdump.pipeline.reading import read

from .checks.faults.case import NOW

TABLES = ("batches", "records", "segments", "checkpoints")


def table_of(path: Path, table: str, **options: str) -> pa.Table:
    chosen = Options({"table": table, "path": str(path), "isolated": "false", "now": str(NOW), **options})
    return pa.Table.from_batches([batch for work in plan(chosen) for batch in read(work, chosen)], table_schema(table))


def tables_of(path: Path) -> dict[str, pa.Table]:
    return {table: table_of(path, table) for table in TABLES}


def ask_tables(queries: Iterable[Query], tables: Mapping[str, pa.Table]) -> list[pa.Table]:
    """The answers to questions to tables in memory."""
    return local.ask(queries, tables)


def in_order(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Rows as texts, in an order that does not depend on who answered."""
    return sorted(repr(sorted(row.items())) for row in rows)
