"""Packs files into tasks by size: never one task a file, and none that takes too long."""

from __future__ import annotations

import heapq
import os
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from kdump.checks.check_processes import size_of
from kdump.checks.jobs import Job, jobs
from kdump.errors import UsageError
from kdump.formats import tree
from kdump.formats.ranges import HIGHEST_OFFSET
from kdump.formats.text_checkpoint import OFFSET_CHECKPOINTS
from kdump.pipeline import discovery
from kdump.pipeline.discovery import FileItem

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from kdump.pipeline.options import Options

OPEN_COST = 64 << 10
"""What it costs to open a file, in bytes that could be read instead."""

_MIN_TASK_BYTES = 4 << 20  # bytes; smaller tasks take longer to hand out than to read
_TASKS_PER_CORE = 4

_KINDS = {
    "batches": ("log", "checkpoint"),
    "records": ("log", "checkpoint"),
    "segments": ("log",),
    "index": ("index",),
    "timeindex": ("timeindex",),
    "txn_index": ("txnindex",),
    "producers": ("snapshot",),
    "checkpoints": OFFSET_CHECKPOINTS,
}
"""The kinds of files that each table is read from."""

_KINDS_OF_KAFKA = {kind for kinds in _KINDS.values() for kind in kinds}


class FileSlice(NamedTuple):
    """A file; in a stream, its batches that start from `start` up to but not including `end`, all of them where that is None.

    Batches before `start` are in order from `look_back` on, unless their checksums say otherwise.
    """

    item: FileItem
    start: int = 0
    end: int | None = None
    look_back: int = 0

    @property
    def path(self) -> str:
        return self.item.path

    @property
    def weight(self) -> int:
        if self.end is None:
            return max(0, self.item.weight - self.start)
        return self.end - self.start


class CheckSlice(NamedTuple):
    """A job of `kdump check` as a slice: its kind and path, and the tree it is in."""

    kind: str
    path: str
    root: str | None
    size: int
    unlisted: str = ""

    @property
    def weight(self) -> int:
        return self.size

    @property
    def job(self) -> Job:
        return Job(self.kind, self.path, self.root, self.unlisted)


Task = tuple[FileSlice | CheckSlice, ...]
"""The slices that one task reads, in order."""


def plan(
    options: Options,
    wanted: Mapping[str, frozenset[object]] | None = None,
    known: Collection[str] = (),
    *,
    is_repeated: bool = False,
) -> list[Task]:
    """The tasks that read a table, the longest first; at least one, which may be empty.

    `wanted` gives the values allowed in fields of a FileItem, by field name; the paths that are `known`, of files and of
    directories to check, are left out. For a scan that may be repeated, what is likely to change is in separate tasks.

    Raises UsageError where there is nothing of Kafka's, unless what is unreadable is left out or becomes a row.
    """
    if options.table == "findings":
        checks = _check_slices(options)
        _require(any(one.size or one.kind != Job.LOG_DIR or tree.is_log_directory(one.path) for one in checks), options)
        return _tasks([one for one in checks if one.path not in known], options, is_repeated=is_repeated)
    if options.table == "checkpoints":  # their topics and partitions are those of rows, not of files
        wanted = {field: values for field, values in (wanted or {}).items() if field in ("broker", "path")}
    found = discovery.files_of(options)
    _require(options.table == "files" or any(map(_is_of_kafka, found)), options)
    items = [item for item in found if item.path not in known and _is_wanted(item, wanted or {})]
    if options.table == "files":
        return bins([FileSlice(item, 0, 0) for item in items], options)
    return _tasks([FileSlice(item) for item in _readable(items, options)], options, is_repeated=is_repeated)


def _require(is_there: bool, options: Options) -> None:
    """Raise UsageError where a table would have no rows because its paths are wrong."""
    is_selected = not options.selection.is_all or options.file_list is not None
    if not is_there and not is_selected and options.unreadable == options.FAIL:
        raise UsageError(f"there are no Kafka files in {', '.join(options.paths)}")


def _is_of_kafka(item: FileItem) -> bool:
    """Whether a file has a name that Kafka gives to files."""
    return item.kind in _KINDS_OF_KAFKA or os.path.basename(item.path) in tree.LOG_DIR_FILES


def _tasks(slices: Sequence[FileSlice | CheckSlice], options: Options, *, is_repeated: bool) -> list[Task]:
    """The tasks for slices: growing segments and log directories apart from the rest, if a scan may be repeated."""
    tasks = bins(slices, options)
    growing = _growing(slices) if is_repeated and slices else set()
    apart = [one for one in slices if one.path in growing]
    if not apart or len(apart) == len(slices) or len(tasks) == 1 and options.table != "findings":
        return tasks
    return bins([one for one in slices if one.path not in growing], options) + bins(apart, options)


def _growing(slices: Sequence[FileSlice | CheckSlice]) -> set[str]:
    """The newest file of each kind in each directory, and log directories."""
    newest: dict[tuple[str, str], FileItem] = {}
    found = set()
    for one in slices:
        if isinstance(one, CheckSlice):
            found |= {one.path} if one.kind != Job.PARTITION else set()
            continue
        key = (os.path.dirname(one.path), one.item.kind)
        if key not in newest or (newest[key].base_offset or 0) < (one.item.base_offset or 0):
            newest[key] = one.item
    return found | {item.path for item in newest.values()}


def is_read_for(item: FileItem, table: str) -> bool:
    """Whether a table is read from files of this kind."""
    return item.kind in _KINDS[table]


def _is_wanted(item: FileItem, wanted: Mapping[str, frozenset[object]]) -> bool:
    return all(getattr(item, field) in values for field, values in wanted.items())


def _check_slices(options: Options) -> list[CheckSlice]:
    """The jobs that `kdump check` does for the same paths."""
    if options.file_list is not None and not options.paths:
        raise UsageError("the table findings takes paths, not a file list")
    found = [job for path in tree.matching(options.paths) for job in jobs(path)]
    if not options.selection.is_all:
        found = [job for job in found if discovery.is_wanted(_item_of(job), options)]
    return [CheckSlice(job.kind, job.path, job.root, size_of(job), job.unlisted) for job in found]


def _item_of(job: Job) -> FileItem:
    """The topic and partition of a job, if they are known."""
    directory = tree.parent(job.path) if job.kind == Job.FILE else job.path
    name = None if job.kind == Job.LOG_DIR else tree.directory_name(directory)
    if name is None:
        return FileItem(job.path, None, None, None, None, "")
    return FileItem(job.path, None, name.topic, name.partition, None, "")


def _readable(items: Iterable[FileItem], options: Options) -> list[FileItem]:
    """The files that a table is read from, without segments that hold none of the requested offsets."""
    chosen = [item for item in items if is_read_for(item, options.table) and _has_rows(item, options) and _is_whole_name(item)]
    if not options.range.has_offsets or options.table == "producers":
        return chosen
    return [item for item, following in _with_following(chosen) if _may_hold(item, following, options)]


def _has_rows(item: FileItem, options: Options) -> bool:
    """Whether an item can have rows. Only files have; a link that leads out of the tree fails when it is read."""
    if item.state == discovery.NOT_REGULAR:
        return False
    return item.state in (None, discovery.LINK_OUTSIDE) or options.includes_deleted


def _is_whole_name(item: FileItem) -> bool:
    """Whether the offsets in a file are known: those of index entries depend on the file's name."""
    return item.base_offset is not None or item.kind not in ("index", "timeindex")


def _with_following(items: Sequence[FileItem]) -> Iterable[tuple[FileItem, int | None]]:
    """Each file with the base offset of the next one of its kind in its directory."""
    bases: dict[tuple[str, str], list[int]] = {}
    for item in items:
        if item.base_offset is not None:
            bases.setdefault((os.path.dirname(item.path), item.kind), []).append(item.base_offset)
    following: dict[tuple[str, str, int], int] = {}
    for (directory, kind), offsets in bases.items():
        offsets.sort()
        for offset, after in pairwise(offsets):
            following[directory, kind, offset] = after
    for item in items:
        key = (os.path.dirname(item.path), item.kind, item.base_offset or 0)
        yield item, None if item.base_offset is None else following.get(key)


def _may_hold(item: FileItem, following: int | None, options: Options) -> bool:
    """Whether a segment may hold a requested offset, by its name and that of the next one."""
    if item.base_offset is None or item.kind == "checkpoint":  # a snapshot of metadata is named by its end
        return True
    return options.range.holds_offsets(item.base_offset, HIGHEST_OFFSET if following is None else following - 1)


# --- Tasks


def bins(slices: Sequence[FileSlice | CheckSlice], options: Options) -> list[Task]:
    """Pack slices into tasks of about the same weight, close to the target."""
    count = _bin_count(slices, options)
    loads = [(0, number) for number in range(count)]
    filled: list[list[FileSlice | CheckSlice]] = [[] for _ in range(count)]
    weights = [0] * count
    order = sorted(range(len(slices)), key=lambda row: (-slices[row].weight, row))
    for row in order:
        load, number = heapq.heappop(loads)
        filled[number].append(slices[row])
        weights[number] = load + slices[row].weight + OPEN_COST
        heapq.heappush(loads, (weights[number], number))
    numbers = sorted((number for number in range(count) if filled[number]), key=lambda number: (-weights[number], number))
    return [tuple(sorted(filled[number], key=lambda one: one.path)) for number in numbers] or [()]


def _bin_count(slices: Sequence[FileSlice | CheckSlice], options: Options) -> int:
    """The number of tasks: at least what the target requires, and enough for all cores. The cost of opening files is bounded."""
    size = sum(file_slice.weight for file_slice in slices)
    cost = size + OPEN_COST * len(slices)
    cores = options.parallelism or os.cpu_count() or 1
    by_size = -(-size // options.target_bytes)
    by_cost = -(-cost // options.target_bytes)
    for_cores = min(cores, cost // min(_MIN_TASK_BYTES, options.target_bytes))
    return max(1, min(max(by_size, for_cores, min(by_cost, by_size + _TASKS_PER_CORE * cores - 1)), len(slices)))
