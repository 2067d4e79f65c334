"""Checks that the tables of a scan add up: every file read once, every byte covered once, every record there once.

Tasks report counts and sums with their rows, so only the row counts of Parquet files are read again:

- each planned file is reported by one task, and the row count in its report is that of the file it wrote;
- what was read of a log is all of its bytes, from the first to the last;
- a log has as many batches in `batches` as in `segments`, and as many records in `records` as the headers in both say,
  including those that do not decode.
"""

from __future__ import annotations

import os
from collections import Counter
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.parquet as pq

from kdump.checks.catalogue.fault_kind import IGNORE
from kdump.checks.finding import ERROR, NONE, WARNING, Finding
from kdump.checks.wording import counted
from kdump.errors import KdumpError, Unreadable
from kdump.formats.partition_metadata import text_of
from kdump.output.arrow.builder import bounded, record_batch
from kdump.output.arrow.limits import BATCH_ROWS
from kdump.output.arrow.rows import columns_of
from kdump.pipeline import discovery
from kdump.pipeline.discovery import FileItem
from kdump.pipeline.planning import FileSlice
from kdump.pipeline.slice_report import SCHEMAS_UNREAD, Skipped, SliceReport
from kdump.pipeline.tasks import ATTEMPTS, BATCHES, SEGMENTS
from kdump.schemas.shapes import NotedShapes, note_both

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from kdump.pipeline.other_topics import OtherTopic
    from kdump.pipeline.planning import CheckSlice
    from kdump.pipeline.tasks import ScanTask, TaskReport

RECORDS = "records"
LOG_TABLES = (BATCHES, RECORDS, SEGMENTS)
"""The tables that are read from every byte of a log."""

_OF_ITEMS = {"broker": "broker", "topic": "topic", "partition": "partition", "segment_base": "base_offset"}
"""Columns of findings, and the attributes of files that they are."""


class Disagreement(NamedTuple):
    """Tables that do not add up about a file, and how."""

    path: str
    tables: tuple[str, ...]
    message: str


class Part(NamedTuple):
    """A file of a table: its rows, and the paths that they are of."""

    table: str
    file: str
    rows: int
    sources: list[str]


def _item_of(one: FileSlice | CheckSlice) -> FileItem:
    """The file of a slice; for a check, the directory or file that it checks."""
    return one.item if isinstance(one, FileSlice) else FileItem(one.path, None, None, None, None, "directory")


class Reconciliation:
    """Adds up what tasks report.

    `skipped` is what tables lack of a file, `disagreements` are contradictions, `parts` the files of tables, `shapes` those
    of the keys and of the values of each topic that were decoded by schemas. `others` are replicas that are not compared.
    """

    def __init__(self, folder: str) -> None:
        self.disagreements: list[Disagreement] = []
        self.skipped: list[tuple[FileItem, str, Skipped]] = []
        self.parts: list[Part] = []
        self.shapes: dict[str, tuple[NotedShapes, NotedShapes]] = {}
        self.others: list[OtherTopic] = []
        self._folder = folder
        self._logs: dict[str, dict[str, SliceReport]] = {}  # by path and table

    def take(self, task: ScanTask, reports: Iterable[TaskReport]) -> None:
        """Accept a finished task, done in one attempt or in one for each file: move its files in place, and add up their rows.

        Raises KdumpError where a file is not where its attempt left it.
        """
        reports = list(reports)
        self._take(task, reports)
        of_segments = task.of_segments()
        if of_segments is not None:
            self._take(of_segments, [report.segments for report in reports if report.segments is not None])

    def _take(self, task: ScanTask, reports: Sequence[TaskReport]) -> None:
        """Accept what a task did for one table."""
        directory = os.path.join(self._folder, task.table)
        os.makedirs(directory, exist_ok=True)
        slices: list[SliceReport] = []
        for part, report in enumerate(reports):
            slices += report.slices
            if report.file:
                suffix = f"-{part}" if part else ""
                name = f"part-{task.number:05d}{suffix}.parquet"
                self._place(task, report, os.path.join(directory, name))
                self.add_part(task.table, name, report.rows, sorted({one.path for one in report.slices}))
        self._compare_with_plan(task, slices)
        items = {one.path: _item_of(one) for one in task.slices}
        for account in slices:
            for skipped in account.skipped:
                self.skipped.append((items[account.path], task.table, skipped))
            if task.table in LOG_TABLES:
                self._logs.setdefault(account.path, {})[task.table] = account
            if account.shapes is not None:
                topic = items[account.path].topic or ""
                note_both(self.shapes.setdefault(topic, (NotedShapes(), NotedShapes())), account.shapes)

    def miss(self, tables: Sequence[str], fault: Unreadable) -> None:
        """Take note of a directory that was left out of tables."""
        item = FileItem(fault.path or "", None, None, None, None, "directory")
        skipped = Skipped(fault.code, fault.message, None, None, is_damage=False)
        self.skipped += [(item, table, skipped) for table in tables]

    def add_part(self, table: str, name: str, rows: int, sources: list[str]) -> None:
        """Accept a file that is in its place."""
        self.parts.append(Part(table, name, rows, sources))

    def next_part(self, table: str) -> str:
        """A name for a file of a table that no other file has."""
        numbers = [int(part.file[5:10]) for part in self.parts if part.table == table]
        return f"part-{max(numbers, default=-1) + 1:05d}.parquet"

    def incomplete_paths(self) -> set[str]:
        """The files and directories of which rows are missing."""
        return {item.path for item, _, _ in self.skipped}

    def unread_paths(self) -> set[str]:
        """Those of which rows are missing because they could not be read, and not because of damage."""
        return {item.path for item, _, skipped in self.skipped if not skipped.is_damage}

    def _place(self, task: ScanTask, report: TaskReport, path: str) -> None:
        """Put the file of an attempt in its place, and compare its rows with those that were reported."""
        attempted = os.path.join(self._folder, ATTEMPTS, report.file)
        if not os.path.exists(attempted):
            message = f"a task wrote {report.file}, which is not there"
            raise KdumpError(message, path=self._folder, remedy="--tables-to must be on a file system that all workers share")
        rows = pq.read_metadata(attempted).num_rows
        reported = sum(account.rows for account in report.slices)
        os.rename(attempted, path)
        if rows != reported or report.rows != reported:
            message = f"the Parquet file has {rows:,} rows, {reported:,} were read and {report.rows:,} written"
            self.disagreements.append(Disagreement(os.path.basename(path), (task.table,), message))

    def _compare_with_plan(self, task: ScanTask, reports: Sequence[SliceReport]) -> None:
        planned, read = Counter(one.path for one in task.slices), Counter(report.path for report in reports)
        for path in sorted(path for path in planned | read if planned[path] != read[path]):
            message = f"its rows were to be read {counted(planned[path], 'time')}, and were read {counted(read[path], 'time')}"
            self.disagreements.append(Disagreement(path, (task.table,), message))

    def finish(self) -> None:
        """All tasks are done: compare what the tables say about each log."""
        for path, tables in self._logs.items():
            whole: dict[str, SliceReport] = {}
            for table in LOG_TABLES:
                report = tables.get(table)
                if report is None or any(not skipped.is_damage for skipped in report.skipped):
                    continue
                wrong = _uncovered(report)
                if wrong:
                    self.disagreements.append(Disagreement(path, (table,), wrong))
                else:
                    whole[table] = report
            self._compare_tables(path, whole)
        self._logs.clear()

    def _compare_tables(self, path: str, whole: dict[str, SliceReport]) -> None:
        batches, records, segments = (whole.get(table) for table in LOG_TABLES)
        if len({(report.size, report.inode) for report in whole.values()}) > 1:
            self.disagreements.append(Disagreement(path, tuple(whole), "it was replaced, or truncated"))
            return
        if batches is not None and batches.rows != batches.batches:
            message = f"{batches.rows:,} batches are in the table, but {batches.batches:,} were found"
            self.disagreements.append(Disagreement(path, (BATCHES,), message))
        if batches is not None and segments is not None:
            self._compare(path, (BATCHES, SEGMENTS), "batches", batches.batches, segments.batches)
            self._compare(path, (BATCHES, SEGMENTS), "records", batches.records, segments.records)
        if records is not None:
            missing = [skipped.records for skipped in records.skipped]
            there = None if None in missing else records.rows + sum(count or 0 for count in missing)
            other = SEGMENTS if segments is not None else BATCHES if batches is not None else RECORDS
            said = (segments or batches or records).records
            if records.records is not None:
                self._compare(path, (RECORDS, other), "records", there, said)

    def _compare(self, path: str, tables: tuple[str, str], what: str, first: int | None, second: int | None) -> None:
        if first is not None and second is not None and first != second:
            message = f"{first:,} {what} by the table {tables[0]}, {second:,} by the table {tables[1]}"
            self.disagreements.append(Disagreement(path, tables, message))

    # Results

    def incomplete_tables(self) -> list[str]:
        """The incomplete tables, which cannot be queried."""
        return sorted({table for disagreement in self.disagreements for table in disagreement.tables})

    def findings(self) -> Iterator[pa.RecordBatch]:
        """Missing and contradictory rows, as rows of the table of findings."""
        yield from bounded(record_batch(columns_of("findings"), columns, count) for columns, count in self._finding_columns())

    def _finding_columns(self) -> Iterator[tuple[dict[str, list[object]], int]]:
        """The columns of as many findings as a batch has rows, and how many these are."""
        items: dict[str, FileItem | None] = {item.path: item for item, *_ in (*self.skipped, *self.others)}
        items |= {path: _item_at(path) for path in dict.fromkeys(path for path, _, _ in self.disagreements) if path not in items}
        found = [*self._missing_rows(), *self._unread_records(), *self._disagreeing(), *self._not_compared()]
        for start in range(0, len(found), BATCH_ROWS):
            findings = found[start : start + BATCH_ROWS]
            columns: dict[str, list[object]] = {name: list(map(attrgetter(name), findings)) for name in Finding.column_names}
            of_items = [items.get(finding.path) for finding in findings]
            for column, name in _OF_ITEMS.items():
                columns[column] = [None if item is None else getattr(item, name) for item in of_items]
            yield columns, len(findings)

    def _missing_rows(self) -> Iterator[Finding]:
        """One row for each file and reason, however many tables lack it."""
        tables: dict[tuple[FileItem, str, str, int | None, int | None], list[str]] = {}
        for item, table, skipped in self.skipped:
            if not skipped.is_damage:
                lacking = tables.setdefault((item, skipped.code, skipped.message, skipped.position, skipped.end), [])
                lacking += [table] if table not in lacking else []
        for (item, code, message, position, end), names in tables.items():
            where = (
                ""
                if position is None
                else f" from byte {position:,} on"
                if end is None
                else f" in bytes {position:,} to {end - 1:,}"
            )
            what = f"Rows of this file{where} are missing"
            if code == SCHEMAS_UNREAD:
                what = "Decoded keys and values of this file may be missing"
            text = f"{what} in {_listed(sorted(names))}: {message}."
            stop = max(item.size, position or 0) if end is None else end
            yield _finding("scan-rows-missing", item.path, item.kind, position or 0, stop, text)

    def _unread_records(self) -> Iterator[Finding]:
        for item, table, skipped in self.skipped:
            if skipped.is_damage and table == RECORDS:
                position = skipped.position or 0
                count = counted(skipped.records, "record") if skipped.records else "Some records"
                verb = "is" if skipped.records == 1 else "are"
                reason = f"{skipped.message} ({skipped.code})"
                text = f"{count} of the batch at byte {position:,} {verb} not in the table records: {reason}."
                yield _finding("scan-records-unread", item.path, item.kind, position, position, text)

    def _disagreeing(self) -> Iterator[Finding]:
        for path, tables, message in self.disagreements:
            kind = os.path.splitext(path)[1].removeprefix(".") or "directory"
            text = f"The rows of this file in {_listed(tables)} do not add up: {message}."
            yield _finding("scan-tables-disagree", path, kind, 0, 0, text)

    def _not_compared(self) -> Iterator[Finding]:
        for other in self.others:
            finding = _finding("scan-not-compared", other.item.path, other.item.kind, 0, other.item.size, other.message)
            finding.severity, finding.expected, finding.found = WARNING, text_of(other.most), text_of(other.topic_id)
            yield finding


def _item_at(path: str) -> FileItem | None:
    """A file by its path; None if there is none, as for a file that the scan wrote."""
    try:
        return next(discovery.discover(path), None)
    except Unreadable:
        return None


def _listed(tables: Sequence[str]) -> str:
    return f"the table {tables[0]}" if len(tables) == 1 else f"the tables {', '.join(tables)}"


def _uncovered(report: SliceReport) -> str:
    """What is wrong with the bytes of a log that were read; empty if they are all of its bytes."""
    first, last, size = report.first or 0, report.last or 0, report.size
    if first:
        return f"bytes 0 to {first - 1:,} were not read"
    if size is not None and last < size:
        return f"bytes {last:,} to {size - 1:,} were not read"
    return f"{last:,} bytes were read of {size:,}" if size is not None and last > size else ""


def _finding(code: str, path: str, file_type: str, start: int, end: int, message: str) -> Finding:
    return Finding(
        code, ERROR, path, file_type, start, end, None, None, None, None, None, None, 1, NONE, 0, IGNORE, message
    )  # fmt: skip
