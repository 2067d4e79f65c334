"""Rows as CSV (RFC 4180, but lines end as in Unix) with a heading."""

from __future__ import annotations

import re

from kdump.binary.java_strings import escaped
from kdump.output.kafka.lines import Template
from kdump.output.rows.json_text import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kdump.tables import Row, Table

_AS_JSON = (list, dict)
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_NEEDS_QUOTES = re.compile('[,"\r\n]|^$')


class CsvFormatter:
    """Writes a heading and one record a row: null is an empty field, empty text is quoted, lists and objects are JSON.

    Only rows of the first class are written. On a terminal, control characters are escaped, so that a row is one line there;
    elsewhere text with line ends is quoted. If `escapes_formulas`, text that a spreadsheet would take for a formula has a quote
    before it, which spreadsheets do not show.
    """

    def __init__(self, write: Callable[[str], None], *, is_terminal: bool = False, escapes_formulas: bool = False) -> None:
        self._write = write
        self._escapes_formulas = escapes_formulas
        self._is_terminal = is_terminal
        self._row_class: type[Row] | None = None
        self._line = Template([""], [])

    def start(self, row_class: type[Row], *_others: type[Row]) -> None:
        self._row_class = row_class
        literals = ["," if number else "" for number in range(len(row_class.schema))]
        self._line = Template([*literals, "\n"], [column.name for column in row_class.schema])
        self._write(",".join(column.key for column in row_class.schema) + "\n")

    def write(self, table: Table[Row]) -> None:
        if table.row_class is self._row_class and len(table):
            self._write("".join(self._line.lines(lambda name: self._fields(table[name]), len(table))))

    def end(self) -> None:
        pass

    def _fields(self, column: Sequence[object]) -> Sequence[object]:
        if set(map(type, column)) == {int}:
            return column
        if column.count(column[0]) == len(column):
            return [self._field(column[0])] * len(column)
        return list(map(self._field, column))

    def _field(self, value: object) -> str:
        return csv_field(value, is_terminal=self._is_terminal, escapes_formulas=self._escapes_formulas)


def csv_field(value: object, *, is_terminal: bool = False, escapes_formulas: bool = False) -> str:
    """A value as a field of a CSV file."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = json_text(value) if isinstance(value, _AS_JSON) else str(value)
    if not text.isascii():
        # file names may hold bytes that are not UTF-8, which the fields of a CSV file may not
        text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if escapes_formulas and text.startswith(FORMULA_STARTS) and not isinstance(value, int | float):
        text = "'" + text
    if is_terminal:
        text = escaped(text)
    return '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text
