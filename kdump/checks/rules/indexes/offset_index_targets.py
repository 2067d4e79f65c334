"""Entries of offset indexes, compared with the batches that they lead to."""

from __future__ import annotations

import os
from array import array
from itertools import islice

from kdump.checks.catalogue.fault_kind import DIE
from kdump.checks.finding import INFO
from kdump.checks.rules.indexes.entry_file import EntryFile
from kdump.checks.rules.indexes.sibling_log import SiblingLog, rows_of
from kdump.checks.rules.order.misplaced import report
from kdump.checks.wording import counted, offset_range
from kdump.formats.offset_index import ENTRY_SIZE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.checks.context import FileContext

_MIN_WRONG_ENTRIES = 3  # from which on a whole index is called stale


class EntryTargets:
    """Compares entries with the batches that they lead to.

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
        rows, batch_positions, last_offsets = self._batches_at(positions)
        entry_offsets = [base_offset + offset for offset in offsets] if base_offset is not None else last_offsets
        following = [*islice(positions, 1, None), next_position]
        ends = [end if end > position else facts.size for position, end in zip(positions, following, strict=True)]
        first_offsets = facts.first_offsets.at(rows) if facts.positions else rows
        endings: Sequence[tuple[int, int]] | None = None
        is_sound = False  # so that the log holds no more than is known
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
                self._report_not_boundary(first_row + row, position)
                continue
            if endings is None:  # after the batches in which each append and the offset end
                endings = list(zip(rows_of(facts.positions, ends), rows_of(facts.last_offsets, entry_offsets), strict=True))
                is_sound = not facts.damage_ends and self.log.is_ordered()
            first = first_offsets[row]
            if offset < first == last_offset:
                first = self.log.first_offset(rows[row])
            stop, ending = endings[row]
            is_below = offset < first <= last_offset  # which no append explains, as if it ends in no batch before the next entry
            is_above = is_sound and ending >= stop and first <= last_offset < offset
            is_wrong = is_below or is_above
            if is_wrong or not self._is_valid(offset, rows[row], first, last_offset, position, ends[row], stop, ending):
                damaged.add(row)
                if len(self.distances) < 2:
                    self.distances.add(offset - last_offset)
                self._report_mismatch(first_row + row, offset, position, first, last_offset)
        self.wrong_count += len(damaged)
        return damaged

    def _batches_at(self, positions: array[int]) -> tuple[array[int], list[int], array[int]]:
        """The first batches from some positions on: their rows, their positions and their last offsets.

        Where no more follows, it is the last row, and -1 for its position; likewise -1 in all, in a log without batches.
        """
        facts = self.facts
        if not facts.positions:
            none = array("q", [-1]) * len(positions)
            return none, none.tolist(), none
        rows = rows_of(facts.positions, positions)
        last_row = len(facts.positions) - 1
        if max(rows) <= last_row:
            return rows, facts.positions.at(rows).tolist(), facts.last_offsets.at(rows)
        within = array("q", [min(row, last_row) for row in rows])
        found = facts.positions.at(within).tolist()
        batch_positions = [-1 if row > last_row else position for row, position in zip(rows, found, strict=True)]
        return within, batch_positions, facts.last_offsets.at(within)

    def _report_not_boundary(self, row: int, position: int) -> None:
        facts, start = self.facts, row * ENTRY_SIZE
        self.distances.add(None)
        if self.context.counts_only("index-position-not-boundary", start, start + ENTRY_SIZE):
            return
        batch_row = facts.positions.bisect_right(position)
        near = [f"{facts.positions[near]:,}" for near in (batch_row - 1, batch_row) if 0 <= near < len(facts.positions)]
        message = f"Entry {row:,} points to byte {position:,} of the log, where no batch starts; the nearest start at "
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

    def _is_valid(
        self, offset: int, batch_row: int, first: int, last: int, position: int, end: int, stop: int, ending: int
    ) -> bool:
        """Whether a broker may have written this offset for an append that starts with this batch and ends before `end`.

        The batch starts at `position`, and holds offsets from `first` to `last`. `stop` is the row of the first batch from `end`
        on, `ending` that of the first batch with this last offset or a later one.
        """
        facts, log = self.facts, self.log
        if first > last:
            return True  # the batch is wrong, and said to be
        if first <= offset < last and (offset == facts.first_offsets[batch_row] or first < facts.first_offsets[batch_row]):
            self.first_kind += 1  # any offset of a wrapper will do: its first offset is only known inside
            return True
        if offset >= first:
            ending = max(batch_row, min(ending, stop))
            if ending < stop and log.may_reach_down_to(ending, offset):
                if offset == facts.last_offsets[ending]:
                    self.last_kind += 1
                    self.largest_append = max(self.largest_append, log.end_of(ending) - position)
                    return True
                moved = log.misplaced_to(ending, offset)
                if moved:
                    name = os.path.basename(self.context.path)
                    report(self.context, moved, f"{name} has {offset:,} as the last offset there")
                if moved or log.has_lost_records(ending):
                    self.last_kind += 1
                    return True
            if log.may_hold_more(position, end) or not log.is_ordered():
                return True
        return False

    def _report_mismatch(self, row: int, offset: int, position: int, first: int, last: int) -> None:
        start = row * ENTRY_SIZE
        if self.context.counts_only("index-offset-mismatch", start, start + ENTRY_SIZE):
            return
        effect = "Readers start early and miss nothing."
        if offset < first:
            effect = f"Readers of {offset_range(offset, first - 1)} start too late and may miss them."
        held = offset_range(first, last)
        message = (
            f"Entry {row:,} has offset {offset:,} for byte {position:,} of the log; the batch there contains {held}. {effect}"
        )
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
        """Report what only all entries together show."""
        end = entries.count * ENTRY_SIZE
        if self.first_kind and self.last_kind:
            count = counted(self.first_kind, "entry gives", "entries give")
            message = (
                f"{count} the first offset of a batch, as brokers up to 1.1 do, others the last, as later brokers do. "
                "Both are correct for readers; Kafka's tool reports the first kind as mismatches."
            )
            self.context.report("index-offset-mismatch", 0, end, message, severity=INFO, found=self.first_kind)
        if self.wrong_count >= _MIN_WRONG_ENTRIES and self.wrong_count == entries.count - entries.zero_count:
            distance = self.distances.pop() if len(self.distances) == 1 else None
            what = "contradict the log" if distance is None else f"are off by {distance:+,} offsets"
            message = f"All {self.wrong_count:,} entries {what}: the index was built for another or an earlier log."
            self.context.report("index-stale", 0, end, message, found=distance)
