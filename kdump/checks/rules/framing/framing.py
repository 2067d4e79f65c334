"""The rule for framing: each section and each damaged range is passed on to the module that judges it."""

from __future__ import annotations

from kdump.checks.rules.framing.checksums import Checksums
from kdump.checks.rules.framing.damaged_ranges import DamagedRanges
from kdump.checks.rules.framing.file_end import FileEnd
from kdump.checks.rules.framing.headers import Headers
from kdump.checks.rules.framing.lengths import report_length, report_segment_size
from kdump.checks.rules.framing.nested_batches import NestedBatches
from kdump.checks.rules.rule import SegmentRule
from kdump.reading import salvage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.context import FileContext
    from kdump.checks.segment_facts import SegmentFacts
    from kdump.reading.items import Damage, Section


class Framing(SegmentRule):
    """Torn tails, checksums, lengths, ranges without batches, and what single headers say."""

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        super().__init__(context, facts)
        self._checksums = Checksums(context, facts)
        self._file_end = FileEnd(context, facts)
        self._ranges = DamagedRanges(context, facts, self._checksums, self._file_end)
        self._headers = Headers(context)
        self._nested = NestedBatches(context)

    def batches(self, section: Section) -> None:
        self._nested.take(section)
        if section.summary is not None and self._headers.are_ordinary(section.summary):
            return
        if section.status == salvage.DAMAGED:
            self._report_damaged(section)
            return
        if section.claimed_length is not None:
            report_length(self.context, section.chunk.batches.row(0), section.claimed_length)
        self._headers.check(section.chunk)

    def _report_damaged(self, section: Section) -> None:
        """Report a batch whose CRC does not match, or whose magic does not exist."""
        batch = section.chunk.batches.row(0)
        self._file_end.is_damaged = batch.position + batch.size == self.context.source.size
        self._checksums.report_damaged(section.chunk, section.claimed_length)

    def damage(self, damage: Damage) -> None:
        self._ranges.add(damage)

    def end(self) -> None:
        self._nested.report()
        self._file_end.report_missing_batches()
        self._ranges.report_holes()
        self._headers.report_empty_batches()
        report_segment_size(self.context)
