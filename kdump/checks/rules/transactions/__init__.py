"""Faults of control batches, transactions and producers."""

from __future__ import annotations

from kdump.checks.rules.transactions.transactions import Transactions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.rules.rule import SegmentRule

RULES: tuple[type[SegmentRule], ...] = (Transactions,)
