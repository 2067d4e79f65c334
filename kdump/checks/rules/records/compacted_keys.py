"""Records without keys in compacted topics."""

from __future__ import annotations

from kdump.checks.rules.rule import SegmentRule
from kdump.reading import salvage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.context import FileContext
    from kdump.checks.segment_facts import SegmentFacts
    from kdump.formats.record import RecordChunk


class CompactedKeys(SegmentRule):
    """Counts records without keys."""

    reads_records = True
    needs_keys = True

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        super().__init__(context, facts)
        message = "{count} without a key, though the topic is compacted; the first is in this batch."
        self._missing = self.tally("key-missing-compacted", message, "record", "records")

    @classmethod
    def is_wanted(cls, context: FileContext) -> bool:
        return super().is_wanted(context) and "compact" in context.settings.cleanup_policy

    def records(self, part: RecordChunk, status: str) -> None:
        sizes = part.records["key_size"]
        if status == salvage.DAMAGED or not any(size is not None and size < 0 for size in sizes):
            return
        first = 0
        batches = part.batches
        for row, count in enumerate(part.counts):
            here, first = first, first + count
            missing = [at for at in range(here, first) if (sizes[at] or 0) < 0]
            if missing and not batches["is_control"][row]:
                offset = part.records["offset"][missing[0]]
                start = batches["position"][row]
                self._missing.add(start, start + batches["size"][row], (offset, offset), count=len(missing))
