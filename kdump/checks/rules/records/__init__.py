"""Faults of records, and of compressed payloads."""

from __future__ import annotations

from kdump.checks.rules.records.records import Codecs, CompactedKeys, Frames, Messages, RecordFields, Unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.rules.rule import SegmentRule

RULES: tuple[type[SegmentRule], ...] = (Codecs, Frames, Unread, RecordFields, CompactedKeys, Messages)
