"""Checks that the tables of a scan add up: every slice read once, every byte covered once, every record there once.

Tasks report counts and sums with their rows, so only the row counts of Parquet files are read again:

- each planned slice is reported by one task, and the row count in its report is that of the file it wrote;
- the slices of a log cover its bytes from the first to the last, once;
- a log has as many batches in `batches` as in `segments`, and as many records in `records` as the headers in both say,
  including those that do not decode.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.parquet as pq

from kdump.checks.catalogue.fault_kind import IGNORE
from kdump.checks.finding import ERROR, NONE, Finding
from kdump.checks.wording import counted
from kdump.errors import KdumpError, Unreadable
from kdump.output.arrow.builder import joined, record_batch
from kdump.output.arrow.rows import columns_of
from kdump.pipeline import discovery
from kdump.pipeline.discovery import FileItem
from kdump.pipeline.planning import FileSlice
from kdump.pipeline.slice_report import SCHEMAS_UNREAD, Skipped, SliceReport
from kdump.pipeline.tasks import ATTEMPTS, BATCHES, SEGMENTS
from kdump.schemas.shapes import NotedShapes, note_both

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    import pyarrow as pa

    from kdump.pipeline.planning import CheckSlice
    from kdump.pipeline.tasks import ScanTask, TaskReport

RECORDS = "records"
LOG_TABLES = (BATCHES, RECORDS, SEGMENTS)
"""The tables that are read from every byte of a log."""


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


class _LogAccount:
    """What one table says of one log so far."""

    __slots__ = ("batches", "covered", "inode", "is_partial", "missing", "records", "rows", "size")

    def __init__(self) -> None:
        self.size: int | None = None
        self.inode: int | None = None
        self.rows = self.batches = 0
        self.records: int | None = 0
        self.missing: int | None = 0  # records that do not decode
        self.covered: list[tuple[int, int]] = []  # ranges of bytes, in any order
        self.is_partial = False  # something could not be read

    def add(self, report: SliceReport) -> bool:
        """Add another slice. Returns whether it was of the same file as those before."""
        is_same = self.size is None or report.size is None or (self.size, self.inode) == (report.size, report.inode)
        if report.size is not None:
            self.size, self.inode = report.size, report.inode
        self.rows += report.rows
        self.batches += report.batches
        self.records = _sum(self.records, report.records)
        for skipped in report.skipped:
            self.is_partial = self.is_partial or not skipped.is_damage
            self.missing = _sum(self.missing, skipped.records)
        if report.first is not None and report.last is not None:
            self.covered.append((report.first, report.last))
        return is_same

    def uncovered(self) -> str:
        """What is wrong with the covered bytes; empty if each was covered once."""
        position = 0
        for start, end in sorted(self.covered):
            if start != position:
                return f"bytes {min(start, position):,} to {max(start, position) - 1:,} were read {_times(start, position)}"
            position = end
        if self.size is not None and position != self.size:
            return (
                f"bytes {min(position, self.size):,} to {max(position, self.size) - 1:,} were read {_times(self.size, position)}"
            )
        self.covered = [(0, position)]
        return ""


def _item_of(one: FileSlice | CheckSlice) -> FileItem:
    """The file of a slice; for a check, the directory or file that it checks."""
    return one.item if isinstance(one, FileSlice) else FileItem(one.path, None, None, None, None, "directory")


def _times(start: int, position: int) -> str:
    return "by no task" if start > position else "twice"


def _sum(total: int | None, count: int | None) -> int | None:
    return None if total is None or count is None else total + count


class Reconciliation:
    """Adds up what tasks report.

    `skipped` is what tables lack of a file, `disagreements` are contradictions, `parts` the files of tables, `shapes` those
    of the keys and of the values of each topic that were decoded by schemas.
    """

    def __init__(self, folder: str) -> None:
        self.disagreements: list[Disagreement] = []
        self.skipped: list[tuple[FileItem, str, Skipped]] = []
        self.parts: list[Part] = []
        self.shapes: dict[str, tuple[NotedShapes, NotedShapes]] = {}
        self._folder = folder
        self._logs: dict[str, dict[str, _LogAccount]] = {}  # by path and table

    def take(self, task: ScanTask, reports: Iterable[TaskReport]) -> None:
        """Accept a finished task, done in one attempt or in one for each slice: move its files in place, and add up their rows.

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
                self._add(task.table, account)
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
            raise KdumpError(message, path=self._folder, remedy="--out must be on a file system that all workers share")
        rows = pq.read_metadata(attempted).num_rows
        reported = sum(account.rows for account in report.slices)
        os.rename(attempted, path)
        if rows != reported or report.rows != reported:
            message = f"the Parquet file has {rows:,} rows, {reported:,} were read and {report.rows:,} written"
            self.disagreements.append(Disagreement(os.path.basename(path), (task.table,), message))

    def _compare_with_plan(self, task: ScanTask, slices: list[SliceReport]) -> None:
        planned = sorted(map(_key, task.slices))
        reported = sorted(account.key_in_order for account in slices)
        if planned == reported:
            return
        for path in sorted({key[0] for key in {*planned} ^ {*reported}} or {key[0] for key in planned}):
            counts = [sum(key[0] == path for key in keys) for keys in (planned, reported)]
            message = f"{counts[0]} slices were planned, but {counts[1]} read"
            self.disagreements.append(Disagreement(path, (task.table,), message))

    def _add(self, table: str, account: SliceReport) -> None:
        of_log = self._logs.setdefault(account.path, {}).setdefault(table, _LogAccount())
        if not of_log.add(account):
            self.disagreements.append(Disagreement(account.path, (table,), "it was replaced, or truncated"))

    def finish(self) -> None:
        """All tasks are done: compare what the tables say about each log."""
        for path, tables in self._logs.items():
            whole: dict[str, _LogAccount] = {}
            for table in LOG_TABLES:
                account = tables.get(table)
                if account is None or account.is_partial:
                    continue
                wrong = account.uncovered()
                if wrong:
                    self.disagreements.append(Disagreement(path, (table,), wrong))
                else:
                    whole[table] = account
            self._compare_tables(path, whole)
        self._logs.clear()

    def _compare_tables(self, path: str, whole: dict[str, _LogAccount]) -> None:
        batches, records, segments = (whole.get(table) for table in LOG_TABLES)
        if len({(account.size, account.inode) for account in whole.values()}) > 1:
            self.disagreements.append(Disagreement(path, tuple(whole), "it was replaced, or truncated"))
            return
        if batches is not None and batches.rows != batches.batches:
            message = f"{batches.rows:,} batches are in the table, but {batches.batches:,} were found"
            self.disagreements.append(Disagreement(path, (BATCHES,), message))
        if batches is not None and segments is not None:
            self._compare(path, (BATCHES, SEGMENTS), "batches", batches.batches, segments.batches)
            self._compare(path, (BATCHES, SEGMENTS), "records", batches.records, segments.records)
        if records is not None:
            there = None if records.missing is None else records.rows + records.missing
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
        for columns, count in joined(self._finding_columns()):
            yield record_batch(columns_of("findings"), columns, count)

    def _finding_columns(self) -> Iterator[tuple[dict[str, Any], int]]:
        """The columns of each finding, which is one row."""
        no_place: dict[str, object] = {"broker": None, "topic": None, "partition": None, "segment_base": None}
        items = {item.path: item for item, _, _ in self.skipped}
        items |= {path: item for path, _, _ in self.disagreements if path not in items and (item := _item_at(path))}
        for finding in [*self._missing_rows(), *self._unread_records(), *self._disagreeing()]:
            columns = {column.name: [getattr(finding, column.name)] for column in Finding.schema}
            item = items.get(finding.path)
            place = no_place
            if item is not None:
                place = {
                    "broker": item.broker,
                    "topic": item.topic,
                    "partition": item.partition,
                    "segment_base": item.base_offset,
                }
            yield {"path": [finding.path], **columns, **{name: [value] for name, value in place.items()}}, 1

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


def _item_at(path: str) -> FileItem | None:
    """A file by its path; None if there is none, as for a file that the scan wrote."""
    try:
        return next(discovery.discover(path), None)
    except Unreadable:
        return None


def _listed(tables: Sequence[str]) -> str:
    return f"the table {tables[0]}" if len(tables) == 1 else f"the tables {', '.join(tables)}"


def _key(file_slice: FileSlice | CheckSlice) -> tuple[str, int, int]:
    return SliceReport.of(file_slice).key_in_order


def _finding(code: str, path: str, file_type: str, start: int, end: int, message: str) -> Finding:
    return Finding(
        code, ERROR, path, file_type, start, end, None, None, None, None, None, None, 1, NONE, 0, IGNORE, message
    )  # fmt: skip
