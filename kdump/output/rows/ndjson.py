"""Rows as NDJSON: one object a line, its keys in Kafka's camel case."""

from __future__ import annotations

from kdump.output.rows.json_text import JsonObjects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.tables import Row, Table


class NdjsonFormatter:
    """Writes each row as a JSON object with all columns of its schema. Where rows are of several classes, `kind` says which."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._objects: dict[type[Row], JsonObjects] = {}

    def start(self, row_class: type[Row], *others: type[Row]) -> None:
        for each in (row_class, *others):
            self._objects[each] = JsonObjects(each, kind=each.row_kind if others else "", end="\n")

    def write(self, table: Table[Row]) -> None:
        if len(table):
            self._write("".join(self._objects[table.row_class].of(table)))

    def end(self) -> None:
        pass
