"""What every form of a check's report takes."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from kdump.checks.finding import FileReport, Finding, Start, Summary

    class Form(Protocol):
        """Takes what a check finds, in order. `group` is the directory that belongs together; a finding may be known already."""

        def finding(self, finding: Finding, group: str, *, is_known: bool) -> None: ...
        def file(self, report: FileReport, group: str) -> None: ...
        def start(self, start: Start, group: str) -> None: ...
        def end(self, summary: Summary) -> None: ...
