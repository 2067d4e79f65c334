"""What is wrong with a broker, the worst first: what its next start does, what cannot be read, who waits, what fills it."""

from __future__ import annotations

import os
import time
from contextlib import closing
from functools import partial

from kdump.binary import system
from kdump.binary.source import NoSource
from kdump.checks.catalogue.fault_kind import DIE, OFFLINE, STRAY
from kdump.checks.check_processes import rows_of
from kdump.checks.context import FileContext
from kdump.checks.finding import ERROR, INFO, FileReport, Finding, Start
from kdump.checks.jobs import Job
from kdump.checks.settings import DEEP, HEADERS, QUICK, Settings, current_time, require_level
from kdump.checks.wording import as_sentence, counted
from kdump.errors import KdumpError, Unreadable
from kdump.forecasts.forecast import Request, of_partition
from kdump.forecasts.log_directory import LogDirectory
from kdump.forecasts.neighbours import Neighbours
from kdump.forecasts.places import places
from kdump.forecasts.sentences import FAILS, NO_START, one_stop, rank, start_of
from kdump.forecasts.settings import CLEAN, STOPS, UNCLEAN
from kdump.formats import file_name, tree
from kdump.overview import row
from kdump.overview.overview import Overview, logs_in, look, wanted_jobs
from kdump.overview.row import AUTO, TRIAGE_LEVELS, OpenTransaction, PartitionSum, TriageEvent, TriageSummary, Unseen
from kdump.overview.space import FOREIGN
from kdump.verdicts import check
from kdump.verdicts.repeated import ToldStarts
from kdump.verdicts.surroundings import Surroundings
from kdump.verdicts.unreadable import keeps_from_reading
from kdump.verdicts.verdict import (
    DOES_NOT_START,
    LOSES_AT_START,
    LOSING,
    START_LEAVES_DAMAGE,
    START_LOSES,
    STUCK,
    UNREADABLE,
    Verdict,
    ends_all_starts,
    is_of_kafka,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kdump.checks.check_processes import Progress
    from kdump.checks.finding import Emit
    from kdump.checks.live_source import Watch
    from kdump.forecasts.row import Forecast
    from kdump.overview.overview import Wanted
    from kdump.tables import Row

_LITTLE, _FEW = 128 << 20, 2000  # bytes of logs, partitions
_MOST_SCANNED = 256 << 20  # bytes that forecasts may scan in all, with the level headers
_MOST_CHECKED = 64 << 20  # bytes of a partition that is checked because its headers end
_STRAY = "the directory is marked -stray"
_TAILS = ("active-tail", "torn-tail", "torn-header", "zero-tail")
_HANGING, _OPEN = "txn-hanging", "txn-open"
_MOST_RANGES = 2  # of offsets that cannot be read
_DAY_MS = 86_400_000
_LONG_MS = 10_000  # an open transaction that is worth a line


class Triage:
    """What was found. `events` are in order, the worst first; `verdict` is that of the check and the forecasts in it."""

    def __init__(self, level: str) -> None:
        self.level = level
        self.overview = Overview(HEADERS)
        self.verdict = Verdict(level=level)
        self.findings: list[Finding] = []
        self.waiting: list[Finding] = []  # infos of open transactions
        self.starts: list[Start] = []
        self._told = ToldStarts()
        self.left: list[tuple[str, int]] = []  # partitions that were not forecast, and how much a start scans of each
        self.events: list[TriageEvent] = []
        self.next_starts = NextStarts()
        self.examined = 0
        self.seconds = 0.0

    def take(self, found: Row) -> None:
        """Add a row of a task."""
        if isinstance(found, Finding):
            if not self._told.is_told(found):
                self.verdict.add_finding(found)
                self.findings += [found] if found.severity != INFO else []
                self.waiting += [found] if found.code == _OPEN else []
        elif isinstance(found, Start):
            self.verdict.add_start(found)
            self.starts.append(found)
        elif isinstance(found, FileReport):
            self.verdict.add_file(found)
            self.examined += found.size - found.bytes_not_examined
        else:
            if isinstance(found, PartitionSum) and self.level == HEADERS and _is_left_broken(found):
                self.verdict.fail_to_examine(
                    f"{found.broken_at}: no sound batch is there, and {found.path} is too large to check at once"
                )
            self.overview.take(found)

    @property
    def summary(self) -> TriageSummary:
        """The verdict, and how much was read for it."""
        seen = self.overview.summary
        return TriageSummary(
            self.level,
            seen.partitions,
            seen.disk,
            seen.log_bytes,
            seen.read_bytes if self.level == HEADERS else self.examined,
            len(self.left),
            round(self.seconds, 3),
            self.exit_code,
            self.verdict.text,
            self.verdict.reasons,
        )

    def rows(self) -> Iterator[Row]:
        """All events, then the summary."""
        yield from self.events
        yield self.summary

    @property
    def exit_code(self) -> int:
        """That of a check that read as much."""
        return self.verdict.exit_code


def triage_of(
    paths: Sequence[str],
    level: str,
    *,
    is_wanted: Wanted | None = None,
    processes: int = 0,
    on_wait: Callable[[Progress], None] | None = None,
) -> Triage:
    """The triage of some paths, of partitions for which `is_wanted`. With `processes`, in these. Raises UsageError."""
    require_level(level, TRIAGE_LEVELS)
    started = time.monotonic()
    all_jobs = wanted_jobs(paths, is_wanted)
    level = _level_for(all_jobs) if level == AUTO else level
    triage = Triage(level)
    settings = Settings(now=current_time(), level=QUICK if level == HEADERS else level)
    starts = triage.next_starts = NextStarts(paths, is_brief=level == HEADERS)
    left: dict[str, int] = {}
    if level == HEADERS:
        left = _left_out({job.path: starts.scanned(job.path) for job in all_jobs if job.kind == Job.PARTITION})
    triage.left = list(left.items())
    triage.verdict.leave_starts(len(left))
    do = partial(_do, level, starts, frozenset(left))
    bare = {path for path in paths if len(paths) > 1}  # in which nothing of Kafka's was found
    with closing(rows_of(all_jobs, settings, do, processes, on_wait)) as rows:
        for job, found in rows:
            if job.root in bare and (isinstance(found, PartitionSum) or is_of_kafka(found)):
                bare.remove(job.root)
            triage.take(found)
    for path in filter(system.is_directory, sorted(bare)):
        triage.overview.take(Unseen(path, "there is no Kafka file"))
    around = Surroundings(all_jobs, paths)
    with_partitions = {tree.parent(job.path) for job in all_jobs if job.kind == Job.PARTITION}
    for job in all_jobs:
        if level != HEADERS or job.kind == Job.LOG_DIR and job.path not in with_partitions:
            around.report(job, settings, triage.take)
    triage.overview.add_places(all_jobs, paths, is_wanted=is_wanted)
    triage.verdict.add_files(sum(one.files for one in triage.overview.spaces if one.what != FOREIGN))
    for unseen in triage.overview.unseen:
        triage.verdict.fail_to_examine(f"{unseen.path}: {unseen.message}")
    if level == HEADERS:
        triage.verdict.leave_unread(max(sum(one.records or 0 for one in triage.overview.partitions), 0), is_least=True)
    triage.events = list(_events(triage))
    triage.seconds = time.monotonic() - started
    return triage


def _level_for(jobs: Sequence[Job]) -> str:
    """How deep to look: at every record if all logs together are small, else at headers."""
    if len(jobs) > _FEW:
        return HEADERS
    size = sum(system.size(job.path) if job.kind == Job.FILE else _size_from(job.path, 0) for job in jobs)
    return DEEP if size <= _LITTLE else HEADERS


def _do(
    level: str,
    starts: NextStarts,
    left: frozenset[str],
    job: Job,
    settings: Settings,
    emit: Emit,
    watch: Watch | None = None,
) -> None:
    """One task: look at it, and check it as deep as was asked for, or of headers alone forecast its starts."""
    if level != HEADERS or job.kind == Job.LOG_DIR:
        check.run(job, settings, emit, watch)
    elif watch is not None:
        watch.begin(job.path)
    found: list[Row] = []
    look(job, HEADERS, found.append, measures=False)
    for one in found:
        if level == HEADERS or not isinstance(one, Unseen):  # a check has said it
            emit(one)
    if level != HEADERS:
        return
    if any(isinstance(one, PartitionSum) and one.broken_at and one.size <= _MOST_CHECKED for one in found):
        check.run(job, settings, lambda one: _emit_errors(one, emit))
    else:
        _report_hanging(found, settings, emit)
        if job.kind == Job.PARTITION and job.path not in left and not any(isinstance(one, Unseen) for one in found):
            _forecast(job, starts, emit)
    if watch is not None:
        watch.end(logs_in(found))


def _emit_errors(found: Row, emit: Emit) -> None:
    """Pass on what is wrong: of a partition that was checked for one reason, the sound files are no matter."""
    if isinstance(found, Finding | Start):
        emit(found)


def _report_hanging(found: Iterable[Row], settings: Settings, emit: Emit) -> None:
    """Report transactions that certainly hang, as a check does."""
    for one in found:
        if isinstance(one, OpenTransaction) and one.is_hanging:
            context = FileContext(NoSource(one.path), os.path.join(one.path, file_name.LOG), "log", settings, emit)
            message = f"Producer {one.producer_id:,}, epoch {one.producer_epoch}: open since offset {one.first_offset:,}."
            context.report(_HANGING, 0, 0, message, offsets=(one.first_offset, one.first_offset))


def _forecast(job: Job, starts: NextStarts, emit: Emit) -> None:
    """Emit the starts that are not sound, whatever damage they leave."""
    try:
        for one in starts.of(job.path, is_found=job.root != job.path, finds_damage=False):
            if not one.is_sound:
                emit(start_of(one))
    except Unreadable as error:
        emit(Unseen(error.path or job.path, error.message))
    except KdumpError:
        pass  # the check says so


class NextStarts:
    """Forecasts partitions; what they have in common is read once.

    If it `is_brief`, only starts after the stop that the log directory shows, where it shows one.
    """

    def __init__(self, paths: Sequence[str] = (), *, is_brief: bool = False) -> None:
        self._is_brief = is_brief
        found = [place for path in paths for place in places(path)]
        self._neighbours = Neighbours(found, Request().rules, named=list(paths))
        self._directories: dict[str, tuple[LogDirectory, Request]] = {}

    def of(self, path: str, *, is_found: bool, finds_damage: bool = True, finds_remedies: bool = False) -> list[Forecast]:
        """The starts of a partition, the worst first. Raises Unreadable and MissingPackage."""
        log_directory, request = self._directory(path)
        rows = of_partition(
            path,
            log_directory,
            request,
            self._neighbours,
            is_found=is_found,
            finds_damage=finds_damage,
            finds_remedies=finds_remedies,
        )
        return sorted(rows, key=rank, reverse=True)

    def scanned(self, path: str) -> int:
        """How many bytes of logs a start after a crash scans of a partition, by its recovery point."""
        name = tree.directory_name(path)
        points = self._directory(path)[0].recovery_points or {}
        return _size_from(path, 0 if name is None else points.get((name.topic, name.partition), 0))

    def is_cleaned(self, path: str) -> bool:
        """Whether the cleaner of the broker has been at a partition."""
        name = tree.directory_name(path)
        return name is not None and self._directory(path)[0].is_cleaned(name.topic, name.partition)

    def _directory(self, path: str) -> tuple[LogDirectory, Request]:
        """The log directory of a partition, and what to forecast in it."""
        above = tree.parent(path)
        if above not in self._directories:
            found = LogDirectory(above)
            after: Sequence[str] = STOPS
            if self._is_brief and found.is_of_broker and not system.is_locked(os.path.join(above, tree.LOCK)):
                after = (CLEAN,) if found.was_stopped_cleanly else (UNCLEAN,)
            self._directories[above] = found, Request(after=after)
        return self._directories[above]


def _size_from(path: str, offset: int) -> int:
    """The size of the logs of a partition that have offsets from this one on."""
    try:
        logs = tree.logs_of(path)
    except Unreadable:
        return 0
    return sum(size for (_, _, size), after in tree.with_next(logs) if after is None or after[0] > offset)


def _left_out(scanned: dict[str, int]) -> dict[str, int]:
    """The partitions whose starts scan more than is to be read in all: those that scan least come first."""
    total, left = 0, {}
    for path, size in sorted(scanned.items(), key=lambda item: item[1]):
        total += size
        if total > _MOST_SCANNED:
            left[path] = size
    return left


# --- events


def _events(triage: Triage) -> Iterable[TriageEvent]:
    """What was found, folded: the worst first."""
    worst, later = _worst_starts(triage)
    failing: dict[str, list[Start]] = {}
    stray: list[Start] = []
    for start in worst.values():
        if start.verdict == FAILS:
            failing.setdefault(start.message.removeprefix(NO_START), []).append(start)
        elif start.message.startswith(_STRAY) and start.verdict in LOSING:
            stray.append(start)
    for reason, starts_ in failing.items():
        place = tree.parent(starts_[0].path)  # a file of the log directory may be why no partition in it is loaded
        file = next((one for one in triage.findings if ends_all_starts(one) and _is_reason(one, place, reason)), None)
        paths = [start.path for start in starts_] if file is None else [file.path]
        yield _event(DOES_NOT_START, paths, as_sentence(reason), [] if file is None else [file.code])
    losing_starts = {path for starts in (worst, later) for path, start in starts.items() if start.verdict in LOSING}
    yield from _told(triage, losing_starts, failing)
    if stray:
        reason = stray[0].message.partition(": ")[2]
        yield _event(row.SET_ASIDE, [start.path for start in stray], as_sentence(f"a KRaft broker marks it -stray: {reason}"))
    losing = [start for start in worst.values() if start.verdict in LOSING and start.verdict != FAILS and start not in stray]
    yield from map(_loss, sorted(losing, key=lambda start: -start.lost_records))
    yield from _unreadable(triage, {**later, **worst})
    yield from _stuck(triage)
    for path, start in later.items():
        if start.verdict in LOSING and (path not in worst or _badness(start)[:2] > _badness(worst[path])[:2]):
            yield _loss(start, row.ALSO)
    yield from _others(triage)


def _worst_starts(triage: Triage) -> tuple[dict[str, Start], dict[str, Start]]:
    """The worst start of each partition after the stop that its log directory shows, and after the other one."""
    stops = {place.path: place.stop for place in triage.overview.places}
    worst: dict[str, Start] = {}
    later: dict[str, Start] = {}
    for start in triage.starts:
        shown = stops.get(tree.parent(start.path), stops.get(start.path))
        starts = later if shown in STOPS and shown != start.after else worst
        if start.path not in starts or _badness(start) > _badness(starts[start.path]):
            starts[start.path] = start
    return worst, later


def _loss(start: Start, heading: str = LOSES_AT_START) -> TriageEvent:
    """A start that loses, or in the worst case fails."""
    message = as_sentence(f"after {one_stop(start)}: {start.message}")
    return _event(heading, [start.path], message, records=start.lost_records)


def _is_reason(finding: Finding, place: str, reason: str) -> bool:
    """Whether a reason names the file or directory in a place that a finding is about."""
    directory, name = os.path.split(finding.path)
    return (directory or os.curdir) == place and name in reason


def _told(triage: Triage, known: set[str], failing: dict[str, list[Start]]) -> Iterable[TriageEvent]:
    """Errors of single files and names, and of log directories, that end each start, unless a start has said so."""
    told: dict[tuple[str, str], list[Finding]] = {}
    said = [(tree.parent(starts[0].path), reason) for reason, starts in failing.items()]
    for finding in sorted(filter(_ends_starts, triage.findings), key=lambda finding: finding.code == START_LOSES):
        directory, name = os.path.dirname(finding.path) or os.curdir, os.path.basename(finding.path)
        if finding.code == START_LOSES:
            is_said = any(finding.path == place and reason in finding.message for place, reason in said)
        else:
            is_said = any(_is_reason(finding, place, reason) for place, reason in said)
            said.append((directory, name))
        if not is_said and finding.path not in known and directory not in known:
            told.setdefault((_heading_of(finding), finding.message), []).append(finding)
    for (heading, message), findings in sorted(told.items(), key=lambda item: row.HEADINGS.index(item[0][0])):
        yield _event(heading, [finding.path for finding in findings], message, [findings[0].code])


def _ends_starts(finding: Finding) -> bool:
    return finding.severity == ERROR and (finding.code == START_LOSES or ends_all_starts(finding))


def _heading_of(finding: Finding) -> str:
    word = finding.broker_forecast.partition(" ")[0]
    return DOES_NOT_START if word in (DIE, OFFLINE) else row.SET_ASIDE if word == STRAY else LOSES_AT_START


def _badness(start: Start) -> tuple[bool, bool, int]:
    return start.verdict == FAILS, start.verdict in LOSING, start.lost_records


def _event(
    heading: str,
    paths: Sequence[str],
    message: str,
    codes: Sequence[str] = (),
    *,
    records: int | None = None,
    offset: int | None = None,
) -> TriageEvent:
    event = TriageEvent(heading, paths[0], len(paths), message, list(codes), records, offset, [])
    event.paths = list(paths)
    return event


def _unreadable(triage: Triage, worst: dict[str, Start]) -> Iterable[TriageEvent]:
    """Partitions with errors in their logs, and those whose headers end where they should not."""
    errors: dict[str, list[Finding]] = {}
    for finding in triage.findings:
        if finding.code == START_LEAVES_DAMAGE:
            errors.setdefault(finding.path, []).append(finding)
        elif keeps_from_reading(finding):
            errors.setdefault(os.path.dirname(finding.path), []).append(finding)
    totals = {path: held.total for path in errors if (held := triage.verdict.unreadable_in(path)) is not None}
    for path, findings in sorted(errors.items(), key=lambda item: (-totals.get(item[0], 0), -len(item[1]))):
        codes = list(dict.fromkeys(finding.code for finding in findings))
        stops = worst[path].consumers_stop_at if path in worst else None
        consumers = "" if stops is None else f"Consumers stop at offset {stops:,}. "
        if path in totals and triage.next_starts.is_cleaned(path):
            consumers += "The log cleaner stops, too: the partition grows. "
        yield _event(UNREADABLE, [path], f"{_offsets_lost(triage, path)}{consumers}{findings[0].message}", codes)
    for one in triage.overview.partitions:
        if _is_left_broken(one) and one.path not in errors:
            yield _event(UNREADABLE, [one.path], f"Perhaps: there is no sound batch at {one.broken_at}.")


def _offsets_lost(triage: Triage, path: str) -> str:
    """How many records of a partition cannot be read, and at which offsets, as far as findings say."""
    found = triage.verdict.unreadable_in(path)
    if found is None or not found.ranges:
        return ""
    least = "At least " if found.is_least else ""
    where = f"{', among' if found.among else ':'} {found.ranges.text('offset', _MOST_RANGES)}"
    return f"{least}{counted(found.total, 'record')} cannot be read{where}. "


def _is_left_broken(one: PartitionSum) -> bool:
    """Whether headers of a partition end where they should not, and it is too large to be checked for that."""
    return one.broken_at is not None and one.size > _MOST_CHECKED


def _stuck(triage: Triage) -> Iterable[TriageEvent]:
    """Transactions that hang, and those that may: the log goes on for long, but not all of it was read."""
    hanging = [finding for finding in triage.findings if finding.code == _HANGING]
    for finding in hanging:
        first = finding.offset_first or 0
        message = f"Read-committed consumers wait at offset {first:,}. {finding.message}"
        yield _event(STUCK, [os.path.dirname(finding.path)], message, [finding.code], offset=first)
    known = {os.path.dirname(finding.path) for finding in hanging}
    still_open = [one for one in triage.overview.transactions if one.path not in known]
    longest = max(still_open, key=lambda one: one.open_for_ms or 0, default=None)
    if longest is not None and (longest.open_for_ms or 0) >= _LONG_MS:
        which = "A transaction is open" if len(still_open) == 1 else f"Of {len(still_open):,} open transactions the longest is"
        where = f"from offset {longest.first_offset:,} on, of producer {longest.producer_id:,}"
        goes_on = f"the log goes on for {(longest.open_for_ms or 0) // 1000:,} s after it"
        is_certain = longest.is_certain or any(
            os.path.dirname(finding.path) == longest.path and finding.offset_first == longest.first_offset
            for finding in triage.waiting
        )
        doubt = "" if is_certain else ", and a marker may be in what was not read"
        paths = list(dict.fromkeys([longest.path, *(one.path for one in still_open)]))
        yield _event(row.MAYBE_STUCK, paths, f"{which} {where}: {goes_on}{doubt}.", offset=longest.first_offset)


def _others(triage: Triage) -> Iterable[TriageEvent]:
    """Timestamps in the future, then all other errors and warnings by code."""
    future = [
        one.path for one in triage.overview.partitions if one.newest_timestamp and one.newest_timestamp > current_time() + _DAY_MS
    ]
    if future:
        yield _event(row.ALSO, future, "Its newest timestamp is in the future: retention by time may wait for it.")
    codes: dict[str, list[Finding]] = {}
    for finding in sorted(triage.findings, key=lambda finding: finding.severity != ERROR):
        is_told = _ends_starts(finding) or keeps_from_reading(finding) or finding.code in (_HANGING, START_LEAVES_DAMAGE, *_TAILS)
        if not is_told:
            codes.setdefault(finding.code, []).append(finding)
    for code, findings in codes.items():
        yield _event(row.ALSO, list(dict.fromkeys(finding.path for finding in findings)), findings[0].message, [code])
    going = [one.path for one in triage.overview.partitions if one.state == tree.DELETE and one.size]
    if going:
        them = "it" if len(going) == 1 else "them"
        message = f"A broker that runs here deletes {them} within minutes. If that is a mistake, copy at once."
        yield _event(row.GOING, going, message)
