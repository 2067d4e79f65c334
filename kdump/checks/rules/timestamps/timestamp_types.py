"""Timestamp types and delete horizons."""

from __future__ import annotations

from kdump.binary.batch_header import TIMESTAMP_TYPE_BIT
from kdump.checks.rules.rule import SegmentRule
from kdump.checks.settings import DELETE
from kdump.checks.wording import moment
from kdump.formats.record_batch import CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP, NO_TIMESTAMP_TYPE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.context import FileContext
    from kdump.checks.rules.tally import Tally
    from kdump.checks.segment_facts import SegmentFacts
    from kdump.formats.record_batch import RecordBatch
    from kdump.formats.summary import BatchSummary
    from kdump.reading.items import Section
    from kdump.tables import Table

_TEN_YEARS_MS = 3653 * 24 * 3600 * 1000


class TimestampTypes(SegmentRule):
    """Checks what the attributes say of timestamps: who set them, and until when tombstones are kept."""

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        super().__init__(context, facts)
        self._type: str | None = None
        message = "It changes {count} from CreateTime to LogAppendTime or back; the first change, here, is to {note}."
        self._changes = self.tally("log-append-time-odd", message, "time", "times")
        message = "LogAppendTime without a timestamp in {count}; the first is here."
        self._unset = self.tally("log-append-time-odd", message)
        self._horizons: dict[str, Tally] = {}

    @classmethod
    def is_wanted(cls, context: FileContext) -> bool:
        return context.settings.checks_crcs

    def batches(self, section: Section) -> None:
        summary = section.summary
        if summary is None or not self._has_one_type(summary):
            self._check_types(section.sound)
        if summary is None or summary.horizons and not self._has_ordinary_horizons(summary):
            self._check_horizons(section.sound)

    def _has_one_type(self, summary: BatchSummary) -> bool:
        """Whether all batches have the type of those before, and a time where that is LogAppendTime."""
        if summary.highest_magic == 0:
            return True
        if summary.lowest_magic == 0 or (summary.any_attributes ^ summary.all_attributes) & TIMESTAMP_TYPE_BIT:
            return False
        kind = LOG_APPEND_TIME if summary.all_attributes & TIMESTAMP_TYPE_BIT else CREATE_TIME
        if kind == LOG_APPEND_TIME and summary.lowest_timestamp <= NO_TIMESTAMP:
            return False
        is_known = self._type in (None, kind)
        self._type = self._type or kind
        return is_known

    def _has_ordinary_horizons(self, summary: BatchSummary) -> bool:
        latest = self.context.settings.now + _TEN_YEARS_MS
        is_ahead = summary.lowest_horizon >= 0 and not summary.early_horizons and summary.highest_horizon <= latest
        return is_ahead and self.context.settings.cleanup_policy != DELETE

    def _check_types(self, batches: Table[RecordBatch]) -> None:
        for row, kind in enumerate(batches["timestamp_type"]):
            if kind == NO_TIMESTAMP_TYPE:
                continue
            batch: RecordBatch | None = None
            if kind != self._type:
                if self._type is not None:
                    batch = batches.row(row)
                    self._changes.add_batch(batch, kind)
                self._type = kind
            if kind == LOG_APPEND_TIME and batches["timestamp"][row] == NO_TIMESTAMP:
                batch = batches.row(row)
                self._unset.add_batch(batch)

    def _check_horizons(self, batches: Table[RecordBatch]) -> None:
        now = self.context.settings.now
        for row, horizon in enumerate(batches["delete_horizon_ms"]):
            if horizon is None:
                continue
            if self.context.settings.cleanup_policy == DELETE:
                what = "is set, though the topic is not compacted"
            elif horizon > now + _TEN_YEARS_MS:
                what = "is more than ten years ahead"
            elif horizon < 0 or horizon < batches["timestamp"][row] <= now:
                what = "is before the batch was written"
            else:
                continue
            batch = batches.row(row)
            if what not in self._horizons:
                message = f"The delete horizon of {{count}} {what}; the first is {{note}}."
                self._horizons[what] = self.tally("delete-horizon-odd", message)
            self._horizons[what].add_batch(batch, moment(horizon))
