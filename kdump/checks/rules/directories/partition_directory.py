"""A partition directory as a whole: neighbouring segments, missing and stray files, names."""

from __future__ import annotations

from kdump.checks.context import context_in
from kdump.checks.finding import INFO
from kdump.checks.rules.directories import leftovers, names, neighbours, offset_checkpoints
from kdump.checks.rules.indexes.missing_indexes import missing_indexes
from kdump.checks.rules.snapshots import kraft_snapshot, leader_epochs, partition_metadata

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
    logs = partition.files.logs
    for row, base_offset in enumerate(logs):
        facts = partition.segments.get(base_offset)
        if facts is None or facts.size:
            continue
        context = context_in(partition, partition.files.log_name(base_offset))
        if base_offset == logs[-1]:
            context.report("segment-empty-newest", 0, 0, "The newest segment is still empty.")
        else:
            message = f"The log is empty, but is not the newest: segments follow, the next from offset {logs[row + 1]:,} on."
            thinned = (one.last_thinned is not None for one in partition.segments.values())
            severity = INFO if partition.topic_policy.is_compacted or any(thinned) else None
            context.report("segment-empty-middle", 0, 0, message, severity=severity)
