"""A partition directory as a whole: its segments side by side, missing and stray files, names."""

from __future__ import annotations

from kdump.checks.finding import ERROR, INFO
from kdump.checks.rules import kraft_snapshot, leader_epochs, leftovers, names, offset_checkpoints, partition_metadata
from kdump.checks.rules.missing_indexes import missing_indexes
from kdump.checks.wording import offset_range
from kdump.formats import file_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.partition import PartitionFacts
    from kdump.checks.segment import SegmentFacts

_MAX_INT = 0x7FFFFFFF


def check(partition: PartitionFacts) -> None:
    """Check what no file shows alone. All files have been checked by now."""
    names.check_files(partition)
    leftovers.check(partition)
    kraft_snapshot.check_directory(partition)
    _check_empty_segments(partition)
    if partition.settings.checks_crcs:
        _check_neighbours(partition)
        leader_epochs.check_missing(partition)
        partition_metadata.check_missing(partition)
        offset_checkpoints.check_partition(partition)
    missing_indexes(partition)


def _log(partition: PartitionFacts, base_offset: int) -> str:
    return partition.files.segments[base_offset][file_name.LOG]


def _check_empty_segments(partition: PartitionFacts) -> None:
    logs = partition.files.logs
    for base_offset in logs:
        facts = partition.segments.get(base_offset)
        if facts is None or facts.size:
            continue
        if base_offset == logs[-1]:
            message = "The newest segment holds nothing yet."
            partition.context(_log(partition, base_offset)).report("segment-empty-newest", 0, 0, message)
        else:
            message = (
                f"The log is empty, but is not the newest: segments follow, the next from offset {_next(logs, base_offset):,} on."
            )
            partition.context(_log(partition, base_offset)).report("segment-empty-middle", 0, 0, message)


def _next(logs: list[int], base_offset: int) -> int:
    return logs[logs.index(base_offset) + 1]


def _check_neighbours(partition: PartitionFacts) -> None:
    """Every segment has to begin where those before it end."""
    gaps: list[tuple[int, int, int]] = []
    end, base_before = 0, -1  # of the segment that reaches highest so far
    is_certain = False
    for base_offset in partition.files.logs:
        facts = partition.segments.get(base_offset)
        own_end = None if facts is None else _end(facts)
        if facts is None or own_end is None:
            is_certain = False  # nothing is known of its neighbours
            continue
        if base_before >= 0 and end > base_offset:
            _report_overlap(partition, base_before, base_offset, end - 1, own_end - 1)
        elif is_certain and end < base_offset:
            gaps.append((end, base_offset, base_before))
        if own_end > end or base_before < 0:
            end, base_before = own_end, base_offset
        is_certain = _ends_well(facts)
    if gaps:
        _report_gaps(partition, gaps)


def _end(facts: SegmentFacts) -> int | None:
    """The offset behind the highest, None where offsets are there that no segment of this base offset can hold."""
    assert facts.base_offset is not None
    if not facts.last_offsets:
        return facts.base_offset
    highest = facts.last_offsets.highest(-1)
    return highest + 1 if highest - facts.base_offset <= _MAX_INT else None


def _ends_well(facts: SegmentFacts) -> bool:
    """Whether a log can be read up to its last byte, so that no lost batches explain a gap."""
    return facts.end >= facts.size


def _report_overlap(partition: PartitionFacts, base_before: int, base_offset: int, last: int, own_last: int) -> None:
    shared = max(min(last, own_last), base_offset)
    before, log = _log(partition, base_before), _log(partition, base_offset)
    both = offset_range(base_offset, shared)
    message = f"{before} goes on to offset {last:,}, but {log} starts at {base_offset:,}. Both claim {both}."
    partition.context(log).report(
        "segments-overlap", 0, 0, message, offsets=(base_offset, shared), expected=f"at least {last + 1}", found=base_offset
    )


def _report_gaps(partition: PartitionFacts, gaps: list[tuple[int, int, int]]) -> None:
    """Each is an error where nothing may be missing; else they are told together, for compaction leaves them lawfully."""
    if not partition.settings.may_be_compacted:
        for end, base_offset, base_before in gaps:
            where = f"between {_log(partition, base_before)} and the next segment"
            message = f"Missing {where}: {offset_range(end, base_offset - 1)}. The topic is not compacted, so a segment is lost."
            _report_gap(partition, end, base_offset, base_offset, message, ERROR)
        return
    end, base_offset, _ = gaps[0]
    where = f"Missing between two segments: {offset_range(end, base_offset - 1)}"
    if len(gaps) > 1:
        missing = sum(base_offset - end for end, base_offset, _ in gaps)
        where = (
            f"Missing between segments, at {len(gaps):,} places: {missing:,} offsets, first {offset_range(end, base_offset - 1)}"
        )
    message = f"{where}. Lawful if the topic is compacted; if not, say --cleanup-policy delete."
    _report_gap(partition, end, base_offset, gaps[-1][1], message, INFO)


def _report_gap(partition: PartitionFacts, end: int, base_offset: int, last_base: int, message: str, severity: str) -> None:
    context = partition.context(_log(partition, base_offset))
    offsets = end, last_base - 1
    context.report("segments-gap", 0, 0, message, severity=severity, offsets=offsets, expected=end, found=base_offset)
