"""Forecasts of the next start during a check: no verdict may be good if the next start loses records."""

from __future__ import annotations

from kdump.binary.paths import absolute
from kdump.binary.source import NoSource
from kdump.checks.catalogue.fault_kind import BLIND, IGNORE
from kdump.checks.context import FileContext
from kdump.checks.finding import ERROR, INFO, WARNING, Finding
from kdump.checks.jobs import Job
from kdump.errors import KdumpError
from kdump.formats import tree
from kdump.verdicts import kept
from kdump.verdicts.verdict import LOSING, START_LEAVES_DAMAGE, START_LOSES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.finding import Emit
    from kdump.checks.partition_facts import PartitionFacts
    from kdump.checks.settings import Settings
    from kdump.forecasts.row import Forecast
    from kdump.tables import Row

_ACTIVE = ("active-tail", "torn-tail", "torn-header", "zero-tail")
"""Info findings of a log that a broker is appending to: what a start would find is not there yet."""

_MADE_ANYWAY = ("index-missing", "timeindex-missing")
"""Info findings of a small log."""

_HARMLESS = (IGNORE, BLIND)


class Watcher:
    """Passes on the findings of a partition, and notes what they say about its next start."""

    def __init__(self, emit: Emit) -> None:
        self.pass_on = emit
        self.fails = False
        self.is_active = False
        """Whether a broker is appending to it: what its next start finds is still to come."""
        self.is_doubtful = False
        """Whether a finding makes one doubt the next start."""
        self.is_spotless = True
        """Whether there was no finding."""
        self.lacks_indexes_only = True
        """Whether there was none but of missing indexes of a small log, which a start makes anyway."""

    def emit(self, row: Row) -> None:
        """Pass on a row."""
        if isinstance(row, Finding):
            self.is_spotless = False
            self.lacks_indexes_only &= row.severity == INFO and row.code in _MADE_ANYWAY
            if row.severity == ERROR:
                self.fails = True
            elif row.severity == INFO and row.code in _ACTIVE:
                self.is_active = True
            elif row.severity == WARNING or row.broker_forecast.partition(" ")[0] not in _HARMLESS:
                self.is_doubtful = True
        self.pass_on(row)


def report(job: Job, settings: Settings, watcher: Watcher, facts: PartitionFacts | None) -> None:
    """Report the possible next starts of a partition, the worst first; of one without findings, only if one is not safe.

    Where the `facts` of its check show that every start keeps all, none is simulated; none either while a broker is appending.

    Where one is not safe, that is a finding, too, unless the partition fails anyway. All stops of `kdump forecast` may come
    before the next start; of starts that are as bad, one after the stop that the log directory shows comes first.
    """
    if watcher.is_active and not watcher.fails:
        return
    if facts is not None and not facts.files.segments and not _is_of_broker(absolute(job.path)):
        return  # a folder of logs under other names, such as the attachments of a ticket
    if watcher.lacks_indexes_only and facts is not None and kept.by_every_start(facts):
        return
    emit = watcher.pass_on
    forecasts = forecasts_of(job.path, facts, is_found=job.root != job.path)
    if not forecasts or not watcher.fails and not watcher.is_doubtful and all(row.is_sound for row in forecasts):
        return
    from kdump.forecasts.outcome import KEEP
    from kdump.forecasts.sentences import rank, sentences, start_of, stop, verdict

    shown = _stop_shown_around(job.path)
    forecasts.sort(key=lambda row: (verdict(row) in LOSING, not row.is_sound and row.after == shown, rank(row)), reverse=True)
    worst = forecasts[0]
    if not worst.is_sound and not watcher.fails:
        context = FileContext(NoSource(job.path), job.path, "directory", settings, emit)
        code = START_LOSES if verdict(worst) in LOSING else START_LEAVES_DAMAGE
        word = BLIND if worst.outcome == KEEP else worst.outcome
        offsets = (worst.lost_offsets[0][0], worst.lost_offsets[-1][1]) if worst.lost_offsets else None
        message = f"After {stop([worst])}: {' '.join(sentences(worst))}"
        context.report(code, 0, 0, message, offsets=offsets, found=worst.outcome, forecast=word)
    for row in forecasts:
        emit(start_of(row))


def _is_of_broker(path: str) -> bool:
    """Whether a directory has the name of a partition, or is in a log directory."""
    return tree.directory_name(path) is not None or tree.is_log_directory(tree.parent(path))


def _stop_shown_around(path: str) -> str | None:
    """The last stop, as the log directory of a broker shows it; None elsewhere."""
    from kdump.forecasts.log_directory import LogDirectory
    from kdump.forecasts.settings import CLEAN, UNCLEAN

    log_directory = LogDirectory(tree.parent(absolute(path)))
    if not tree.is_log_directory(log_directory.path):
        return None
    return CLEAN if log_directory.was_stopped_cleanly else UNCLEAN


def forecasts_of(path: str, facts: PartitionFacts | None = None, *, is_found: bool = False) -> list[Forecast]:
    """The possible next starts of a partition; none if it cannot be forecast. `facts` are those of its check.

    If it `is_found` in the log directory of a broker, its neighbors there, and the files of the log directory, are left to what
    checks these.
    """
    from kdump.forecasts.forecast import Request, of_partition  # slow to load
    from kdump.forecasts.log_directory import LogDirectory

    log_directory = LogDirectory(tree.parent(absolute(path)))
    is_of_broker = tree.is_log_directory(log_directory.path)
    is_found = is_found and is_of_broker  # elsewhere, copies may have any name
    walked = None if facts is None else facts.walked
    try:
        rows = of_partition(path, log_directory, Request(), is_found=is_found, is_by_itself=is_of_broker, walked=walked)
    except KdumpError:
        return []  # which the check has said
    if is_found and all(row.bad_checkpoint and row.is_safe_but_for_checkpoint for row in rows):
        return []  # the log directory fails, and its check says so once for all partitions
    return rows
