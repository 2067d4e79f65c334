"""A check as a report for people: the worst first, where exactly, what a restart would do, what to type next."""

from __future__ import annotations

from kdump.checks.wording import counted
from kdump.output.text.check.advice import Advice
from kdump.output.text.check.directory import Directory
from kdump.output.text.check.folding import Folds
from kdump.output.text.check.results import write_directories, write_findings, write_unreadable
from kdump.output.text.sizes import size_text
from kdump.output.text.writer import ReportWriter
from kdump.verdicts.verdict import CLEAN, DOES_NOT_START, LOSES_AT_START

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.checks.finding import FileReport, Finding, Start, Summary
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
        write_directories(out, directories.values(), summary.level, shows_all=self._folds.shows_all, is_crowded=self._is_crowded)
        write_unreadable(out, directories.values())
        if not self._folds and summary.verdict == CLEAN:
            return
        if self._folds:
            self._write_what_was_found()
        known = f" {counted(summary.known, 'finding')} known from the baseline." if summary.known else ""
        missing = "" if summary.is_complete else " Not everything could be examined."
        examined = f"Examined {size_text(summary.bytes)} in {counted(summary.files, 'file')} in {summary.seconds:.1f} s."
        out.wrapped(f"{examined}{known}{missing}")
        self._write_worst(summary)
        out.wrapped(f"Verdict: {summary.verdict}. Exit status {summary.exit_code}.")

    def _write_worst(self, summary: Summary) -> None:
        """Where the broker does not start, or loses most, and why: the answer stands at the end of the screen."""
        word, _, reason = summary.reasons[0].partition(": ") if summary.reasons else ("", "", "")
        if word in (DOES_NOT_START, LOSES_AT_START):
            count, times, rest = reason.partition(" x ")
            reason = rest if times and count.isdecimal() else reason
            self._out.wrapped(self._out.shown(f"Worst: {word}: {reason}"))

    def _write_what_was_found(self) -> None:
        from kdump.output.text.check.maps import write_maps  # most checks find nothing
        from kdump.output.text.check.next_steps import write_next_steps, write_remedies
        from kdump.output.text.check.restarts import write_restarts

        out, directories = self._out, self._directories
        is_crowded = self._is_crowded
        write_findings(out, self._folds, is_crowded=is_crowded)
        if not is_crowded:
            write_maps(out, directories.values(), most=_MOST_IN_FULL)
        write_restarts(out, directories.values(), is_crowded=is_crowded)
        if not is_crowded:  # `kdump explain` says it of each code
            write_remedies(out, self._folds, self._advice)
        write_next_steps(out, self._folds, directories, self._advice)

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
