"""Shows on a terminal how far a long search has got."""

from __future__ import annotations

from kdump.cli.progress import PatientBar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class SearchBar(PatientBar):
    """Bytes, rate and time left."""

    def columns(self) -> list[Any]:
        from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn, TransferSpeedColumn

        return [BarColumn(), DownloadColumn(binary_units=True), TransferSpeedColumn(), TimeRemainingColumn()]
