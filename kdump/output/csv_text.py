"""Tables as CSV (RFC 4180) with a heading; null is an empty field."""

from __future__ import annotations

import csv
import io
import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.tables import Row, Table


class CsvOutput:
    """Writes a heading and one line a row. Headers of records are JSON."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write

    def start(self, row_class: type[Row]) -> None:
        self._write(_lines([[column.key for column in row_class.schema]]))

    def write(self, table: Table[Row]) -> None:
        columns = [[_field(value) for value in table[column.name]] for column in table.row_class.schema]
        self._write(_lines([list(row) for row in zip(*columns, strict=True)]))

    def end(self) -> None:
        pass


def _field(value: object) -> object:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return value


def _lines(rows: list[list[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_MINIMAL).writerows(rows)
    return text.getvalue()
