"""Completes a partition whose new logs are written: with companions, and the proof that a broker keeps all of it.

A command that mends writes or clones the logs into a NewDirectory, then calls `complete`, `NewDirectory.sync`, `verify`, and
`NewDirectory.place`.
"""

from __future__ import annotations

import os

from kdump.binary import system
from kdump.binary.source import Source
from kdump.checks import check as checks
from kdump.checks.catalogue import records
from kdump.checks.finding import ERROR, Finding
from kdump.checks.jobs import Job
from kdump.checks.live_source import Watch
from kdump.checks.settings import DEEP, FULL, Settings, current_time
from kdump.errors import CorruptData, KdumpError
from kdump.forecasts.settings import CLEAN, UNCLEAN, ZERO
from kdump.formats import entries, file_name, time_index, tree
from kdump.formats.record_batch import NO_TIMESTAMP
from kdump.mending.new.rebuilding import Rebuilding, SegmentIndexes
from kdump.mending.progress import Progress
from kdump.mending.settings import EPOCHS, INDEX, KINDS, SNAPSHOT, TIME_INDEX, TRANSACTION_INDEX, Rules
from kdump.verdicts import kept, starts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from kdump.checks.partition_facts import PartitionFacts
    from kdump.mending.inputs import Inputs
    from kdump.mending.new.new_directory import NewDirectory
    from kdump.tables import Row

_MINUTE = 60_000


class NewPartition:
    """One partition of a new directory. `bases` are the base offsets of its logs, ascending, which are there already,
    or links to them.

    `name` is its folder in the new directory, empty for the new directory itself. `origin` is the input, which faults name.
    `log_start` is that of the log directory's checkpoint, 0 if there is none. `cloned_from` are the logs that are not there: of
    what they are clones, by their base offsets. `inputs` notes these.
    """

    def __init__(
        self,
        directory: NewDirectory,
        name: str,
        bases: Sequence[int],
        *,
        origin: str,
        log_start: int = 0,
        rules: Rules | None = None,
        progress: Progress | None = None,
        cloned_from: Mapping[int, str] | None = None,
        inputs: Inputs | None = None,
        level: str = FULL,
    ) -> None:
        """`level` is that of the check that verifies what was made."""
        self._directory = directory
        self._name = name
        self._bases = list(bases)
        self._origin = origin
        self._log_start = log_start
        self._rules = rules or Rules()
        self._progress = progress or Progress()
        self._kinds: Collection[str] = ()
        self._keep: Callable[[str, bytes], None] = self._write
        self._rebuilt: Rebuilding | None = None  # the last pass over the logs
        self._cloned_from = cloned_from or {}
        self._inputs = inputs
        path = os.path.normpath(directory.inside(name))
        self._job = Job(Job.PARTITION, path, path)
        self._level = level
        self._errors: list[Finding] = []

    @property
    def rebuilt(self) -> Rebuilding:
        """What the logs hold, such as the offset after the last batch; known once the partition is complete."""
        assert self._rebuilt is not None
        return self._rebuilt

    # --- companions

    def complete(
        self,
        kinds: Collection[str] = tuple(KINDS),
        *,
        newest_timestamp: int | None = None,
        keep: Callable[[str, bytes], None] | None = None,
    ) -> None:
        """Write the companions of these kinds. `keep` is given name and bytes of each file, and writes it; it may be called
        twice for one file. `newest_timestamp` is that of the newest record; by default, time indexes of the origin say it.

        Raises CorruptData, with the position in the origin's log of that name, for batches that a start would not keep.
        """
        self._kinds = kinds
        self._keep = keep or self._write
        if newest_timestamp is None:
            newest_timestamp = max((_last_timestamp(self._origin, base) for base in self._bases), default=NO_TIMESTAMP)
        self._clone_logs()
        rebuilding = self._pass(newest_timestamp + _MINUTE)
        if not rebuilding.is_true_of(rebuilding.newest + _MINUTE):
            rebuilding = self._pass(rebuilding.newest + _MINUTE)
        self._rebuilt, end = rebuilding, rebuilding.next_offset
        if self._bases and self._log_start > end:
            message = f"the log start offset {self._log_start:,} of the checkpoint is after the log end {end:,}"
            raise CorruptData("log-start-beyond-end", message, path=self._origin)
        if EPOCHS in kinds:
            self._keep(tree.LEADER_EPOCHS, rebuilding.leader_epochs())

    def refused(self) -> list[CorruptData]:
        """The faults of all batches whose producers a start would not accept, with their `offset`.

        The companions that this writes are of no use.
        """
        found: list[CorruptData] = []
        self._pass(NO_TIMESTAMP, found.append)
        return found

    def is_passing(self, name: str) -> bool:
        """Whether a file is a snapshot that a recovery makes, and that the next start deletes: one before old messages at the
        log end. Known once the partition is complete.
        """
        if not name.endswith(file_name.PRODUCER_SNAPSHOT):
            return False
        return file_name.base_offset(name) not in (*self._bases, self.rebuilt.next_offset)

    def _write(self, name: str, data: bytes) -> None:
        self._directory.write(os.path.join(self._name, name), data)

    def _clone_logs(self) -> None:
        """Clone the logs that are to be cloned."""
        for base, path in self._cloned_from.items():
            with Source(path) as source:
                if self._inputs is not None:
                    self._inputs.note(source)
                self._directory.clone(source, self._log(base))

    def _log(self, base_offset: int) -> str:
        return os.path.join(self._name, f"{base_offset:020}{file_name.LOG}")

    def _pass(self, clock: int, refuse: Callable[[CorruptData], None] | None = None) -> Rebuilding:
        """Read all logs, and write what is rebuilt from them, as a start at this time would."""
        bases, keep = self._bases, self._keep_snapshot
        found = Rebuilding(bases, self._rules, log_start=self._log_start, clock=clock, keep_snapshot=keep, refuse=refuse)
        for base, end in tree.with_next(bases):
            name = f"{base:020}{file_name.LOG}"
            with Source(self._directory.inside(os.path.join(self._name, name))) as source:
                position = 0
                try:
                    for step in found.segment(source, base, end):
                        if isinstance(step, SegmentIndexes):
                            self._write_indexes(step)
                        else:
                            self._progress.advance(step - position)
                            position = step
                except CorruptData as fault:
                    fault.path = os.path.join(self._origin, name)
                    raise
        if bases:
            found.finish()
        return found

    def _keep_snapshot(self, offset: int, data: bytes) -> None:
        if SNAPSHOT in self._kinds:
            self._keep(f"{offset:020}{file_name.PRODUCER_SNAPSHOT}", data)

    def _write_indexes(self, indexes: SegmentIndexes) -> None:
        stem = f"{indexes.base_offset:020}"
        if INDEX in self._kinds:
            self._keep(stem + file_name.OFFSET_INDEX, indexes.offset_index())
        if TIME_INDEX in self._kinds:
            self._keep(stem + file_name.TIME_INDEX, indexes.time_index())
        if TRANSACTION_INDEX in self._kinds:
            aborted = indexes.transaction_index()
            if aborted:
                self._keep(stem + file_name.TRANSACTION_INDEX, aborted)

    # --- verifying

    def verify(
        self,
        *,
        log_end: int | None = None,
        tolerate: Callable[[Finding], bool] | None = None,
    ) -> None:
        """Raises CorruptData if a check finds an error in what was made, or if a start would not keep it and end at its end.

        The starts are one after a clean stop and one after an unclean one, from recovery point 0, which scans all logs once more,
        unless all batches are plain. What rebuilt the companions has done what a scan does with these. `log_end` is
        what the log end must be, if it is known. `tolerate` may take an error of the input that stays in the result.
        """
        self._errors.clear()
        made = self.rebuilt
        level = DEEP if made.has_old else self._level  # wrappers are opened for their first offsets
        settings = Settings(now=current_time(), level=level, follows_links=True)
        watcher = starts.Watcher(self._note_error)
        facts = checks.run(self._job, settings, watcher.emit, _CheckWatch(self._progress))
        if watcher.is_doubtful and not watcher.fails:  # the starts that must keep it follow anyway
            starts.report(self._job, settings, watcher, facts)
        for error in self._errors:
            if tolerate is None or not tolerate(error):
                origin = os.path.join(self._origin, os.path.relpath(error.path, self._job.path))
                raise CorruptData(error.code, f"{error.message} ({error.code})", path=origin, position=error.start)
        if log_end is not None and made.next_offset != log_end:
            message = f"the log that was made ends at offset {made.next_offset:,}, not {log_end:,}"
            raise CorruptData("start-loses", message, path=self._origin)
        is_kept = (
            facts is not None
            and watcher.is_spotless
            and facts.log_end == made.next_offset
            and not self._name
            and kept.by_every_start(facts, self._rules.max_index_size)
        )
        if self._bases and not is_kept:
            self._require_kept((CLEAN,) if made.is_plain else (CLEAN, UNCLEAN), facts)

    def _note_error(self, row: Row) -> None:
        if isinstance(row, Finding) and row.severity == ERROR and not (self._level == FULL and self._is_of_records(row)):
            self._errors.append(row)

    def _is_of_records(self, error: Finding) -> bool:
        """Whether an error is one inside of old messages, which do not concern companions."""
        return self.rebuilt.has_old and any(error.code == fault.code for fault in records.FAULTS)

    def _require_kept(self, stops: Sequence[str], facts: PartitionFacts | None) -> None:
        from kdump.forecasts.forecast import Request, of_partition  # slow to load, and seldom needed
        from kdump.forecasts.log_directory import LogDirectory
        from kdump.forecasts.outcome import KEEP, STRAY

        path, walked, log_end = self._job.path, None if facts is None else facts.walked, self.rebuilt.next_offset
        request = Request(after=stops, recovery_point=ZERO, config=self._rules.of_start)
        for row in of_partition(path, LogDirectory(tree.parent(path)), request, walked=walked):
            if row.log_end is not None and row.log_end != log_end or row.outcome not in (KEEP, STRAY):
                why = f": {row.reason}" if row.reason else ""
                message = f"a start would not keep what was made: {row.outcome}, log end {row.log_end}, not {log_end}{why}"
                raise CorruptData("start-loses", message, path=self._origin)


def _last_timestamp(folder: str, base_offset: int) -> int:
    """The last timestamp in the time index of a segment, if it has one: most likely the newest of its log. A guess will do."""
    path = os.path.join(folder, f"{base_offset:020}{file_name.TIME_INDEX}")
    if not system.is_file(path):
        return NO_TIMESTAMP
    try:
        with Source(path) as source:
            count = entries.used_entries(source, time_index.ENTRY_SIZE)
            is_there = 0 < count <= time_index.entry_count(source)
            return time_index.entry_at(source, base_offset, count - 1)[0] if is_there else NO_TIMESTAMP
    except KdumpError:
        return NO_TIMESTAMP


class _CheckWatch(Watch):
    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def end(self, size: int) -> None:
        self._progress.advance(size)
