"""`kdump.reindex`: the companions of sound logs, rebuilt in a new directory as a broker's recovery rebuilds them."""

from __future__ import annotations

import os
import time

from kdump.binary import system
from kdump.binary.source import Source
from kdump.checks.check import Job
from kdump.checks.finding import ERROR, Finding
from kdump.checks.live_source import Watch
from kdump.checks.settings import Settings
from kdump.errors import CorruptData, Unreadable
from kdump.forecasts import forecast
from kdump.forecasts.outcome import KEEP, STRAY
from kdump.forecasts.settings import CLEAN
from kdump.formats import entries, file_name, offset_index, time_index, tree
from kdump.formats.record_batch import NO_TIMESTAMP
from kdump.mending.new_directory import NewDirectory
from kdump.mending.plan import EPOCHS, INDEX, SNAPSHOT, TIME_INDEX, TRANSACTION_INDEX, Plan, kinds_of, rules_of
from kdump.mending.rebuilding import Rebuilding, SegmentIndexes
from kdump.mending.row import CLONED, DIFFERENT, MISSING, REBUILT, SAME, Companion
from kdump.verdicts import check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from kdump.mending.plan import PartitionPlan
    from kdump.mending.rebuilding import Rules
    from kdump.tables import Row

    Identity = tuple[int, int, int, int]

_MINUTE = 60_000
_COMPARED_AT_ONCE = 1 << 20
_ENTRY_SIZES = {file_name.OFFSET_INDEX: offset_index.ENTRY_SIZE, file_name.TIME_INDEX: time_index.ENTRY_SIZE}


class Progress:
    """Receives how much has been done, here without use."""

    def start(self, total: int) -> None:
        """All logs have this many bytes, times the number of steps."""

    def at(self, done: int) -> None:
        """This many bytes are done."""


class Result:
    """What was made: a row for each file, and the sums."""

    __slots__ = ("batches", "files", "log_bytes", "partitions", "segments")

    def __init__(self) -> None:
        self.files: list[Companion] = []
        self.partitions = 0
        self.segments = 0
        self.log_bytes = 0
        self.batches = 0


def reindex(
    path: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    only: Iterable[str] = (),
    config: Mapping[str, str | int] | None = None,
) -> list[Companion]:
    """Make a copy of a partition or log directory with new companions: indexes, producer snapshots and leader epochs.

    `output` is the new directory; it must not exist, and may not lie inside the input, which is only read. `only` are words
    of `index`, `timeindex`, `txnindex`, `snapshot` and `epochs`; other companions are cloned as they are. `config` are
    settings of the topic or broker: `index.interval.bytes`, `segment.index.bytes`, `producer.id.expiration.ms`. Returns a row
    for each file. The output appears when it is complete, synced and verified, or not at all.

    Raises CorruptData if the input is damaged, or if the result does not pass the check; Unreadable if a file cannot be read
    or changes meanwhile; UsageError for an output that cannot be made, and unknown words and settings; OSError if the output
    cannot be written.
    """
    return run(os.fspath(path), os.fspath(output), only=only, config=config or {}).files


def run(
    path: str,
    output: str,
    *,
    only: Iterable[str] = (),
    config: Mapping[str, str | int],
    progress: Progress | None = None,
) -> Result:
    """As `reindex`, with the sums, and with the progress reported."""
    kinds, rules = kinds_of(only), rules_of(config)
    with NewDirectory(output, [path]) as directory:
        try:
            return _Run(Plan(path, kinds), directory, kinds, rules, progress or Progress()).to_end()
        except CorruptData as fault:
            fault.remedy = fault.remedy or f"`kdump check {path}` says what is wrong: reindex takes only sound logs"
            raise


class _Run:
    def __init__(self, plan: Plan, directory: NewDirectory, kinds: list[str], rules: Rules, progress: Progress) -> None:
        self._plan = plan
        self._directory = directory
        self._kinds = kinds
        self._rules = rules
        self._progress = progress
        self._done = 0
        self._seen: dict[str, Identity] = {}
        self._ends: dict[str, int] = {}
        self._result = Result()

    def to_end(self) -> Result:
        plan, result = self._plan, self._result
        sizes = [system.size(os.path.join(part.path, name)) for part in plan.partitions for name in part.logs.values()]
        result.partitions, result.segments, result.log_bytes = len(plan.partitions), len(sizes), sum(sizes)
        self._progress.start(2 * result.log_bytes)
        listed = {part.path: system.names(part.path) for part in plan.partitions}
        try:
            self._make()
        except CorruptData:
            self._require_unchanged(listed)  # or else nothing is wrong with the input
            raise
        self._require_unchanged(listed)
        self._directory.place()
        return result

    def _make(self) -> None:
        """Write everything, and verify it."""
        plan = self._plan
        for name in plan.cloned:
            self._clone(os.path.join(plan.path, name), name)
        for part in plan.partitions:
            if part.name:
                self._directory.folder(part.name)
            self._rebuild(part)
        self._directory.sync()
        for part in plan.partitions:
            self._verify(part)

    # --- writing

    def _rebuild(self, part: PartitionPlan) -> None:
        """Write all files of a partition."""
        for name in part.logs.values():
            self._clone(os.path.join(part.path, name), os.path.join(part.name, name))
        written: dict[str, Companion] = {}
        clock = max((_last_timestamp(part, base) for base in part.logs), default=NO_TIMESTAMP) + _MINUTE
        done = self._done
        rebuilding = self._pass(part, clock, written)
        if not rebuilding.is_true_of(rebuilding.newest + _MINUTE):
            self._done = done
            rebuilding = self._pass(part, rebuilding.newest + _MINUTE, written)
        self._result.batches += rebuilding.batches
        if part.logs and part.log_start > rebuilding.next_offset:
            message = f"the log start offset {part.log_start:,} of the checkpoint is after the log end {rebuilding.next_offset:,}"
            raise CorruptData("log-start-beyond-end", message, path=part.path)
        self._ends[part.path] = rebuilding.next_offset
        if EPOCHS in self._kinds:
            self._write(part, tree.LEADER_EPOCHS, rebuilding.leader_epochs(), written)
        self._result.files += [written[name] for name in sorted(written)]
        for name in part.cloned:
            self._clone(os.path.join(part.path, name), os.path.join(part.name, name))

    def _pass(self, part: PartitionPlan, clock: int, written: dict[str, Companion]) -> Rebuilding:
        """Read all logs of a partition, and write what is rebuilt from them."""

        def keep_snapshot(offset: int, data: bytes) -> None:
            if SNAPSHOT in self._kinds:
                self._write(part, f"{offset:020}{file_name.PRODUCER_SNAPSHOT}", data, written)

        bases = list(part.logs)
        found = Rebuilding(bases, self._rules, log_start=part.log_start, clock=clock, keep_snapshot=keep_snapshot)
        for base, end in zip(bases, [*bases[1:], None], strict=True):
            path = os.path.join(part.path, part.logs[base])
            with Source(path) as source:
                if _identity(source.status()) != self._seen[path]:
                    raise _changed(path)
                for step in found.segment(source, base, end):
                    if isinstance(step, SegmentIndexes):
                        self._write_indexes(part, step, written)
                    else:
                        self._progress.at(self._done + step)
                self._done += source.size
        if bases:
            found.finish()
        return found

    def _write_indexes(self, part: PartitionPlan, indexes: SegmentIndexes, written: dict[str, Companion]) -> None:
        stem = f"{indexes.base_offset:020}"
        if INDEX in self._kinds:
            self._write(part, stem + file_name.OFFSET_INDEX, indexes.offset_index(), written)
        if TIME_INDEX in self._kinds:
            self._write(part, stem + file_name.TIME_INDEX, indexes.time_index(), written)
        if TRANSACTION_INDEX in self._kinds:
            aborted = indexes.transaction_index()
            if aborted:
                self._write(part, stem + file_name.TRANSACTION_INDEX, aborted, written)

    def _write(self, part: PartitionPlan, name: str, data: bytes, written: dict[str, Companion]) -> None:
        path = os.path.join(part.name, name)
        self._directory.write(path, data)
        before, size_before = MISSING, None
        if name in part.before:
            with Source(os.path.join(part.path, name)) as source:
                before = SAME if _is_same(source, data, _ENTRY_SIZES.get(file_name.suffix(name), 0)) else DIFFERENT
                size_before = source.size
        written[name] = Companion(path, REBUILT, len(data), before, size_before)

    def _clone(self, path: str, name: str) -> None:
        with Source(path) as source:
            self._seen[path] = _identity(source.status())
            self._directory.clone(source, name)
            self._result.files.append(Companion(name, CLONED, source.size, SAME, source.size))

    # --- verifying

    def _verify(self, part: PartitionPlan) -> None:
        """Raises CorruptData if a check finds an error in what was made, or a start would not find the end of the log."""
        path = os.path.normpath(self._directory.inside(part.name))
        rows: list[Row] = []

        def emit(row: Row) -> None:
            if isinstance(row, Finding) and row.severity == ERROR and not rows:
                rows.append(row)

        check.run(Job(Job.PARTITION, path, path), Settings(now=int(time.time() * 1000)), emit, _CheckWatch(self))
        if rows:
            first: Any = rows[0]  # a Finding
            message = f"{first.message} ({first.code})"
            raise CorruptData(first.code, message, path=os.path.join(part.path, os.path.relpath(first.path, path)))
        promised = self._ends[part.path]
        for row in forecast.forecast(path, after=CLEAN, config=_of_start(self._rules)) if part.logs else ():
            if row.log_end is not None and row.log_end != promised or row.outcome not in (KEEP, STRAY):
                message = f"a start would not keep what was made: {row.outcome}, log end {row.log_end}, not {promised}"
                raise CorruptData("start-loses", message, path=part.path)

    def advance(self, count: int) -> None:
        """Count bytes that were verified."""
        self._done += count
        self._progress.at(self._done)

    def _require_unchanged(self, listed: dict[str, list[str]]) -> None:
        """Raises Unreadable if a file of the input was changed, or one has come or gone."""
        for path, identity in self._seen.items():
            found = system.status(path)
            if found is None or _identity(found) != identity:
                raise _changed(path)
        for path, names in listed.items():
            if system.names(path) != names:
                raise _changed(path)


class _CheckWatch(Watch):
    def __init__(self, run_: _Run) -> None:
        self._run = run_

    def end(self, size: int) -> None:
        self._run.advance(size)


def _changed(path: str) -> Unreadable:
    remedy = "stop the broker, or copy a snapshot of the file system"
    fault = Unreadable("file-io-error", "was changed while it was being read", path=path)
    fault.remedy = remedy
    return fault


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _is_same(source: Source, data: bytes, entry_size: int) -> bool:
    """Whether a file has these bytes; an index may have a zero tail."""
    size = source.size
    if entry_size and size != len(data):
        size = entries.used_entries(source, entry_size) * entry_size
    if size != len(data):
        return False
    starts = range(0, size, _COMPARED_AT_ONCE)
    return all(source.read(at, min(_COMPARED_AT_ONCE, size - at)) == data[at : at + _COMPARED_AT_ONCE] for at in starts)


def _last_timestamp(part: PartitionPlan, base_offset: int) -> int:
    """The last timestamp in the time index of a segment, if it has one: most likely the newest of its log."""
    name = f"{base_offset:020}{file_name.TIME_INDEX}"
    if name not in part.before:
        return NO_TIMESTAMP
    with Source(os.path.join(part.path, name)) as source:
        count = entries.used_entries(source, time_index.ENTRY_SIZE)
        return (
            time_index.entry_at(source, base_offset, count - 1)[0]
            if 0 < count <= time_index.entry_count(source)
            else NO_TIMESTAMP
        )


def _of_start(rules: Rules) -> dict[str, str | int]:
    return {"index.interval.bytes": rules.index_interval, "segment.index.bytes": rules.max_index_size}
