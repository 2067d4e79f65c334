"""What stands around partitions and keeps a broker from starting: seen only when its log directories are looked at together."""

from __future__ import annotations

from kdump.binary.source import NoSource
from kdump.checks.catalogue.entry import BLIND
from kdump.checks.check import Job
from kdump.checks.context import FileContext
from kdump.checks.finding import Finding
from kdump.errors import KdumpError
from kdump.formats import tree
from kdump.verdicts.verdict import START_LOSES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from kdump.checks.settings import Settings
    from kdump.forecasts.forecast import Forecast
    from kdump.tables import Row

    Emit = Callable[[Finding], None]


def report(jobs: Sequence[Job], named: Sequence[str], failing: Collection[str], settings: Settings, emit: Emit) -> None:
    """Report why a start fails, or serves not all, for what is not in the files of one partition: other log directories, ids.

    Only log directories that a broker made are looked at. `named` are the paths that were named, `failing` the partitions of
    which a check has reported errors anyway.
    """
    places = [job.path for job in jobs if job.kind == Job.LOG_DIR and tree.is_log_directory(job.path)]
    partitions = [job for job in jobs if job.kind == Job.PARTITION and tree.is_log_directory(tree.parent(job.path.rstrip("/")))]
    if not places and not partitions:
        return
    from kdump.checks.rules.partition_metadata import topic_id_of
    from kdump.forecasts import circumstances
    from kdump.forecasts.forecast import LogDirectory, Request, uneventful
    from kdump.forecasts.neighbours import Neighbours
    from kdump.forecasts.settings import UNCLEAN

    request = Request()
    alone = [job.path for job in partitions if job.root == job.path]
    neighbours = Neighbours([*places, *alone], request.rules, named=named)
    told: set[str] = set()
    log_directories = {path: LogDirectory(path) for path in dict.fromkeys([*places, *map(_log_directory, partitions)])}
    for path in log_directories:
        row = uneventful(path, request, UNCLEAN)
        circumstances.enter_log_directory(row, path, neighbours)
        if not row.is_safe:
            _report(row, path, settings, emit)
            told.add(path)
    for job in partitions:
        log_directory = log_directories[_log_directory(job)]
        if log_directory.path in told or job.path in failing:
            continue
        row = uneventful(job.path, request, UNCLEAN)
        row.topic_id = topic_id_of(job.path)
        try:
            circumstances.enter([row], log_directory, neighbours)
        except (KdumpError, OSError):
            continue  # which the check has said
        if not row.is_safe:
            _report(row, job.path, settings, emit)


def _log_directory(job: Job) -> str:
    return tree.parent(job.path.rstrip("/"))


def _report(row: Forecast, path: str, settings: Settings, emit: Emit) -> None:
    from kdump.forecasts.sentences import as_sentence, sentences

    message = as_sentence(row.conditions[0]) if row.is_doubtful else " ".join(sentences(row))
    rows: list[Row] = []
    context = FileContext(NoSource(path), path, "directory", settings, rows.append)
    context.report(START_LOSES, 0, 0, message, found=row.outcome, forecast=BLIND if row.is_doubtful else row.outcome)
    for finding in rows:
        if isinstance(finding, Finding):
            emit(finding)
