"""Faults of producer snapshots, leader epochs, partition metadata, and KRaft's snapshots and records."""

from __future__ import annotations

from kdump.checks.rules.snapshots import internal_topics, kraft_snapshot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.rules.rule import SegmentRule

RULES: tuple[type[SegmentRule], ...] = (*kraft_snapshot.RULES, *internal_topics.RULES)
