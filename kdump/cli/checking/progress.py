"""Shows on a terminal how far a long check has got."""

from __future__ import annotations

from kdump.checks.wording import counted
from kdump.cli.progress import PatientBar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.check_processes import Progress


class CheckProgress(PatientBar):
    """A bar with the findings so far, too. `last` is the progress that was reported last."""

    def __init__(self, *, shows: bool) -> None:
        super().__init__(shows=shows)
        self.findings = 0
        self.last: Progress | None = None

    def show(self, progress: Progress) -> None:
        """Show how many of the bytes have been checked."""
        self.last = progress
        findings = counted(self.findings, "finding") if self.findings else ""
        self.draw(min(progress.bytes, progress.total), progress.total, findings=findings)
