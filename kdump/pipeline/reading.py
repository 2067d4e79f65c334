"""Reads the slices of one task: rows of a table as Arrow's record batches, with a report of each slice.

What cannot be read fails the task, becomes a separate row, or is left out and reported: `Options.unreadable` says which.
"""

from __future__ import annotations

import gc
import os
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from kdump.binary.tolerant_source import TolerantSource
from kdump.checks.check_processes import Isolation
from kdump.checks.finding import ERROR, Finding
from kdump.checks.jobs import Job, is_place, jobs
from kdump.errors import CorruptData, KdumpError, Unreadable
from kdump.formats import offset_index, producer_snapshot, time_index, transaction_index, tree
from kdump.formats.entries import used_entries
from kdump.formats.text_checkpoint import OFFSET_FIELDS, TextCheckpoint
from kdump.output.arrow.builder import Constant, bounded, joined, joined_records, record_batch
from kdump.output.arrow.rows import FileDetails, Place
from kdump.overview.segment_sum import SegmentSum
from kdump.pipeline import discovery, logs, segments
from kdump.pipeline.kept import FINDINGS
from kdump.pipeline.listed_source import opened
from kdump.pipeline.place import place_of
from kdump.pipeline.planning import CheckSlice, FileSlice
from kdump.pipeline.rows import built
from kdump.pipeline.slice_report import Skipped, SliceReport, ignore
from kdump.verdicts import surroundings
from kdump.verdicts.check import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from kdump.binary.source import Source
    from kdump.pipeline.logs import Columns, Watch
    from kdump.pipeline.options import Options
    from kdump.pipeline.planning import Task
    from kdump.pipeline.slice_report import OnReport
    from kdump.tables import Row, Table

    Rows = Iterator[tuple[Columns, int]]
    Reader = Callable[[Source, FileSlice, Options, SliceReport, Watch | None], Rows]

NATIVE_TABLES = ("records",)
"""Tables whose contents are read by C packages: a crash in one of them ends its process."""


_ANOTHER_WAY = 'fix that, or use unreadable="row", which returns a row with the column error in place of the rows of the file'


def read(task: Task, options: Options, on_report: OnReport = ignore, *, makes_sums: bool = False) -> Iterator[pa.RecordBatch]:
    """The rows of a table that a task is to read, in bounded batches. `on_report` gets the report of each slice after its rows.

    What may crash is read in a separate process. With `makes_sums`, the reports of whole logs have their sums.
    Raises KdumpError if a file cannot be read, unless the options make that a row or leave it out; at damage only with
    mode=FAILFAST; and if a package is missing.
    """
    slices = [file_slice for file_slice in task if isinstance(file_slice, FileSlice)]
    if options.table == FINDINGS:
        batches = _findings(task, options, on_report)
    elif may_crash(options):
        from kdump.pipeline.reader_process import read_in_process

        batches = read_in_process(slices, options, partial(_joined_rows, makes_sums=makes_sums), built, on_report)
    elif options.table in NATIVE_TABLES:
        batches = (batch for file_slice in slices for batch in read_slice(file_slice, options, on_report))
    else:
        parts = (part for file_slice in slices for part in _reported(file_slice, options, on_report, makes_sums=makes_sums))
        batches = (built(columns, count, options) for columns, count in joined(parts, options.batch_rows))
    return _without_collector(bounded(batches, rows=options.batch_rows, size=options.batch_bytes))


def may_crash(options: Options) -> bool:
    """Whether C packages get the contents of files, in a process that is not to be risked."""
    return options.is_isolated and (options.table in (*NATIVE_TABLES, FINDINGS) or options.measures_uncompressed)


def _reported(file_slice: FileSlice, options: Options, on_report: OnReport, *, makes_sums: bool = False) -> Rows:
    report = SliceReport(file_slice.path)
    yield from slice_rows(file_slice, options, report, makes_sums=makes_sums)
    on_report(report)


def segments_of(
    slices: Sequence[FileSlice], options: Options, walked: Mapping[str, SliceReport], on_report: OnReport
) -> Iterator[pa.RecordBatch]:
    """The rows of the table of segments for these logs, from the sums in reports of logs that were `walked`.

    A log without sums is read here.
    """
    parts = (part for file_slice in slices for part in _summed(file_slice, options, walked.get(file_slice.path), on_report))
    for columns, count in joined(parts, options.batch_rows):
        yield built(columns, count, options)


def _summed(file_slice: FileSlice, options: Options, walked: SliceReport | None, on_report: OnReport) -> Rows:
    if walked is None or walked.sums is None:
        yield from _reported(file_slice, options, on_report)
        return
    yield {**place_of(file_slice.item), **walked.sums}, 1
    on_report(walked.of_sums())


def _without_collector(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same batches with the garbage collector off: millions of values, and no cycles among them."""
    if not gc.isenabled():
        yield from batches
        return
    gc.disable()
    try:
        yield from batches
    finally:
        gc.enable()


def read_slice(file_slice: FileSlice, options: Options, on_report: OnReport = ignore) -> Iterator[pa.RecordBatch]:
    """The rows of one slice of records."""
    report = SliceReport(file_slice.path)
    for columns, count in _joined_rows(file_slice, options, report):
        yield built(columns, count, options)
    on_report(report)


def _joined_rows(file_slice: FileSlice, options: Options, report: SliceReport, *, makes_sums: bool = False) -> Rows:
    """As `slice_rows`, with parts of few rows joined."""
    parts = slice_rows(file_slice, options, report, makes_sums=makes_sums)
    return (joined_records if options.table in NATIVE_TABLES else joined)(parts, options.batch_rows)


def slice_rows(file_slice: FileSlice, options: Options, report: SliceReport, *, makes_sums: bool = False) -> Rows:
    """The columns of the rows of one slice, and how many there are. Raises KdumpError as `read`."""
    place = place_of(file_slice.item)
    if options.table == "files":
        report.rows += 1
        yield {**place, **{column.name: [getattr(file_slice.item, column.name)] for column in FileDetails.schema}}, 1
        return
    try:
        with opened(file_slice.item) as source:
            report.size, report.inode = source.size, source.status().st_ino
            total = SegmentSum(source.size) if makes_sums and file_slice.item.kind == "log" else None
            watch = None if total is None else total.take
            try:
                for columns, count in _READERS[options.table](source, file_slice, options, report, watch):
                    report.rows += count if "error" not in columns else 0
                    yield {**place, **columns}, count
            except CorruptData:
                _report_bad_ranges(source, options, report)  # whose zeros may be what is wrong
                raise
            if total is not None:
                report.sums = total.columns()
            _report_bad_ranges(source, options, report)
    except (CorruptData, Unreadable) as error:
        error.path = error.path or file_slice.path
        is_damage = isinstance(error, CorruptData)
        if options.fails_fast or not is_damage and options.unreadable == options.FAIL:
            error.remedy = error.remedy or ("" if is_damage else _ANOTHER_WAY)
            raise
        for columns, count in logs.unread_row(report.skip(error), options):
            yield {**place, **columns}, count
    except KdumpError as error:  # a package that is missing, or something that does not add up
        error.path = error.path or file_slice.path
        raise


def _report_bad_ranges(source: Source, options: Options, report: SliceReport) -> None:
    """Report the bytes that the device cannot read. Raises Unreadable if these are to end a query."""
    for start, end in source.bad_ranges if isinstance(source, TolerantSource) else ():
        message = f"{end - start:,} bytes cannot be read from the device, and count as zeros"
        if options.fails_fast or options.unreadable == options.FAIL:
            raise Unreadable("file-io-error", message, path=source.path, position=start)
        report.skipped.append(Skipped("file-io-error", message, start, None, is_damage=False, end=end))


# --- Files of entries


def _entries(table: Table[Row], first: int) -> tuple[Columns, int]:
    return {**table.columns, "entry": range(first, first + len(table))}, len(table)


def _index(source: Source, file_slice: FileSlice, _options: Options, _report: SliceReport, _watch: Watch | None) -> Rows:
    yield from _used(offset_index.read(source, file_slice.item.base_offset or 0), used_entries(source, offset_index.ENTRY_SIZE))


def _time_index(source: Source, file_slice: FileSlice, _options: Options, _report: SliceReport, _watch: Watch | None) -> Rows:
    yield from _used(time_index.read(source, file_slice.item.base_offset or 0), used_entries(source, time_index.ENTRY_SIZE))


def _transaction_index(
    source: Source, _file_slice: FileSlice, _options: Options, _report: SliceReport, _watch: Watch | None
) -> Rows:
    yield from _used(transaction_index.read(source), source.size // transaction_index.ENTRY_SIZE)


def _producers(source: Source, _file_slice: FileSlice, _options: Options, _report: SliceReport, _watch: Watch | None) -> Rows:
    yield from _used(producer_snapshot.read(source), source.size)


def _used(tables: Iterator[Table[Row]], count: int) -> Rows:
    """The first `count` entries of all tables."""
    first = 0
    for table in tables:
        if first >= count:
            return
        part = table.slice(0, count - first) if len(table) > count - first else table
        yield _entries(part, first)
        first += len(part)


def _segments(source: Source, file_slice: FileSlice, options: Options, report: SliceReport, watch: Watch | None) -> Rows:
    columns: Columns = dict(segments.segment_row(source, file_slice, report, watch))
    if options.fails_fast and columns["valid_bytes"][0] < source.size:
        raise CorruptData("damage", "is not intact from here on", path=source.path, position=columns["valid_bytes"][0])
    yield columns, 1


def _checkpoints(source: Source, file_slice: FileSlice, options: Options, _report: SliceReport, _watch: Watch | None) -> Rows:
    """The entries of all requested partitions; malformed lines are left out."""
    rows = []
    for line in TextCheckpoint(source, OFFSET_FIELDS).lines():
        if line.fault is None:
            topic, partition, offset = line.values
            if options.selection.has(str(topic), int(partition)):
                rows.append((topic, partition, offset))
        elif options.fails_fast:
            raise line.fault
    if rows:
        topics, partitions, offsets = zip(*rows, strict=True)
        yield {"topic": topics, "partition": partitions, "offset": offsets, "kind": Constant(file_slice.item.kind)}, len(rows)


def _batches(source: Source, file_slice: FileSlice, options: Options, report: SliceReport, watch: Watch | None) -> Rows:
    if watch is None and not (options.checks_crcs or options.measures_uncompressed or options.fails_fast):
        return logs.header_rows(source, file_slice, options, report)
    return logs.batches(source, file_slice, options, report, watch)


def _records(source: Source, file_slice: FileSlice, options: Options, report: SliceReport, _watch: Watch | None) -> Rows:
    return logs.record_rows(source, file_slice, options, report)


_READERS: dict[str, Reader] = {
    "batches": _batches,
    "records": _records,
    "segments": _segments,
    "index": _index,
    "timeindex": _time_index,
    "txn_index": _transaction_index,
    "producers": _producers,
    "checkpoints": _checkpoints,
}


# --- Findings


def _findings(task: Task, options: Options, on_report: OnReport) -> Iterator[pa.RecordBatch]:
    """The findings of `kdump check` for these jobs. Those of many files are in one batch, whose arrays take less memory."""
    parts = _finding_columns(task, options, on_report)
    for columns, count in joined(parts, options.batch_rows):
        yield record_batch(options.columns, columns, count, options.schema)


def _finding_columns(task: Task, options: Options, on_report: OnReport) -> Rows:
    """The columns of the findings of these jobs, and how many there are."""
    brokers: dict[str, str | None] = {}
    reports = {check_slice: SliceReport(check_slice.path) for check_slice in task if isinstance(check_slice, CheckSlice)}
    for check_slice, rows in _found(list(reports), options):
        reports[check_slice].rows += len(rows)
        if not rows:
            continue
        columns: Columns = {column.name: [getattr(row, column.name) for row in rows] for column in Finding.schema}
        places = [_place_of(row.path, check_slice, options, brokers) for row in rows]
        for number, column in enumerate(Place.schema[:-1]):
            columns[column.name] = [place[number] for place in places]
        yield columns, len(rows)
        worst = next((row for row in rows if row.severity == ERROR), None)
        if options.fails_fast and worst is not None:
            raise CorruptData(worst.code, worst.message, path=worst.path, position=worst.start)
    for report in reports.values():
        on_report(report)


def _found(slices: Sequence[CheckSlice], options: Options) -> Iterator[tuple[CheckSlice, list[Finding]]]:
    """The findings of each job, made in worker processes: a crash costs one file."""
    if not options.is_isolated:
        for check_slice in slices:
            found: list[Row] = []
            run(check_slice.job, options.settings, found.append, tries_failing=False)
            yield check_slice, [row for row in found if isinstance(row, Finding)]
        yield from _around(slices, options)
        return
    slice_of = {check_slice.job: check_slice for check_slice in slices}
    with closing(Isolation(list(slice_of), options.settings, do=partial(run, tries_failing=False)).results()) as results:
        for job, rows in results:
            yield slice_of[job], [row for row in rows if isinstance(row, Finding)]
    yield from _around(slices, options)


def _around(slices: Sequence[CheckSlice], options: Options) -> Iterator[tuple[CheckSlice, list[Finding]]]:
    """Findings about the surroundings of partitions, which need all partitions of their log directories together."""
    places = [check_slice for check_slice in slices if is_place(check_slice.job)]
    if not places:
        return
    paths = tree.matching(options.paths)
    around = surroundings.Surroundings([job for path in paths for job in jobs(path)], (), is_fleet=True)
    for check_slice in places:
        found: list[Finding] = []
        around.report(check_slice.job, options.settings, found.append)
        yield check_slice, found


def _place_of(
    path: str, check_slice: CheckSlice, options: Options, brokers: dict[str, str | None]
) -> tuple[str | None, str | None, int | None, int | None]:
    """The broker, topic, partition and base offset that a finding is about."""
    is_directory = path == check_slice.path and check_slice.kind != Job.FILE
    directory = path if is_directory else tree.parent(path)
    name = tree.directory_name(directory) if check_slice.kind != Job.LOG_DIR else None
    log_directory = tree.parent(directory) if check_slice.kind != Job.LOG_DIR else directory
    if log_directory not in brokers:
        brokers[log_directory] = discovery.broker_of(log_directory, options.broker)
    base_offset = None if is_directory else discovery.base_offset_of(os.path.basename(path))
    if name is None:
        return brokers[log_directory], None, None, base_offset
    return brokers[log_directory], name.topic, name.partition, base_offset
