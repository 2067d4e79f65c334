"""Counts the records that a check does not read, for its verdict."""

from __future__ import annotations

from kdump.binary.codecs import CODECS, NONE
from kdump.checks.rules.rule import SegmentRule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.context import FileContext
    from kdump.reading.items import Section

_ONLY_NONE = 1 << NONE


class NotRead(SegmentRule):
    """Counts the records of batches that are not damaged, at the levels that do not read them; it reports nothing."""

    @classmethod
    def is_wanted(cls, context: FileContext) -> bool:
        return not context.settings.reads_payloads

    def batches(self, section: Section) -> None:
        coverage, summary = self.context.coverage, section.summary
        if summary is not None and not summary.is_legacy:
            coverage.leave_unread(summary.records)
        elif summary is not None:
            coverage.leave_unread(summary.count, is_least=summary.codecs != _ONLY_NONE)
        elif section.chunk.is_legacy:
            sound = section.sound
            names = sound["compresscodec"]
            coverage.leave_unread(len(sound), is_least=names.count(CODECS[NONE]) < len(sound))
        else:
            coverage.leave_unread(sum(count for count in section.sound["count"] if count > 0))
