"""The rule for framing: each section and each damaged range is passed on to the module that judges it."""

from __future__ import annotations

from operator import itemgetter

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
    from kdump.reading.items import Damage, Patches, Section


class Framing(SegmentRule):
    """Torn tails, checksums, lengths, ranges without batches, and what single headers say."""

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        super().__init__(context, facts)
        self._checksums = Checksums(context, facts)
        self._file_end = FileEnd(context, facts)
        self._ranges = DamagedRanges(context, facts, self._checksums, self._file_end)
        self._headers = Headers(context)
        self._nested = NestedBatches(context)

    def patches(self, patches: Patches) -> None:
        section = patches.section
        self._ranges.add_patches(patches)
        self._nested.take(section)
        self._report_damaged(section)
        self._headers.check(section)
        ends_with_batch = section.chunk.batches["position"][-1] + section.chunk.batches["size"][-1] == patches.end
        is_damaged = section.statuses[-1] == salvage.DAMAGED if ends_with_batch else True
        self._file_end.is_damaged = is_damaged and patches.end == self.context.source.size

    def batches(self, section: Section) -> None:
        self._nested.take(section)
        if section.summary is not None and self._headers.are_ordinary(section.summary):
            return
        self._report_damaged(section)
        self._headers.check(section)

    def _report_damaged(self, *sections: Section) -> None:
        """Report batches whose CRC does not match, whose magic does not exist, or whose length is wrong."""
        reported: list[tuple[int, Section, int]] = []
        for section in sections:
            chunk, statuses, claimed = section.chunk, section.statuses, section.claimed_lengths
            for row, length in claimed.items():
                if statuses[row] != salvage.DAMAGED:
                    report_length(self.context, chunk.batches, row, length)
            if salvage.DAMAGED not in statuses:
                continue
            rows = [row for row, status in enumerate(statuses) if status == salvage.DAMAGED]
            positions = chunk.batches["position"]
            reported += [(positions[row], section, row) for row in self._checksums.count_damaged(chunk, rows)]
            end = positions[-1] + chunk.batches["size"][-1]
            self._file_end.is_damaged = end == self.context.source.size and statuses[-1] == salvage.DAMAGED
        for _, section, row in sorted(reported, key=itemgetter(0)):
            self._checksums.report_damaged(section.chunk, row, section.claimed_lengths.get(row))

    def damage(self, damage: Damage) -> None:
        self._ranges.add(damage)

    def end(self) -> None:
        self._nested.report()
        self._file_end.report_missing_batches()
        self._ranges.report_holes()
        self._headers.report_empty_batches()
        report_segment_size(self.context)
