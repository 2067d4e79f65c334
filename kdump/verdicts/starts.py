"""Forecasts of the next start during a check: no verdict may be good if the next start loses records."""

from __future__ import annotations

from kdump.binary import system
from kdump.binary.paths import absolute
from kdump.binary.source import NoSource
from kdump.checks.catalogue.fault_kind import BLIND, IGNORE
from kdump.checks.context import FileContext
from kdump.checks.finding import ERROR, INFO, WARNING, FileReport, Finding, Start
from kdump.checks.jobs import Job
from kdump.errors import KdumpError, Unreadable
from kdump.formats import tree
from kdump.verdicts.verdict import LOSING, START_LEAVES_DAMAGE, START_LOSES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.finding import Emit
    from kdump.checks.settings import Settings
    from kdump.forecasts.row import Forecast
    from kdump.reading.damaged_offsets import WalkedLogs
    from kdump.tables import Row

_ACTIVE = ("active-tail", "torn-tail", "torn-header", "zero-tail")
"""Info findings of a log that a broker is appending to: what a start would find is not there yet."""

_SCANNING = ("index-missing", "timeindex-missing")
"""Faults that make a start read a whole segment, and so reach old damage: it throws if records do not decompress."""

_HARMLESS = (IGNORE, BLIND)


_READ_AND_WRITE = 0o600  # by the owner
_MAX_BATCHES = 200_000  # of a partition whose starts are tried although it fails anyway: half a second


class Watcher:
    """Passes on the findings of a partition, and looks for a reason to forecast its next start."""

    def __init__(self, emit: Emit) -> None:
        self.pass_on = emit
        self.fails = False
        self._is_active = self._is_doubtful = False
        self._batches = 0

    def emit(self, row: Row) -> None:
        """Pass on a row."""
        if isinstance(row, FileReport) and row.file_type == "log":
            self._batches += row.batches_intact + row.batches_salvaged + row.batches_lost
        elif isinstance(row, Finding):
            if row.severity == ERROR:
                self.fails = True
            elif row.severity == INFO and row.code in _ACTIVE:
                self._is_active = True
            elif row.severity == WARNING or row.code in _SCANNING or row.broker_forecast.partition(" ")[0] not in _HARMLESS:
                self._is_doubtful = True
        self.pass_on(row)

    @property
    def wants_forecast(self) -> bool:
        """Whether a start may be worse than the findings. A large partition that fails anyway needs no forecast."""
        if self.fails:
            return self._batches <= _MAX_BATCHES
        return self._is_doubtful and not self._is_active


def is_denied(path: str) -> bool:
    """Whether the broker's user may not read and write the files of a partition that was copied alone."""
    above = tree.parent(absolute(path))
    if tree.is_log_directory(above):
        return False  # Surroundings says so
    try:
        folder = system.status(path)
        if folder is None:
            return False
        owner = folder.st_uid
        statuses = (system.status(entry.path) for entry in system.entries(path))
        modes = [(status.st_uid, status.st_mode) for status in statuses if status is not None]
        if all(user == owner and mode & _READ_AND_WRITE == _READ_AND_WRITE for user, mode in modes):
            return False
        from kdump.forecasts import permissions  # slow to load

        denied = permissions.denial(path, above)
    except Unreadable:
        return False  # which the check says
    return denied is not None and (denied.is_certain or denied.is_alone)


def report(job: Job, settings: Settings, emit: Emit, *, fails: bool, walked: WalkedLogs | None = None) -> None:
    """Report the possible next starts of a partition, the worst first.

    Where one is not safe, that is a finding, too, unless the partition `fails` anyway. A log directory of a broker shows how it
    stopped; of a partition alone, any stop may come before its next start.
    """
    forecasts = forecasts_of(job.path, is_found=job.root != job.path, walked=walked)
    if not forecasts:
        return
    from kdump.forecasts.outcome import KEEP
    from kdump.forecasts.sentences import rank, sentences, stop, summary, verdict

    forecasts.sort(key=rank, reverse=True)
    worst = forecasts[0]
    if not worst.is_sound and not fails:
        context = FileContext(NoSource(job.path), job.path, "directory", settings, emit)
        code = START_LOSES if verdict(worst) in LOSING else START_LEAVES_DAMAGE
        word = BLIND if worst.outcome == KEEP else worst.outcome
        offsets = (worst.lost_offsets[0][0], worst.lost_offsets[-1][1]) if worst.lost_offsets else None
        message = f"After {stop([worst])}: {' '.join(sentences(worst))}"
        context.report(code, 0, 0, message, offsets=offsets, found=worst.outcome, forecast=word)
    for row in forecasts:
        emit(
            Start(
                row.path,
                row.release,
                row.after,
                row.recovery_point,
                row.recovery_point_is_assumed,
                verdict(row),
                row.lost_records,
                row.bytes_lost,
                row.consumers_stop_at,
                summary(row),
            )
        )


def forecasts_of(path: str, *, is_found: bool = False, walked: WalkedLogs | None = None) -> list[Forecast]:
    """The possible next starts of a partition; none if it cannot be forecast.

    Its neighbors in the log directory of a broker are left to Surroundings, which sees them all together. Logs that the check
    `walked` are not walked again.
    """
    from kdump.forecasts.forecast import Request, log_directory_of, of_partition  # slow to load
    from kdump.forecasts.log_directory import LogDirectory
    from kdump.forecasts.settings import CLEAN, STOPS, UNCLEAN

    log_directory = LogDirectory(log_directory_of(absolute(path)))
    stops: tuple[str, ...] = STOPS
    is_of_broker = tree.is_log_directory(log_directory.path)
    if is_of_broker:
        stops = (CLEAN,) if log_directory.was_stopped_cleanly else (UNCLEAN,)
    try:
        return of_partition(
            path, log_directory, Request(after=stops), is_found=is_found, is_by_itself=is_of_broker, walked=walked
        )
    except KdumpError:
        return []  # which the check has said
