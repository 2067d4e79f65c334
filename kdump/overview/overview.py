"""The overview of paths: what is there, what fills it, topics, partitions, transactions and groups, as rows."""

from __future__ import annotations

import os
import time
from contextlib import closing
from functools import partial

from kdump import exit_codes
from kdump.binary import system
from kdump.binary.paths import absolute
from kdump.checks.check_processes import rows_of
from kdump.checks.finding import Finding
from kdump.checks.jobs import Job, jobs
from kdump.checks.settings import HEADERS, Settings, current_time, require_level
from kdump.errors import Unreadable
from kdump.formats import file_name, tree
from kdump.overview import places
from kdump.overview.contents import Contents
from kdump.overview.row import (
    FILE,
    LEVELS,
    LOG_DIRECTORY,
    PARTITION,
    Group,
    InfoSummary,
    OpenTransaction,
    PartitionSum,
    Place,
    Space,
    TopicSum,
    Unseen,
)
from kdump.overview.space import space_of
from kdump.overview.topics import topic_sums

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kdump.checks.check_processes import Progress
    from kdump.checks.finding import Emit
    from kdump.checks.live_source import Watch
    from kdump.tables import Row

    Wanted = Callable[[str | None, int | None], bool]


class Overview:
    """What was found at some paths. Each list is in the order of the paths; `summary` says how much was read."""

    def __init__(self, level: str = HEADERS) -> None:
        self.level = level
        self.places: list[Place] = []
        self.spaces: list[Space] = []
        self.topics: list[TopicSum] = []
        self.partitions: list[PartitionSum] = []
        self.transactions: list[OpenTransaction] = []
        self.groups: list[Group] = []
        self._unseen: dict[str, Unseen] = {}
        self.seconds = 0.0

    def rows(self) -> Iterator[Row]:
        """All rows: places, what fills them, topics, partitions, transactions, groups, what was not seen, the summary."""
        for rows in (self.places, self.spaces, self.topics, self.partitions, self.transactions, self.groups, self.unseen):
            yield from rows
        yield self.summary

    @property
    def unseen(self) -> list[Unseen]:
        """What could not be looked at, each path once: some are met on the way to what is in them, and to what fills them."""
        return list(self._unseen.values())

    @property
    def exit_code(self) -> int:
        """3 if something could not be looked at, or there was nothing; 0 otherwise."""
        return exit_codes.NOT_EXAMINED if self.unseen or not self.spaces else exit_codes.CLEAN

    @property
    def summary(self) -> InfoSummary:
        """How much was looked at, and how much of it was read."""
        return InfoSummary(
            self.level,
            len(self.places),
            len(self.partitions),
            sum(space.files for space in self.spaces),
            sum(space.size for space in self.spaces),
            sum(space.disk for space in self.spaces),
            sum(one.size for one in self.partitions),
            sum(one.read_bytes for one in self.partitions),
            len(self.unseen),
            round(self.seconds, 3),
            self.exit_code,
        )

    def take(self, found: Row) -> None:
        """Add a row of a partition or a file."""
        if isinstance(found, PartitionSum):
            self.partitions.append(found)
        elif isinstance(found, OpenTransaction):
            self.transactions.append(found)
        elif isinstance(found, Group):
            self.groups.append(found)
        elif isinstance(found, Space):
            self.spaces.append(found)
        elif isinstance(found, (Unseen, Finding)):  # or a process died
            self._miss(found.path, found.message)

    def _miss(self, path: str, message: str) -> None:
        self._unseen.setdefault(path, Unseen(path, message))

    def add_places(self, all_jobs: Sequence[Job], paths: Sequence[str], *, is_wanted: Wanted | None = None) -> None:
        """Add the log directories, partitions and files that were named or found, and what fills them, when all was read."""
        for path in paths:
            if not system.has_name(path):
                self._miss(path, "there is no such file or directory")
        by_directory: dict[str, list[PartitionSum]] = {}
        for one in self.partitions:
            by_directory.setdefault(tree.parent(one.path), []).append(one)
        for job in all_jobs:
            if job.kind == Job.LOG_DIR:
                sums = by_directory.get(job.path.rstrip("/") or job.path, [])
                if sums or job.path in paths or tree.is_log_directory(job.path):  # else any folder beside one
                    self._add_place(job.path, LOG_DIRECTORY, job.path, sums)
            elif job.root is None or job.root == job.path:
                what = FILE if job.kind == Job.FILE else PARTITION
                own = [one for one in self.partitions if one.path == job.path]
                if system.has_name(job.path) and (is_wanted is None or own):
                    above = tree.parent(job.path)
                    self._add_place(job.path, what, above if job.kind == Job.PARTITION else tree.parent(above), own)
        if is_wanted is None:
            self._add_above(paths)

    def _add_above(self, paths: Sequence[str]) -> None:
        """Add what fills directories above log directories, besides these."""
        held = {place.path.rstrip("/") or place.path for place in self.places}
        for path in (path.rstrip("/") or path for path in paths):
            if path not in held and system.is_directory(path):
                space_of(path, self.take, without=held)

    def _add_place(self, path: str, what: str, log_directory: str, sums: Sequence[PartitionSum]) -> None:
        try:
            self.places.append(places.place_of(path, what, log_directory, sums))
            space_of(path, self.take)
        except Unreadable as error:
            self._miss(path, error.message)
        if what == LOG_DIRECTORY:
            self.topics += topic_sums(path, sums)


def info(path: str | os.PathLike[str], *others: str | os.PathLike[str], level: str = HEADERS) -> Overview:
    """What is in log directories, partitions and files: whose they are, what fills them, topics, transactions, groups.

    `level` is `headers` (headers at the ends of each partition) or `full` (all batches, with their checksums). Nothing is
    printed or written, and what cannot be read is in `unseen`. All is done in this process. Raises UsageError for another level.
    """
    require_level(level, LEVELS)
    return overview_of([os.fspath(one) for one in (path, *others)], level)


def overview_of(
    paths: Sequence[str],
    level: str,
    *,
    is_wanted: Wanted | None = None,
    processes: int = 0,
    on_wait: Callable[[Progress], None] | None = None,
) -> Overview:
    """The overview of some paths; of partitions for which `is_wanted`, given topic and partition. With `processes`, in these."""
    started = time.monotonic()
    overview = Overview(level)
    all_jobs = wanted_jobs(paths, is_wanted)
    with closing(rows_of(all_jobs, Settings(now=current_time()), partial(_do, level), processes, on_wait)) as rows:
        for _, found in rows:
            overview.take(found)
    overview.add_places(all_jobs, paths, is_wanted=is_wanted)
    overview.seconds = time.monotonic() - started
    return overview


def wanted_jobs(paths: Sequence[str], is_wanted: Wanted | None = None) -> list[Job]:
    """The tasks for some paths, as those of a check, each once; without partitions that are not wanted."""
    found = {(job.kind, absolute(job.path)): job for path in paths for job in jobs(path)}
    return [job for job in found.values() if is_wanted is None or job.kind != Job.PARTITION or _is_wanted(job.path, is_wanted)]


def _is_wanted(path: str, is_wanted: Wanted) -> bool:
    name = tree.directory_name(path)
    return is_wanted(None, None) if name is None else is_wanted(name.topic, name.partition)


def look(job: Job, level: str, emit: Emit, *, measures: bool = True) -> None:
    """Emit what is in a partition, or in a log that was named itself, and what cannot be read."""
    if job.kind == Job.LOG_DIR:
        return
    try:
        logs, sizes = _logs_of(job)
        if job.kind == Job.PARTITION or logs:
            Contents(job.path, level, measures=measures).report(logs, sizes, emit)
    except Unreadable as error:
        emit(Unseen(error.path or job.path, error.message))


def _do(level: str, job: Job, settings: Settings, emit: Emit, watch: Watch | None = None) -> None:
    if watch is not None:
        watch.begin(job.path)
    found: list[Row] = []
    look(job, level, found.append)
    for one in found:
        emit(one)
    if watch is not None:
        watch.end(logs_in(found))


def logs_in(found: Iterable[Row]) -> int:
    """The size of the logs that were looked at, for how far a run has got."""
    return sum(one.size for one in found if isinstance(one, PartitionSum))


def _logs_of(job: Job) -> tuple[list[str], list[int]]:
    """The logs of a task, in the order of their offsets, and their sizes."""
    if job.kind == Job.FILE:
        is_log = file_name.suffix(job.path) in (file_name.LOG, file_name.CHECKPOINT) and system.is_file(job.path)
        return ([job.path], [system.size(job.path)]) if is_log and not job.path.endswith("-checkpoint") else ([], [])
    found = tree.logs_of(job.path)
    return [path for _, path, _ in found], [size for _, _, size in found]
