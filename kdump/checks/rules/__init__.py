"""The rules of checks, by what they look at.

Rules for segments see each batch as it is read. Other files are checked one at a time, after the segments they belong to; then
the partition as a whole, and the log directory.
"""

from __future__ import annotations

from kdump.checks.rules import framing, internal_topics, kraft_snapshot, order, records, timestamps, transactions
from kdump.formats import file_name, text_checkpoint, tree

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

_FILE_CHECKS = {
    file_name.OFFSET_INDEX: "offset_index.check",
    file_name.TIME_INDEX: "time_index.check",
    file_name.TRANSACTION_INDEX: "transaction_index.check",
    file_name.PRODUCER_SNAPSHOT: "producer_snapshot.check",
    file_name.CHECKPOINT: "kraft_snapshot.check",
    tree.LEADER_EPOCHS: "leader_epochs.check",
    tree.PARTITION_METADATA: "partition_metadata.check",
    tree.QUORUM_STATE: "quorum_state.check",
    **dict.fromkeys(text_checkpoint.OFFSET_CHECKPOINTS, "offset_checkpoints.check"),
    tree.META_PROPERTIES: "offset_checkpoints.check_meta_properties",
    tree.CLEAN_SHUTDOWN: "offset_checkpoints.check_clean_shutdown",
}
"""By suffix or name, the module beside this one and its function for such files; it is loaded when the first of them comes."""


def file_check(suffix: str, name: str) -> Callable[[FileContext], None] | None:
    """What checks a file other than a segment, if anything does; a KRaft snapshot is a segment as well."""
    place = _FILE_CHECKS.get(suffix) or _FILE_CHECKS.get(name)
    if place is None:
        return None
    module, _, function = place.partition(".")
    check: Callable[[FileContext], None]
    check = getattr(__import__(f"{__name__}.{module}", fromlist=[function]), function)  # as importlib, without it
    return check
