"""A check as a report for people: the worst first, where exactly, what a restart would do, what to type next."""

from __future__ import annotations

from kdump.checks.wording import counted
from kdump.output.text.answer import write_verdict
from kdump.output.text.check.advice import Advice
from kdump.output.text.check.directory import Directory
from kdump.output.text.check.folding import Folds
from kdump.output.text.check.results import (
    write_copies,
    write_directories,
    write_findings,
    write_findings_briefly,
    write_summary,
    write_unreadable,
)
from kdump.output.text.sizes import size_text
from kdump.output.text.writer import ReportWriter
from kdump.verdicts.verdict import FINE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.checks.finding import FileReport, Finding, Start, Summary
    from kdump.output.text.steps import Steps
    from kdump.output.text.style import ReportStyle

_MOST_IN_FULL = 3  # directories with findings


class CheckReport:
    """Collects what a check finds and writes it at the end, the worst first."""

    def __init__(self, write: Callable[[str], None], style: ReportStyle) -> None:
        self._out = ReportWriter(write, style)
        self._directories: dict[str, Directory] = {}
        self._folds = Folds(shows_all=style.shows_all)
        self._advice = Advice(proves_logs=style.proves_logs)

    def finding(self, finding: Finding, group: str, *, is_known: bool) -> None:
        self._advice.finding(finding, is_known=is_known)
        if not is_known:
            self._directory(group).add_finding(finding)
            self._folds.add(finding, group)

    def file(self, report: FileReport, group: str) -> None:
        self._directory(group).add_file(report)
        self._advice.file(report)

    def start(self, start: Start, group: str) -> None:
        self._directory(group).starts.append(start)

    def end(self, summary: Summary) -> None:
        out, directories = self._out, self._directories
        self._folds.end()
        if not directories:
            out.line("There is nothing to check: there are no Kafka files here.")
        if self._is_crowded:
            write_summary(out, directories.values(), summary.level)
        else:
            write_directories(out, directories.values(), summary.level)
            write_unreadable(out, directories.values())
        write_copies(out, directories.values())
        if not self._folds and summary.verdict == FINE:
            return
        steps = self._write_what_was_found() if self._folds else None
        known = f" {counted(summary.known, 'finding')} known from the baseline." if summary.known else ""
        missing = "" if summary.is_complete else " Not everything could be examined."
        examined = f"Examined {size_text(summary.bytes)} in {counted(summary.files, 'file')} in {summary.seconds:.1f} s."
        out.wrapped(f"{examined}{known}{missing}")
        write_verdict(out, summary.verdict, summary.reasons, summary.exit_code, steps)

    def _write_what_was_found(self) -> Steps:
        from kdump.output.text.check.maps import write_maps  # most checks find nothing
        from kdump.output.text.check.next_steps import next_steps, write_remedies
        from kdump.output.text.check.restarts import write_restarts

        out, directories = self._out, self._directories
        is_crowded = self._is_crowded
        if is_crowded:  # `kdump explain` says the rest of each code
            write_findings_briefly(out, self._folds)
        else:
            write_findings(out, self._folds)
            write_maps(out, directories.values(), most=_MOST_IN_FULL)
        write_restarts(out, directories.values(), self._folds, is_crowded=is_crowded)
        if not is_crowded:
            write_remedies(out, self._folds, self._advice)
        steps = next_steps(self._folds, directories, self._advice, is_brief=is_crowded)
        if steps:
            out.line()
            out.line("Next")
            steps.write(out)
        return steps

    @property
    def _is_crowded(self) -> bool:
        """Whether so much was found that less is said of each, to fit on two screens."""
        found = sum(bool(directory.counts) for directory in self._directories.values())
        return found > _MOST_IN_FULL and not self._folds.shows_all

    def _directory(self, path: str) -> Directory:
        directory = self._directories.get(path)
        if directory is None:
            directory = self._directories[path] = Directory(path)
        return directory
