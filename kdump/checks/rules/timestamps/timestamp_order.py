"""Timestamps of batches that go back."""

from __future__ import annotations

from kdump.checks.rules.rule import SegmentRule
from kdump.checks.wording import duration
from kdump.formats.record_batch import NO_TIMESTAMP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.context import FileContext
    from kdump.checks.segment_facts import SegmentFacts
    from kdump.reading.items import Section


class TimestampOrder(SegmentRule):
    """Compares the maxTimestamp of each batch with the one before."""

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        super().__init__(context, facts)
        self._previous = NO_TIMESTAMP
        self._steps_back = self.tally(
            "timestamp-out-of-order", "maxTimestamp goes back in {count}, at worst by {note}; the first is here."
        )
        self._largest_step = 0

    @classmethod
    def is_wanted(cls, context: FileContext) -> bool:
        return context.settings.checks_crcs and context.settings.is_pedantic

    def batches(self, section: Section) -> None:
        summary = section.summary
        if summary is not None and summary.first_timestamp >= self._previous and not summary.timestamps_back:
            self._previous = summary.last_timestamp
            return
        batches = section.sound
        for row, timestamp in enumerate(batches["timestamp"]):
            if timestamp < 0:
                continue
            if timestamp < self._previous:
                batch = batches.row(row)
                self._steps_back.add_batch(batch)
                self._largest_step = max(self._largest_step, self._previous - timestamp)
            self._previous = timestamp

    def end(self) -> None:
        self._steps_back.note = duration(self._largest_step)
        super().end()
