"""A partition directory as a whole: neighbouring segments, missing and stray files, names."""

from __future__ import annotations

from itertools import pairwise

from kdump.checks.context import context_in
from kdump.checks.finding import INFO
from kdump.checks.rules.directories import leftovers, names, neighbours, offset_checkpoints
from kdump.checks.rules.indexes.missing_indexes import missing_indexes
from kdump.checks.rules.snapshots import kraft_snapshot, leader_epochs, partition_metadata
from kdump.reading.trust import SEGMENT_REACH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.partition_facts import PartitionFacts


def check(partition: PartitionFacts) -> None:
    """Check what no file shows alone. All files have been checked by now."""
    names.check_files(partition)
    leftovers.check(partition)
    kraft_snapshot.check_directory(partition)
    _check_empty_segments(partition)
    if partition.settings.checks_crcs:
        neighbours.check(partition)
        leader_epochs.check_missing(partition)
        partition_metadata.check_missing(partition)
        offset_checkpoints.check_partition(partition)
    missing_indexes(partition)


def _check_empty_segments(partition: PartitionFacts) -> None:
    logs, segments = partition.files.logs, partition.segments
    empty = [row for row, base_offset in enumerate(logs) if base_offset in segments and not segments[base_offset].size]
    severity = INFO if empty and _was_cleaned(partition) else None
    for row in empty:
        context = context_in(partition, partition.files.log_name(logs[row]))
        if row == len(logs) - 1:
            context.report("segment-empty-newest", 0, 0, "The newest segment is still empty.")
        else:
            message = f"The log is empty, but is not the newest: segments follow, the next from offset {logs[row + 1]:,} on."
            context.report("segment-empty-middle", 0, 0, message, severity=severity)


def _was_cleaned(partition: PartitionFacts) -> bool:
    """Whether the topic is compacted, or a segment shows the cleaner: by its batches, or by more offsets than one can have."""
    are_wide = any(after - before > SEGMENT_REACH for before, after in pairwise(partition.files.logs))  # KAFKA-12889
    is_thinned = any(one.last_thinned is not None for one in partition.segments.values())
    return partition.topic_policy.is_compacted or are_wide or is_thinned
