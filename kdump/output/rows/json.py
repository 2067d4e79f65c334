"""Rows as one JSON document: an array for each class of rows, and the summary."""

from __future__ import annotations

from kdump.output.rows.json_text import JsonObjects, json_text
from kdump.tables import camel_case

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.tables import Row, Table

_SUMMARY = "summary"
_WRITTEN_ROWS = 100  # of those that are held, at once


class JsonFormatter:
    """Writes rows of the first class as they come, an object a line; holds all others to the end.

    Each class has an array under the plural of its kind: `findings`. A summary stands alone, without an array.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._objects: dict[type[Row], JsonObjects] = {}
        self._held: dict[type[Row], list[str]] = {}
        self._separator = "\n"

    def start(self, row_class: type[Row], *others: type[Row]) -> None:
        self._objects = {each: JsonObjects(each) for each in (row_class, *others)}
        self._held = {each: [] for each in others}
        self._write(f"{{{json_text(_plural(row_class.row_kind))}:[")

    def write(self, table: Table[Row]) -> None:
        if not len(table):
            return
        objects = self._objects[table.row_class].of(table)
        if table.row_class in self._held:
            self._held[table.row_class] += objects
        else:
            self._write(self._separator + ",\n".join(objects))
            self._separator = ",\n"

    def end(self) -> None:
        self._write("\n]")
        for row_class, objects in self._held.items():
            if row_class.row_kind.endswith(_SUMMARY):
                self._write(f',\n"{_SUMMARY}":{objects[-1] if objects else "null"}')
                continue
            self._write(f",\n{json_text(_plural(row_class.row_kind))}:[")
            for start in range(0, len(objects), _WRITTEN_ROWS):
                self._write((",\n" if start else "\n") + ",\n".join(objects[start : start + _WRITTEN_ROWS]))
            self._write("\n]")
        self._write("}\n")


def _plural(kind: str) -> str:
    """The key of an array of rows of this kind: `indexEntries` of `index-entry`; `rows` where a class has no kind."""
    name = camel_case(kind.replace("-", "_")) or "row"
    if name.endswith("y"):
        return name.removesuffix("y") + "ies"
    return name + ("es" if name.endswith(("s", "ch")) else "s")
