"""Rows for people: aligned columns, those of each file under its name.

In a pipe a table is as wide as its cells, of which only very long text is shortened. On a narrower terminal, in this order:
columns move together, free text is shortened, the least informative columns are left out and named; and if numbers still do
not fit, each row becomes lines of `name: value`.
"""

from __future__ import annotations

from textwrap import wrap

from kdump.binary.java_strings import escaped
from kdump.output.rows.columns import TextColumn, chopped, cut, fitted, lines_of, total_width, width_of
from kdump.output.rows.layout import Layout, layout_by_schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kdump.tables import Row, Table

_PAGE = 1000  # rows; columns are as wide as the widest cell of a page
_PAGE_CELLS = 4 << 20  # of a page: what is wide has fewer rows
_MAX_TEXT = 1000  # cells of one text that a terminal shows
_MIN_TEXT = 16  # cells; no text is shortened to fewer
_MIN_WIDTH = 40
_GAP = 3
_NARROW_GAP = 2
_COLORS = {"intact": "", "salvaged": "33", "damaged": "31"}


class TableFormatter:
    """Collects rows of the first class and shows them a page at a time.

    Without a `width` nothing is left out, and only text of more than layout.MAX_TEXT characters is shortened.
    """

    def __init__(self, write: Callable[[str], None], *, has_colors: bool = False, width: int | None = None) -> None:
        self._write = write
        self._has_colors = has_colors
        self._width = None if width is None else max(width, _MIN_WIDTH)
        self._row_class: type[Row] | None = None
        self._layout = Layout((), lambda _row: [])
        self._file = ""
        self._left_out: list[str] = []
        self._rows: list[list[str]] = []
        self._statuses: list[str] = []
        self._widest = 0

    def start(self, row_class: type[Row], *_others: type[Row]) -> None:
        self._row_class = row_class
        make = _LAYOUTS.get(row_class.row_kind)
        self._layout = layout_by_schema(row_class) if make is None else make()

    def write(self, table: Table[Row]) -> None:
        if table.row_class is not self._row_class:
            return
        files = table.columns.get("file", ("",))
        if len(table) and self._layout.columns_of is not None and files.count(files[0]) == len(files):
            self._start_file(files[0])
            self._add_columns(self._layout.columns_of(table), table.columns.get("status"))
            return
        cells_of, line_of = self._layout.cells_of, self._layout.line_of
        for row in map(line_of, table) if line_of else table:
            self._start_file(getattr(row, "file", ""))
            cells = cells_of(row)
            if self._width is not None:
                cells = [cell if len(cell) <= _MAX_TEXT else cut(cell, _MAX_TEXT) for cell in cells]
            self._add(cells, sum(map(len, cells)), getattr(row, "status", ""))

    def end(self) -> None:
        if self._rows:
            self._show()

    def _start_file(self, file: str) -> None:
        """Show the name of a file if the next row is the first of it."""
        if file != self._file:
            self.end()
            self._write(("\n" if self._file else "") + "".join(line + "\n" for line in self._heading(escaped(file))))
            self._file = file
            self._left_out = []

    def _add_columns(self, columns: list[Sequence[str]], statuses: Sequence[str] | None) -> None:
        """Add rows, given a list of cells for each column."""
        if self._width is not None:
            columns = [
                cells if max(map(len, cells)) <= _MAX_TEXT else [cut(cell, _MAX_TEXT) for cell in cells] for cells in columns
            ]
        rows = list(map(list, zip(*columns, strict=True)))
        given = statuses or [""] * len(rows)
        widest = sum(max(map(len, cells)) for cells in columns)
        if max(self._widest, widest) > _PAGE_CELLS // _PAGE:
            for row, status in zip(rows, given, strict=True):
                self._add(row, sum(map(len, row)), status)
            return
        start = 0
        while start < len(rows):
            if len(self._rows) >= _PAGE:
                self._show()
            end = start + _PAGE - len(self._rows)
            self._rows += rows[start:end]
            self._statuses += given[start:end]
            self._widest = max(self._widest, widest)
            start = end

    def _add(self, row: list[str], width: int, status: str) -> None:
        """Add a row of this many characters, after the page if that is full."""
        widest = max(self._widest, width)
        if self._rows and (len(self._rows) >= _PAGE or widest * (len(self._rows) + 1) > _PAGE_CELLS):
            self._show()
            widest = width
        self._widest = widest
        self._rows.append(row)
        self._statuses.append(status)

    def _heading(self, file: str) -> list[str]:
        """The name of a file, on several lines if it does not fit on one."""
        if self._width is None or width_of(file) <= self._width:
            return [file]
        lines = [""]
        for part in file.replace("/", "/\0").split("\0"):
            if width_of(lines[-1] + part) <= self._width:
                lines[-1] += part
            else:
                lines += [" " * _GAP + line for line in chopped(part, self._width - _GAP)]
        return [line for line in lines if line]

    def _show(self) -> None:
        self._show_columns()
        self._rows.clear()
        self._statuses.clear()
        self._widest = 0

    def _show_columns(self) -> None:
        columns = [
            TextColumn(heading.text, column, is_right=heading.is_right, is_text=heading.is_text)
            for heading, column in zip(self._layout.headings, zip(*self._rows, strict=True), strict=True)
        ]
        shown, gap = self._fit(columns)
        if shown is None:
            self._show_upright(columns)
            return
        self._name_left_out([column.heading for column in columns], [column.heading for column in shown])
        heading, *lines = lines_of(shown, gap)
        rule = "─" * total_width(shown, gap)
        self._write("".join(line + "\n" for line in (heading, rule, *map(self._colored, lines, self._statuses))))

    def _fit(self, columns: list[TextColumn]) -> tuple[list[TextColumn] | None, int]:
        """The columns that fit, and the gap between them; None where rows must become lines of `name: value`."""
        if self._width is None or total_width(columns, _GAP) <= self._width:
            return columns, _GAP
        kept = list(columns)
        expendable = self._layout.expendable
        empty = [column.heading for column in columns if column.is_empty and column.heading in expendable]
        for heading in (None, *empty, *(heading for heading in expendable if heading not in empty)):
            kept = [column for column in kept if column.heading != heading]
            found = fitted(kept, _NARROW_GAP, self._width, _MIN_TEXT)
            if found is not None:
                return found, _NARROW_GAP
        return None, 0

    def _name_left_out(self, all_headings: list[str], shown: list[str]) -> None:
        left_out = [heading for heading in all_headings if heading not in shown]
        if left_out != self._left_out:
            self._left_out = left_out
            what = ", ".join(left_out)
            text = f"Not shown, because the terminal is too narrow: {what}." if left_out else "All columns are shown."
            for line in wrap(text, self._width or _MIN_WIDTH, break_long_words=False, break_on_hyphens=False):
                self._write(line + "\n")

    def _show_upright(self, columns: list[TextColumn]) -> None:
        """Each row as lines of `name: value`; the further lines of long text are indented to its start."""
        assert self._width is not None
        label_width = max(len(column.heading) for column in columns) + 2
        room = self._width - label_width
        shown: list[str] = []
        for number, status in enumerate(self._statuses):
            shown += ["\n"] if number else []
            for column in columns:
                first, *others = chopped(column.cells[number], room)
                lines = [f"{column.heading + ':':{label_width}}{first}", *(" " * label_width + other for other in others)]
                shown += [self._colored(line.rstrip(), status) + "\n" for line in lines]
        self._write("".join(shown))

    def _colored(self, line: str, status: str) -> str:
        color = _COLORS.get(status, "") if self._has_colors else ""
        return f"\x1b[{color}m{line}\x1b[0m" if color else line


def _batches() -> Layout:
    from kdump.output.rows.listing_layouts import layout_of_batches

    return layout_of_batches()


def _records() -> Layout:
    from kdump.output.rows.listing_layouts import layout_of_records

    return layout_of_records()


def _hits() -> Layout:
    from kdump.output.rows.listing_layouts import layout_of_hits

    return layout_of_hits()


def _findings() -> Layout:
    from kdump.output.rows.finding_line import layout_of_findings

    return layout_of_findings()


def _forecasts() -> Layout:
    from kdump.output.rows.forecast_line import layout_of_forecasts

    return layout_of_forecasts()


def _partitions() -> Layout:
    from kdump.output.rows.partition_line import layout_of_partitions

    return layout_of_partitions()


_LAYOUTS: dict[str, Callable[[], Layout]] = {
    "batch": _batches,
    "record": _records,
    "hit": _hits,
    "finding": _findings,
    "forecast": _forecasts,
    "partition": _partitions,
}
"""By the kind of rows: how they are shown, where that is not just all columns. Each loads its module only when it is needed."""
