"""Whether timestamps are what they can be."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.rules.rule import SegmentRule

RULES: tuple[type[SegmentRule], ...] = ()
