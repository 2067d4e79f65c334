"""Forecasts of partition directories and log directories: one row for each requested release and kind of stop."""

from __future__ import annotations

import os
from functools import partial

from kdump.binary import system
from kdump.binary.java_strings import escaped
from kdump.checks.rules.directories import missing_partitions
from kdump.checks.wording import counted
from kdump.errors import Unreadable, UsageError
from kdump.forecasts import circumstances, known_end, losses, outcome, places, remedies
from kdump.forecasts.damage import DamageLeft, WalkedLogs
from kdump.forecasts.directory import Directory
from kdump.forecasts.exceptions import KAFKA, BrokerException
from kdump.forecasts.loading import Start
from kdump.forecasts.log_directory import Checkpoint, LogDirectory, unreadable
from kdump.forecasts.neighbours import Neighbours
from kdump.forecasts.row import Change, Forecast
from kdump.forecasts.sentences import NOT_REPLAYED
from kdump.forecasts.settings import CHECKPOINT, CLEAN, END, RECOVERY_POINTS, STOPS, ZERO, Settings, config_of
from kdump.forecasts.split_budget import TooManySplits
from kdump.formats import file_name, foreign, tree
from kdump.releases.broker_startup import PROVED, StartRules, nearest
from kdump.releases.known import RELEASES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kdump.reading.walked_log import WalkedLog

_END_IS_UNKNOWN = (
    "too many bytes of the newest segment look like headers of batches and are none, so the search for its last batch was cut "
    "short: there may be data after the end of the log"
)
_NAME_IS_ASSUMED = (
    "{name} is not of the form TOPIC-PARTITION, and nothing in its folder is a broker's: it is taken for a copy that gets such a "
    "name before a broker starts with it"
)
_NOT_FOLLOWED = (
    "the splits take more than {most:,} segments, those that are loaded again included, so what the start does then was not "
    "followed: records may be lost"
)


class Request:
    """The parameters of a forecast: release, kinds of stop, recovery point, settings of the broker.


    Raises UsageError for unknown values.
    """

    def __init__(
        self,
        *,
        release: str | None = None,
        after: Sequence[str] = STOPS,
        recovery_point: str | int | None = None,
        config: Mapping[str, str | int] | None = None,
    ) -> None:
        if release not in (None, *RELEASES):
            raise UsageError(f"--broker {release} is not known (newest: {RELEASES[-1]})", remedy="`kdump releases` lists them")
        for stop in after:
            if stop not in STOPS:
                raise UsageError(f"there is no stop {stop!r}", remedy=f"stops are {' and '.join(STOPS)}")
        if isinstance(recovery_point, str) and recovery_point not in RECOVERY_POINTS:
            try:
                recovery_point = int(recovery_point)
            except ValueError:
                remedy = f"it is {', '.join(RECOVERY_POINTS)} or an offset"
                raise UsageError(f"there is no recovery point {recovery_point!r}", remedy=remedy) from None
        if isinstance(recovery_point, int) and not 0 <= recovery_point < 1 << 63:
            raise UsageError(f"the recovery point {recovery_point} is not an offset")
        self.release = PROVED[-1] if release is None else nearest(release)
        self.rules = StartRules(self.release, is_assumed=release is None)
        self.after = tuple(after)
        self.recovery_point = recovery_point
        self.config = config_of(config or {})


def forecast(
    path: str | os.PathLike[str],
    *,
    broker: str | None = None,
    after: str | None = None,
    recovery_point: str | int | None = None,
    config: Mapping[str, str | int] | None = None,
) -> Iterator[Forecast]:
    """What a broker will do with a partition directory, or with all partitions of log directories, at its next start.

    A folder of log directories stands for all of them. Partitions that only checkpoints name come last: a condition says so.

    `broker` is its release, 4.4.0 if not given; starts of 4.4.0, 4.3.1, 3.9.1 and 2.8.2 are known, and any other release uses the
    nearest of them.
    `after` is `clean` or `unclean`, both if not given. `recovery_point` is `zero` (all segments are scanned after an unclean
    stop), `end` (only the newest is), `checkpoint` (as stored in the log directory) or an offset. The default is the value stored
    in the log directory; if there is none, zero and the end, in one row each, the worst first. `config` are settings by
    name: see settings.CONFIG.

    Nothing is printed or written. It reads what the broker would read, and all batches once, without their records.
    Damage raises no exception. Raises UsageError for unknown values, Unreadable for a directory or file that the system does not
    let us read, and MissingPackage if a codec is needed that is not installed.
    """
    request = Request(release=broker, after=STOPS if after is None else (after,), recovery_point=recovery_point, config=config)
    return of_path(os.fspath(path), request)


def of_path(path: str, request: Request) -> Iterator[Forecast]:
    """The forecasts of a partition directory, or of all partitions of log directories."""
    is_anything = False
    found = places.places(path)
    neighbours = Neighbours(found, request.rules, named=[path])
    for place in found:
        if not is_log_directory(place):
            is_anything = True
            yield from of_partition(place, LogDirectory(tree.parent(place)), request, neighbours)
            continue
        log_directory = LogDirectory(place)
        if log_directory.is_one:
            is_anything = True
            for partition in log_directory.partitions:
                yield from of_partition(partition, log_directory, request, neighbours, is_found=True)
            yield from _of_missing(place, request)
    if not is_anything:
        raise nothing_in(path)


def _of_missing(log_directory: str, request: Request) -> Iterator[Forecast]:
    """Starts that make empty logs of partitions without a directory. They are safe where it may be a copy of some only."""
    for missing in missing_partitions.find(log_directory):
        for stop in request.after:
            row = uneventful(os.path.join(log_directory, missing.name), request, stop)
            row.conditions.append(missing.message.removesuffix("."))
            row.is_missing, row.is_doubtful = True, missing.is_missed
            yield row


def nothing_in(path: str) -> Unreadable:
    """The exception for a path without any files of a broker."""
    return Unreadable(
        "file-missing",
        "there is no partition directory or log directory here",
        path=path,
        remedy="name a directory from log.dirs, or a partition directory in it",
    )


def is_log_directory(path: str) -> bool:
    """Whether a directory contains partitions but is not one. Raises Unreadable if it cannot be listed."""
    try:
        return not tree.is_partition(path)
    except Unreadable as error:
        raise unreadable(error) from None


def of_partition(
    path: str,
    log_directory: LogDirectory,
    request: Request,
    neighbours: Neighbours | None = None,
    *,
    is_found: bool = False,
    finds_remedies: bool = False,
    is_by_itself: bool = False,
    finds_damage: bool = True,
    walked: Mapping[tuple[str, int], WalkedLog] | None = None,
) -> list[Forecast]:
    """The forecasts of one partition directory. If `is_found` in a log directory, it must have a name that a broker accepts.

    A folder without the files of a broker is taken for a log directory, in which copies may have any name: a row says so.

    With `finds_remedies`, unsafe starts are tried again without some of the files. `neighbours` are the log directories to
    examine together; the default is only its own. If `is_by_itself`, nothing outside the partition is examined.
    Unless it `finds_damage`, nothing is said of the damage that a start leaves in the logs, and they are not walked for it.
    What `walked` has of logs, by path and size, was found before.

    Raises Unreadable and MissingPackage like `forecast`.
    """
    log_directory.require_readable()
    if system.is_directory(path):
        foreign.require_kafka_directory(path)
    name = tree.directory_name(path)
    if is_found and name is None and log_directory.is_of_broker:
        return [_misnamed(path, request, after) for after in request.after]
    key = (name.topic, name.partition) if name is not None else ("", -1)
    try:
        directory = Directory.of(path)
    except Unreadable as error:
        raise unreadable(error) from None
    logs = WalkedLogs(directory, walked, is_wanted=finds_damage)
    forecasts = _Partition(directory, key, log_directory, request, logs)
    rows = [row for stop in request.after for row in forecasts.after(stop)]
    kind, is_of_metadata = places.kind_of(path), request.rules.knows_metadata_log and tree.is_metadata_log(path)
    for row in rows:
        row.kind = kind
        if is_of_metadata:
            row.is_of_metadata = True
            row.conditions.append(NOT_REPLAYED)
            if is_by_itself:
                circumstances.judge_metadata_files(row)
        if is_found and name is None:
            row.conditions.append(_NAME_IS_ASSUMED.format(name=escaped(os.path.basename(path))))
        if finds_remedies:
            forecasts.find_remedy(row)
    if not is_by_itself:
        own = [log_directory.path if is_found else path]
        circumstances.enter(rows, log_directory, neighbours or Neighbours(own, request.rules))
    bad = log_directory.bad_checkpoint(request.rules)
    if bad is not None:
        for row in rows:
            _go_offline(row, bad)
            row.is_only_unserved = row.outcome == outcome.OFFLINE and bad.is_only_unserved(request.rules)
    return rows


class _Partition:
    """The starts of one partition. A clean start determines the recovery point of an unclean one, if that is the end."""

    def __init__(
        self, directory: Directory, key: tuple[str, int], log_directory: LogDirectory, request: Request, logs: WalkedLogs
    ) -> None:
        self._directory = directory
        self._request = request
        self._key = key
        self._log_directory = log_directory
        self._clean: Forecast | None = None
        self._logs = logs
        self._intact = losses.IntactBatches(logs)
        self._known_end = known_end.of(directory, log_directory)

    def find_remedy(self, row: Forecast) -> None:
        """The remedy for a bad start."""
        if not row.is_safe and not row.is_given_up:
            start = partial(self._started, row.after, row.recovery_point)
            row.remedy = remedies.best(row, self._directory, start)

    def after(self, stop: str) -> list[Forecast]:
        """The starts after a stop: one, or two if the recovery point is unknown, the worst first."""
        noted = self._noted_recovery_point()
        if stop == CLEAN:
            rows = [self._after_clean_stop()]
        elif noted is not None:
            rows = [self._started(stop, noted)]
        else:
            points = dict.fromkeys((0, self._end()) if self._is_unknown else (self._end(),))
            rows = sorted((self._started(stop, point) for point in points), key=remedies.badness, reverse=True)
        for row in rows:
            row.recovery_point_is_assumed = self._is_unknown
        return rows

    def _after_clean_stop(self) -> Forecast:
        if self._clean is None:
            noted = self._noted_recovery_point()
            self._clean = self._started(CLEAN, 0 if noted is None else noted)
            if noted is None and self._clean.log_end is not None:
                self._clean.recovery_point = self._clean.log_end
        return self._clean

    def _end(self) -> int:
        clean = self._after_clean_stop()
        end = clean.log_end if clean.log_end is not None else clean.data_end
        return max(end or 0, 0)

    @property
    def _is_unknown(self) -> bool:
        """Whether the recovery point is neither given nor stored."""
        is_noted = self._log_directory.recovery_points is not None or self._log_directory.has_properties
        return self._request.recovery_point is None and not is_noted

    def _noted_recovery_point(self) -> int | None:
        """The requested recovery point; None for the end of the log, or if it is unknown."""
        wanted, points = self._request.recovery_point, self._log_directory.recovery_points
        if wanted == ZERO:
            return 0
        if isinstance(wanted, int):
            return wanted
        if wanted == END or self._is_unknown:
            return None
        assert wanted in (None, CHECKPOINT)
        return (points or {}).get(self._key, 0)

    def _started(self, stop: str, recovery_point: int, change: Change | None = None) -> Forecast:
        is_forgotten = change is not None and change.is_without_log_start
        settings = Settings(
            self._request.rules,
            is_clean=stop == CLEAN,
            recovery_point=recovery_point,
            log_start=0 if is_forgotten else self._log_directory.log_starts.get(self._key, 0),
            config=self._request.config,
        )
        directory = self._directory.again()
        if change is not None:
            directory = directory.again(without=change.taken, with_empty=change.made_empty)
        try:
            row = _row(Start(directory, settings), stop, self._logs, self._intact)
            row.known_end = self._known_end
            if row.is_too_short and self._known_end is not None:
                row.reason = row.reason or self._known_end.words
            return row
        finally:
            directory.close()


def _row(start: Start, stop: str, logs: WalkedLogs, intact: losses.IntactBatches) -> Forecast:
    directory, events = start.directory, start.events
    failure: BrokerException | None = None
    given_up: TooManySplits | None = None
    try:
        start.run()
    except BrokerException as exception:
        failure = exception
    except TooManySplits as exception:
        given_up, start.log_end = exception, None
    words = outcome.words_of(start, failure)
    lost = losses.of(directory, intact)
    data_end = losses.data_end(directory, intact, start.end_is_read_from)
    log_end = start.log_end if failure is None else None
    is_going = (name := tree.directory_name(directory.path)) is not None and name.is_going
    left = DamageLeft() if is_going else logs.damage_left(directory, start.log_start)
    names = start.settings.rules.exception_names
    row = Forecast(
        directory.path,
        start.settings.rules.release,
        stop,
        start.settings.recovery_point,
        False,
        words[0],
        words[1:],
        start.log_start if log_end is not None else None,
        log_end,
        data_end.offset,
        log_end is not None and log_end != data_end.offset,
        outcome.bytes_lost(start),
        [list(offsets) for offsets in lost.offsets],
        lost.records,
        left.batches,
        left.first_offset,
        [[segment.base_offset, segment.size] for segment in start.segments] if log_end is not None else None,
        outcome.segments_gone(start),
        outcome.changes(start),
        names.get(failure.name, failure.name) if words[0] == outcome.DIE and failure is not None else None,
        failure.reason_with_file if failure is not None else outcome.reason(events),
        [],
    )
    row.losses_may_be_more = lost.may_be_more
    if data_end.may_be_later and log_end is not None:
        row.data_may_end_later = row.is_doubtful = True
        row.conditions.append(_END_IS_UNKNOWN)
    if given_up is not None:
        row.is_given_up = row.is_doubtful = True
        row.conditions.append(_NOT_FOLLOWED.format(most=given_up.most))
    row.orphans = outcome.orphans(start)
    if row.orphans:
        count = counted(len(row.orphans), "segment")
        row.conditions.append(f"of {count} ({', '.join(row.orphans[:3])}) only indexes were left, which the start deletes")
    row.topic_id = start.topic_id
    row.dead_logs = sorted(name for name in directory.dead_links if name.endswith(file_name.LOG))
    row.events = events
    sizes = [size for name, size in directory.before.items() if name.endswith(file_name.LOG)]
    row.segments_before, row.size_before = len(sizes), sum(sizes)
    return row


def _go_offline(row: Forecast, checkpoint: Checkpoint) -> None:
    """The log directory goes offline because of its checkpoint. Its logs are still loaded, as if there were no checkpoint."""
    if row.is_not_loaded:
        return
    row.bad_checkpoint = checkpoint.path
    row.is_safe_but_for_checkpoint = row.is_safe
    if row.outcome == outcome.DIE:
        return
    row.also = [word for word in (row.outcome, *row.also) if word not in (outcome.OFFLINE, outcome.KEEP)]
    row.outcome = outcome.OFFLINE
    fault = checkpoint.fault.message if checkpoint.fault is not None else ""
    row.reason = f"{os.path.basename(checkpoint.path)} is malformed: {fault}"


def uneventful(path: str, request: Request, stop: str) -> Forecast:
    """A start that changes no files, as far as is known; its circumstances may change that."""
    return Forecast(
        path=path,
        release=request.release,
        after=stop,
        recovery_point=0,
        recovery_point_is_assumed=False,
        outcome=outcome.KEEP,
        also=[],
        log_start=None,
        log_end=None,
        data_end=None,
        end_differs=False,
        bytes_lost=0,
        lost_offsets=[],
        lost_records=0,
        damaged_batches=0,
        consumers_stop_at=None,
        segments=None,
        segments_gone=[],
        files=[],
        exception=None,
        reason=None,
        conditions=[],
    )


def _misnamed(path: str, request: Request, stop: str) -> Forecast:
    kind = places.kind_of(path)
    reason = "no broker starts with a directory of this name in its log directory: it must be TOPIC-PARTITION"
    if kind == places.LOG_DIRECTORY:
        reason = "this is itself a log directory, and no broker starts with one inside another"
    row = uneventful(path, request, stop)
    row.outcome, row.exception, row.reason = outcome.DIE, KAFKA, reason
    row.kind = kind
    row.is_misnamed = True
    return row
