"""Time indexes, alone and compared with their log."""

from __future__ import annotations

import os
from array import array
from itertools import islice
from operator import le, lt

from kdump.checks.finding import INFO
from kdump.checks.rules.indexes.entry_file import EntryFile
from kdump.checks.rules.indexes.sibling_log import SiblingLog, rows_of, sibling_log
from kdump.checks.rules.order.misplaced import report
from kdump.checks.wording import counted, time
from kdump.formats import time_index
from kdump.formats.record_batch import NO_TIMESTAMP
from kdump.formats.time_index import ENTRY_SIZE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.checks.context import FileContext

_TIMESTAMPS, _OFFSETS = "timeindex-timestamp-order", "timeindex-offset-order"
_NOT_FOUND = "timeindex-offset-not-found"
_MISMATCH = "timeindex-timestamp-mismatch"
_BELOW_ALL = -(1 << 63) - 1
_MOST_SOUGHT = 16  # entries for whose timestamps all batches are looked at


def check(context: FileContext) -> None:
    """Check one file; each of its bytes is counted once."""
    with sibling_log(context) as log:
        _Check(context, log).run()


class _Check:
    """Reads the entries once, a window at a time, and row by row only where something is wrong."""

    def __init__(self, context: FileContext, log: SiblingLog | None) -> None:
        self.context = context
        self.entries = EntryFile(context, ENTRY_SIZE)
        self.log = log
        self.targets = None if log is None or context.base_offset is None else _EntryTargets(context, log, context.base_offset)
        self.previous = (_BELOW_ALL, -1)  # timestamp and offset
        self.one_before = (_BELOW_ALL, -1)
        self.previous_row = -1
        self.latest = NO_TIMESTAMP

    def run(self) -> None:
        for first_row, data, _ in self.entries.windows():
            self._check_window(first_row, data)
        self.entries.finish("timeindex-size-misaligned")
        if self.targets is not None:
            self.targets.finish(self.entries)
        if self.log is not None and self.context.is_newest is False:
            self._check_last(self.log)

    def _check_window(self, first_row: int, data: bytes) -> None:
        timestamps, offsets = time_index.columns_of(data)
        damaged: set[int] = set()
        zeros: set[int] = set()
        last_timestamp, last_offset = self.previous
        if (
            last_timestamp < timestamps[0]
            and last_offset <= offsets[0] >= 0
            and all(map(lt, timestamps, islice(timestamps, 1, None)))
            and all(map(le, offsets, islice(offsets, 1, None)))
        ):
            self.one_before = (timestamps[-2], offsets[-2]) if len(offsets) > 1 else self.previous
            self.previous = timestamps[-1], offsets[-1]
            self.previous_row = first_row + len(offsets) - 1
        else:
            self._check_rows(first_row, timestamps, offsets, damaged, zeros)
        if self.targets is not None:
            damaged |= self.targets.compare(first_row, timestamps, offsets, zeros)
        self.latest = max(self.latest, max(timestamps))
        self.entries.count_window(data, damaged, zeros)

    def _check_rows(
        self, first_row: int, timestamps: Sequence[int], offsets: Sequence[int], damaged: set[int], zeros: set[int]
    ) -> None:
        """Check the order row by row."""
        last_timestamp, last_offset = self.previous
        earlier_timestamp, earlier_offset = self.one_before
        last_row = self.previous_row - first_row
        for row, (timestamp, offset) in enumerate(zip(timestamps, offsets, strict=True)):
            if not timestamp and not offset and (first_row or row):
                zeros.add(row)
                continue
            if offset < 0:
                self._report_below_base(first_row + row, offset)
                damaged.add(row)
                continue
            if last_timestamp >= timestamp or last_offset > offset:
                # if this entry follows the last but one, the one between is too high
                may_be_high, blamed = last_row >= 0 and earlier_offset >= 0, row
                if last_timestamp >= timestamp:
                    blamed = last_row if may_be_high and earlier_timestamp < timestamp < last_timestamp else row
                    self._report_disorder(_TIMESTAMPS, first_row, row, blamed, timestamp, last_timestamp)
                if last_offset > offset:
                    blamed = last_row if may_be_high and earlier_offset < offset else row
                    self._report_disorder(_OFFSETS, first_row, row, blamed, offset, last_offset)
                damaged.add(blamed)
            else:
                earlier_timestamp, earlier_offset = last_timestamp, last_offset
            last_timestamp, last_offset, last_row = timestamp, offset, row
        self.one_before = earlier_timestamp, earlier_offset
        self.previous, self.previous_row = (last_timestamp, last_offset), first_row + last_row

    def _report_below_base(self, row: int, offset: int) -> None:
        start = row * ENTRY_SIZE
        if not self.context.counts_only("index-entry-below-base", start, start + ENTRY_SIZE):
            message = f"Entry {row:,} has relative offset {offset:,}; relative offsets cannot be negative."
            self.context.report("index-entry-below-base", start, start + ENTRY_SIZE, message, expected="0 or more", found=offset)

    def _report_disorder(self, code: str, first_row: int, row: int, blamed: int, number: int, before: int) -> None:
        """Report an entry that goes back from the one before; the row of the wrong one of the two is `blamed`."""
        start = (first_row + blamed) * ENTRY_SIZE
        if self.context.counts_only(code, start, start + ENTRY_SIZE):
            return
        is_of_timestamps = code == _TIMESTAMPS
        this, other = (time(number), time(before)) if is_of_timestamps else (f"offset {number:,}", f"offset {before:,}")
        what, order = ("timestamps", "rise") if is_of_timestamps else ("offsets", "not fall")
        if blamed == row:
            message = f"Entry {first_row + row:,} has {this}, the one before {other}; {what} must {order}."
            expected, found = f"more than {before}" if is_of_timestamps else f"{before} or more", number
        else:
            message = f"Entry {first_row + blamed:,} has {other}, the next one {this}; {what} must {order}."
            expected, found = f"less than {number}" if is_of_timestamps else f"{number} or less", before
        self.context.report(code, start, start + ENTRY_SIZE, message, expected=expected, found=found)

    def _check_last(self, log: SiblingLog) -> None:
        """Report a sealed segment whose latest timestamp has no entry: brokers make one when they seal it."""
        facts = log.facts
        latest = facts.max_timestamps.highest(NO_TIMESTAMP)
        if latest <= self.latest:
            return
        row = facts.max_timestamps.index(latest)
        if not self.context.source.size and log.is_legacy(row):
            return  # sealed before there were time indexes; a later broker made an empty one
        if self.entries.has_zero_tail and not self.entries.count and latest == 0:
            return  # its only entry is all zeros
        last = f"ends with {time(self.latest)}" if self.entries.count else "has no entry"
        message = (
            f"The batch that ends with offset {facts.last_offsets[row]:,} has a record of {time(latest)}, "
            f"but the time index {last}, though the segment is sealed."
        )
        size = self.context.source.size
        start = max(self.entries.count - 1, 0) * ENTRY_SIZE
        end = min(start + ENTRY_SIZE, size)
        self.context.report("timeindex-last-not-max", start, end, message, expected=latest, found=self.latest)


class _EntryTargets:
    """Compares entries with the batches that hold their offsets."""

    def __init__(self, context: FileContext, log: SiblingLog, base_offset: int) -> None:
        self.context = context
        self.log = log
        self.facts = log.facts
        self.base_offset = base_offset
        self.inside_count = 0
        self._sought = 0  # batches that were looked for by their timestamp
        self._tail_offset: int | None = None

    def compare(self, first_row: int, timestamps: Sequence[int], offsets: Sequence[int], zeros: set[int]) -> set[int]:
        """The rows of a window that contradict the log; each is reported."""
        damaged: set[int] = set()
        entry_offsets = [self.base_offset + offset for offset in offsets]
        facts = self.facts
        batch_rows = rows_of(facts.last_offsets, entry_offsets)
        last_row = len(facts.positions) - 1
        rows = array("q", [min(row, last_row) for row in batch_rows])
        found = [column.at(rows) if facts.positions else rows for column in (facts.first_offsets, facts.max_timestamps)]
        columns = zip(timestamps, entry_offsets, batch_rows, *found, strict=True)
        end = self._end_of_counted()
        for row, (timestamp, offset, batch_row, first_offset, latest) in enumerate(columns):
            if row in zeros or offsets[row] < 0:
                continue  # said to be wrong already
            if offset >= end and batch_row > last_row:
                start = (first_row + row) * ENTRY_SIZE
                self.context.counts_only(_NOT_FOUND, start, start + ENTRY_SIZE)
                damaged.add(row)
                continue
            is_there = batch_row <= last_row and first_offset <= offset
            if is_there and latest == timestamp:
                is_inside = offset < facts.last_offsets[batch_row]
                self.inside_count += is_inside
                if is_inside and self.log.has_lost_records(batch_row):
                    self._report_moved(batch_row, timestamp, offset)
            elif is_there and self.context.is_full(_MISMATCH) and self.log.is_ordered():
                start = (first_row + row) * ENTRY_SIZE
                self.context.counts_only(_MISMATCH, start, start + ENTRY_SIZE)
                damaged.add(row)
            elif not self._is_right(first_row + row, timestamp, offset, batch_row):
                damaged.add(row)
        return damaged

    def _end_of_counted(self) -> int:
        """The offset from which on entries that name one past the log are wrong, and only counted."""
        if self._tail_offset is None or not self.context.is_full(_NOT_FOUND) or not self.log.is_ordered():
            return 1 << 64
        return self._tail_offset + 1

    def _is_right(self, row: int, timestamp: int, offset: int, batch_row: int) -> bool:
        """Whether a batch holds the offset and, as its latest, the timestamp; what is wrong is reported."""
        facts = self.facts
        if batch_row == len(facts.positions) or not self.log.may_reach_down_to(batch_row, offset):
            return self._is_hidden(offset, batch_row) or not self._report_not_found(row, timestamp, offset)
        if facts.first_offsets[batch_row] > offset and self._is_hidden(offset, batch_row):
            return True  # inside a wrapper, or the damaged batch before it
        found = facts.max_timestamps[batch_row]
        if found == timestamp:
            self.inside_count += offset < facts.last_offsets[batch_row]
            return True
        if not self.log.is_ordered():
            return True
        message = (
            f"Entry {row:,} says that the latest record up to offset {offset:,} is of {time(timestamp)}; "
            f"that of the batch there is of {time(found)}."
        )
        self._report_moved(None, timestamp, offset)
        start, offsets = row * ENTRY_SIZE, (offset, facts.last_offsets[batch_row])
        self.context.report(_MISMATCH, start, start + ENTRY_SIZE, message, offsets=offsets, expected=found, found=timestamp)
        return False

    def _report_moved(self, row: int | None, timestamp: int, offset: int) -> None:
        """Report the batch in a row, by default the one with the timestamp, if it ends at the offset but for one bit."""
        if row is None:
            self._sought += 1
            if self._sought > _MOST_SOUGHT:  # each is a look at all batches
                return
            row = next((row for row, latest in enumerate(self.facts.max_timestamps) if latest == timestamp), None)
        moved = [] if row is None else self.log.misplaced_to(row, offset)
        if moved:
            name = os.path.basename(self.context.path)
            report(self.context, moved, f"{name} has {offset:,} as the offset of its {time(timestamp)}")

    def _is_hidden(self, offset: int, batch_row: int) -> bool:
        """Whether the offset may be that of a damaged batch before this row, or cannot be looked for."""
        facts = self.facts
        if not self.log.is_ordered():
            return True
        if batch_row < len(facts.positions):
            start = facts.positions[batch_row - 1] if batch_row else 0
            return self.log.may_hold_more(start, facts.positions[batch_row])
        if self._tail_offset is None:
            last_offset = self.log.last_offset_of_tail()
            self._tail_offset = 1 << 63 if last_offset is None else last_offset
        return offset <= self._tail_offset

    def _report_not_found(self, row: int, timestamp: int, offset: int) -> bool:
        start = row * ENTRY_SIZE
        if self.context.counts_only(_NOT_FOUND, start, start + ENTRY_SIZE):
            return True
        last = self.facts.last_offset
        self._report_moved(None, timestamp, offset)
        where = "the log is empty" if last is None else f"the log ends with {last:,}" if offset > last else "no batch contains it"
        message = f"Entry {row:,} names offset {offset:,} for {time(timestamp)}, but {where}."
        self.context.report(_NOT_FOUND, start, start + ENTRY_SIZE, message, offsets=(offset, offset), found=offset)
        return True

    def finish(self, entries: EntryFile) -> None:
        """Report what only all entries together show."""
        if self.inside_count:
            count = counted(self.inside_count, "entry names", "entries name")
            message = f"{count} an offset inside a batch, as some leaders write it. Kafka's tool reports it as not found."
            end = entries.count * ENTRY_SIZE
            self.context.report("timeindex-offset-inside-batch", 0, end, message, severity=INFO, found=self.inside_count)
