"""How a table for people shows the rows of a class; by default, all columns as they are."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from types import NoneType
from typing import cast

from kdump.binary.java_strings import escaped
from kdump.output.rows.json_text import json_text
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kdump.tables import Row, Table

_FILE = "file"  # the column that is shown above the rows, not in them
MAX_TEXT = 64 << 10
"""Characters of one cell: a column is as wide as its widest cell, so each row would be as long."""

_FIRST_TIME, _END_OF_TIME = -62_135_596_800_000, 253_402_300_800_000  # of the years 1 to 9999, which a calendar has
_KEPT_TIMES = 256  # records of a batch often have the same
_FREE_TEXT = ("headers", "key", "value", "broker_forecast")  # columns that may be shortened


class Heading(Declared):
    """The head of a column: numbers are right-aligned; free text (`is_text`) may be shortened."""

    text: str
    is_right: bool = False
    is_text: bool = False


class Layout(Declared):
    """Headings, and what makes the cells of a row.

    `expendable` are the headings of columns that may be left out, the first one first. `line_of` makes a row of another class, if
    a table shows such rows in place of its own. `columns_of` makes the cells of many rows at once, a list for each column.
    """

    headings: Sequence[Heading]
    cells_of: Callable[[Row], list[str]]
    expendable: Sequence[str] = ()
    line_of: Callable[[Row], Row] | None = None
    columns_of: Callable[[Table[Row]], list[Sequence[str]]] | None = None


def layout_by_schema(row_class: type[Row], line_of: Callable[[Row], Row] | None = None) -> Layout:
    """All columns in the order of the schema, but for the file."""
    names = [column.name for column in row_class.schema if column.name != _FILE]

    def cells_of(row: Row) -> list[str]:
        return [cell(name, getattr(row, name)) for name in names]

    def columns_of(table: Table[Row]) -> list[Sequence[str]]:
        return [cells_of_column(name, table[name]) for name in names]

    return Layout(headings_of(row_class, names), cells_of, line_of=line_of, columns_of=columns_of if line_of is None else None)


def headings_of(row_class: type[Row], names: Sequence[str]) -> list[Heading]:
    """The headings of these columns of a row class."""
    columns = {column.name: column for column in row_class.schema}
    return [
        Heading(columns[name].key, is_right=columns[name].type.startswith(("Int", "UInt")), is_text=name in _FREE_TEXT)
        for name in names
    ]


def cells_of_column(name: str, values: Sequence[object]) -> Sequence[str]:
    """What `cell` makes of each value: at once, if all are numbers, empty lists, or short text that need not be escaped.

    Of other text, each distinct one is escaped once.
    """
    kinds = set(map(type, values))
    if kinds == {int}:
        return list(map(time_text if "timestamp" in name else str, cast("Sequence[int]", values)))
    if kinds == {list} and not any(values):
        return [cell(name, [])] * len(values)
    if kinds == {str}:
        texts = cast("Sequence[str]", values)
        if "".join(texts).isprintable() and max(map(len, texts)) <= MAX_TEXT:
            return texts
    if kinds <= {str, NoneType}:
        cells = {value: cell(name, value) for value in set(values)}
        return [cells[value] for value in values]
    return [cell(name, value) for value in values]


def cell(name: str, value: object) -> str:
    """A value as text on one line: `-` for null, a date for a timestamp."""
    if value is None:
        return "-"
    if "timestamp" in name and isinstance(value, int):
        return time_text(value)
    if isinstance(value, list):
        if not value:
            return "-"
        return shown_text(",".join(map(_item, value))) or "-"
    return shown_text(str(value))


def shown_text(text: str) -> str:
    """Text on one line, escaped. Of very long text only the start is shown, which then ends in an ellipsis."""
    return escaped(text) if len(text) <= MAX_TEXT else escaped(text[:MAX_TEXT]) + "…"


def _item(item: object) -> str:
    """An item of a list; the header of a record is shown as its key."""
    if isinstance(item, dict) and "keyBase64" in item:
        return item["key"] or item["keyBase64"] or ""
    return item if isinstance(item, str) else json_text(item)


@lru_cache(_KEPT_TIMES)
def time_text(milliseconds: int) -> str:
    """A time in UTC, to the millisecond; as a number where no calendar has it."""
    if milliseconds == -1:
        return "-"
    if not _FIRST_TIME <= milliseconds < _END_OF_TIME:
        return str(milliseconds)
    moment = datetime.fromtimestamp(milliseconds // 1000, UTC)
    return f"{moment.replace(tzinfo=None).isoformat(' ')}.{milliseconds % 1000:03}"
