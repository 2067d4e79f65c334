"""How offsets, counts and leader epochs of batches go on."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.rules.rule import SegmentRule

RULES: tuple[type[SegmentRule], ...] = ()
