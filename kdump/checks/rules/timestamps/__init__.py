"""Faults of timestamps."""

from __future__ import annotations

from kdump.checks.rules.timestamps.batch_timestamps import BatchTimestamps
from kdump.checks.rules.timestamps.record_timestamps import RecordTimestamps
from kdump.checks.rules.timestamps.timestamp_order import TimestampOrder
from kdump.checks.rules.timestamps.timestamp_types import TimestampTypes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.rules.rule import SegmentRule

RULES: tuple[type[SegmentRule], ...] = (BatchTimestamps, TimestampOrder, TimestampTypes, RecordTimestamps)
