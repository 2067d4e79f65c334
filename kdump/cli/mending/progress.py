"""Shows on a terminal how far a long run has got."""

from __future__ import annotations

from kdump.cli.progress import PatientBar
from kdump.mending.progress import Progress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class MendBar(PatientBar):
    """Bytes, rate and time left; each log counts several times, as it is read and as it is verified."""

    def columns(self) -> list[Any]:
        from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn, TransferSpeedColumn

        return [BarColumn(), DownloadColumn(binary_units=True), TransferSpeedColumn(), TimeRemainingColumn()]


class MendProgress(Progress):
    """Passes the progress on to a bar."""

    def __init__(self, bar: MendBar) -> None:
        super().__init__()
        self._bar = bar
        self._total = 0

    def start(self, total: int) -> None:
        self._total = total

    def at(self, done: int) -> None:
        self._bar.draw(min(done, self._total), self._total)
