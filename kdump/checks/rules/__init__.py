"""The rules of checks: a package for each section of the catalogue, under the same name.

Rules for segments see each batch as it is read. Other files are checked one at a time, after the segments that they belong to;
then the partition as a whole, and the log directory.
"""

from __future__ import annotations

from kdump.checks.rules import framing, order, records, snapshots, timestamps, transactions
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
    *snapshots.RULES,
)
"""All rules for segments, in the order in which they see each batch."""

_FILE_CHECKS = {
    file_name.OFFSET_INDEX: "indexes.offset_index.check",
    file_name.TIME_INDEX: "indexes.time_index.check",
    file_name.TRANSACTION_INDEX: "indexes.transaction_index.check",
    file_name.PRODUCER_SNAPSHOT: "snapshots.producer_snapshot.check",
    file_name.CHECKPOINT: "snapshots.kraft_snapshot.check",
    tree.LEADER_EPOCHS: "snapshots.leader_epochs.check",
    tree.PARTITION_METADATA: "snapshots.partition_metadata.check",
    tree.QUORUM_STATE: "snapshots.quorum_state.check",
    **dict.fromkeys(text_checkpoint.OFFSET_CHECKPOINTS, "directories.offset_checkpoints.check"),
    tree.META_PROPERTIES: "directories.offset_checkpoints.check_meta_properties",
    tree.CLEAN_SHUTDOWN: "directories.offset_checkpoints.check_clean_shutdown",
}
"""By suffix or name, the module below this package and its function for such files; it is imported when it is first needed."""


_ORDINARY = (
    "directories.offset_checkpoints",
    "directories.partition_directory",
    "indexes.offset_index",
    "indexes.time_index",
    "snapshots.leader_epochs",
    "snapshots.leader_epochs_of_batches",
)
"""Modules below this package that check what nearly every partition has, and are imported when they are first needed."""


def import_ordinary() -> None:
    """Import now what checks of most partitions will need, for a process that starts several others for them."""
    for module in _ORDINARY:
        __import__(f"{__name__}.{module}")


def file_check(suffix: str, name: str) -> Callable[[FileContext], None] | None:
    """The function that checks such files; None for logs and unknown files. A KRaft snapshot is checked as a segment as well."""
    place = _FILE_CHECKS.get(suffix)
    if place is None and name != file_name.CHECKPOINT:
        place = _FILE_CHECKS.get(name)
    if place is None:
        return None
    module, _, function = place.rpartition(".")
    check: Callable[[FileContext], None]
    check = getattr(__import__(f"{__name__}.{module}", fromlist=[function]), function)  # as importlib, without it
    return check
