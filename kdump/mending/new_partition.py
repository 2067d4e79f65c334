"""Completes a partition whose new logs are written: with companions, and the proof that a broker keeps all of it.

A command that mends writes or clones the logs into a NewDirectory, then calls `complete`, `NewDirectory.sync`, `verify`, and
`NewDirectory.place`.
"""

from __future__ import annotations

import os
import time

from kdump.binary.source import Source
from kdump.checks.finding import ERROR, Finding
from kdump.checks.jobs import Job
from kdump.checks.live_source import Watch
from kdump.checks.settings import UNKNOWN, Settings
from kdump.errors import CorruptData
from kdump.forecasts import forecast
from kdump.forecasts.outcome import KEEP, STRAY
from kdump.forecasts.settings import CLEAN, UNCLEAN, ZERO
from kdump.formats import file_name, tree
from kdump.formats.record_batch import NO_TIMESTAMP
from kdump.mending.progress import Progress
from kdump.mending.rebuilding import Rebuilding, SegmentIndexes
from kdump.mending.settings import EPOCHS, INDEX, KINDS, SNAPSHOT, TIME_INDEX, TRANSACTION_INDEX, Rules
from kdump.verdicts import check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from typing import Any

    from kdump.mending.new_directory import NewDirectory
    from kdump.tables import Row

_MINUTE = 60_000


class NewPartition:
    """One partition of a new directory. `bases` are the base offsets of its logs, ascending, which are there already.

    `name` is its folder in the new directory, empty for the new directory itself. `origin` is the input, which faults name.
    `log_start` is that of the log directory's checkpoint, 0 if there is none.
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
    ) -> None:
        self._directory = directory
        self._name = name
        self._bases = list(bases)
        self._origin = origin
        self._log_start = log_start
        self._rules = rules or Rules()
        self._progress = progress or Progress()
        self._kinds: Collection[str] = ()
        self._keep: Callable[[str, bytes], None] = self._write
        self.log_end = 0
        """The offset after the last batch, or the last base offset; known once it is complete."""
        self.batches = 0
        self._is_plain = False

    # --- companions

    def complete(
        self,
        kinds: Collection[str] = tuple(KINDS),
        *,
        newest_timestamp: int = NO_TIMESTAMP,
        keep: Callable[[str, bytes], None] | None = None,
    ) -> None:
        """Write the companions of these kinds. `keep` is given name and bytes of each file, and writes it; it may be called
        twice for one file. `newest_timestamp` is most likely that of the newest record: a guess saves a second pass.

        Raises CorruptData, with the position in the origin's log of that name, for batches that a start would not keep.
        """
        self._kinds = kinds
        self._keep = keep or self._write
        rebuilding = self._pass(newest_timestamp + _MINUTE)
        if not rebuilding.is_true_of(rebuilding.newest + _MINUTE):
            rebuilding = self._pass(rebuilding.newest + _MINUTE)
        self.log_end, self.batches = rebuilding.next_offset, rebuilding.batches
        self._is_plain = rebuilding.is_plain
        if self._bases and self._log_start > self.log_end:
            message = f"the log start offset {self._log_start:,} of the checkpoint is after the log end {self.log_end:,}"
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

    def _write(self, name: str, data: bytes) -> None:
        self._directory.write(os.path.join(self._name, name), data)

    def _pass(self, clock: int, refuse: Callable[[CorruptData], None] | None = None) -> Rebuilding:
        """Read all logs, and write what is rebuilt from them, as a start at this time would."""

        def keep_snapshot(offset: int, data: bytes) -> None:
            if SNAPSHOT in self._kinds:
                self._keep(f"{offset:020}{file_name.PRODUCER_SNAPSHOT}", data)

        bases = self._bases
        found = Rebuilding(bases, self._rules, log_start=self._log_start, clock=clock, keep_snapshot=keep_snapshot, refuse=refuse)
        for base, end in zip(bases, [*bases[1:], None], strict=False):
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
        scans: bool = False,
        cleanup_policy: str = UNKNOWN,
        tolerate: Callable[[Finding], bool] | None = None,
    ) -> None:
        """Raises CorruptData if a check finds an error in what was made, or if a start would not keep it and end at its end.

        The start is after a clean stop, and if it `scans`, also after an unclean one from recovery point 0: a scan reads all logs
        once more, unless all batches are plain. What rebuilt the companions has done what a scan does with these. `log_end` is
        what the log end must be, if it is known. `tolerate` may take an error of the input that stays in the result.
        """
        path = os.path.normpath(self._directory.inside(self._name))
        rows: list[Row] = []

        def emit(row: Row) -> None:
            if isinstance(row, Finding) and row.severity == ERROR and not rows and not (tolerate is not None and tolerate(row)):
                rows.append(row)

        settings = Settings(now=int(time.time() * 1000), cleanup_policy=cleanup_policy)
        check.run(Job(Job.PARTITION, path, path), settings, emit, _CheckWatch(self._progress))
        if rows:
            first: Any = rows[0]  # a Finding
            message = f"{first.message} ({first.code})"
            origin = os.path.join(self._origin, os.path.relpath(first.path, path))
            raise CorruptData(first.code, message, path=origin, position=first.start)
        if log_end is not None and self.log_end != log_end:
            message = f"the log that was made ends at offset {self.log_end:,}, not {log_end:,}"
            raise CorruptData("start-loses", message, path=self._origin)
        if self._bases:
            self._require_kept(path, CLEAN, None)
            if scans and not self._is_plain:
                self._require_kept(path, UNCLEAN, ZERO)

    def _require_kept(self, path: str, stop: str, recovery_point: str | None) -> None:
        rows = forecast.forecast(path, after=stop, recovery_point=recovery_point, config=self._rules.of_start)
        for row in rows:
            if row.log_end is not None and row.log_end != self.log_end or row.outcome not in (KEEP, STRAY):
                why = f": {row.reason}" if row.reason else ""
                message = f"a start would not keep what was made: {row.outcome}, log end {row.log_end}, not {self.log_end}{why}"
                raise CorruptData("start-loses", message, path=self._origin)


class _CheckWatch(Watch):
    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def end(self, size: int) -> None:
        self._progress.advance(size)
