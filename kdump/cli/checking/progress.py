"""How far a check has come, on a terminal, where it takes long."""

from __future__ import annotations

import time

from kdump.checks.wording import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from kdump.checks.isolation import Progress

_PATIENCE = 1.0  # seconds that pass before a bar is shown
_INTERVAL = 0.2


def progress_bar(is_terminal: bool) -> ProgressBar:
    """What shows progress on stderr, if that is a terminal."""
    return ProgressBar(shows=is_terminal)


class ProgressBar:
    """Bytes, rate, time left and findings so far on one line of stderr, which is gone at the end. `last` is what was shown last.

    Nothing is shown, and nothing slow to load is imported, before it takes long. There is no thread, for processes are forked.
    """

    def __init__(self, *, shows: bool) -> None:
        self.findings = 0
        self.last: Progress | None = None
        self._shows = shows
        self._next = time.monotonic() + _PATIENCE
        self._bar: Any = None  # Rich's, once it is imported
        self._task: Any = None

    def show(self, progress: Progress) -> None:
        self.last = progress
        now = time.monotonic()
        if not self._shows or now < self._next:
            return
        self._next = now + _INTERVAL
        if self._bar is None:
            self._start(progress.total)
        findings = counted(self.findings, "finding") if self.findings else ""
        self._bar.update(self._task, completed=min(progress.bytes, progress.total), findings=findings)
        self._bar.refresh()

    def _start(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

        columns = (
            BarColumn(),
            DownloadColumn(binary_units=True),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[findings]}"),
        )
        self._bar = Progress(*columns, console=Console(stderr=True), auto_refresh=False, transient=True)
        self._bar.start()
        self._task = self._bar.add_task("", total=total, findings="")

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
            self._shows = False
