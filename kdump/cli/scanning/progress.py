"""Shows on a terminal how far a long scan has got."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdump.cli.progress import PatientBar

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


class ScanProgress(PatientBar):
    """The table that is being written, and its tasks."""

    def __init__(self, tables: int, *, shows: bool) -> None:
        super().__init__(shows=shows)
        self._tables = tables
        self._names: list[str] = []

    def show(self, table: str, done: int, total: int) -> None:
        """Show how many tasks of a table are done."""
        if table not in self._names:
            self._names.append(table)
        share = len(self._names) - 1 + (done / total if total else 0)
        self.draw(share, self._tables, table=table, tasks=f"{done:,} of {total:,} tasks" if total else "")

    def columns(self, fields: Iterable[str]) -> list[Any]:
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn

        return [BarColumn(), *(TextColumn(f"{{task.fields[{name}]}}") for name in fields), TimeElapsedColumn()]
