"""The formats in which rows of any class are written, by name: NDJSON, JSON and CSV for programs, aligned columns for people."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from kdump.output.text.style import ReportStyle
    from kdump.tables import Row, Table

    Write = Callable[[str], None]

    class Formatter(Protocol):
        """Writes tables of rows, as many as there are, each of one class.

        `start` names the classes. The first is what the output is about; CSV and tables for people show nothing else. Where there
        are several, NDJSON and JSON distinguish them by their `row_kind`.
        """

        def start(self, row_class: type[Row], *others: type[Row]) -> None: ...
        def write(self, table: Table[Row]) -> None: ...
        def end(self) -> None: ...


NDJSON, JSON, CSV, TABLE = "ndjson", "json", "csv", "table"


def _ndjson(write: Write, _style: ReportStyle) -> Formatter:
    from kdump.output.rows.ndjson import NdjsonFormatter

    return NdjsonFormatter(write)


def _json(write: Write, _style: ReportStyle) -> Formatter:
    from kdump.output.rows.json import JsonFormatter

    return JsonFormatter(write)


def _csv(write: Write, style: ReportStyle) -> Formatter:
    from kdump.output.rows.csv import CsvFormatter

    return CsvFormatter(write, is_terminal=style.is_terminal, escapes_formulas=style.escapes_formulas)


def _table(write: Write, style: ReportStyle) -> Formatter:
    from kdump.output.rows.table import TableFormatter

    width = style.width or None if style.is_terminal else None
    return TableFormatter(write, has_colors=style.has_colors, width=width)


FORMATTERS: dict[str, Callable[[Write, ReportStyle], Formatter]] = {NDJSON: _ndjson, JSON: _json, CSV: _csv, TABLE: _table}
"""What makes a formatter, by its name; each loads its module, because some are slow to load."""


def formatter_of(name: str, write: Write, style: ReportStyle) -> Formatter:
    """The formatter of this name. A table has the width of the terminal, if there is one."""
    return FORMATTERS[name](write, style)
