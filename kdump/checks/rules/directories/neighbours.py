"""Neighbouring segments: those that overlap, and gaps between them."""

from __future__ import annotations

from bisect import bisect_left

from kdump.checks.context import context_in
from kdump.checks.finding import ERROR, INFO
from kdump.checks.rules import witnesses
from kdump.checks.rules.order import missing_segments
from kdump.checks.wording import offset_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.partition_facts import PartitionFacts
    from kdump.checks.segment_facts import SegmentFacts

_MAX_INT = 0x7FFFFFFF


def check(partition: PartitionFacts) -> None:
    """Report segments that do not start where those before them end."""
    gaps: list[missing_segments.Gap] = []
    end, base_before = 0, -1  # of the segment that reaches highest so far
    is_certain = is_known = False
    for base_offset in partition.files.logs:
        facts = partition.segments.get(base_offset)
        own_end = None if facts is None else _end(facts)
        if facts is None or own_end is None:
            is_certain = is_known = False  # nothing is known of its neighbours
            continue
        if base_before >= 0 and end > base_offset:
            _report_overlap(partition, base_before, base_offset, end - 1, own_end - 1)
        elif is_known and end < base_offset and facts.first_offset != end:  # else only the name of the log is wrong
            spans = [span for span in (end - base_before, own_end - base_offset) if span]
            gaps.append(missing_segments.Gap(end, base_offset, base_before, min(spans, default=0), is_certain=is_certain))
        if own_end > end or base_before < 0:
            end, base_before = own_end, base_offset
        is_known, is_certain = True, facts.end >= facts.size
    _report_gaps(partition, gaps)
    if not partition.is_being_deleted:
        missing_segments.report_orphans(partition, gaps)


def _end(facts: SegmentFacts) -> int | None:
    """The offset after the highest; None if an offset is too high for a segment of this base offset."""
    assert facts.base_offset is not None
    if not facts.last_offsets:
        return facts.base_offset
    highest = facts.last_offsets.highest(-1)
    return highest + 1 if highest - facts.base_offset <= _MAX_INT else None


def _report_overlap(partition: PartitionFacts, base_before: int, base_offset: int, last: int, own_last: int) -> None:
    shared = min(last, own_last) if own_last >= base_offset else last  # its name alone claims them all
    before, log = partition.files.log_name(base_before), partition.files.log_name(base_offset)
    both = offset_range(base_offset, shared)
    message = f"{before} goes on to offset {last:,}, but {log} starts at {base_offset:,}. Both claim {both}."
    context_in(partition, log).report(
        "segments-overlap", 0, 0, message, offsets=(base_offset, shared), expected=f"at least {last + 1}", found=base_offset
    )


def _report_gaps(partition: PartitionFacts, gaps: list[missing_segments.Gap]) -> None:
    """Report each gap that cannot be due to compaction as an error, all others together."""
    certain = [gap for gap in gaps if gap.is_certain]
    if certain and not partition.topic_policy.may_be_compacted:
        for gap in certain:
            where = f"between {partition.files.log_name(gap.before)} and the next segment"
            why = partition.topic_policy.why_not_compacted
            message = f"Missing {where}: {offset_range(gap.first, gap.end - 1)}. {why[0].upper()}{why[1:]}, so a segment is lost."
            _report_gap(partition, gap.first, gap.end, gap.end, message, ERROR)
        return
    orphans = [] if partition.is_being_deleted else witnesses.orphans(partition)
    unexplained = [gap for gap in certain if bisect_left(orphans, gap.first) == bisect_left(orphans, gap.end)]
    if unexplained and not partition.is_being_deleted:
        evidence = missing_segments.CleanerEvidence(partition)
        unexplained = [gap for gap in unexplained if not evidence.speaks_against_cleaner(gap)]
    if not unexplained:
        return
    first, end = unexplained[0].first, unexplained[0].end
    where = f"Missing between two segments: {offset_range(first, end - 1)}"
    if len(unexplained) > 1:
        missing = sum(gap.end - gap.first for gap in unexplained)
        where = (
            f"Missing between segments, at {len(unexplained):,} places: {missing:,} offsets, first {offset_range(first, end - 1)}"
        )
    message = f"{where}. {partition.topic_policy.on_gaps}"
    _report_gap(partition, first, end, unexplained[-1].end, message, INFO)


def _report_gap(partition: PartitionFacts, end: int, base_offset: int, last_base: int, message: str, severity: str) -> None:
    context = context_in(partition, partition.files.log_name(base_offset))
    offsets = end, last_base - 1
    context.report("segments-gap", 0, 0, message, severity=severity, offsets=offsets, expected=end, found=base_offset)
