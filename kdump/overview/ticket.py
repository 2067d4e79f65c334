"""All that is known of some paths, for one page: what is there, what is wrong, what a start does, maps of partitions."""

from __future__ import annotations

import time
from contextlib import closing
from functools import partial

from kdump.binary import system
from kdump.checks.check_processes import rows_of
from kdump.checks.finding import ERROR, INFO, FileReport, Finding, Start
from kdump.checks.jobs import Job
from kdump.checks.settings import DEFAULT_LEVEL, FULL, HEADERS, Settings, current_time, require_level
from kdump.errors import Unreadable
from kdump.formats import tree
from kdump.overview.overview import Overview, look, wanted_jobs
from kdump.overview.partition_map import map_of
from kdump.overview.row import Unseen
from kdump.verdicts.check import run
from kdump.verdicts.repeated import ToldStarts
from kdump.verdicts.report import Report
from kdump.verdicts.surroundings import Surroundings
from kdump.verdicts.verdict import Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kdump.checks.check_processes import Progress
    from kdump.checks.finding import Emit
    from kdump.checks.live_source import Watch
    from kdump.overview.overview import Wanted
    from kdump.overview.partition_map import PartitionMap
    from kdump.tables import Row

_MOST_DRAWN = 20  # partitions


class Ticket:
    """What was found. `reports` has a report for each partition, log directory and file that was checked, by its path.

    `maps` are those of the partitions that are drawn, the worst first, replicas of one after the other.
    """

    def __init__(self, paths: Sequence[str], level: str) -> None:
        self.paths = paths
        self.level = level
        self.overview = Overview(HEADERS)
        self.verdict = Verdict(level=level)
        self.reports: dict[str, Report] = {}
        self.files: list[tuple[FileReport, str]] = []
        self.maps: list[PartitionMap] = []
        self.seconds = 0.0

    @property
    def exit_code(self) -> int:
        """That of a check."""
        return self.verdict.exit_code

    @property
    def starts(self) -> dict[str, Sequence[Start]]:
        """The starts of each partition that has some, by its path."""
        return {path: report.starts for path, report in self.reports.items() if report.starts}

    @property
    def findings(self) -> Iterable[tuple[Finding, str]]:
        """All findings, each with the path of what was checked."""
        return ((finding, path) for path, report in self.reports.items() for finding in report.findings)

    def take(self, found: Row, group: str) -> None:
        """Add a row of what was checked or looked at, which belongs to this path."""
        if not isinstance(found, Finding | FileReport | Start):
            if not isinstance(found, Unseen):  # the check says it
                self.overview.take(found)
            return
        self.verdict.add(found)
        if group not in self.reports:
            self.reports[group] = Report(group, self.level)
        self.reports[group].add(found)
        if isinstance(found, FileReport):
            self.files.append((found, group))

    def rank(self, path: str) -> tuple[int, ...]:
        """How bad it is at a path; the smaller, the worse."""
        report = self.reports.get(path)
        if report is None:
            return (0, 0, 0)
        counts = [sum(one.severity == severity for one in report.findings) for severity in (ERROR, "warning")]
        return (-int(report.exit_code != 0), *(-count for count in counts))


def ticket_of(
    paths: Sequence[str],
    level: str = DEFAULT_LEVEL,
    *,
    is_wanted: Wanted | None = None,
    processes: int = 0,
    on_wait: Callable[[Progress], None] | None = None,
) -> Ticket:
    """The ticket of some paths; of partitions for which `is_wanted`. With `processes`, in these. Raises UsageError."""
    require_level(level)
    started = time.monotonic()
    ticket, told = Ticket(paths, level), ToldStarts()
    all_jobs = wanted_jobs(paths, is_wanted)
    settings = Settings(now=current_time(), level=level)
    do = partial(_do, len(all_jobs) <= _MOST_DRAWN)

    def take(found: Row, group: str) -> None:
        if not isinstance(found, Finding) or not told.is_told(found):
            ticket.take(found, group)

    with closing(rows_of(all_jobs, settings, do, processes, on_wait)) as rows:
        for job, found in rows:
            take(found, job.path)
    around = Surroundings(all_jobs, paths)
    for job in all_jobs:
        around.report(job, settings, lambda found: take(found, found.path))
    ticket.overview.add_places(all_jobs, paths, is_wanted=is_wanted)
    ticket.maps = list(_maps(ticket, [one.path for one in ticket.overview.partitions]))
    ticket.seconds = time.monotonic() - started
    return ticket


def _do(reads_all: bool, job: Job, settings: Settings, emit: Emit, watch: Watch | None = None) -> None:
    """Check and look at one partition or file: at all of it if something is wrong with it, or if it `reads_all`."""
    odd: list[str] = []

    def pass_on(found: Row) -> None:
        if isinstance(found, Finding) and found.severity != INFO:
            odd.append(found.code)
        emit(found)

    run(job, settings, pass_on, watch)
    look(job, FULL if reads_all or odd else HEADERS, emit)


def _maps(ticket: Ticket, paths: Sequence[str]) -> Iterable[PartitionMap]:
    """Maps of the worst partitions, and of sound ones if there are few; replicas of one partition follow one another."""
    replicas: dict[str, list[str]] = {}
    for path in paths:
        replicas.setdefault(name_of(path), []).append(path)
    ranks = {path: ticket.rank(path) for path in paths}
    drawn = 0
    for group in sorted(replicas.values(), key=lambda group: min(ranks[path] for path in group)):
        is_wanted = len(paths) <= _MOST_DRAWN or any(any(ranks[path]) for path in group)
        for path in sorted(group, key=ranks.__getitem__) if is_wanted else ():
            if drawn == _MOST_DRAWN:
                return
            try:
                yield map_of(ticket.reports.get(path, Report(path, ticket.level)))
                drawn += 1
            except Unreadable:
                continue  # no logs: its findings say so


def name_of(path: str) -> str:
    """The topic and partition of a directory, which its replicas share; the path of anything else."""
    name = tree.directory_name(path)
    is_ordinary = name is not None and not name.state and system.is_directory(path)
    return f"{name.topic}-{name.partition}" if name is not None and is_ordinary else path
