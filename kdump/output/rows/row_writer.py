"""Collects single rows for a formatter: consecutive rows of one class are passed on as a table."""

from __future__ import annotations

from kdump.tables import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from kdump.output.rows.formatters import Formatter
    from kdump.tables import Row

_TABLE_ROWS = 100


def write_rows(rows: Iterable[Row], formatter: Formatter, row_class: type[Row], *others: type[Row]) -> None:
    """Write all rows of an output, which are of these classes."""
    writer = RowWriter(formatter, row_class, *others)
    for row in rows:
        writer.write(row)
    writer.end()


class RowWriter:
    """Hands rows to a formatter in their order. A table costs less than single rows."""

    def __init__(self, formatter: Formatter, row_class: type[Row], *others: type[Row]) -> None:
        self._formatter = formatter
        self._held: list[Row] = []
        formatter.start(row_class, *others)

    def write(self, row: Row) -> None:
        if self._held and (type(row) is not type(self._held[0]) or len(self._held) >= _TABLE_ROWS):
            self._flush()
        self._held.append(row)

    def end(self) -> None:
        self._flush()
        self._formatter.end()

    def _flush(self) -> None:
        if self._held:
            self._formatter.write(Table.of_rows(type(self._held[0]), self._held))
            self._held.clear()
