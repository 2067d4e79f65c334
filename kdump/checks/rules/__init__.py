"""The rules of checks, by what they look at.

Rules for segments see each batch as it is read. Other files are checked one at a time, behind the segments they belong to; then
the partition as a whole, and the log directory.
"""

from __future__ import annotations

from kdump.checks.rules import (
    framing,
    internal_topics,
    kraft_snapshot,
    leader_epochs,
    leftovers,
    offset_checkpoints,
    offset_index,
    order,
    partition_metadata,
    producer_snapshot,
    quorum_state,
    records,
    time_index,
    timestamps,
    transaction_index,
    transactions,
)
from kdump.formats import file_name, tree
from kdump.formats.quorum_state import NAME as QUORUM_STATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.checks.context import FileContext
    from kdump.checks.rules.rule import SegmentRule

SEGMENT_RULES: tuple[type[SegmentRule], ...] = (
    *framing.RULES,
    *order.RULES,
    *timestamps.RULES,
    *transactions.RULES,
    *records.RULES,
    *kraft_snapshot.RULES,
    *internal_topics.RULES,
)
"""All rules for segments, in the order in which they see each batch."""

FILE_CHECKS: dict[str, Callable[[FileContext], None]] = {
    file_name.OFFSET_INDEX: offset_index.check,
    file_name.TIME_INDEX: time_index.check,
    file_name.TRANSACTION_INDEX: transaction_index.check,
    file_name.PRODUCER_SNAPSHOT: producer_snapshot.check,
    file_name.CHECKPOINT: kraft_snapshot.check,
    tree.LEADER_EPOCHS: leader_epochs.check,
    tree.PARTITION_METADATA: partition_metadata.check,
    QUORUM_STATE: quorum_state.check,
    leftovers.SWAP: leftovers.check_swap,
    **offset_checkpoints.CHECKS,
}
"""What checks a file other than a segment, by its suffix or its name; a KRaft snapshot is a segment as well."""
