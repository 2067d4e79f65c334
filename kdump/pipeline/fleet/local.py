"""Asks questions without Spark: DuckDB answers them, in the same SQL, from Parquet files or Arrow tables."""

from __future__ import annotations

import glob
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kdump.binary.installing import how_to_install
from kdump.binary.loading import loading
from kdump.errors import KdumpError, UsageError
from kdump.output.arrow.rows import columns_of
from kdump.output.arrow.schemas import schema_of
from kdump.workers.unfinished import temporary_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from duckdb import DuckDBPyConnection

    from kdump.pipeline.fleet.query import Query

_MACROS = (
    "try_add(a, b) AS TRY(a + b)",
    "try_subtract(a, b) AS TRY(a - b)",
    "xxhash64(a, b, c, d, e) AS hash(a, b, c, d, e)",
    "date_from_unix_date(days) AS DATE '1970-01-01' + days",
)
"""What Spark has and DuckDB has not. A hash need not be the one that Spark uses."""


def require_duckdb() -> None:
    """Raise UsageError if DuckDB is not installed."""
    try:
        with loading("duckdb"):
            import duckdb  # noqa: F401
    except ImportError as error:
        raise UsageError(
            'questions about a fleet need the package "duckdb"',
            remedy=f"{how_to_install('duckdb', 'arrow')}, or use --engine spark",
        ) from error


def ask(queries: Iterable[Query], tables: Mapping[str, pa.Table | Sequence[str]], cores: int | None = None) -> list[pa.Table]:
    """The answers to questions, on all cores or on this many.

    A table is given as an Arrow table, or as the paths of its Parquet files; a missing one has no rows.
    Raises UsageError if DuckDB is not installed, and KdumpError where it fails to read them or to write temporary files.
    """
    require_duckdb()
    with _database(cores) as connection:
        return [_answer(connection, query, tables) for query in queries]


@contextmanager
def _database(cores: int | None) -> Iterator[DuckDBPyConnection]:
    """A new database in memory, and a folder for what does not fit. Raises KdumpError where the system fails in the block."""
    import duckdb

    config: dict[str, str | bool | int | float | list[str]] = {"autoinstall_known_extensions": False}
    if cores is not None:
        config["threads"] = cores
    try:
        with (
            temporary_folder("kdump-fleet-") as folder,
            duckdb.connect(config={**config, "temp_directory": folder}) as connection,
        ):
            connection.execute("SET python_enable_replacements = false")  # a table is never a variable of this program
            for macro in _MACROS:
                connection.execute(f"CREATE MACRO {macro}")
            yield connection
    except (duckdb.IOException, duckdb.InvalidInputException, duckdb.OutOfMemoryException) as error:
        message = f"the tables cannot be queried, which may need memory and temporary files: {error}"
        raise KdumpError(message, remedy="TMPDIR names another place for these") from error


def _answer(connection: DuckDBPyConnection, query: Query, tables: Mapping[str, pa.Table | Sequence[str]]) -> pa.Table:
    for table, columns in query.columns.items():
        empty = schema_of(columns_of(table, columns)).empty_table()
        source = tables.get(table) or empty
        relation = (
            connection.from_arrow(source)
            if hasattr(source, "schema")
            else connection.read_parquet([glob.escape(path) for path in source], hive_partitioning=False)
        )
        relation.project(", ".join(f'"{column}"' for column in columns)).create_view(table)
    for step, text in query.steps.items():
        connection.execute(f'CREATE TABLE "{step}" AS {_text(query, text)}')
    answer = connection.sql(_text(query, query.text)).to_arrow_table()
    for step in query.steps:
        connection.execute(f'DROP TABLE "{step}"')
    schema = schema_of(query.result)
    return answer.select(schema.names).cast(schema)


def _text(query: Query, text: str) -> str:
    """A question in the SQL of DuckDB, which quotes names as the standard does."""
    return text.format(**{table: f"`{table}`" for table in (*query.columns, *query.steps)}).replace("`", '"')
