"""The rules of checks: a package for each section of the catalogue, under the same name.

Rules for segments see each batch as it is read. Other files are checked one at a time, after the segments that they belong to;
then the partition as a whole, and the log directory.
"""

from __future__ import annotations

from kdump.checks.rules.framing.framing import Framing
from kdump.checks.rules.order.batch_order import BatchOrder
from kdump.checks.rules.order.record_order import RecordOrder
from kdump.checks.rules.records.codecs import Codecs
from kdump.checks.rules.records.compacted_keys import CompactedKeys
from kdump.checks.rules.records.fields import RecordFields
from kdump.checks.rules.records.frames import Frames
from kdump.checks.rules.records.messages import Messages
from kdump.checks.rules.records.not_read import NotRead
from kdump.checks.rules.records.unreadable import UnreadableRecords
from kdump.checks.rules.snapshots.internal_topics import InternalTopic
from kdump.checks.rules.snapshots.kraft_snapshot import Snapshot
from kdump.checks.rules.timestamps.batch_timestamps import BatchTimestamps
from kdump.checks.rules.timestamps.record_timestamps import RecordTimestamps
from kdump.checks.rules.timestamps.timestamp_order import TimestampOrder
from kdump.checks.rules.timestamps.timestamp_types import TimestampTypes
from kdump.checks.rules.transactions.transactions import Transactions
from kdump.formats import file_name, text_checkpoint, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.checks.context import FileContext
    from kdump.checks.rules.rule import SegmentRule

SEGMENT_RULES: tuple[type[SegmentRule], ...] = (
    Framing,
    *(BatchOrder, RecordOrder),
    *(BatchTimestamps, TimestampOrder, TimestampTypes, RecordTimestamps),
    Transactions,
    *(Codecs, Frames, UnreadableRecords, RecordFields, CompactedKeys, Messages, NotRead),
    *(Snapshot, InternalTopic),
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
