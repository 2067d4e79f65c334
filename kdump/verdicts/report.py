"""`kdump.Report`: what a check found, which is false where nothing is wrong."""

from __future__ import annotations

from kdump.checks.finding import Finding, Start
from kdump.tables import Row
from kdump.verdicts.verdict import Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_SHOWN = 3  # findings that a report shows of itself


class Report:
    """The findings of a check and the verdict on them.

    It is iterated for findings, and true where something is wrong: `if kdump.check(path): alarm()`. That is wherever the command
    `kdump check` ends with another exit code than 0: an error, a start that fails or loses records, something that could not be
    examined. Warnings and infos alone leave it false.
    """

    def __init__(self, path: str, level: str) -> None:
        self.path = path
        self.findings: list[Finding] = []
        self.starts: list[Start] = []
        self.verdict = Verdict(level=level)

    def add(self, row: Row) -> None:
        """Add a row of a check."""
        self.verdict.add(row)
        if isinstance(row, Finding):
            self.findings.append(row)
        elif isinstance(row, Start):
            self.starts.append(row)

    @property
    def exit_code(self) -> int:
        """That of `kdump check`."""
        return self.verdict.exit_code

    def __bool__(self) -> bool:
        return self.exit_code != 0

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __getitem__(self, number: int) -> Finding:
        return self.findings[number]

    def __repr__(self) -> str:
        wrong = [one for one in self.findings if one.severity == "error"] or self.findings
        shown = [f"{one.code} at {one.path}, byte {one.start}" for one in wrong[:_SHOWN]]
        more = [f"{len(wrong) - _SHOWN} more"] if len(wrong) > _SHOWN else []
        return f"<kdump.Report {self.path}: {'; '.join([self.verdict.text, *shown, *more])}>"
