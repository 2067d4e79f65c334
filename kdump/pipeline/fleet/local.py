"""Asks questions without Spark: tables go into a file of SQLite, which answers in the same SQL."""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager
from datetime import date, timedelta
from typing import TYPE_CHECKING

import pyarrow as pa

from kdump.errors import KdumpError
from kdump.output.arrow.rows import columns_of
from kdump.output.arrow.schemas import TYPES, schema_of
from kdump.workers.unfinished import temporary_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from kdump.pipeline.fleet.query import Query

    Rows = Iterable[pa.RecordBatch]

_MIN_INT64, _MAX_INT64 = -(1 << 63), (1 << 63) - 1
_EPOCH = date(1970, 1, 1)
_SEPARATOR = "\x1f"
_CACHE_KIB = 64 << 10
_PARTITION = ("broker", "topic", "partition")
_OF_SYSTEM = {
    *(sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB),
    *(sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_NOMEM),
}
"""The codes of errors of SQLite where a call failed. It calls a file malformed of which it cannot read the header."""


def ask(queries: Iterable[Query], tables: Mapping[str, Callable[[list[str]], Rows]]) -> list[pa.Table]:
    """The answers to questions. Only the columns that they read are kept, and only on disk; a missing table has no rows.

    A table is given as a function that makes its rows; its argument is the columns to read, and it may return more.
    """
    queries = list(queries)
    wanted: dict[str, dict[str, None]] = {}
    for query in queries:
        for table, columns in query.columns.items():
            wanted.setdefault(table, {}).update(dict.fromkeys(columns))
    with _database() as connection:
        for table in sorted(wanted, key=lambda table: _is_limited(table, queries)):  # those that limit others first
            names = list(wanted[table])
            rows = tables[table](names) if table in tables else ()
            if _is_limited(table, queries):
                rows = _of_partitions(rows, _partitions(connection, table, queries))
            _load(connection, table, names, rows)
        return [_answer(connection, query) for query in queries]


def partitions(query: Query, table: str, tables: Mapping[str, Callable[[list[str]], Rows]]) -> pa.Table:
    """The broker, topic and partition of the rows of a table that matter to a question that limits it."""
    with _database() as connection:
        for name, columns in query.columns.items():
            if name not in query.partitions:
                _load(connection, name, list(columns), tables[name](list(columns)))
        return _partitions(connection, table, [query])


def _is_limited(table: str, queries: Iterable[Query]) -> bool:
    """Whether all questions that read this table say which partitions of it matter."""
    return all(table in query.partitions for query in queries if table in query.columns)


def _partitions(connection: sqlite3.Connection, table: str, queries: Iterable[Query]) -> pa.Table:
    """The broker, topic and partition of the rows of a table that matter."""
    found: set[tuple[str, str, int]] = set()
    for query in queries:
        if table in query.columns:
            text = query.partitions[table].format(**{name: f"`{name}`" for name in query.columns})
            found.update(connection.execute(f"SELECT broker, topic, `partition` FROM ({text})"))
    columns = zip(*found, strict=True) if found else [()] * len(_PARTITION)
    types = [TYPES[column.type] for column in columns_of("records", _PARTITION)]
    return pa.table([pa.array(values, of) for values, of in zip(columns, types, strict=True)], list(_PARTITION))


def _of_partitions(batches: Rows, partitions: pa.Table) -> Rows:
    """The rows of these partitions only, in any order."""
    if partitions.num_rows:
        for batch in batches:
            table = pa.Table.from_batches([batch])
            yield from table.join(partitions, list(_PARTITION), join_type="left semi").to_batches()


@contextmanager
def _database() -> Iterator[sqlite3.Connection]:
    """A new database in a temporary file. Raises KdumpError where the system fails to read or write that within the block."""
    with temporary_folder("kdump-fleet-") as folder:
        try:
            connection = _open(os.path.join(folder, "tables.sqlite"))
            try:
                yield connection
            finally:
                connection.close()
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF not in _OF_SYSTEM:  # the rest of the number says more
                raise
            message = f"the tables cannot be queried, for which a temporary file is needed: {error}"
            raise KdumpError(message, remedy="TMPDIR names another place for it") from error


def _open(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    for name, count, function in _FUNCTIONS:
        connection.create_function(name, count, function, deterministic=True)
    connection.create_aggregate("bit_xor", 1, _Xor)
    connection.create_aggregate("collect_set", 1, _Set)  # type: ignore[arg-type]  # likewise
    return connection


def _load(connection: sqlite3.Connection, table: str, columns: list[str], batches: Rows) -> None:
    names = ", ".join(f"`{name}`" for name in columns)
    connection.execute(f"CREATE TABLE `{table}` ({names})")
    insert = f"INSERT INTO `{table}` ({names}) VALUES ({', '.join('?' * len(columns))})"
    connection.execute("BEGIN")
    for batch in batches:
        values = [batch.column(name).to_pylist() for name in columns]
        connection.executemany(insert, zip(*values, strict=True))
    connection.execute("COMMIT")


def _answer(connection: sqlite3.Connection, query: Query) -> pa.Table:
    schema = schema_of(query.result)
    names = {table: f"`{table}`" for table in (*query.columns, *query.steps)}
    for step, text in query.steps.items():
        connection.execute(f"CREATE TABLE `{step}` AS {text.format(**names)}")
    cursor = connection.execute(query.text.format(**names))
    places = {description[0]: place for place, description in enumerate(cursor.description)}
    rows = cursor.fetchall()
    for step in query.steps:
        connection.execute(f"DROP TABLE `{step}`")
    arrays = [_array([row[places[column.key]] for row in rows], TYPES[column.type]) for column in query.result]
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(values: list[Any], arrow_type: pa.DataType) -> pa.Array:
    if arrow_type == pa.bool_():
        values = [None if value is None else bool(value) for value in values]
    return pa.array(values, arrow_type)


# --- What Spark has and SQLite has not


def _in_range(value: int) -> int | None:
    return value if _MIN_INT64 <= value <= _MAX_INT64 else None


def _try_add(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else _in_range(left + right)


def _try_subtract(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else _in_range(left - right)


def _xxhash64(*values: object) -> int:
    """A hash; it need not be the one Spark uses."""
    return hash(values)


def _greatest(*values: Any) -> Any:
    return max((value for value in values if value is not None), default=None)


def _least(*values: Any) -> Any:
    return min((value for value in values if value is not None), default=None)


def _date_from_unix_date(days: int | None) -> str | None:
    return None if days is None else (_EPOCH + timedelta(days=days)).isoformat()


def _array_join(values: str | None, separator: str) -> str | None:
    return None if values is None else values.replace(_SEPARATOR, separator)


def _same(value: object) -> object:
    return value


class _Xor:
    def __init__(self) -> None:
        self._value = 0

    def step(self, value: int | None) -> None:
        self._value ^= value or 0

    def finalize(self) -> int:
        return self._value


class _Set:
    """The distinct texts of a group in order, as one text; Spark has an array here."""

    def __init__(self) -> None:
        self._values: set[str] = set()

    def step(self, value: str | None) -> None:
        if value is not None:
            self._values.add(value)

    def finalize(self) -> str:
        return _SEPARATOR.join(sorted(self._values))


_FUNCTIONS: tuple[tuple[str, int, Callable[..., Any]], ...] = (
    ("try_add", 2, _try_add),
    ("try_subtract", 2, _try_subtract),
    ("xxhash64", -1, _xxhash64),
    ("greatest", -1, _greatest),
    ("least", -1, _least),
    ("date_from_unix_date", 1, _date_from_unix_date),
    ("array_join", 2, _array_join),
    ("array_sort", 1, _same),
)
