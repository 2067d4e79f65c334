"""The formats of `kdump check`, by the names of `--output`: text for people, rows of any format, SARIF and JUnit."""

from __future__ import annotations

from kdump.checks.finding import FileReport, Finding, Start, Summary
from kdump.output.rows.formatters import CSV, JSON, NDJSON, TABLE
from kdump.output.rows.row_writer import RowWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from kdump.output.rows.formatters import Formatter, Write
    from kdump.output.text.style import ReportStyle
    from kdump.tables import Row

    class CheckFormatter(Protocol):
        """Takes what a check finds, in order.

        `group` is the directory whose files belong together; `is_known` says that a finding is in the baseline.
        """

        def finding(self, finding: Finding, group: str, *, is_known: bool) -> None: ...
        def file(self, report: FileReport, group: str) -> None: ...
        def start(self, start: Start, group: str) -> None: ...
        def end(self, summary: Summary) -> None: ...


FORMATS = ("text", NDJSON, CSV, TABLE, JSON, "sarif", "junit")

ROW_CLASSES: tuple[type[Row], ...] = (Finding, FileReport, Start, Summary)
"""What a check consists of, as rows."""


def formatter_of(name: str, write: Write, style: ReportStyle) -> CheckFormatter:
    """The formatter of this name; its module is loaded only now."""
    if name == "text":
        from kdump.output.text.check.report import CheckReport

        return CheckReport(write, style)
    if name == "sarif":
        from kdump.output.sarif import SarifLog

        return SarifLog(write, style)
    if name == "junit":
        from kdump.output.junit import JunitReport

        return JunitReport(write, style)
    from kdump.output.rows import formatters

    return CheckRows(formatters.formatter_of(name, write, style))


class CheckRows:
    """A check as rows: findings, files, starts, and the summary at the end."""

    def __init__(self, formatter: Formatter) -> None:
        self._rows = RowWriter(formatter, *ROW_CLASSES)

    def finding(self, finding: Finding, group: str, *, is_known: bool) -> None:
        self._rows.write(finding)

    def file(self, report: FileReport, group: str) -> None:
        self._rows.write(report)

    def start(self, start: Start, group: str) -> None:
        self._rows.write(start)

    def end(self, summary: Summary) -> None:
        self._rows.write(summary)
        self._rows.end()
