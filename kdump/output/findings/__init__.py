"""The forms in which a check is told: text for people, lines and documents for programs, by the names of `--output`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from kdump.checks.finding import FileReport, Finding, Start, Summary

    class Form(Protocol):
        """Takes what a check finds, in order. `group` is the directory that belongs together; a finding may be known already."""

        def finding(self, finding: Finding, group: str, *, is_known: bool) -> None: ...
        def file(self, report: FileReport, group: str) -> None: ...
        def start(self, start: Start, group: str) -> None: ...
        def end(self, summary: Summary) -> None: ...


class Look:
    """How a report is to look.

    `width` is that of the terminal; `has_colors` says whether colours are wanted, `is_terminal` whether control characters would
    be obeyed. `shows_all` folds nothing, `fail_on` is the severity from which on findings fail, `has_baseline` whether there is
    something that findings are compared with, `proves_logs` whether a log without findings is sound.
    """

    __slots__ = ("fail_on", "has_baseline", "has_colors", "is_terminal", "proves_logs", "shows_all", "width")

    def __init__(
        self,
        *,
        width: int = 100,
        has_colors: bool = False,
        is_terminal: bool = False,
        shows_all: bool = False,
        fail_on: str = "error",
        has_baseline: bool = False,
        proves_logs: bool = True,
    ) -> None:
        self.proves_logs = proves_logs
        self.width = width
        self.has_colors = has_colors
        self.is_terminal = is_terminal
        self.shows_all = shows_all
        self.fail_on = fail_on
        self.has_baseline = has_baseline


def form_of(name: str, write: Callable[[str], None], look: Look) -> Form:
    """The form of this name; its module is loaded only now."""
    if name == "text":
        from kdump.output.findings.text import TextReport

        return TextReport(write, look)
    if name == "sarif":
        from kdump.output.findings.sarif import SarifLog

        return SarifLog(write, look)
    if name == "junit":
        from kdump.output.findings.junit import JunitReport

        return JunitReport(write, look)
    from kdump.output.findings import rows

    return rows.FORMS[name](write, look)


FORMS = ("text", "ndjson", "csv", "table", "json", "sarif", "junit")
