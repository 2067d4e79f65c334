"""The rules of checks, by what they look at."""

from __future__ import annotations

from kdump.checks.rules.framing import Framing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.rules.rule import SegmentRule

SEGMENT_RULES: tuple[type[SegmentRule], ...] = (Framing,)
"""All rules for segments, in the order in which they see each batch."""
