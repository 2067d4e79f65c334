"""Offset indexes, alone and compared with their log."""

from __future__ import annotations

from itertools import islice
from operator import lt

from kdump.binary.source import Source
from kdump.checks.finding import INFO, WARNING
from kdump.checks.rules.indexes.entry_file import EntryFile
from kdump.checks.rules.indexes.offset_index_gaps import INTERVAL_BYTES, ONE_APPEND_BYTES, EntryGaps
from kdump.checks.rules.indexes.offset_index_targets import EntryTargets
from kdump.checks.rules.indexes.sibling_log import SiblingLog, sibling_log, size_now
from kdump.checks.wording import counted
from kdump.errors import Unreadable
from kdump.formats import file_name, time_index
from kdump.formats.offset_index import ENTRY_SIZE, columns_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.checks.context import FileContext
    from kdump.checks.packed_ints import PackedInts
    from kdump.checks.segment_facts import SegmentFacts

_ANY_POSITION = 1 << 31  # no entry can say it
_OFFSETS, _POSITIONS, _PAST_LOG = "index-entry-order", "index-position-order", "index-position-past-log"
_WHAT = {_OFFSETS: "offset", _POSITIONS: "position"}
_MIN_TIME_ENTRIES = 8  # that were hardly made by as many stops of the broker


def check(context: FileContext) -> None:
    """Check one file; each of its bytes is counted once."""
    with sibling_log(context) as log:
        _Check(context, context.segment, log).run()


class _Check:
    """Reads the entries once, a window at a time, and row by row only where something is wrong."""

    def __init__(self, context: FileContext, facts: SegmentFacts | None, log: SiblingLog | None) -> None:
        self.context = context
        self.entries = EntryFile(context, ENTRY_SIZE)
        self.facts = facts
        self.targets = None if log is None else EntryTargets(context, log, self.entries.count)
        self.gaps = EntryGaps(context, log)
        self.previous = (-1, -1)  # offset and position
        self.one_before = (-1, -1)
        self.previous_row = -1
        self.log_size: int | None = None

    def run(self) -> None:
        for first_row, data, following in self.entries.windows():
            self._check_window(first_row, data, following)
        self.entries.finish("index-size-misaligned")
        if self.targets is not None:
            self.targets.finish(self.entries)
            self.gaps.largest_append = self.targets.largest_append
        if self.facts is None:
            self.gaps.finish()
        elif self.entries.count > self.entries.zero_count:
            self.gaps.finish(self.facts.end, may_grow=self.context.is_newest is not False and self.entries.has_zero_tail)
        else:
            self._check_emptiness(self.facts)

    def _check_window(self, first_row: int, data: bytes, following: bytes) -> None:
        offsets, positions = columns_of(data)
        self.log_size = None
        damaged: set[int] = set()
        zeros: set[int] = set()
        rows: Sequence[int] = range(len(offsets))
        last_offset, last_position = self.previous
        if (
            last_offset < offsets[0] >= 0
            and last_position < positions[0] >= 0
            and _is_ascending(offsets)
            and _is_ascending(positions)
            and (self.facts is None or positions[-1] < self.facts.size)
        ):
            self.one_before = (offsets[-2], positions[-2]) if len(offsets) > 1 else self.previous
            self.previous = offsets[-1], positions[-1]
            self.previous_row = first_row + len(offsets) - 1
        else:
            self._check_rows(first_row, offsets, positions, damaged, zeros)
            rows = _ascending_rows(positions, damaged | zeros, self.gaps.last_position)
        self.gaps.add(first_row, rows, positions)
        if self.targets is not None:
            next_position = 0
            if following:
                _, (next_position, *_) = columns_of(following)
            damaged |= self.targets.compare(first_row, offsets, positions, next_position, zeros)
        self.entries.count_window(data, damaged, zeros)

    def _check_rows(
        self, first_row: int, offsets: Sequence[int], positions: Sequence[int], damaged: set[int], zeros: set[int]
    ) -> None:
        """Check order and bounds row by row."""
        end = _ANY_POSITION if self.facts is None else self.facts.size
        for row, (offset, position) in enumerate(zip(offsets, positions, strict=True)):
            if not offset and not position and (first_row or row):
                zeros.add(row)
                continue
            if (offset < 0 or not 0 <= position < end) and self._is_out_of_bounds(first_row + row, offset, position):
                damaged.add(row)
                continue
            last_offset, last_position = self.previous
            if last_offset >= offset or last_position >= position:
                damaged.add(self._report_disorder(first_row, row, offset, position))
            else:
                self.one_before = self.previous
            self.previous, self.previous_row = (offset, position), first_row + row

    def _is_out_of_bounds(self, row: int, offset: int, position: int) -> bool:
        context, start = self.context, row * ENTRY_SIZE
        if offset < 0 and not context.counts_only("index-entry-below-base", start, start + ENTRY_SIZE):
            message = f"Entry {row:,} has relative offset {offset:,}; relative offsets cannot be negative."
            context.report("index-entry-below-base", start, start + ENTRY_SIZE, message, expected="0 or more", found=offset)
        if position < 0 and not context.counts_only("index-position-not-boundary", start, start + ENTRY_SIZE):
            message = f"Entry {row:,} points to byte {position:,}: that position cannot exist."
            context.report(
                "index-position-not-boundary", start, start + ENTRY_SIZE, message, expected="0 or more", found=position
            )
        if self.facts is not None and position >= self.facts.size and position >= (size := self._size_of_log()):
            if context.counts_only(_PAST_LOG, start, start + ENTRY_SIZE):
                return True
            message = f"Entry {row:,} points to byte {position:,} of a log of {size:,} bytes."
            expected = f"less than {size}"
            context.report(_PAST_LOG, start, start + ENTRY_SIZE, message, expected=expected, found=position)
            return True
        return offset < 0 or position < 0

    def _size_of_log(self) -> int:
        """The size of the log after the window at hand was read: what a broker appended since cannot be meant by its entries."""
        if self.log_size is None:
            assert self.facts is not None
            self.log_size = size_now(self.facts)
        return self.log_size

    def _report_disorder(self, first_row: int, row: int, offset: int, position: int) -> int:
        """Report an entry that is not above the one before; returns the row of the wrong one.

        Where this one is above the last but one, the one between is too high.
        """
        blamed = row
        last_offset, last_position = self.previous
        earlier_offset, earlier_position = self.one_before
        before_is_here = self.previous_row >= first_row
        for code, number, before, earlier in (
            (_OFFSETS, offset, last_offset, earlier_offset),
            (_POSITIONS, position, last_position, earlier_position),
        ):
            if before < number:
                continue
            is_too_high = before_is_here and 0 <= earlier < number < before
            blamed = self.previous_row - first_row if is_too_high else row
            start = (first_row + blamed) * ENTRY_SIZE
            if self.context.counts_only(code, start, start + ENTRY_SIZE):
                continue
            what = _WHAT[code]
            message = f"Entry {first_row + row:,} has {what} {number:,}, the one before has {before:,}; they must ascend."
            expected, found = f"more than {before}", number
            if is_too_high:
                message = f"Entry {self.previous_row:,} has {what} {before:,}, the next one has {number:,}; they must ascend."
                expected, found = f"less than {number}", before
            self.context.report(code, start, start + ENTRY_SIZE, message, expected=expected, found=found)
        return blamed

    def _check_emptiness(self, facts: SegmentFacts) -> None:
        """Report an index without entries, if the log is large enough to have some."""
        expected = _expected_entries(facts.positions)
        if facts.end <= 2 * INTERVAL_BYTES or not expected:
            return
        message = (
            f"The index has no entry for a log of {facts.end:,} bytes, so each lookup reads the log from its start; "
            f"a leader makes {counted(expected, 'entry', 'entries')} by default."
        )
        severity = WARNING
        if self._has_time_entries():
            message += " The time index has entries, so those of this index were lost."
        elif facts.end <= ONE_APPEND_BYTES:
            message += " Valid if a follower or the cleaner appended everything at once, or little was appended between restarts."
            severity = INFO
        size = self.context.source.size
        self.context.report("index-empty-large-log", 0, size, message, severity=severity, expected=expected, found=0)

    def _has_time_entries(self) -> bool:
        """Whether the time index has several entries: brokers add to both at once, or to it alone when they roll or stop."""
        path = self.context.path.removesuffix(file_name.OFFSET_INDEX) + file_name.TIME_INDEX
        try:
            with Source(path) as source:
                return any(source.read((_MIN_TIME_ENTRIES - 1) * time_index.ENTRY_SIZE, time_index.ENTRY_SIZE))
        except Unreadable:
            return False


def _ascending_rows(positions: Sequence[int], left_out: set[int], highest: int) -> list[int]:
    rows = []
    for row, position in enumerate(positions):
        if position > highest and row not in left_out:
            rows.append(row)
            highest = position
    return rows


def _is_ascending(column: Sequence[int]) -> bool:
    return all(map(lt, column, islice(column, 1, None)))


def _expected_entries(positions: PackedInts) -> int:
    """The number of entries that a leader makes for batches at these positions, one append each."""
    count = row = start = 0
    while (row := positions.bisect_right(start + INTERVAL_BYTES, row)) < len(positions):
        start = positions[row]
        count += 1
    return count
