"""Shows on stderr, in one line, how far a long run has got."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType
    from typing import Any, Self

_PATIENCE = 1.0  # seconds that pass before a bar is shown
_INTERVAL = 0.2


class PatientBar:
    """A progress bar that appears on a terminal when a run takes long, and disappears at the end.

    Nothing slow to load is imported before that. There is no thread, because processes are forked meanwhile.
    """

    def __init__(self, *, shows: bool) -> None:
        self._shows = shows
        self._next = time.monotonic() + _PATIENCE
        self._bar: Any = None  # Rich's, once it is imported
        self._task: Any = None

    def columns(self, fields: Iterable[str]) -> list[Any]:
        """The columns of the bar, for Rich."""
        from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn

        texts = (TextColumn(f"{{task.fields[{name}]}}") for name in fields)
        return [BarColumn(), DownloadColumn(binary_units=True), TransferSpeedColumn(), TimeRemainingColumn(), *texts]

    def draw(self, completed: float, total: float, **fields: str) -> None:
        """Show this share of the whole, and the fields after it, if it is time to."""
        now = time.monotonic()
        if not self._shows or now < self._next:
            return
        self._next = now + _INTERVAL
        if self._bar is None:
            self._start(total, fields)
        self._bar.update(self._task, completed=completed, **fields)
        self._bar.refresh()

    def _start(self, total: float, fields: dict[str, str]) -> None:
        from rich.console import Console
        from rich.progress import Progress

        self._bar = Progress(*self.columns(fields), console=Console(stderr=True), auto_refresh=False, transient=True)
        self._bar.start()
        self._task = self._bar.add_task("", total=total, **fields)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._shows = False
        bar, self._bar = self._bar, None
        if bar is not None:
            try:
                bar.stop()
            except IndexError:  # Rich, where an interrupt came while it set the bar up
                if kind is None:
                    raise
