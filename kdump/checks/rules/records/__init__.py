"""Faults of records, and of compressed payloads."""

from __future__ import annotations

from kdump.checks.rules.records.codecs import Codecs
from kdump.checks.rules.records.compacted_keys import CompactedKeys
from kdump.checks.rules.records.fields import RecordFields
from kdump.checks.rules.records.frames import Frames
from kdump.checks.rules.records.messages import Messages
from kdump.checks.rules.records.not_read import NotRead
from kdump.checks.rules.records.unreadable import UnreadableRecords

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.rules.rule import SegmentRule

RULES: tuple[type[SegmentRule], ...] = (Codecs, Frames, UnreadableRecords, RecordFields, CompactedKeys, Messages, NotRead)
