"""Faults of timestamps."""

from __future__ import annotations

from kdump.checks.rules.timestamps.timestamps import Headers, Order, Records, Types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.rules.rule import SegmentRule

RULES: tuple[type[SegmentRule], ...] = (Headers, Order, Types, Records)
