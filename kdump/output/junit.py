"""A check as JUnit XML, which build servers read: a suite for each directory, a test case for each file."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from kdump.checks import catalogue
from kdump.checks.finding import ERROR, SEVERITIES
from kdump.checks.wording import byte_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.checks.finding import FileReport, Finding, Start, Summary
    from kdump.output.text.style import ReportStyle

_MAX_LINES = 100  # of one file; a suite is held in memory until its end


class JunitReport:
    """A file passes if no finding is as bad as `fail_on`. One that could not be examined is an error in the sense of JUnit.

    Findings that do not fail go to `system-out`.
    """

    def __init__(self, write: Callable[[str], None], style: ReportStyle) -> None:
        self._write = write
        self._failing = SEVERITIES[: SEVERITIES.index(style.fail_on) + 1]
        self._group = ""
        self._cases: dict[str, _Case] = {}
        write('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="kdump check">\n')

    def finding(self, finding: Finding, group: str, *, is_known: bool) -> None:
        fails = not is_known and finding.severity in self._failing
        is_unexamined = finding.severity == ERROR and catalogue.FAULTS[finding.code].leaves_unexamined and not is_known
        self._case(finding.path, group).add(finding, fails=fails, is_unexamined=is_unexamined)

    def file(self, report: FileReport, group: str) -> None:
        self._case(report.path, group)

    def start(self, start: Start, group: str) -> None:
        pass

    def end(self, summary: Summary) -> None:
        self._write_suite()
        reasons = "".join(f'<property name="reason" value={_attribute(reason)}/>\n' for reason in summary.reasons)
        verdict = f'<property name="verdict" value={_attribute(summary.verdict)}/>\n'
        self._write(f'<testsuite name="verdict" tests="0" failures="0" errors="0">\n<properties>\n{verdict}{reasons}')
        self._write("</properties>\n</testsuite>\n</testsuites>\n")

    def _case(self, path: str, group: str) -> _Case:
        if group != self._group:
            self._write_suite()
            self._group = group
        return self._cases.setdefault(path, _Case(path))

    def _write_suite(self) -> None:
        if not self._cases:
            return
        cases = list(self._cases.values())
        errors = sum(case.is_unexamined for case in cases)
        failures = sum(case.fails and not case.is_unexamined for case in cases)
        numbers = f'tests="{len(cases)}" failures="{failures}" errors="{errors}"'
        self._write(f"<testsuite name={_attribute(self._group)} {numbers}>\n")
        for case in cases:
            self._write(case.xml(self._group))
        self._write("</testsuite>\n")
        self._cases = {}


class _Case:
    """One file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.fails = self.is_unexamined = False
        self._failing = _Findings()
        self._others = _Findings()

    def add(self, finding: Finding, *, fails: bool, is_unexamined: bool) -> None:
        self.fails = self.fails or fails
        self.is_unexamined = self.is_unexamined or is_unexamined
        (self._failing if fails else self._others).add(finding)

    def xml(self, group: str) -> str:
        name = self._path.rpartition("/")[2] or self._path
        opening = f"<testcase name={_attribute(name)} classname={_attribute(group)}"
        inner = ""
        if self._failing.count:
            tag = "error" if self.is_unexamined else "failure"
            more = f" (and {self._failing.count - 1:,} more)" if self._failing.count > 1 else ""
            attributes = f"type={_attribute(self._failing.code)} message={_attribute(self._failing.message + more)}"
            inner = f"<{tag} {attributes}>{self._failing.text()}</{tag}>\n"
        if self._others.count:
            inner += f"<system-out>{self._others.text()}</system-out>\n"
        return f"{opening}>\n{inner}</testcase>\n" if inner else f"{opening}/>\n"


class _Findings:
    """Findings of one file: the first ones as lines, the others counted."""

    def __init__(self) -> None:
        self.count = 0
        self.code = self.message = ""
        self._lines: list[str] = []

    def add(self, finding: Finding) -> None:
        if not self.count:
            self.code, self.message = finding.code, finding.message
        self.count += 1
        if len(self._lines) < _MAX_LINES:
            where = byte_range(finding.start, finding.end)
            self._lines.append(f"{finding.severity} {finding.code}, {where}: {finding.message}\n")

    def text(self) -> str:
        more = f"and {self.count - _MAX_LINES:,} more\n" if self.count > _MAX_LINES else ""
        return _visible(escape(_legal("".join(self._lines) + more)))


def _attribute(text: str) -> str:
    return _visible(quoteattr(_legal(text)))


def _visible(xml: str) -> str:
    """The XML with references for characters that a terminal would obey, or not show."""
    return "".join(char if char.isprintable() or char in "\t\n" else f"&#{ord(char)};" for char in xml)


def _legal(text: str) -> str:
    """The text without characters that XML cannot represent."""
    text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if text.isprintable():
        return text
    return "".join(
        char if char in "\t\n\r" or " " <= char <= "\ud7ff" or "\ue000" <= char <= "\ufffd" or char > "\uffff" else "�"
        for char in text
    )
