"""Checks of files, partitions and log directories, each with a forecast of the next start."""

from __future__ import annotations

import os

from kdump.checks import check as checks
from kdump.checks.finding import ERROR, Finding
from kdump.checks.jobs import Job, jobs
from kdump.checks.settings import DEFAULT_LEVEL, FILE_TYPES, MAX_FINDINGS, UNKNOWN, Settings, current_time, require_level
from kdump.errors import UsageError
from kdump.verdicts import starts
from kdump.verdicts.repeated import ToldStarts
from kdump.verdicts.report import Report
from kdump.verdicts.surroundings import Surroundings
from kdump.verdicts.verdict import Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kdump.checks.finding import Emit
    from kdump.checks.live_source import Watch
    from kdump.tables import Row


def check(
    path: str | os.PathLike[str],
    *,
    level: str = DEFAULT_LEVEL,
    cleanup_policy: str = UNKNOWN,
    pedantic: bool = False,
    max_findings: int = MAX_FINDINGS,
    max_message_bytes: int = 100 << 20,
    time_limit: float | None = None,
    follow_links: bool = False,
    file_type: str | None = None,
) -> Report:
    """What is wrong with a file, a partition directory or a log directory: a Report, which is false if it is sound.

    It holds the findings, in the order of the files, and the verdict. The options are those of `kdump check`.
    `level` is `quick` (headers, lengths, bounds), `full` (also CRCs, indexes against logs, neighbours) or `deep` (the default:
    also every record). `cleanup_policy` is that of the topic, `delete` or `compact` or `compact,delete`, if it is known: a
    compacted topic may lack offsets. At most `max_findings` per code and file are returned; a separate finding counts the rest.
    `time_limit` is in seconds for each file. `file_type`, such as `log`, is what a file is that is named itself, whatever it is
    called. A Finding has one attribute for each of its columns; see Finding.

    Damage is a finding, never an exception, and so is a file that cannot be read or does not exist. Nothing is printed, nothing
    is written. All is done in this process, so a crash of a native codec ends it; the command `kdump check` has processes for it.

    Raises UsageError for a level or a type of file that does not exist.
    """
    if file_type is not None and file_type not in FILE_TYPES:
        raise UsageError(f"there is no type {file_type!r}; types are {', '.join(FILE_TYPES)}")
    require_level(level)
    settings = Settings(
        now=current_time(),
        level=level,
        cleanup_policy=cleanup_policy,
        is_pedantic=pedantic,
        max_findings=max_findings,
        max_message_bytes=max_message_bytes,
        time_limit=time_limit,
        follows_links=follow_links,
        file_type=file_type,
    )
    report = Report(os.fspath(path), level)
    for row in _rows(os.fspath(path), settings):
        report.add(row)
    return report


def verdict(path: str | os.PathLike[str], *, level: str = DEFAULT_LEVEL, failing: Sequence[str] = (ERROR,)) -> Verdict:
    """The verdict on a file, a partition or a log directory: `words`, `reasons` and `exit_code` as of `kdump check`.

    Findings of the severities in `failing` count. Raises UsageError for a level that does not exist.
    """
    require_level(level)
    found = Verdict(failing, level=level)
    settings = Settings(now=current_time(), level=level)
    for row in _rows(os.fspath(path), settings):
        found.add(row)
    return found


def _rows(path: str, settings: Settings) -> Iterator[Row]:
    """The rows of all tasks of a path, one task after the other, then those of their surroundings."""
    rows: list[Row] = []
    told = ToldStarts()
    all_jobs = jobs(path)
    around = Surroundings(all_jobs, [path])
    for job in all_jobs:
        run(job, settings, rows.append)
        yield from (row for row in rows if not isinstance(row, Finding) or not told.is_told(row))
        rows.clear()
    found: list[Finding] = []
    for job in all_jobs:
        around.report(job, settings, found.append)
    yield from (finding for finding in found if not told.is_told(finding))


def run(job: Job, settings: Settings, emit: Emit, watch: Watch | None = None, *, tries_failing: bool = True) -> None:
    """Carry out one task; findings, reports of files and starts go to `emit`.

    The starts that may be the next of a partition are tried, too; of one that fails anyway only where `tries_failing` is set.
    """
    if job.kind != Job.PARTITION:
        checks.run(job, settings, emit, watch)
        return
    watcher = starts.Watcher(emit)
    facts = checks.run(job, settings, watcher.emit, watch)
    if tries_failing or not watcher.fails:
        starts.report(job, settings, watcher, facts)
