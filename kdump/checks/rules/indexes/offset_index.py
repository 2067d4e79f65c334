"""Offset indexes, alone and against their log."""

from __future__ import annotations

from array import array
from itertools import islice
from operator import lt, sub
from struct import Struct

from kdump.binary.source import Source
from kdump.checks.catalogue.fault_kind import DIE
from kdump.checks.finding import INFO, WARNING
from kdump.checks.index_summary import columns, summarize_index
from kdump.checks.rules.indexes.entry_file import EntryFile
from kdump.checks.rules.indexes.sibling_log import SiblingLog, rows_of, sibling_log, size_now
from kdump.checks.wording import counted, offset_range
from kdump.errors import Unreadable
from kdump.formats import file_name, time_index
from kdump.formats.offset_index import ENTRY_SIZE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.checks.context import FileContext
    from kdump.checks.packed_ints import Column
    from kdump.checks.segment_facts import SegmentFacts

_ENTRY = Struct(">ii")  # relative offset, position

INTERVAL = 4096
"""The default of index.interval.bytes: an entry is made where more than this was appended since the last one."""

_ONE_APPEND = 1 << 20
"""What followers and the cleaner append at once, by default, at most; brokers before 4.0 make one entry of it at most."""

_WIDE, _TOO_WIDE = 10, 100  # intervals between two entries that are worth a word, and suspicious
_MAX_WIDE_GAPS = 1000
_SEVERAL = 3  # entries that tell of a whole index
_MANY = 8  # time entries that were hardly made by as many stops of the broker


def check(context: FileContext) -> None:
    """Check one file; every byte of it is entered into its account."""
    with sibling_log(context) as log:
        _Check(context, context.segment, log).run()


class _Check:
    """Goes through the entries once, a window at a time, and from row to row only where something is off."""

    def __init__(self, context: FileContext, facts: SegmentFacts | None, log: SiblingLog | None) -> None:
        self.context = context
        self.entries = EntryFile(context, ENTRY_SIZE)
        self.facts = facts
        self.against = None if log is None else _AgainstLog(context, log, self.entries.count)
        self.gaps = _Gaps(context, log)
        self.previous = (-1, -1)  # offset and position
        self.one_before = (-1, -1)
        self.previous_row = -1

    def run(self) -> None:
        for first_row, data, following in self.entries.windows():
            self._check_window(first_row, data, following)
        self.entries.finish("index-size-misaligned")
        if self.against is not None:
            self.against.finish(self.entries)
            self.gaps.largest_append = self.against.largest_append
        if self.facts is None:
            self.gaps.finish()
        elif self.entries.count > self.entries.zero_count:
            self.gaps.finish(self.facts.end, may_grow=self.context.is_newest is not False and self.entries.has_zero_tail)
        else:
            self._check_emptiness(self.facts)

    def _is_ordinary(self, first_row: int, data: bytes) -> bool:
        """Whether there is nothing to say of a window, but which offsets its entries give, and how far apart they are."""
        against = self.against
        if against is None or against.base_offset is None:
            return False
        summary = summarize_index(data, against.base_offset, self.previous, self.gaps.last_position, against.facts)
        if summary is None:
            return False
        offset, position, smallest_gap, largest_gap, first_kind, last_kind = summary
        against.first_kind += first_kind
        against.last_kind += last_kind
        self.one_before = _ENTRY.unpack_from(data, len(data) - 2 * ENTRY_SIZE) if len(data) > ENTRY_SIZE else self.previous
        self.previous = offset, position
        count = len(data) // ENTRY_SIZE
        self.previous_row = first_row + count - 1
        if largest_gap > _WIDE * INTERVAL:
            _, positions = columns(data)
            self.gaps.add(first_row, range(count), positions)
        else:
            self.gaps.add_even(self.previous_row, position, count, smallest_gap)
        return True

    def _check_window(self, first_row: int, data: bytes, following: bytes) -> None:
        if self._is_ordinary(first_row, data):
            self.entries.count_sound(data)
            return
        offsets, positions = columns(data)
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
            self._look_closely(first_row, offsets, positions, damaged, zeros)
            rows = _ascending_rows(positions, damaged | zeros, self.gaps.last_position)
        self.gaps.add(first_row, rows, positions)
        if self.against is not None:
            next_position = 0
            if following:
                _, (next_position, *_) = columns(following)
            damaged |= self.against.compare(first_row, offsets, positions, next_position, zeros)
        self.entries.count_window(data, damaged, zeros)

    def _look_closely(
        self, first_row: int, offsets: Sequence[int], positions: Sequence[int], damaged: set[int], zeros: set[int]
    ) -> None:
        """Check order and bounds row by row."""
        for row, (offset, position) in enumerate(zip(offsets, positions, strict=True)):
            if not offset and not position and (first_row or row):
                zeros.add(row)
                continue
            if self._is_out_of_bounds(first_row + row, offset, position):
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
        if offset < 0:
            message = f"Entry {row:,} holds offset {offset:,} relative to the base of its segment; none is below it."
            context.report("index-entry-below-base", start, start + ENTRY_SIZE, message, expected="0 or more", found=offset)
        if position < 0:
            message = f"Entry {row:,} points to byte {position:,}: no file has one."
            context.report(
                "index-position-not-boundary", start, start + ENTRY_SIZE, message, expected="0 or more", found=position
            )
        if self.facts is not None and position >= self.facts.size and position >= (size := size_now(self.facts)):
            message = f"Entry {row:,} points to byte {position:,} of a log of {size:,} bytes."
            expected = f"less than {size}"
            context.report("index-position-past-log", start, start + ENTRY_SIZE, message, expected=expected, found=position)
            return True
        return offset < 0 or position < 0

    def _report_disorder(self, first_row: int, row: int, offset: int, position: int) -> int:
        """Report an entry that is not above the one before; the answer is the row of that which is to blame.

        Where this one is above the last but one, the one between is too high.
        """
        blamed = row
        last_offset, last_position = self.previous
        earlier_offset, earlier_position = self.one_before
        for code, what, number, before, earlier in (
            ("index-entry-order", "offset", offset, last_offset, earlier_offset),
            ("index-position-order", "position", position, last_position, earlier_position),
        ):
            if before < number:
                continue
            is_too_high = self.previous_row >= first_row and 0 <= earlier < number < before
            blamed = self.previous_row - first_row if is_too_high else row
            start = (first_row + blamed) * ENTRY_SIZE
            if self.context.is_full(code):
                self.context.report(code, start, start + ENTRY_SIZE, "")
                continue
            message = f"Entry {first_row + row:,} has {what} {number:,}, the one before has {before:,}; they must ascend."
            expected, found = f"more than {before}", number
            if is_too_high:
                message = f"Entry {self.previous_row:,} has {what} {before:,}, the next one has {number:,}; they must ascend."
                expected, found = f"less than {number}", before
            self.context.report(code, start, start + ENTRY_SIZE, message, expected=expected, found=found)
        return blamed

    def _check_emptiness(self, facts: SegmentFacts) -> None:
        """Report a log of some size of which the index knows nothing."""
        expected = _expected_entries(facts.positions)
        if facts.end <= 2 * INTERVAL or not expected:
            return
        message = (
            f"The index has no entry for a log of {facts.end:,} bytes, and each lookup reads the log from its start; "
            f"a leader makes {counted(expected, 'entry', 'entries')} by default."
        )
        severity = WARNING
        if self._has_time_entries():
            message += " The time index has entries, so these were lost."
        elif facts.end <= _ONE_APPEND:
            message += " Lawful if a follower or the cleaner appended it at once, or little between restarts."
            severity = INFO
        size = self.context.source.size
        self.context.report("index-empty-large-log", 0, size, message, severity=severity, expected=expected, found=0)

    def _has_time_entries(self) -> bool:
        """Whether the time index beside has several entries: they are made in both at once, and else at a roll or stop only."""
        path = self.context.path.removesuffix(file_name.OFFSET_INDEX) + file_name.TIME_INDEX
        try:
            with Source(path) as source:
                return any(source.read((_MANY - 1) * time_index.ENTRY_SIZE, time_index.ENTRY_SIZE))
        except Unreadable:
            return False


class _AgainstLog:
    """Compares entries with the batches they lead to.

    What an entry's offset means depends on the broker: the first offset of the append that begins at its position up to 1.1,
    the last of it from 2.0 on. An append of a leader is a batch, or several messages of magic 0 and 1; one of a follower, and
    of the cleaner, is many batches, up to 3.9. Where records were cleaned away, the last of the append is that of its last
    record. All of them lead readers right: no batch before the position holds the offset or a later one.
    """

    def __init__(self, context: FileContext, log: SiblingLog, entry_count: int) -> None:
        self.context = context
        self.log = log
        self.facts = log.facts
        self.base_offset = context.base_offset
        self.entry_count = entry_count
        self.first_kind = 0
        self.last_kind = 0
        self.wrong_count = 0
        self.distances: set[int | None] = set()
        self.largest_append = 0

    def compare(
        self, first_row: int, offsets: array[int], positions: array[int], next_position: int, zeros: set[int]
    ) -> set[int]:
        """The rows of a window that contradict the log; each is reported."""
        facts, base_offset = self.facts, self.base_offset
        damaged: set[int] = set()
        if facts.positions:
            rows = rows_of(facts.positions, positions)
            last_row = len(facts.positions) - 1
            is_beyond = max(rows) > last_row
            beyond = [row > last_row for row in rows] if is_beyond else []
            rows = array("q", [min(row, last_row) for row in rows]) if is_beyond else rows
            batch_positions = facts.positions.at(rows).tolist()
            for row, is_there in enumerate(beyond):
                if is_there:
                    batch_positions[row] = -1
            last_offsets = facts.last_offsets.at(rows)
        else:
            rows = last_offsets = array("q", [-1]) * len(positions)
            batch_positions = rows.tolist()
        entry_offsets = [base_offset + offset for offset in offsets] if base_offset is not None else last_offsets
        following = [*islice(positions, 1, None), next_position]
        ends = [end if end > position else facts.size for position, end in zip(positions, following, strict=True)]
        first_offsets = facts.first_offsets.at(rows) if facts.positions else rows
        endings: Sequence[tuple[int, int]] | None = None
        odd: list[int] = []  # where entries start that are only counted
        wrong: list[int] = []
        for row, (position, offset, batch_position, last_offset) in enumerate(
            zip(positions, entry_offsets, batch_positions, last_offsets, strict=True)
        ):
            if batch_position == position and offset == last_offset and offsets[row] >= 0 and row not in zeros:
                self.last_kind += first_offsets[row] < offset
                continue
            if row in zeros or offsets[row] < 0 or not 0 <= position < facts.size:
                continue  # said to be wrong already
            if batch_position != position:
                if facts.damage_ends and self.log.may_hold_more(position, position + 1):
                    continue  # it may be that of a damaged batch
                damaged.add(row)
                if odd or self.context.is_full("index-position-not-boundary"):
                    odd.append((first_row + row) * ENTRY_SIZE)
                else:
                    self._report_odd_position(first_row + row, position)
                continue
            if endings is None:  # after the batches in which each append and the offset end
                endings = list(zip(rows_of(facts.positions, ends), rows_of(facts.last_offsets, entry_offsets), strict=True))
            first = first_offsets[row]
            if offset < first == last_offset:
                first = self.log.first_offset(rows[row])
            if not self._is_lawful(offset, rows[row], first, last_offset, position, ends[row], *endings[row]):
                damaged.add(row)
                if len(self.distances) < 2:
                    self.distances.add(offset - last_offset)
                if wrong or self.context.is_full("index-offset-mismatch"):
                    wrong.append((first_row + row) * ENTRY_SIZE)
                else:
                    self._report_mismatch(first_row + row, offset, position, first, last_offset)
        self.context.count_more("index-position-not-boundary", odd, ENTRY_SIZE)
        self.context.count_more("index-offset-mismatch", wrong, ENTRY_SIZE)
        self.wrong_count += len(damaged)
        return damaged

    def _report_odd_position(self, row: int, position: int) -> None:
        facts, start = self.facts, row * ENTRY_SIZE
        self.distances.add(None)
        batch_row = facts.positions.bisect_right(position)
        near = [f"{facts.positions[near]:,}" for near in (batch_row - 1, batch_row) if 0 <= near < len(facts.positions)]
        message = f"Entry {row:,} points to byte {position:,} of the log, where no batch starts; the next to it start at "
        message += " and ".join(near) + "."
        expected = " or ".join(near).replace(",", "")
        is_last = self.context.is_newest is True and row == self.entry_count - 1
        forecast = DIE if is_last else None
        self.context.report(
            "index-position-not-boundary",
            start,
            start + ENTRY_SIZE,
            message,
            expected=expected,
            found=position,
            forecast=forecast,
        )

    def _is_lawful(
        self, offset: int, batch_row: int, first: int, last: int, position: int, end: int, stop: int, ending: int
    ) -> bool:
        """Whether the offset is one that a broker may have written for an append from this batch on, that ends before `end`.

        The batch starts at `position`, and holds offsets from `first` to `last`. `stop` is the row of the first batch from `end`
        on, `ending` that of the first batch with this last offset or a later one.
        """
        facts, log = self.facts, self.log
        if first > last:
            return True  # the batch is wrong, and said to be
        if first <= offset < last and (offset == facts.first_offsets[batch_row] or first < facts.first_offsets[batch_row]):
            self.first_kind += 1  # of a wrapper any offset will do: where it begins shows only inside
            return True
        if offset >= first:
            ending = max(batch_row, min(ending, stop))
            if ending < stop and log.may_reach_down_to(ending, offset):
                if offset == facts.last_offsets[ending]:
                    self.last_kind += 1
                    self.largest_append = max(self.largest_append, log.end_of(ending) - position)
                    return True
                if log.has_lost_records(ending):
                    self.last_kind += 1
                    return True
            if log.may_hold_more(position, end) or not log.is_ordered():
                return True
        return False

    def _report_mismatch(self, row: int, offset: int, position: int, first: int, last: int) -> None:
        start = row * ENTRY_SIZE
        effect = "Readers start early, and miss nothing."
        if offset < first:
            effect = f"Readers of {offset_range(offset, first - 1)} start too late and may miss them."
        held = offset_range(first, last)
        message = f"Entry {row:,} has offset {offset:,} for byte {position:,} of the log; the batch there holds {held}. {effect}"
        self.context.report(
            "index-offset-mismatch",
            start,
            start + ENTRY_SIZE,
            message,
            offsets=(min(offset, first), max(offset, last)),
            expected=last,
            found=offset,
        )

    def finish(self, entries: EntryFile) -> None:
        """Report what only all entries together tell."""
        end = entries.count * ENTRY_SIZE
        if self.first_kind and self.last_kind:
            count = counted(self.first_kind, "entry gives", "entries give")
            message = (
                f"{count} the first offset of a batch, as brokers up to 1.1 write it, others the last, as later ones do. "
                "Both lead readers right; Kafka's tool calls the first kind mismatches."
            )
            self.context.report("index-offset-mismatch", 0, end, message, severity=INFO, found=self.first_kind)
        if self.wrong_count >= _SEVERAL and self.wrong_count == entries.count - entries.zero_count:
            distance = self.distances.pop() if len(self.distances) == 1 else None
            what = "contradict the log" if distance is None else f"are off by {distance:+,} offsets"
            message = f"All {self.wrong_count:,} entries {what}: the index was made for another log, or for this one as it was."
            self.context.report("index-stale", 0, end, message, found=distance)


class _Gaps:
    """How far apart entries are, in bytes of the log."""

    def __init__(self, context: FileContext, log: SiblingLog | None) -> None:
        self.context = context
        self.log = log
        self.largest_append = 0
        self._last_row = -1
        self.last_position = 0
        self._count = 0
        self._smallest: int | None = None
        self._wide: list[tuple[int, int, int]] = []  # the row of an entry, the position before, and its own

    def add(self, first_row: int, rows: Sequence[int], positions: array[int]) -> None:
        """The next entries: those of these rows, counted from the first, are in order."""
        if not rows:
            return
        if len(rows) < len(positions):
            positions = array("i", map(positions.__getitem__, rows))
        starts = array("i", [self.last_position])
        starts += positions[:-1]
        gaps = list(map(sub, positions, starts))
        self._last_row, self.last_position = first_row + rows[-1], positions[-1]
        self._count += len(gaps)
        smallest = min(gaps)
        self._smallest = smallest if self._smallest is None else min(self._smallest, smallest)
        if max(gaps) > _WIDE * INTERVAL and len(self._wide) < _MAX_WIDE_GAPS:
            self._wide += [
                (first_row + row, start, end)
                for row, start, end, gap in zip(rows, starts, positions, gaps, strict=True)
                if gap > _WIDE * INTERVAL
            ][: _MAX_WIDE_GAPS - len(self._wide)]

    def add_even(self, last_row: int, last_position: int, count: int, smallest: int) -> None:
        """The next entries, all of them in order, and not far apart."""
        self._last_row, self.last_position = last_row, last_position
        self._count += count
        self._smallest = smallest if self._smallest is None else min(self._smallest, smallest)

    def finish(self, log_end: int | None = None, *, may_grow: bool = False) -> None:
        """Report gaps that no lawful interval explains, between entries and up to the end of the log."""
        interval = max(INTERVAL, self._smallest or 0) if self._count >= 8 else INTERVAL
        lawful = _TOO_WIDE * interval + max(_ONE_APPEND, self.largest_append)
        wide = []
        for row, start, end in self._wide:
            excess = end - start - self._largest_batch(start, end)
            if excess > lawful:
                message = (
                    f"No entry for {end - start:,} bytes of the log, from byte {start:,} to {end:,}: lookups there are slow."
                )
                self._report("index-sparse-gap", max(row - 1, 0), row, message, WARNING, end - start)
            elif excess > _WIDE * interval:
                wide.append(end - start)
        if wide:
            gaps = counted(len(wide), "gap")
            message = f"{gaps} of more than {_WIDE * interval:,} bytes of the log between entries; the widest has {max(wide):,}."
            self._report("index-sparse-gap", 0, self._last_row, message, INFO, max(wide))
        if log_end is None:
            return
        distance = log_end - self.last_position
        if distance - self._largest_batch(self.last_position, log_end) > lawful:
            message = f"The last entry leads to byte {self.last_position:,}, {distance:,} bytes before the end of the log."
            self._report("index-stale", self._last_row, self._last_row, message, INFO if may_grow else WARNING, distance)

    def _largest_batch(self, start: int, end: int) -> int:
        return 0 if self.log is None else self.log.largest_batch(start, end)

    def _report(self, code: str, first_row: int, last_row: int, message: str, severity: str, found: int) -> None:
        start, end = first_row * ENTRY_SIZE, (last_row + 1) * ENTRY_SIZE
        self.context.report(code, start, end, message, severity=severity, found=found)


def _ascending_rows(positions: Sequence[int], left_out: set[int], highest: int) -> list[int]:
    rows = []
    for row, position in enumerate(positions):
        if position > highest and row not in left_out:
            rows.append(row)
            highest = position
    return rows


def _is_ascending(column: Sequence[int]) -> bool:
    return all(map(lt, column, islice(column, 1, None)))


def _expected_entries(positions: Column) -> int:
    """How many entries a leader makes for batches at these positions, one append each."""
    count = row = start = 0
    while (row := positions.bisect_right(start + INTERVAL, row)) < len(positions):
        start = positions[row]
        count += 1
    return count
