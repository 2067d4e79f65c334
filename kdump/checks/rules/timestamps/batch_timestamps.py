"""Timestamps of batches, each on its own."""

from __future__ import annotations

from kdump.checks.rules.batch_findings import report_batch
from kdump.checks.rules.rule import SegmentRule
from kdump.checks.wording import moment
from kdump.formats.record_batch import NO_TIMESTAMP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.checks.context import FileContext
    from kdump.checks.rules.tally import Tally
    from kdump.checks.segment_facts import SegmentFacts
    from kdump.formats.record_batch import RecordBatch
    from kdump.reading.items import Section
    from kdump.tables import Table

_DAY_MS = 24 * 3600 * 1000
_END_OF_JANUARY_1970_MS = 31 * _DAY_MS  # what is earlier may be seconds
_YEAR_5000_MS = 95_617_584_000_000  # what is later may be microseconds or nanoseconds
_PLAUSIBLE_SECONDS = 946_684_800, 4_102_444_800  # from 1970 to the years 2000 and 2100: what a unit is guessed from
_UNITS = (("seconds", 1), ("microseconds", 10**6), ("nanoseconds", 10**9))


class BatchTimestamps(SegmentRule):
    """Checks the maxTimestamp of each batch: negative, in the future, or in another unit."""

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        super().__init__(context, facts)
        written = context.source.status().st_mtime_ns // 1_000_000
        self._latest = max(written, context.settings.now) + _DAY_MS
        self._future = self.tally(
            "timestamp-future",
            "maxTimestamp is in the future in {count}; the latest, here, is {note}. "
            "Until then, time-based retention deletes neither this segment nor later ones.",
        )
        self._latest_seen = self._latest
        self._units: dict[str, Tally] = {}

    @classmethod
    def is_wanted(cls, context: FileContext) -> bool:
        return context.settings.checks_crcs

    def batches(self, section: Section) -> None:
        summary = section.summary
        if summary is not None:
            lowest, highest = summary.lowest_timestamp, summary.highest_timestamp
        else:
            timestamps: Sequence[int] = section.chunk.batches["timestamp"]
            lowest, highest = min(timestamps), max(timestamps)
        latest = min(self._latest, _YEAR_5000_MS)
        if lowest >= _END_OF_JANUARY_1970_MS and highest <= latest or lowest == highest == NO_TIMESTAMP:
            return
        timestamps = section.sound["timestamp"] if summary is None else summary.timestamps
        odd = [
            row for row, time in enumerate(timestamps) if time != NO_TIMESTAMP and not _END_OF_JANUARY_1970_MS <= time <= latest
        ]
        if not odd:  # messages of magic 0 among those of magic 1
            return
        batches = section.sound
        for row in odd:
            timestamp = timestamps[row]
            if timestamp < NO_TIMESTAMP:
                self._report_negative(batches.row(row))
                continue
            if timestamp > self._latest:
                self._count_future(batches, row)
            if not _END_OF_JANUARY_1970_MS <= timestamp <= _YEAR_5000_MS and batches["count"][row] != 0:
                self._count_unit(batches.row(row))

    def _report_negative(self, batch: RecordBatch) -> None:
        message = f"maxTimestamp is {batch.timestamp}; only -1 (none) may be negative."
        report_batch(self.context, "timestamp-negative", batch, message, expected=-1, found=batch.timestamp)

    def _count_future(self, batches: Table[RecordBatch], row: int) -> None:
        timestamp, count = batches["timestamp"][row], self._future.count
        if not count or timestamp > self._latest_seen:
            self._latest_seen = timestamp
            self._future.count = 0  # the latest is the place that is kept
            self._future.add_batch(batches.row(row), moment(timestamp), count=count + 1)
        else:
            self._future.count += 1

    def _count_unit(self, batch: RecordBatch) -> None:
        timestamp = batch.timestamp
        low, high = _PLAUSIBLE_SECONDS
        unit = next((unit for unit, second in _UNITS if low * second <= timestamp <= high * second), None)
        suspicion = f"looks like {unit} instead of milliseconds" if unit else "is hardly that of an event"
        if timestamp == 0:
            suspicion = "looks like one that was never set"
        elif timestamp < _END_OF_JANUARY_1970_MS:
            suspicion += ": time-based retention deletes a segment of only such batches at once"
        elif unit is None:
            return  # counted as one in the future
        if suspicion not in self._units:
            message = f"maxTimestamp of {{count}} {suspicion}; the first is {{note}}."
            self._units[suspicion] = self.tally("timestamp-unit-suspect", message)
        self._units[suspicion].add_batch(batch, moment(timestamp))
