"""The log that an index belongs to, for the rules for indexes."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from contextlib import closing, contextmanager
from itertools import islice
from operator import lt, sub

from kdump.binary import system
from kdump.binary.batch_header import (
    BASE_OFFSET,
    BATCH_HEADER,
    BATCH_HEADER_SIZE,
    HEADER_UP_TO_MAGIC,
    LAST_OFFSET_DELTA,
    LENGTH,
    LOG_OVERHEAD,
    MAGIC_AT,
    MESSAGE_ATTRIBUTES_AT,
    RECORD_COUNT,
    codec_id,
)
from kdump.binary.source import Source
from kdump.checks.rules.order.misplaced import misplaced
from kdump.errors import CorruptData, MissingPackage, Unreadable
from kdump.formats.record import BatchRecords

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kdump.checks.context import FileContext
    from kdump.checks.packed_ints import PackedInts
    from kdump.checks.rules.order.misplaced import Misplaced
    from kdump.checks.segment_facts import SegmentFacts

_INT64_END = 1 << 63
_LARGEST_READ = 1 << 20  # of batches whose records are looked at


def rows_of(column: PackedInts, values: Sequence[int]) -> array[int]:
    """For each value, a 64-bit number, the first row of an ascending column that is not below it."""
    if values and min(values) >= -_INT64_END and max(values) < _INT64_END:
        return column.rows_of(array("q", values))
    return column.rows_of(array("q", [max(-_INT64_END, min(value, _INT64_END - 1)) for value in values]))


def size_now(facts: SegmentFacts) -> int:
    """The present size of the log: a broker may have written to it, and to its indexes, since it was read."""
    try:
        return max(facts.size, system.size(facts.path))
    except Unreadable:
        return facts.size


@contextmanager
def sibling_log(context: FileContext) -> Iterator[SiblingLog | None]:
    """The log of an index; None if it was not read, or if the level of the check compares no files with one another."""
    facts = context.segment if context.settings.checks_crcs else None
    if facts is None:
        yield None
        return
    with closing(SiblingLog(facts)) as log:
        yield log


class SiblingLog:
    """Answers questions about the batches of the log; it reads a header again if an index contradicts it.

    Rows are those of the facts, batches that are not damaged.
    """

    def __init__(self, facts: SegmentFacts) -> None:
        self.facts = facts
        self.positions = facts.positions
        self._source: Source | None = None
        self._is_ordered: bool | None = None

    def close(self) -> None:
        if self._source is not None:
            self._source.close()
            self._source = None

    def may_hold_more(self, start: int, end: int) -> bool:
        """Whether some of these bytes are damaged, so that they may hold more than is known."""
        row = bisect_right(self.facts.damage_ends, start)
        return row < len(self.facts.damage_ends) and self.facts.damage_starts[row] < end

    def end_of(self, row: int) -> int:
        """The end of the batch in this row, or of the damage after it."""
        return self.positions[row + 1] if row + 1 < len(self.positions) else self.facts.end

    def bytes_of(self, row: int, count: int) -> bytes:
        """The first bytes of the batch in this row; none if the log can no longer be read."""
        try:
            if self._source is None:
                self._source = Source(self.facts.path)
            return self._source.read(self.positions[row], count)
        except Unreadable:
            return b""

    def is_ordered(self) -> bool:
        """Whether offsets ascend, so that they can be searched; if not, the check of the log reports it."""
        if self._is_ordered is None:
            offsets = self.facts.last_offsets
            self._is_ordered = all(map(lt, offsets, islice(offsets, 1, None)))
        return self._is_ordered

    def is_legacy(self, row: int) -> bool:
        """Whether the batch in this row is a message of magic 0 or 1."""
        header_bytes = self.bytes_of(row, HEADER_UP_TO_MAGIC)
        return len(header_bytes) == HEADER_UP_TO_MAGIC and header_bytes[MAGIC_AT] < 2

    def first_offset(self, row: int) -> int:
        """The first offset that the batch in this row may hold: a wrapper does not say what its first is."""
        facts = self.facts
        first: int = facts.first_offsets[row]
        header_bytes = self.bytes_of(row, MESSAGE_ATTRIBUTES_AT + 1)
        if len(header_bytes) > MESSAGE_ATTRIBUTES_AT and header_bytes[MAGIC_AT] < 2 and codec_id(header_bytes):
            if (
                row
                and facts.last_offsets[row - 1] < first
                and not self.may_hold_more(self.positions[row - 1], self.positions[row])
            ):
                return facts.last_offsets[row - 1] + 1
            return min(facts.base_offset or 0, first)  # what comes before it does not help
        return first

    def may_reach_down_to(self, row: int, offset: int) -> bool:
        """Whether the first offset of the batch in this row may be as low as this one."""
        return self.facts.first_offsets[row] <= offset or self.first_offset(row) <= offset

    def has_lost_records(self, row: int) -> bool:
        """Whether the batch in this row holds fewer records than offsets: the cleaner took some out."""
        header_bytes = self.bytes_of(row, BATCH_HEADER_SIZE)
        if len(header_bytes) < BATCH_HEADER_SIZE or header_bytes[MAGIC_AT] < 2:
            return False
        header = BATCH_HEADER.unpack(header_bytes)
        return bool(header[RECORD_COUNT] <= header[LAST_OFFSET_DELTA])

    def misplaced_to(self, row: int, last: int) -> list[Misplaced]:
        """The batch in this row, if it ends at an offset but for one bit, and lies between its neighbours then.

        Not one that has a record there as it is, and that no more records follow: an index may name the last one that is left.
        """
        facts = self.facts
        first = facts.first_offsets[row] + last - facts.last_offsets[row]
        found = misplaced(facts, row, _INT64_END, range(first, first + 1))
        is_whole = found and not self.is_legacy(row) and not self.has_lost_records(row)
        return [] if found and not is_whole and self._may_have_record(row, last) else found

    def _may_have_record(self, row: int, offset: int) -> bool:
        """Whether a record of a batch has an offset, or may have it because the batch is of an old magic or cannot be read."""
        first, size = self.facts.first_offsets[row], self.end_of(row) - self.positions[row]
        if not first <= offset <= self.facts.last_offsets[row]:
            return False
        data = self.bytes_of(row, size) if size <= _LARGEST_READ else b""
        if len(data) < BATCH_HEADER_SIZE or data[MAGIC_AT] < 2:
            return True
        try:
            return any(
                first + delta == offset
                for part in BatchRecords(BATCH_HEADER.unpack_from(data), data).parts()
                for _, delta, *_ in part
            )
        except (CorruptData, MissingPackage):
            return True

    def largest_batch(self, start: int, end: int) -> int:
        """The size of the largest batch that starts in these bytes."""
        first, stop = self.positions.bisect_left(start), self.positions.bisect_left(end)
        if first == stop:
            return 0
        starts = self.positions[first : stop + 1]
        if stop == len(self.positions):
            starts.append(self.facts.end)
        largest: int = max(map(sub, islice(starts, 1, None), starts))
        return largest

    def last_offset_of_tail(self) -> int | None:
        """The last offset of the log, that of a torn batch at its end included.

        None if it is not known: the log ends in damage of another kind, or a broker has written on since it was read.
        """
        facts = self.facts
        last = facts.last_offset
        if size_now(facts) > facts.size:
            return None
        if not facts.damage_ends or facts.damage_ends[-1] <= facts.end:
            return -1 if last is None else last
        start, end = facts.damage_starts[-1], facts.damage_ends[-1]
        try:
            with Source(facts.path) as source:
                header_bytes = source.read(start, BATCH_HEADER_SIZE)
        except Unreadable:
            return None
        if len(header_bytes) < BATCH_HEADER_SIZE or header_bytes[MAGIC_AT] != 2:
            return None
        header = BATCH_HEADER.unpack(header_bytes)
        is_torn = header[LENGTH] + LOG_OVERHEAD > end - start and header[LAST_OFFSET_DELTA] >= 0
        is_next = last is None or header[BASE_OFFSET] == last + 1
        return int(header[BASE_OFFSET] + header[LAST_OFFSET_DELTA]) if is_torn and is_next else None
