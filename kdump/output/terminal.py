"""Tables for people: aligned columns, times as dates, one word for what is wrong."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from io import StringIO

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from kdump.binary.java_text import escaped
from kdump.output.listing import ListedBatch, ListedRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from kdump.tables import Row, Table

    Heading = tuple[str, Any]  # and how the cells beneath are aligned, which is Rich's matter

_PAGE = 1000  # rows; columns are as wide as the widest cell of a page
_MAX_CELL = 60
_MAX_DECODED = 120
_READABLE_CELL = 56  # as much of a key or value is worth more than some other columns
_MIN_CELL = 16  # keys and values of records are not cut to less
_GAP = 3
_STYLES = {"intact": "", "salvaged": "yellow", "damaged": "red"}


class TerminalOutput:
    """Collects rows and shows them a page at a time, those of each file under its name. Colours only on a terminal."""

    def __init__(self, write: Callable[[str], None], *, has_colors: bool = False, width: int | None = None) -> None:
        self._write = write
        self._has_colors = has_colors
        self._width = width
        self._rows: list[Row] = []
        self._row_class: type[Row] | None = None
        self._file = ""

    def start(self, row_class: type[Row]) -> None:
        self._row_class = row_class

    def write(self, table: Table[Row]) -> None:
        for row in table:
            file = getattr(row, "file", "")
            if file != self._file:
                self.end()
                self._write(("\n" if self._file else "") + escaped(file) + "\n")
                self._file = file
            self._rows.append(row)
            if len(self._rows) >= _PAGE:
                self._show()

    def end(self) -> None:
        if self._rows:
            self._show()

    def _show(self) -> None:
        assert self._row_class is not None
        cells = _CELLS.get(self._row_class, _plain_cells)
        shown = [cells(row) for row in self._rows]
        styles = [_STYLES.get(getattr(row, "status", ""), "") for row in self._rows]
        table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
        columns = _columns(self._row_class)
        if self._row_class is ListedRecord:
            shown, columns = _fitted(shown, columns, self._width)
        for heading, justify in columns:
            table.add_column(heading, justify=justify, no_wrap=True)
        # one cell a column, with a line for each row: Rich takes 1 ms for a row of cells
        table.add_row(*(_column_text(column, styles) for column in zip(*shown, strict=True)))
        text = StringIO()
        console = Console(
            file=text,
            force_terminal=self._has_colors,
            no_color=not self._has_colors,
            width=max(self._width or 0, _natural_width(shown)),  # numbers are never cut
            highlight=False,
        )
        console.print(table)
        self._write("".join(line.rstrip() + "\n" for line in text.getvalue().splitlines()))
        self._rows.clear()


def _column_text(values: Sequence[str], styles: Sequence[str]) -> Text:
    text = Text("\n".join(values))
    start = 0
    for value, style in zip(values, styles, strict=True):
        if style:
            text.stylize(style, start, start + len(value))
        start += len(value) + 1
    return text


_BATCH_COLUMNS = ("position", "offsets", "count", "time", "size", "codec", "producer", "flags", "crc", "status")
_RIGHT = ("position", "count", "size")
_RECORD_COLUMNS = ("offset", "timestamp", "key_size", "value_size", "sequence", "headers", "key", "value", "position", "status")
_LEAST_TELLING = ("headers", "sequence", "key_size", "value_size", "position")


def _columns(row_class: type[Row]) -> list[Heading]:
    if row_class is ListedBatch:
        return [(name, "right" if name in _RIGHT else "left") for name in _BATCH_COLUMNS]
    columns = {column.name: column for column in row_class.schema if column.name != "file"}
    names = _RECORD_COLUMNS if row_class is ListedRecord else columns
    return [(columns[name].key, "right" if columns[name].type.startswith(("Int", "UInt")) else "left") for name in names]


def _batch_cells(row: Row) -> list[str]:
    batch: Any = row  # a ListedBatch whose fields may all be None in a damaged range
    first = "?" if batch.base_offset is None else batch.base_offset
    offsets = (
        "-"
        if batch.last_offset is None
        else str(batch.last_offset)
        if batch.base_offset is None
        else f"{first} - {batch.last_offset}"
    )
    producer = f"{batch.producer_id}/{batch.producer_epoch}" if batch.producer_id is not None and batch.producer_id >= 0 else "-"
    flags = [word for word, is_set in (("txn", batch.is_transactional), ("control", batch.is_control)) if is_set]
    return [
        f"{batch.position:,}",
        offsets,
        "-" if batch.count is None else str(batch.count),
        "-" if batch.timestamp is None else f"{_time(batch.timestamp)} {batch.timestamp_type or ''}".rstrip(),
        f"{batch.size:,}",
        batch.compresscodec or "-",
        producer,
        " ".join(flags) or "-",
        "-" if batch.isvalid is None else "ok" if batch.isvalid else "BAD",
        batch.status,
    ]


def _record_cells(row: Row) -> list[str]:
    """Keys and values as what they were decoded to, as text, or as Base64; behind `?` stands why a value was not decoded."""
    record: Any = row
    cells = {name: _cell(name, getattr(record, name)) for name in _RECORD_COLUMNS}
    for name in ("key", "value"):
        decoded, encoded = getattr(record, f"decoded_{name}"), getattr(record, f"{name}_base64")
        if decoded is not None:
            cells[name] = _cut(escaped(_decoded_text(decoded)), _MAX_DECODED)
        elif encoded is not None:
            cells[name] = _cut(f"base64:{encoded}", _MAX_CELL)
    if record.decode_error is not None:
        reason = record.decode_error.partition(": ")[2]
        cells["value"] = _cut(f"? {escaped(reason)}: {cells['value']}", _MAX_DECODED)
    return list(cells.values())


def _fitted(shown: list[list[str]], columns: list[Heading], width: int | None) -> tuple[list[list[str]], list[Heading]]:
    """The cells and columns of records that a terminal has room for.

    Where it has too little, columns that tell least are left out, and values, then keys, are cut.
    """
    names = list(_RECORD_COLUMNS)
    cells = {name: list(column) for name, column in zip(names, zip(*shown, strict=True), strict=True)}
    headings = dict(zip(names, columns, strict=True))

    def excess() -> int:
        widths = [max(len(headings[name][0]), *map(len, column)) for name, column in cells.items()]
        return 0 if width is None else sum(widths) + _GAP * (len(widths) - 1) - width

    def spare() -> int:
        return sum(max(0, max(map(len, cells[name])) - _READABLE_CELL) for name in ("key", "value"))

    for name in _LEAST_TELLING:
        if excess() > spare():
            del cells[name]
    for name in ("value", "key"):
        size = max(_MIN_CELL, max(map(len, cells[name])) - max(0, excess()))
        cells[name] = [_cut(cell, size) for cell in cells[name]]
    return [list(row) for row in zip(*cells.values(), strict=True)], [headings[name] for name in cells]


def _decoded_text(decoded: str) -> str:
    """A decoded key or value: its type, if that has a name, and its data."""
    fields = json.loads(decoded)
    if not isinstance(fields, dict):
        return decoded
    kind = fields.get("controlType") or fields.get("type", "")
    data = json.dumps(fields["data"], ensure_ascii=False, separators=(",", ":")) if "data" in fields else ""
    return " ".join(text for text in ("" if kind.isdecimal() else kind, data) if text)


def _plain_cells(row: Row) -> list[str]:
    return [_cell(column.name, getattr(row, column.name)) for column in row.schema if column.name != "file"]


def _cell(name: str, value: object) -> str:
    if value is None:
        return "-"
    if "timestamp" in name and isinstance(value, int):
        return _time(value)
    text = escaped(
        str(value) if not isinstance(value, list) else ",".join(header["key"] or header["keyBase64"] or "" for header in value)
    )
    return _cut(text, _MAX_CELL)


def _cut(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size - 1] + "…"


_CELLS = {ListedBatch: _batch_cells, ListedRecord: _record_cells}
"""How the cells of a row are made, by its class; others are shown as they are."""


def _time(milliseconds: int) -> str:
    """A time in UTC, to the millisecond; as a number where no calendar has it."""
    if milliseconds == -1:
        return "-"
    try:
        moment = datetime.fromtimestamp(milliseconds // 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return str(milliseconds)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{milliseconds % 1000:03}"


def _natural_width(rows: list[list[str]]) -> int:
    return max(80, max(sum(len(cell) + 2 for cell in row) for row in rows) + 80)
