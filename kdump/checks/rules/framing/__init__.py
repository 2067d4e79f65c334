"""Faults of framing and of single batch headers: where batches start and end, and whether their checksums fit."""

from __future__ import annotations

from kdump.checks.rules.framing.framing import Framing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.rules.rule import SegmentRule

RULES: tuple[type[SegmentRule], ...] = (Framing,)
