"""Tables for people: aligned columns, times as dates, one word for what is wrong.

In a pipe a table is as wide as its cells. On a terminal that has less room, in this order: columns move together, free text is
shortened, columns that tell least are left out and named, and where numbers still would not fit whole, each row becomes lines of
`name: value`.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from textwrap import wrap

from kdump.binary.java_strings import escaped
from kdump.output.rows.columns import Column, chopped, cut, fitted, lines_of, total_width, width_of
from kdump.output.rows.listing import ListedBatch, ListedRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from kdump.tables import Row, Table

_PAGE = 1000  # rows; columns are as wide as the widest cell of a page
_PAGE_CELLS = 4 << 20  # of a page: what is wide has fewer rows
_MOST_TEXT = 1000  # cells that a terminal is shown of a text
_LEAST_TEXT = 16  # cells that a text is not shortened below
_LEAST_WIDTH = 40
_GAP = 3
_NARROW_GAP = 2
_COLORS = {"intact": "", "salvaged": "33", "damaged": "31"}


class TerminalOutput:
    """Collects rows and shows them a page at a time, those of each file under its name. Colours only on a terminal.

    Without a `width` nothing is shortened or left out.
    """

    def __init__(self, write: Callable[[str], None], *, has_colors: bool = False, width: int | None = None) -> None:
        self._write = write
        self._has_colors = has_colors
        self._width = None if width is None else max(width, _LEAST_WIDTH)
        self._row_class: type[Row] | None = None
        self._file = ""
        self._left_out: list[str] = []
        self._cells: list[list[str]] = []
        self._statuses: list[str] = []
        self._widest = 0

    def start(self, row_class: type[Row]) -> None:
        self._row_class = row_class

    def write(self, table: Table[Row]) -> None:
        cells_of = _CELLS.get(table.row_class, _plain_cells)
        for row in table:
            file = getattr(row, "file", "")
            if file != self._file:
                self.end()
                self._write(("\n" if self._file else "") + "".join(line + "\n" for line in self._heading(escaped(file))))
                self._file = file
                self._left_out = []
            cells = cells_of(row)
            if self._width is not None:
                cells = [cell if len(cell) <= _MOST_TEXT else cut(cell, _MOST_TEXT) for cell in cells]
            widest = max(self._widest, sum(map(len, cells)))
            if self._cells and (len(self._cells) >= _PAGE or widest * (len(self._cells) + 1) > _PAGE_CELLS):
                self._show()
                widest = sum(map(len, cells))
            self._widest = widest
            self._cells.append(cells)
            self._statuses.append(getattr(row, "status", ""))

    def end(self) -> None:
        if self._cells:
            self._show()

    def _heading(self, file: str) -> list[str]:
        """The name of a file; it goes on in further lines where a terminal has no room for it."""
        if self._width is None or width_of(file) <= self._width:
            return [file]
        lines = [""]
        for part in file.replace("/", "/\0").split("\0"):
            if width_of(lines[-1] + part) <= self._width:
                lines[-1] += part
            else:
                lines += [" " * _GAP + piece for piece in chopped(part, self._width - _GAP)]
        return [line for line in lines if line]

    def _show(self) -> None:
        assert self._row_class is not None
        columns = [
            Column(heading, cells, is_right=is_right, is_text=name in _FREE_TEXT)
            for (name, heading, is_right), cells in zip(_headings(self._row_class), zip(*self._cells, strict=True), strict=True)
        ]
        shown, gap = self._fit(columns)
        if shown is None:
            self._show_upright(columns)
        else:
            self._name_left_out([column.heading for column in columns], [column.heading for column in shown])
            heading, *lines = lines_of(shown, gap)
            rule = "─" * total_width(shown, gap)
            self._write("".join(line + "\n" for line in (heading, rule, *map(self._colored, lines, self._statuses))))
        self._cells.clear()
        self._statuses.clear()
        self._widest = 0

    def _fit(self, columns: list[Column]) -> tuple[list[Column] | None, int]:
        """The columns that there is room for, and the gap between them; None where rows must stand upright."""
        if self._width is None or total_width(columns, _GAP) <= self._width:
            return columns, _GAP
        assert self._row_class is not None
        kept = list(columns)
        least = _LEAST_TELLING.get(self._row_class, ())
        empty = [column.heading for column in columns if column.is_empty and column.heading in least]
        for heading in (None, *empty, *(name for name in least if name not in empty)):
            kept = [column for column in kept if column.heading != heading]
            found = fitted(kept, _NARROW_GAP, self._width, _LEAST_TEXT)
            if found is not None:
                return found, _NARROW_GAP
        return None, 0

    def _name_left_out(self, all_headings: list[str], shown: list[str]) -> None:
        left_out = [heading for heading in all_headings if heading not in shown]
        if left_out != self._left_out:
            self._left_out = left_out
            what = ", ".join(left_out)
            text = f"Not shown, for the terminal is too narrow: {what}." if left_out else "All columns are shown."
            for line in wrap(text, self._width or _LEAST_WIDTH, break_long_words=False, break_on_hyphens=False):
                self._write(line + "\n")

    def _show_upright(self, columns: list[Column]) -> None:
        """Each row as lines of `name: value`; long text goes on beneath its start."""
        assert self._width is not None
        label_width = max(len(column.heading) for column in columns) + 2
        room = self._width - label_width
        pieces: list[str] = []
        for number, status in enumerate(self._statuses):
            pieces += ["\n"] if number else []
            for column in columns:
                first, *others = chopped(column.cells[number], room)
                lines = [f"{column.heading + ':':{label_width}}{first}", *(" " * label_width + other for other in others)]
                pieces += [self._colored(line.rstrip(), status) + "\n" for line in lines]
        self._write("".join(pieces))

    def _colored(self, line: str, status: str) -> str:
        color = _COLORS.get(status, "") if self._has_colors else ""
        return f"\x1b[{color}m{line}\x1b[0m" if color else line


_BATCH_COLUMNS = ("position", "offsets", "count", "time", "timeType", "size", "codec", "producer", "flags", "crc", "status")
_RIGHT = ("position", "count", "size")
_RECORD_COLUMNS = ("offset", "timestamp", "key_size", "value_size", "sequence", "position", "status", "headers", "key", "value")
_FREE_TEXT = ("headers", "key", "value", "broker_forecast")
_LEAST_TELLING: dict[type[Row], Sequence[str]] = {
    ListedBatch: ("crc", "timeType", "codec", "flags", "producer", "size"),
    ListedRecord: ("headers", "sequence", "keySize", "valueSize", "position"),
}
"""By row class: the headings of columns that may be left out, in this order. The status says what a CRC says."""


def _headings(row_class: type[Row]) -> Iterator[tuple[str, str, bool]]:
    """Of each column its name, its heading, and whether its cells stand to the right."""
    if row_class is ListedBatch:
        yield from ((name, name, name in _RIGHT) for name in _BATCH_COLUMNS)
        return
    columns = {column.name: column for column in row_class.schema if column.name != "file"}
    for name in _RECORD_COLUMNS if row_class is ListedRecord else columns:
        yield name, columns[name].key, columns[name].type.startswith(("Int", "UInt"))


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
        "-" if batch.timestamp is None else _time(batch.timestamp),
        (None if batch.timestamp is None else batch.timestamp_type) or "-",
        f"{batch.size:,}",
        batch.compresscodec or "-",
        producer,
        " ".join(flags) or "-",
        "-" if batch.isvalid is None else "ok" if batch.isvalid else "BAD",
        batch.status,
    ]


def _record_cells(row: Row) -> list[str]:
    """Keys and values as what they were decoded to, as text, or as Base64; after `?` stands why a value was not decoded."""
    record: Any = row
    cells = {name: _cell(name, getattr(record, name)) for name in _RECORD_COLUMNS}
    for name in ("key", "value"):
        decoded, encoded = getattr(record, f"decoded_{name}"), getattr(record, f"{name}_base64")
        if decoded is not None:
            cells[name] = escaped(_decoded_text(decoded))
        elif encoded is not None:
            cells[name] = f"base64:{encoded}"
    if record.decode_error is not None:
        reason = record.decode_error.partition(": ")[2]
        cells["value"] = f"? {escaped(reason)}: {cells['value']}"
    return list(cells.values())


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
    if isinstance(value, list):
        return escaped(",".join(header["key"] or header["keyBase64"] or "" for header in value)) or "-"
    return escaped(str(value))


_CELLS: dict[type[Row], Callable[[Row], list[str]]] = {ListedBatch: _batch_cells, ListedRecord: _record_cells}
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
