"""Checks files, partition directories and log directories: everything in them, each alone and against the others."""

from __future__ import annotations

import os
import time

from kdump.binary.source import Source
from kdump.checks import segment, tree
from kdump.checks.context import FileContext
from kdump.checks.finding import Finding
from kdump.checks.settings import Settings
from kdump.errors import CorruptData, Unreadable
from kdump.formats import file_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kdump.checks.segment import SegmentFacts
    from kdump.tables import Row

    Emit = Callable[[Row], None]


def check(path: str, **settings: object) -> Iterator[Finding]:
    """What is wrong with a file, a partition directory or a log directory, as findings, in the order of the files.

    `settings` are those of settings.Settings: `level`, `cleanup_policy`, `is_pedantic`, limits. Nothing is written anywhere.
    Damage is a finding, never an exception; so is a file that cannot be read.
    """
    found: list[Row] = []
    for job in jobs(path):
        run(job, Settings(now=int(time.time() * 1000), **settings), found.append)  # type: ignore[arg-type]
        yield from (row for row in found if isinstance(row, Finding))
        found.clear()


class Job:
    """A piece of work that stands alone: a `partition` directory, a `file`, or the files of a `log-dir` itself."""

    __slots__ = ("kind", "path", "size")

    FILE, PARTITION, LOG_DIR = "file", "partition", "log-dir"

    def __init__(self, kind: str, path: str) -> None:
        self.kind = kind
        self.path = path


def jobs(path: str) -> list[Job]:
    """The pieces of work that a path stands for."""
    if not os.path.isdir(path):
        return [Job(Job.FILE, path)]
    if tree.is_partition(path):
        return [Job(Job.PARTITION, path)]
    return [Job(Job.LOG_DIR, path), *(Job(Job.PARTITION, partition) for partition in tree.partitions(path))]


def run(job: Job, settings: Settings, emit: Emit) -> None:
    """Do one piece of work; findings and the reports of files go to `emit`."""
    if job.kind == Job.PARTITION:
        _check_partition(job.path, settings, emit)
    elif job.kind == Job.FILE:
        _check_file(job.path, settings, emit)


def _check_partition(path: str, settings: Settings, emit: Emit) -> None:
    files = tree.PartitionFiles(path)
    logs = files.logs
    facts: dict[int, SegmentFacts] = {}
    for base_offset in sorted(files.segments):
        for suffix, name in sorted(files.segments[base_offset].items(), key=lambda item: item[0] != file_name.LOG):
            is_newest = bool(logs) and base_offset == logs[-1]
            found = _check_file(os.path.join(path, name), settings, emit, is_newest=is_newest, of_segment=facts.get(base_offset))
            if suffix == file_name.LOG and found is not None:
                facts[base_offset] = found


def _check_file(
    path: str,
    settings: Settings,
    emit: Emit,
    *,
    is_newest: bool | None = None,
    of_segment: SegmentFacts | None = None,
) -> SegmentFacts | None:
    """Check one file. What a segment says is the answer; the files beside it are compared with `of_segment`."""
    name = os.path.basename(path)
    suffix = file_name.suffix(name)
    try:
        base_offset = file_name.base_offset(name)
    except CorruptData:
        base_offset = None
    try:
        source = Source(path)
    except Unreadable:
        return None  # TODO a finding
    with source:
        context = FileContext(
            source, path, suffix.removeprefix(".") or name, settings, emit, base_offset=base_offset, is_newest=is_newest
        )
        facts: SegmentFacts | None = None
        if suffix in (file_name.LOG, file_name.CHECKPOINT):
            facts = segment.check(context)
        context.finish()
        emit(context.accounts.report(path, context.file_type, source.size))
        return facts
