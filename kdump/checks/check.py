"""Checks files, partition directories and log directories: each file on its own, and compared with the others."""

from __future__ import annotations

import os

from kdump.binary import system
from kdump.binary.source import NoSource, Source
from kdump.checks import segment
from kdump.checks.context import FileContext
from kdump.checks.finding import ERROR, Finding
from kdump.checks.jobs import Job
from kdump.checks.live_source import CheckAborted, Watch
from kdump.checks.partition_facts import PartitionFacts
from kdump.checks.rules import file_check
from kdump.checks.rules.files import file_object, foreign_segments
from kdump.checks.settings import Settings
from kdump.errors import Unreadable
from kdump.formats import file_name, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kdump.checks.finding import Emit
    from kdump.checks.live_source import LiveSource
    from kdump.checks.segment_facts import SegmentFacts
    from kdump.tables import Row

_LOGS = (file_name.LOG, file_name.CHECKPOINT)
_INDEXES = (file_name.OFFSET_INDEX, file_name.TIME_INDEX, file_name.TRANSACTION_INDEX)


def run(job: Job, settings: Settings, emit: Emit, watch: Watch | None = None) -> PartitionFacts | None:
    """Carry out one task; findings and the reports of files go to `emit`.

    Returns the facts about a partition that was examined to its end; None of all else.
    """
    try:
        return _run(job, settings, emit, watch or Watch())
    except Unreadable as error:
        file_object.report_failure(_directory_context(job.path, settings, emit), error)
    return None


def errors(job: Job, settings: Settings, severities: Sequence[str] = (ERROR,)) -> list[Finding]:
    """The errors that one task finds, or its findings of some severities."""
    found: list[Finding] = []

    def emit(row: Row) -> None:
        if isinstance(row, Finding) and row.severity in severities:
            found.append(row)

    run(job, settings, emit)
    return found


def _run(job: Job, settings: Settings, emit: Emit, watch: Watch) -> PartitionFacts | None:
    if job.unlisted and _can_be_listed(job.path):  # by now: what is in it was not divided into tasks
        raise Unreadable("file-io-error", job.unlisted, path=job.path)
    if job.kind == Job.FILE:
        _check_file(job.path, settings, emit, watch, [])
    elif file_object.check_directory(job.path, settings, emit, root=job.root or job.path):
        if job.kind == Job.PARTITION:
            if not foreign_segments.check_directory(_directory_context(job.path, settings, emit), emit):
                return _check_partition(job, settings, emit, watch)
        else:
            others: list[tuple[str, int]] = []
            for name in tree.log_dir_files(job.path):
                _check_file(os.path.join(job.path, name), settings, emit, watch, others, root=job.root)
            _report_others(job.path, others, settings, emit)
            _check_directories(job.path, settings, emit)
    return None


def _check_partition(job: Job, settings: Settings, emit: Emit, watch: Watch) -> PartitionFacts:
    """Check segments from the oldest on, each log before the files beside it; then the other files, then all as a partition."""
    facts = PartitionFacts(job.path, tree.PartitionFiles(job.path), settings, emit)
    others: list[tuple[str, int]] = []
    segments = facts.files.segments
    names = [segments[base][suffix] for base in sorted(segments) for suffix in sorted(segments[base], key=file_name.LOG.__ne__)]
    for name in (*names, *facts.files.others):
        _check_file(os.path.join(job.path, name), settings, emit, watch, others, root=job.root, partition=facts)
    _report_others(job.path, others, settings, emit)
    from kdump.checks.rules.directories import partition_directory

    partition_directory.check(facts)
    return facts


def _check_directories(path: str, settings: Settings, emit: Emit) -> None:
    """Check what no file and no partition of a log directory shows alone. Its own files have been checked by now."""
    from kdump.checks.rules.directories import missing_partitions, names, offset_checkpoints
    from kdump.checks.rules.snapshots import topic_ids

    names.check_directories(path, settings, emit)
    offset_checkpoints.check_directory(path, settings, emit)
    missing_partitions.check(path, settings, emit)
    if settings.checks_crcs:
        topic_ids.check(path, settings, emit)


def _report_others(path: str, others: list[tuple[str, int]], settings: Settings, emit: Emit) -> None:
    if others:
        from kdump.checks.rules.files import unrecognized

        unrecognized.report_others(_directory_context(path, settings, emit), others)


def _directory_context(path: str, settings: Settings, emit: Emit) -> FileContext:
    """The context of findings about a directory itself."""
    return FileContext(NoSource(path), path, "directory", settings, emit)


def _check_file(
    path: str,
    settings: Settings,
    emit: Emit,
    watch: Watch,
    others: list[tuple[str, int]],
    *,
    root: str | None = None,
    partition: PartitionFacts | None = None,
) -> None:
    """Check one file. Facts about a segment go to `partition`, names of files that are not Kafka's to `others`."""
    if path in watch.skipped:
        return
    watch.begin(path)
    size = _check_open_file(path, settings, emit, watch, others, root, partition)
    if partition is not None:
        partition.sizes[os.path.basename(path)] = size
    watch.end(size)


def _check_open_file(
    path: str,
    settings: Settings,
    emit: Emit,
    watch: Watch,
    others: list[tuple[str, int]],
    root: str | None,
    partition: PartitionFacts | None,
) -> int:
    """Check a file if it can be opened. Returns its size."""
    name = os.path.basename(path)
    suffix = file_name.suffix(name)
    if root is None and settings.file_type is not None:
        suffix = "." + settings.file_type
    file_type = suffix.removeprefix(".") or name
    base_offset = tree.base_offset_of(name)
    is_newest: bool | None = None
    sibling: SegmentFacts | None = None
    if partition is not None and base_offset is not None:
        is_newest = base_offset == partition.files.newest_log
        sibling = partition.segments.get(base_offset)
    elif partition is None and suffix in _INDEXES:
        sibling = _sibling_log(path.removesuffix(suffix) + file_name.LOG, base_offset, settings)
    source = file_object.open_file(path, file_type, settings, emit, root=root, watch=watch)
    if source is None:
        return 0
    with source:
        if root is not None and suffix in tree.SEGMENT_SUFFIXES and (partition is None or base_offset is None):
            from kdump.checks.rules.files import unrecognized

            suffix, file_type = ("", name) if unrecognized.is_of_program(source, path) else (suffix, file_type)
        context = FileContext(
            source,
            path,
            file_type,
            settings,
            emit,
            base_offset=base_offset,
            is_newest=is_newest,
            segment=sibling,
            partition=partition,
        )
        file_object.check_before_reading(context, source)
        try:
            check_rest = file_check(suffix, name)
            _check_contents(context, source, suffix, check_rest, emit)
            if check_rest is None and suffix not in (*_LOGS, file_name.SWAP):
                _check_unrecognized(context, others, is_named=root is None)
        except CheckAborted:
            pass  # the source knows why, and says so at the end
        except Unreadable as error:
            file_object.report_failure(context, error)
        file_object.check_after_reading(context, source)
        context.finish()
        report = context.coverage.report(path, file_type, source.size)
        facts = context.segment
        if suffix == file_name.LOG and facts is not None and facts.last_offset is not None:
            report.first_offset, report.last_offset = facts.plausible_offsets(context.next_base_offset)
        emit(report)
        return source.size


def _can_be_listed(path: str) -> bool:
    """Whether a directory can be listed, or a file has a status."""
    try:
        if system.is_directory(path):
            system.names(path)
        return system.has_name(path)
    except Unreadable:
        return False


def _check_contents(
    context: FileContext, source: LiveSource, suffix: str, check_rest: Callable[[FileContext], None] | None, emit: Emit
) -> None:
    """Check a file by what its suffix says it is; `check_rest` is for what is not in batches. Raises CheckAborted, Unreadable."""
    is_foreign = suffix == file_name.LOG and foreign_segments.check_file(context)  # which is not examined
    if suffix in _LOGS and not is_foreign:
        context.segment = segment.check(context)
        if context.partition is not None and suffix == file_name.LOG and context.base_offset is not None:
            context.partition.segments[context.base_offset] = context.segment
    if source.is_stopped:
        return
    if context.path.endswith(file_name.LOG + file_name.SWAP):
        _check_swapped_log(context, emit)
    if check_rest is not None and not source.is_stopped:
        check_rest(context)


def _check_swapped_log(context: FileContext, emit: Emit) -> None:
    """Check a log that replaces others at the next start, as one without neighbours: no broker checks it."""
    inner = FileContext(context.source, context.path, "log", context.settings, emit, base_offset=context.base_offset)
    inner.coverage = context.coverage
    facts = segment.check(inner)
    inner.finish()
    if context.partition is not None and context.base_offset is not None:
        context.partition.swapped_logs[context.base_offset] = facts


def _check_unrecognized(context: FileContext, others: list[tuple[str, int]], *, is_named: bool) -> None:
    name = os.path.basename(context.path)
    if not is_named and (name in file_name.UNCHECKED or file_name.is_going(name) or not context.source.size):
        return
    from kdump.checks.rules.files import unrecognized

    if not unrecognized.check(context, is_named=is_named):
        others.append((name, context.source.size))


def _sibling_log(path: str, base_offset: int | None, settings: Settings) -> SegmentFacts | None:
    """Facts about the log of an index that was named itself. The log is read for them; nothing is reported about it."""
    try:
        source = Source(path)
    except Unreadable:
        return None
    with source:
        context = FileContext(source, path, file_name.LOG.removeprefix("."), settings, lambda _: None, base_offset=base_offset)
        return segment.check(context, rule_classes=())
