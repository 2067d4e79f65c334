"""How far a scan has come, on a terminal."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType

_PATIENCE = 1.0  # seconds that pass before a bar is shown
_INTERVAL = 0.2


class ScanProgress:
    """The table that is being written and its tasks, on one line of stderr, which is gone at the end.

    There is no thread, for processes are forked meanwhile.
    """

    def __init__(self, tables: int, *, shows: bool) -> None:
        self._tables = tables
        self._shows = shows
        self._next = time.monotonic() + _PATIENCE
        self._names: list[str] = []
        self._bar: Any = None  # Rich's, once it is imported
        self._task: Any = None

    def show(self, table: str, done: int, total: int) -> None:
        """So many of the tasks of a table are done."""
        if table not in self._names:
            self._names.append(table)
        now = time.monotonic()
        if not self._shows or now < self._next:
            return
        self._next = now + _INTERVAL
        if self._bar is None:
            self._start()
        share = len(self._names) - 1 + (done / total if total else 0)
        self._bar.update(self._task, completed=share, table=table, tasks=f"{done:,} of {total:,} tasks" if total else "")
        self._bar.refresh()

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (BarColumn(), TextColumn("{task.fields[table]}"), TextColumn("{task.fields[tasks]}"), TimeElapsedColumn())
        self._bar = Progress(*columns, console=Console(stderr=True), auto_refresh=False, transient=True)
        self._bar.start()
        self._task = self._bar.add_task("", total=self._tables, table="", tasks="")

    def __enter__(self) -> ScanProgress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
