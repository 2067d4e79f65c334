"""Lists offset, time and transaction indexes without the zeros at their ends, and compares them with their logs."""

from __future__ import annotations

import os
from bisect import bisect_left
from itertools import accumulate

from kdump.binary.batch_header import BATCH_HEADER, BATCH_HEADER_SIZE, LAST_OFFSET_DELTA, MAGIC_AT, batch_offset, batch_size
from kdump.binary.source import Source
from kdump.errors import CorruptData, Unreadable
from kdump.formats import file_name, offset_index, time_index, transaction_index
from kdump.formats.entries import used_entries
from kdump.output.kafka.lines import Template
from kdump.output.rows import listing
from kdump.reading import salvage
from kdump.reading.plausible import is_plausible
from kdump.tables import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from kdump.cli.listing.run import Run
    from kdump.formats.record_batch import RecordBatch
    from kdump.tables import Row

_MAX_BATCHES = 64  # between where an entry points and the batch that holds its offset
_AHEAD = 1 << 13  # bytes that are read for the batches after one
_MAX_KEPT = 1 << 16  # of these batches, in memory


def list_offset_index(run: Run, path: str) -> None:
    """List an offset index, each entry compared with the log."""
    base_offset = _base_offset(path)
    with Source(path) as index, _log_of(path) as log:
        run.head(path)
        line = Template.parse(run.request.profile.index_line)
        landings = _Landings(log)
        left = used_entries(index, offset_index.ENTRY_SIZE)
        for table in offset_index.read(index, base_offset):
            offsets, positions = table["offset"][:left], table["position"][:left]
            left -= len(offsets)
            rows = _wanted(run, offsets)
            log_offsets: list[int | None] = []
            statuses: list[str] = []
            for row in rows:
                last, problem = landings.compare(offsets[row], positions[row])
                if problem:
                    run.find(path, "entry for offset {} points to byte {}: " + problem, offsets[row], positions[row], last)
                log_offsets.append(last)
                statuses.append(_status(problem))
            columns = {"offset": _of(offsets, rows), "position": _of(positions, rows), "log_offset": log_offsets}
            _write(run, listing.ListedIndexEntry, columns, statuses, path, line)
        _check_size(run, index, offset_index.ENTRY_SIZE)


class _Landings:
    """The batches that entries of an offset index point to. What was read is kept: many entries may point to the same ones."""

    def __init__(self, log: Source) -> None:
        self._log = log
        self._batches: dict[int, tuple[int | None, int, int] | None] = {}
        self._append_at, self._highest = -1, -1  # the last batch from which others were followed, and their highest offset
        self._start, self._window = 0, b""

    def compare(self, offset: int, position: int) -> tuple[int | None, str]:
        """The last offset of the batch that an entry points to, and what is wrong with the entry, if anything, with `{}` for it.

        Brokers differ in which offset of a batch they write, and one entry may stand for several batches that were appended at
        once; messages of magic 0 and 1 do not state their first offset.
        """
        batch = self._batch_at(position, BATCH_HEADER_SIZE)
        if batch is None:
            return None, "no batch is there"
        first, last, _ = batch
        if (first is None or offset >= first) and (offset <= last or offset <= self._highest_from(position)):
            return last, ""
        return last, "the batch there ends at offset {}"

    def _highest_from(self, position: int) -> int:
        """The highest offset of the batches that one entry may stand for, if this is the first of them.

        -1 for an entry before the last for which it was asked: appends come in order, and an index that goes back costs no more.
        """
        if position < self._append_at:
            return -1
        if position > self._append_at:
            self._append_at, self._highest, end = position, -1, position
            for _ in range(_MAX_BATCHES):
                batch = self._batch_at(end, _AHEAD)
                if batch is None:
                    break
                _, last, end = batch
                self._highest = max(self._highest, last)
        return self._highest

    def _batch_at(self, position: int, size: int) -> tuple[int | None, int, int] | None:
        """The first offset of the batch here (None if not stated), its last one, and its end; None if no batch is here.

        `size` is how much is read, so that the headers after it are there, too.
        """
        if position in self._batches:
            return self._batches[position]
        batch = self._batch_of(self._header_bytes(position, size), position) if 0 <= position < self._log.size else None
        if len(self._batches) >= _MAX_KEPT:
            self._batches.clear()
        self._batches[position] = batch
        return batch

    def _header_bytes(self, position: int, size: int) -> bytes:
        """The bytes of a header here, with `size` read at once if they are not in memory."""
        at = position - self._start
        if not 0 <= at <= len(self._window) - BATCH_HEADER_SIZE:
            try:
                self._start, self._window, at = position, self._log.read(position, size), 0
            except Unreadable:  # perhaps because of bytes that are not needed
                return self._log.read(position, BATCH_HEADER_SIZE)
        return self._window[at : at + BATCH_HEADER_SIZE]

    def _batch_of(self, header_bytes: bytes, position: int) -> tuple[int | None, int, int] | None:
        """What `_batch_at` returns, given the bytes there, which may be fewer than a header."""
        if not is_plausible(header_bytes, self._log.size - position):
            return None
        end, offset = position + batch_size(header_bytes), batch_offset(header_bytes)
        if header_bytes[MAGIC_AT] < 2:
            return None, offset, end
        return offset, offset + BATCH_HEADER.unpack(header_bytes)[LAST_OFFSET_DELTA], end


def list_time_index(run: Run, path: str) -> None:
    """List a time index, each entry compared with the log."""
    base_offset = _base_offset(path)
    with Source(path) as index, _log_of(path) as log:
        run.head(path)
        line = Template.parse(run.request.profile.time_index_line)
        batches = _Batches(log)
        latest, highest = -1, -1
        left = used_entries(index, time_index.ENTRY_SIZE)
        for table in time_index.read(index, base_offset):
            timestamps, offsets = table["timestamp"][:left], table["offset"][:left]
            left -= len(timestamps)
            latest_before = list(accumulate(timestamps, max, initial=latest))
            highest_before = list(accumulate(offsets, max, initial=highest))
            latest, highest = latest_before[-1], highest_before[-1]
            rows = _wanted(run, offsets, timestamps)
            log_timestamps: list[int | None] = []
            statuses: list[str] = []
            for row in rows:
                timestamp, offset = timestamps[row], offsets[row]
                log_timestamp, problem, value = None, "", 0
                if timestamp <= latest_before[row]:
                    problem, value = "comes after an entry for timestamp {}", latest_before[row]
                elif offset < highest_before[row]:
                    problem, value = "comes after an entry for offset {}", highest_before[row]
                else:
                    log_timestamp, problem = batches.compare(timestamp, offset)
                if problem:
                    run.find(path, "entry for offset {}, timestamp {}: " + problem, offset, timestamp, value)
                log_timestamps.append(log_timestamp)
                statuses.append(_status(problem))
            columns = {"timestamp": _of(timestamps, rows), "offset": _of(offsets, rows), "log_timestamp": log_timestamps}
            _write(run, listing.ListedTimeIndexEntry, columns, statuses, path, line)
        _check_size(run, index, time_index.ENTRY_SIZE)


class _Batches:
    """The sound batches of a log, read once, because the entries of a time index are in the order of offsets."""

    def __init__(self, log: Source) -> None:
        self._items = salvage.walk(log)
        self._batches: Table[RecordBatch] | None = None  # those of a section, at least one

    def compare(self, timestamp: int, offset: int) -> tuple[int | None, str]:
        """The largest timestamp of the batch with this offset, and what is wrong with an entry of this timestamp."""
        while self._batches is None or self._batches["last_offset"][-1] < offset:
            item = next(self._items, None)
            if item is None:
                return None, "no batch holds that offset"
            if isinstance(item, salvage.Section) and item.sound:
                self._batches = item.sound
        batches = self._batches
        row = bisect_left(batches["last_offset"], offset)
        first = batches["base_offset"][row]
        if first is not None and offset < first:
            return None, "no batch holds that offset"
        latest: int = batches["timestamp"][row]
        return latest, "" if latest == timestamp else f"the largest timestamp of its batch is {latest}"


def list_transaction_index(run: Run, path: str) -> None:
    """List a transaction index; a version that is not 0 is damage."""
    with run.opened(path) as source:
        path = source.path
        run.head(path)
        line = Template.parse("".join(run.request.profile.transaction_line))
        for table in transaction_index.read(source):
            rows: list[list[Any]] = []
            for entry in table:
                if not run.request.holds_offsets(entry.first_offset, entry.last_offset):
                    continue
                if len(rows) >= run.room(len(rows) + 1):
                    break
                problem = f"has version {entry.version}, only 0 is known" if entry.version else ""
                if problem:
                    run.find(path, f"entry of producer {entry.producer_id} {problem}")
                rows.append([*(getattr(entry, column.name) for column in entry.schema), _status(problem), path])
            run.write_rows(listing.ListedTransaction, rows, line)
        _check_size(run, source, transaction_index.ENTRY_SIZE)


def _wanted(run: Run, offsets: Sequence[int], timestamps: Sequence[int] | None = None) -> Sequence[int]:
    """The rows of entries that are asked for, up to the limit."""
    request = run.request
    rows: Sequence[int] = range(len(offsets))
    if request.has_range:
        rows = [row for row in rows if request.holds_offsets(offsets[row], offsets[row])]
        if timestamps is not None:
            rows = [row for row in rows if request.holds_times(timestamps[row], timestamps[row])]
    return rows[: run.room(len(rows))]


def _of(values: Sequence[int], rows: Sequence[int]) -> Sequence[int]:
    return values if len(values) == len(rows) else [values[row] for row in rows]


def _write(
    run: Run, row_class: type[Row], columns: dict[str, Sequence[Any]], statuses: list[str], path: str, line: Template
) -> None:
    """List compared entries, given the columns that only their kind has. Raises Enough when the limit is reached."""
    if statuses:
        run.write_table(Table(row_class, {**columns, "status": statuses, "file": [path] * len(statuses)}), line)


def _base_offset(path: str) -> int:
    """The base offset in the name of an index. Raises Unreadable if there is none: the entries are relative to it."""
    try:
        return file_name.base_offset(os.path.basename(path))
    except CorruptData as fault:
        raise Unreadable(fault.code, "the name has no base offset", path=path) from fault


def _log_of(path: str) -> Source:
    """The log beside an index. Raises Unreadable."""
    folder, name = os.path.split(path)
    return Source(os.path.join(folder, file_name.stem(name) + file_name.LOG))


def _status(problem: str) -> str:
    return salvage.DAMAGED if problem else salvage.INTACT


def _check_size(run: Run, source: Source, entry_size: int) -> None:
    if source.size % entry_size:
        run.find(source.path, f"{source.size} bytes are not a multiple of {entry_size}: the last entry is cut off")
