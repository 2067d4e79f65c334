"""Shows on a terminal how far a long run has got."""

from __future__ import annotations

from kdump.mending.progress import Progress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.cli.progress import PatientBar


class MendProgress(Progress):
    """Passes the progress on to a bar; each log counts several times, as it is read and as it is verified."""

    def __init__(self, bar: PatientBar) -> None:
        super().__init__()
        self._bar = bar
        self._total = 0

    def start(self, total: int) -> None:
        self._total = total

    def at(self, done: int) -> None:
        self._bar.draw(min(done, self._total), self._total)
