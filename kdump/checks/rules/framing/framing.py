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
    from kdump.formats.mixed import MixedSummary
    from kdump.reading.items import Damage, Patches, Section


class Framing(SegmentRule):
    """Torn tails, checksums, lengths, ranges without batches, and what single headers say."""

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        super().__init__(context, facts)
        self._checksums = Checksums(context)
        self._file_end = FileEnd(context, facts)
        self._ranges = DamagedRanges(context, facts, self._checksums, self._file_end)
        self._headers = Headers(context)
        self._nested = NestedBatches(context)

    def patches(self, patches: Patches) -> None:
        self._ranges.add_patches(patches)
        if patches.section.nested_end:
            self._nested.add(patches.section)
        self._headers.check(patches.section)

    def batches(self, section: Section) -> None:
        self._ranges.report_pending()
        if section.summary is not None and self._headers.are_ordinary(section.summary):
            return
        if section.nested_end:
            self._nested.add(section)
        if salvage.DAMAGED in section.statuses:
            self._report_damaged(section)
        elif section.claimed_length is not None:
            report_length(self.context, section.chunk.batches.row(0), section.claimed_length)
        self._headers.check(section)

    def passes(self, summary: MixedSummary) -> bool:
        return self._headers.pass_mixed(summary)

    def mixed(self, summary: MixedSummary) -> None:
        self._ranges.report_pending()
        self._headers.count_mixed(summary)

    def _report_damaged(self, section: Section) -> None:
        chunk, statuses = section.chunk, section.statuses
        for row, status in enumerate(statuses):
            if status == salvage.DAMAGED:
                self._checksums.report_damaged(chunk, row, section.claimed_length)
        end = chunk.batches["position"][-1] + chunk.batches["size"][-1]
        self._file_end.is_damaged = end == self.context.source.size and statuses[-1] == salvage.DAMAGED

    def damage(self, damage: Damage) -> None:
        self._ranges.add(damage)

    def end(self) -> None:
        self._ranges.report_pending(is_end=True)
        self._nested.report()
        self._file_end.report_missing_batches()
        self._ranges.report_holes()
        self._headers.report_empty_batches()
        report_segment_size(self.context)
