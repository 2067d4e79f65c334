"""Checks files, partition directories and log directories: everything in them, each alone and against the others."""

from __future__ import annotations

import os
import time

from kdump.binary.source import Source
from kdump.checks import segment, tree
from kdump.checks.context import FileContext
from kdump.checks.finding import Finding
from kdump.checks.partition import PartitionFacts
from kdump.checks.rules import FILE_CHECKS, directory, log_directory
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
    elif job.kind == Job.LOG_DIR:
        for name in tree.log_dir_files(job.path):
            _check_file(os.path.join(job.path, name), settings, emit)
        log_directory.check(job.path, settings, emit)
    else:
        _check_file(job.path, settings, emit)


def _check_partition(path: str, settings: Settings, emit: Emit) -> None:
    """All files: segments first, from the oldest on, each with the files beside it; then the others."""
    files = tree.PartitionFiles(path)
    partition = PartitionFacts(path, files, settings, emit)
    for base_offset in sorted(files.segments):
        of_segment = files.segments[base_offset]
        for suffix in sorted(of_segment, key=lambda suffix: suffix != file_name.LOG):
            _check_file(os.path.join(path, of_segment[suffix]), settings, emit, partition=partition)
    for name in files.others:
        _check_file(os.path.join(path, name), settings, emit, partition=partition)
    directory.check(partition)


def _check_file(path: str, settings: Settings, emit: Emit, *, partition: PartitionFacts | None = None) -> None:
    """Check one file; what a segment says is entered into the partition."""
    name = os.path.basename(path)
    suffix = file_name.suffix(name)
    base_offset = _base_offset(name)
    is_newest: bool | None = None
    beside: SegmentFacts | None = None
    if partition is not None and base_offset is not None:
        is_newest = base_offset == max(partition.files.logs, default=None)
        beside = partition.segments.get(base_offset)
    try:
        source = Source(path)
    except Unreadable:
        return  # the file as an object is a matter of its own rules, which come to stand here
    with source:
        context = FileContext(
            source,
            path,
            suffix.removeprefix(".") or name,
            settings,
            emit,
            base_offset=base_offset,
            is_newest=is_newest,
            segment=beside,
            partition=partition,
        )
        if suffix in (file_name.LOG, file_name.CHECKPOINT):
            context.segment = segment.check(context)
            if partition is not None and suffix == file_name.LOG and base_offset is not None:
                partition.segments[base_offset] = context.segment
        file_check = FILE_CHECKS.get(suffix) or FILE_CHECKS.get(name)
        if file_check is not None:
            file_check(context)
        context.finish()
        emit(context.accounts.report(path, context.file_type, source.size))


def _base_offset(name: str) -> int | None:
    try:
        return file_name.base_offset(name)
    except CorruptData:
        return None
