"""Runs `kdump check`: checks all paths, reports what is wrong, and returns an exit code that says how bad it is."""

from __future__ import annotations

import os
import sys
import time

from kdump.binary import system
from kdump.checks.check_processes import Isolation
from kdump.checks.finding import ERROR, INFO, SEVERITIES, WARNING, FileReport, Finding, Start, Summary
from kdump.checks.jobs import Job, jobs
from kdump.checks.wording import counted
from kdump.cli.checking.progress import CheckProgress
from kdump.cli.report_style import printed
from kdump.cli.shared_options import STDIN, throttle_reading
from kdump.output.check import formatter_of
from kdump.output.text.sizes import size_text
from kdump.verdicts.check import run
from kdump.verdicts.repeated import ToldStarts
from kdump.verdicts.surroundings import Surroundings
from kdump.verdicts.verdict import Verdict, is_of_kafka
from kdump.workers.cores import jobs_here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.cli.checking.request import CheckRequest
    from kdump.output.check import CheckFormatter
    from kdump.tables import Row


def check_paths(request: CheckRequest) -> int:
    """Check all paths of a request, and report on stdout what is wrong. Returns the exit code."""
    options = request.options
    throttle_reading(options.rate, is_nice=options.is_nice)
    about = {"shows_all": options.shows_all, "fail_on": options.fail_on, "proves_logs": request.proves_logs}
    with printed(options, **about, has_baseline=request.baseline is not None) as (out, style):
        session = _Run(request, formatter_of(options.output, out.write, style))
        try:
            return session.to_end()
        except KeyboardInterrupt as interrupt:
            raise KeyboardInterrupt(session.how_far(str(interrupt) or "interrupted")) from None


class _Run:
    """Counts the findings that it passes to the output."""

    def __init__(self, request: CheckRequest, formatter: CheckFormatter) -> None:
        self._request = request
        self._formatter = formatter
        self._counts = dict.fromkeys(SEVERITIES, 0)
        self._files = self._bytes = self._known = self._unread = 0
        self._verdict = Verdict(request.failing, level=request.settings.level)
        self._told = ToldStarts()
        self._failing_groups: set[str] = set()
        self._progress: CheckProgress | None = None

    def to_end(self) -> int:
        started = time.monotonic()
        all_jobs = [job for path in self._request.paths for job in jobs(path)]
        self._progress = CheckProgress(shows=sys.stderr is not None and os.isatty(2))
        isolation = Isolation(
            all_jobs,
            self._request.settings,
            processes=self._request.processes or jobs_here(),
            do=run,
            on_wait=self._progress.show,
        )
        results = isolation.results()
        bare = {path for path in self._request.paths if system.is_directory(path)}  # in which nothing of Kafka's was found
        with self._progress:
            try:
                for job, rows in results:
                    is_group = job.kind != Job.FILE or len(all_jobs) == 1
                    group = job.path if is_group else os.path.dirname(job.path) or "."
                    if job.path == self._request.kept_stdin:
                        group = STDIN
                        for row in rows:
                            if isinstance(row, Finding | FileReport | Start):
                                row.path = STDIN
                    if job.root in bare and any(map(is_of_kafka, rows)):
                        bare.remove(job.root)
                    self._take(rows, group)
                    self._progress.findings = sum(self._counts.values())
                around, found = Surroundings(all_jobs, self._request.paths), list[Finding]()
                for job in all_jobs:
                    around.report(job, self._request.settings, found.append)
                for finding in found:
                    self._take([finding], finding.path)
            finally:
                results.close()  # ends the other processes
        for path in sorted(bare) if len(self._request.paths) > 1 else ():
            self._verdict.fail_to_examine(f"{path}: there is no Kafka file")
        self._formatter.end(
            Summary.like(
                self._verdict,
                files=self._files,
                bytes=self._bytes,
                errors=self._counts[ERROR],
                warnings=self._counts[WARNING],
                infos=self._counts[INFO],
                known=self._known,
                level=self._request.settings.level,
                records_not_read=self._unread,
                seconds=round(time.monotonic() - started, 3),
                verdict=self._verdict.text,
            )
        )
        return self._verdict.exit_code

    def how_far(self, interrupted: str) -> str:
        """The message for an interrupted run: `interrupted`, and how far it has come."""
        progress = self._progress.last if self._progress is not None else None
        if progress is None:
            return interrupted
        found = f"{counted(self._counts[ERROR], 'error')} and {counted(self._counts[WARNING], 'warning')} so far"
        done = f"{counted(progress.files, 'file')}, {size_text(progress.bytes)} of {size_text(progress.total)}"
        return f"{interrupted} after {done}; {found}"

    def _take(self, rows: list[Row], group: str) -> None:
        for row in rows:
            if isinstance(row, Finding):
                if not self._request.wants(row.code):
                    self._verdict.leave_out()
                elif not self._told.is_told(row):
                    self._take_finding(row, group)
            elif isinstance(row, FileReport):
                self._files += 1
                self._bytes += row.size
                self._unread += row.records_not_read
                self._verdict.add_file(row)
                self._formatter.file(row, group)
            elif isinstance(row, Start):
                if group in self._failing_groups or not self._request.is_left_out(row):
                    self._verdict.add_start(row)
                else:
                    self._verdict.leave_out_start(row)
                self._formatter.start(row, group)

    def _take_finding(self, finding: Finding, group: str) -> None:
        is_known = self._request.is_known(finding)
        if is_known:
            self._known += 1
        else:
            self._counts[finding.severity] += 1
            if finding.severity in self._request.failing:
                self._failing_groups.add(group)
        self._verdict.add_finding(finding, is_known=is_known)
        self._formatter.finding(finding, group, is_known=is_known)
