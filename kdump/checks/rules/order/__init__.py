"""Faults of the order of offsets and leader epochs, and of what batch headers count."""

from __future__ import annotations

from kdump.checks.rules.order.batch_order import BatchOrder
from kdump.checks.rules.order.record_order import RecordOrder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.rules.rule import SegmentRule

RULES: tuple[type[SegmentRule], ...] = (BatchOrder, RecordOrder)
