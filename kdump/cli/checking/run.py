"""What `kdump check` does: checks all that is named, tells what is wrong, and ends with an exit code that says how bad it is."""

from __future__ import annotations

import os
import sys
import time

from kdump.checks import catalogue
from kdump.checks.check import Job, jobs
from kdump.checks.finding import ERROR, INFO, SEVERITIES, WARNING, FileReport, Finding, Summary
from kdump.checks.isolation import Isolation
from kdump.checks.wording import counted
from kdump.cli.checking.progress import CheckProgress
from kdump.cli.look import look_of
from kdump.errors import KdumpError
from kdump.output.blocks import Blocks
from kdump.output.findings import form_of
from kdump.output.findings.sizes import size_text
from kdump.output.parallel import jobs_here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.cli.checking.request import CheckRequest
    from kdump.forecasts.forecast import Forecast
    from kdump.output.findings import Form
    from kdump.tables import Row

CLEAN, FINDINGS, _USAGE, NOT_EXAMINED = range(4)

_SCANNED = 200_000  # batches of a partition whose starts are forecast beside a check: half a second


def check_paths(request: CheckRequest) -> int:
    """Check all paths of a request, and tell on stdout what is wrong. Returns the exit code."""
    if request.is_nice or request.rate:
        from kdump.cli.dropin import be_polite

        be_polite(request.rate, is_nice=request.is_nice)
    with open(1, "wb", buffering=0, closefd=False) as stdout:
        look = look_of(
            is_terminal=stdout.isatty(),
            shows_all=request.shows_all,
            fail_on=request.fail_on,
            has_baseline=request.baseline is not None,
            foretell=_foretold,
            proves_logs=request.proves_logs,
        )
        out = Blocks(stdout, needs_reader=False)
        run = _Run(request, form_of(request.output, out.write, look), out)
        try:
            return run.to_end()
        except KeyboardInterrupt:
            raise KeyboardInterrupt(run.how_far()) from None


class _Run:
    """Counts what is found on its way to the output."""

    def __init__(self, request: CheckRequest, form: Form, out: Blocks) -> None:
        self._request = request
        self._form = form
        self._out = out
        self._counts = dict.fromkeys(SEVERITIES, 0)
        self._files = self._bytes = self._known = 0
        self._is_complete = True
        self._progress: CheckProgress | None = None

    def to_end(self) -> int:
        started = time.monotonic()
        all_jobs = [job for path in self._request.paths for job in jobs(path)]
        self._progress = CheckProgress(shows=sys.stderr is not None and os.isatty(2))
        isolation = Isolation(
            all_jobs,
            self._request.settings,
            processes=self._request.processes or jobs_here(),
            on_wait=self._progress.show,
        )
        results = isolation.results()
        with self._progress:
            try:
                for job, rows in results:
                    is_group = job.kind != Job.FILE or len(all_jobs) == 1
                    self._take(rows, job.path if is_group else os.path.dirname(job.path) or ".")
                    self._progress.findings = sum(self._counts.values())
            finally:
                results.close()  # ends the other processes
        if not self._files and not self._known and not any(self._counts.values()):
            self._is_complete = False  # a path that is mistaken is not clean
        code = self._exit_code()
        seconds = round(time.monotonic() - started, 3)
        counts = [self._counts[severity] for severity in (ERROR, WARNING, INFO)]
        self._form.end(Summary(self._files, self._bytes, *counts, self._known, self._is_complete, seconds, code))
        self._out.flush()
        return code

    def how_far(self) -> str:
        """What is to be said where the run is interrupted."""
        progress = self._progress.last if self._progress is not None else None
        if progress is None:
            return "interrupted"
        found = f"{counted(self._counts[ERROR], 'error')} and {counted(self._counts[WARNING], 'warning')} so far"
        done = f"{counted(progress.files, 'file')}, {size_text(progress.bytes)} of {size_text(progress.total)}"
        return f"interrupted after {done}; {found}"

    def _take(self, rows: list[Row], group: str) -> None:
        for row in rows:
            if isinstance(row, Finding):
                if row.code in self._request.codes:
                    self._take_finding(row, group)
            elif isinstance(row, FileReport):
                self._files += 1
                self._bytes += row.size
                self._form.file(row, group)

    def _take_finding(self, finding: Finding, group: str) -> None:
        is_known = self._request.is_known(finding)
        if is_known:
            self._known += 1
        else:
            self._counts[finding.severity] += 1
            if finding.severity == ERROR and catalogue.FAULTS[finding.code].leaves_unexamined:
                self._is_complete = False
        self._form.finding(finding, group, is_known=is_known)

    def _exit_code(self) -> int:
        if not self._is_complete:
            return NOT_EXAMINED
        return FINDINGS if any(self._counts[severity] for severity in self._request.failing) else CLEAN


def _foretold(path: str, batches: int) -> list[Forecast]:
    """What starts do with a partition: after a clean stop, an unclean one, and where all is scanned.

    Nothing for what is no partition, or where a scan of so many batches would take longer than the check did.
    """
    if not os.path.isdir(path) or batches > _SCANNED:
        return []
    from kdump.forecasts.forecast import forecast, is_log_directory  # slow to load
    from kdump.forecasts.settings import UNCLEAN, ZERO

    try:
        if is_log_directory(path):
            return []
        clean, *unclean = forecast(path)
        rows = [clean, max(unclean, key=lambda row: row.recovery_point)]
        if rows[-1].segments_before > 1:
            rows += forecast(path, after=UNCLEAN, recovery_point=ZERO)
        return rows
    except KdumpError:
        return []
