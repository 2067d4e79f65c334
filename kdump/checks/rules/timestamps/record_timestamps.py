"""Timestamps of records."""

from __future__ import annotations

from kdump.binary.arithmetic import as_int64
from kdump.binary.batch_header import ATTRIBUTES, BASE_OFFSET, BASE_TIMESTAMP, DELETE_HORIZON_BIT, TIMESTAMP_TYPE_BIT
from kdump.binary.kernel import OFFSET_DELTA, TIMESTAMP_DELTA
from kdump.checks.rules.batch_findings import report_batch
from kdump.checks.rules.rule import SegmentRule
from kdump.checks.wording import counted, moment
from kdump.formats.record_batch import LOG_APPEND_TIME, NO_TIMESTAMP
from kdump.reading import salvage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.checks.content import Content, OddTimes
    from kdump.checks.context import FileContext
    from kdump.checks.segment_facts import SegmentFacts
    from kdump.errors import CorruptData
    from kdump.formats.log import Chunk
    from kdump.formats.record import RecordChunk
    from kdump.formats.record_batch import RecordBatch
    from kdump.reading.items import Damage, Section
    from kdump.tables import Table

_MISMATCH = "max-timestamp-mismatch"
_INT64 = range(-(1 << 63), 1 << 63)
_MAX_SAFE = 1 << 62  # the sum of a base and a delta below this does not overflow


class RecordTimestamps(SegmentRule):
    """Compares the timestamps of records with the header of their batch."""

    reads_records = True

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        super().__init__(context, facts)
        message = "The first record does not have baseTimestamp in {count}, as after compaction; the first is here."
        self._irregular_bases = self.tally("base-timestamp-odd", message)
        self._open: tuple[Table[RecordBatch], int, int] | None = None  # the row of the last batch, and its highest time so far

    def content(self, content: Content, status: str) -> None:
        if status == salvage.DAMAGED:
            return
        header, rows = content.header, content.rows
        attributes, base = header[ATTRIBUTES], header[BASE_TIMESTAMP]
        if attributes & TIMESTAMP_TYPE_BIT:
            return
        if not content.continues and rows[0][TIMESTAMP_DELTA] and not attributes & DELETE_HORIZON_BIT and base != NO_TIMESTAMP:
            self._irregular_bases.add(content.position, content.position + content.size, content.offsets)
        is_safe = -_MAX_SAFE < base < _MAX_SAFE
        if is_safe and (
            len(rows) == 1
            and -_MAX_SAFE < rows[0][TIMESTAMP_DELTA] < _MAX_SAFE
            or all(-_MAX_SAFE < row[TIMESTAMP_DELTA] < _MAX_SAFE for row in rows)
        ):
            return
        for row in rows:
            delta = row[TIMESTAMP_DELTA]
            if base + delta not in _INT64:
                offset = header[BASE_OFFSET] + row[OFFSET_DELTA]
                message = (
                    f"The timestamp of the record with offset {offset:,} is {base} + {delta} = {base + delta}, "
                    f"which does not fit into 64 bits; Kafka shows {as_int64(base + delta)}."
                )
                self.context.report(
                    "timestamp-overflow",
                    content.position,
                    content.position + content.size,
                    message,
                    offsets=(offset, offset),
                    expected=base + delta,
                    found=as_int64(base + delta),
                )

    def odd_times(self, times: OddTimes) -> None:
        self._close()
        wrong = [row for row in times.rows if row[3] != row[4]]
        for start, size, _, highest, claimed in wrong:
            position = times.position + start
            message, offsets = _mismatch(claimed, highest), times.offsets_at(start)
            self.context.report(_MISMATCH, position, position + size, message, offsets=offsets, expected=highest, found=claimed)
        for start, size, has_odd_base, _, _ in times.rows:
            if has_odd_base:
                position = times.position + start
                self._irregular_bases.add(position, position + size, times.offsets_at(start))

    def records(self, part: RecordChunk, status: str) -> None:
        if not part.continues:
            self._close()
        if status == salvage.DAMAGED:
            self._open = None
            return
        timestamps: Sequence[int] = part.records["timestamp"]
        if timestamps and min(timestamps) < NO_TIMESTAMP:
            self._check_negative(part)
        if 0 in part.magics:
            return  # messages without time, perhaps in a wrapper with one
        headers: Sequence[int] = part.batches["timestamp"]
        if not part.continues and part.counts.count(1) == len(part.counts):
            if list(timestamps) != list(headers):
                for row, (found, said) in enumerate(zip(timestamps, headers, strict=True)):
                    if found != said:
                        self._compare(part.batches, row, found)
            return
        first = 0
        for row, count in enumerate(part.counts):
            here, first = first, first + count
            if not count:
                continue
            highest = max(timestamps[here:first])
            if part.continues and self._open is not None:
                highest_before = self._open[-1]
                highest = max(highest, highest_before)
            if row == len(part.counts) - 1:
                self._open = part.batches, row, highest
            elif highest != headers[row]:
                self._compare(part.batches, row, highest)

    def unreadable(self, chunk: Chunk, row: int, fault: CorruptData, status: str) -> None:
        if not fault.values["decoded"] and not chunk.is_legacy:
            self._close()
        self._open = None  # the highest may stand in what cannot be read

    def batches(self, section: Section) -> None:
        self._close()

    def damage(self, damage: Damage) -> None:
        self._close()

    def end(self) -> None:
        self._close()
        super().end()

    def _close(self) -> None:
        """Compare the last batch, of which no more records come."""
        if self._open is not None:
            batches, row, highest = self._open
            self._open = None
            if highest != batches["timestamp"][row]:
                self._compare(batches, row, highest)

    def _check_negative(self, part: RecordChunk) -> None:
        """Report batches with negative timestamps, if their headers have none."""
        timestamps = part.records["timestamp"]
        first = 0
        for row, count in enumerate(part.counts):
            here, first = first, first + count
            negative = [number for number in range(here, first) if timestamps[number] < NO_TIMESTAMP]
            if negative and part.batches["timestamp"][row] >= NO_TIMESTAMP:
                batch = part.batches.row(row)
                timestamp, offset = timestamps[negative[0]], part.records["offset"][negative[0]]
                where = f"of {counted(len(negative), 'record')}, from offset {offset:,} on"
                message = f"The timestamp {where}, is {timestamp}; only -1 (none) may be negative."
                end = batch.position + batch.size
                self.context.report(
                    "timestamp-negative", batch.position, end, message, offsets=(offset, offset), expected=-1, found=timestamp
                )

    def _compare(self, batches: Table[RecordBatch], row: int, highest: int) -> None:
        if batches["magic"][row] == 0 or batches["timestamp_type"][row] == LOG_APPEND_TIME or highest < NO_TIMESTAMP:
            return
        batch = batches.row(row)
        message = _mismatch(batch.timestamp, highest)
        report_batch(self.context, _MISMATCH, batch, message, expected=highest, found=batch.timestamp)


def _mismatch(claimed: int, highest: int) -> str:
    """What is wrong with the timestamp of a batch, given the highest of its records."""
    return f"maxTimestamp is {moment(claimed)}, but the maximum of its records is {moment(highest)}."
