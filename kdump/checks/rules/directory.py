"""A partition directory as a whole: its segments side by side, missing and stray files, names."""

from __future__ import annotations

from kdump.checks.rules.missing_indexes import missing_indexes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.partition import PartitionFacts


def check(partition: PartitionFacts) -> None:
    """Check what no file shows alone. All files have been checked by now."""
    missing_indexes(partition)
