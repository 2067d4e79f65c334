"""Lost segments: what is left of them, and why compaction does not explain a gap."""

from __future__ import annotations

import os
from bisect import bisect_left

from kdump.checks.context import context_in
from kdump.checks.finding import ERROR, WARNING
from kdump.checks.rules import witnesses
from kdump.checks.settings import DEEP
from kdump.checks.wording import counted, offset_range
from kdump.formats import file_name, text_checkpoint, tree
from kdump.formats.file_name import CLEANED, DELETED, SWAP, is_leftover
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.checks.context import FileContext
    from kdump.checks.partition_facts import PartitionFacts
    from kdump.checks.segment_facts import SegmentFacts

_SNAPSHOT = file_name.PRODUCER_SNAPSHOT
_COLUMN_SLICE_ROWS = 4096  # rows of a column that are unpacked at once
_MIN_OFFSETS_WITHOUT_TRACE = 8  # offsets without a trace of the cleaner, from which on it seems that it never ran


class Gap(Declared):
    """Offsets from `first` to before `end` that no segment has, between the logs `before` and `end`, by base offset.

    It is certain where the log before can be read to its last byte, so that no damage there explains the gap.
    """

    first: int
    end: int
    before: int
    span: int  # offsets of the smaller of the two segments
    is_certain: bool


def report_orphans(partition: PartitionFacts, gaps: list[Gap]) -> None:
    """Report segments of which only indexes are left; those after the newest log are reported with that log."""
    logs = partition.files.logs
    orphans = witnesses.orphans(partition)
    for gap in gaps:
        inside = orphans[bisect_left(orphans, gap.first) : bisect_left(orphans, gap.end)]
        if inside:
            found = [witness for base in inside for witness in witnesses.of_orphan(partition, base)]
            first = gap.first if gap.is_certain and not partition.topic_policy.is_compacted else inside[0]
            where = f"between {partition.files.log_name(gap.before)} and {partition.files.log_name(gap.end)}"
            _report_missing(partition, partition.files.log_name(gap.end), first, gap.end - 1, where, found)
    at_start = [base for base in orphans if logs and base < logs[0] or not logs]
    with_entries = [base for base in at_start if witnesses.has_entries(partition, base)]
    if with_entries:
        found = [witness for base in with_entries for witness in witnesses.of_orphan(partition, base)]
        last = logs[0] - 1 if logs else max(witness.offset for witness in found)
        where = f"before {partition.files.log_name(logs[0])}, the first log" if logs else "and no log is there"
        _report_missing(partition, found[0].name, with_entries[0], last, where, found)


def _report_missing(
    partition: PartitionFacts, name: str, first: int, last: int, where: str, found: list[witnesses.Witness]
) -> None:
    others = f" and {counted(len(found) - 1, 'more index', 'more indexes')}" if len(found) > 1 else ""
    message = (
        f"Lost {where}: {offset_range(first, last)}. {found[0].name}{others} {'are' if others else 'is'} still there "
        "without a log; a broker that deletes a segment also deletes its indexes."
    )
    context = context_in(partition, name)
    context.report("segment-missing", 0, 0, message, offsets=(first, last), is_estimated=True, expected=first, found=last + 1)


def report_before_first_log(
    context: FileContext, partition: PartitionFacts, first_log: int, start_offset: int, start: int, end: int
) -> None:
    """Report offsets below the first log, to which bytes `start` to `end` of leader-epoch-checkpoint attest.

    A broker that deletes segments raises the first epoch with the start of the log, which tiered storage leaves at that of the
    remote segments. So they are lost if the topic is not tiered. They are not if a deletion of these segments was interrupted.
    """
    policy = partition.topic_policy
    if policy.is_tiered or _is_going(partition, start_offset, first_log):
        return
    has_checkpoint, log_start = partition.checkpointed_offset(text_checkpoint.LOG_START_OFFSETS)
    below = f"{offset_range(start_offset, first_log - 1)} before {partition.files.log_name(first_log)}, the first log"
    says = f"The file says that the log starts at offset {start_offset:,}"
    name = text_checkpoint.LOG_START_OFFSETS
    if log_start is not None and log_start >= first_log:
        says += f", but {name} says {log_start:,}: if that is so, they were deleted, and nothing is missing"
    elif why := _why_lost(partition, start_offset, first_log, lists_no_start=has_checkpoint and log_start is None):
        _report_first_lost(context, below, f"{says}; a broker that deletes segments {why}", (start_offset, first_log), start, end)
        return
    elif log_start is not None:
        return  # as brokers checkpoint it for tiered topics
    else:
        says += (
            "; a broker that deletes segments raises it, unless the topic is tiered: then remote storage has them. If it is not, "
            "these segments are lost. Nothing here says which"
        )
    message = f"Not here: {below}. {says}."
    offsets = (start_offset, first_log - 1)
    context.report("segments-not-local", start, end, message, offsets=offsets, is_estimated=True)


def _why_lost(partition: PartitionFacts, start_offset: int, first_log: int, *, lists_no_start: bool) -> str:
    """What shows that a broker did not delete the first segments; nothing if they may be in remote storage."""
    policy = partition.topic_policy
    if policy.is_tiered is False:
        return f"raises it, unless the topic is tiered, and {policy.tiered_by}"
    orphan = next((base for base in witnesses.orphans(partition) if start_offset <= base < first_log), None)
    if orphan is not None:
        return f"also deletes their indexes, and {witnesses.of_orphan(partition, orphan)[0].name} is still there"
    if lists_no_start:
        return f"raises it, unless the topic is tiered, and then {text_checkpoint.LOG_START_OFFSETS} would list the partition"
    return ""


def _is_going(partition: PartitionFacts, start_offset: int, first_log: int) -> bool:
    """Whether a broker was deleting segments of these offsets, or replacing them: it renames their logs first."""
    deleted = [tree.base_offset_of(name) for name in partition.files.others if is_leftover(name, DELETED)]
    return any(base is not None and start_offset <= base < first_log for base in (*deleted, *partition.put_in_place))


def _report_first_lost(context: FileContext, below: str, why: str, between: tuple[int, int], start: int, end: int) -> None:
    start_offset, first_log = between
    message = f"Lost: {below}. {why}."
    context.report(
        "segment-missing",
        start,
        end,
        message,
        offsets=(start_offset, first_log - 1),
        is_estimated=True,
        expected=first_log,
        found=start_offset,
    )


def report_no_log(context: FileContext, start: int) -> None:
    """Report a partition without any log; leader-epoch-checkpoint, from byte `start` on, has epochs."""
    message = "There is no log here, though leaders have been elected: all segments are lost."
    if not tree.is_metadata_log(os.path.dirname(context.path)):  # which goes on from its newest snapshot
        message += " A broker starts over at offset 0."
    context.report("segment-missing", start, context.source.size, message)


class CleanerEvidence:
    """Traces of the cleaner in a partition: offsets that it removed, and its checkpoint."""

    def __init__(self, partition: PartitionFacts) -> None:
        self.partition = partition
        self.has_checkpoint, cleaned_to = partition.checkpointed_offset(text_checkpoint.CLEANER_OFFSETS)
        self.cleaned_to = max(cleaned_to or 0, 0)
        self.last_trace = max(_traces(partition), default=-1)
        segments = partition.segments.values()
        may_hide_traces = partition.settings.level != DEEP and any(facts.has_wrappers for facts in segments)
        known = [] if may_hide_traces else [facts for facts in segments if facts.last_offset is not None]
        self.seen = sum(max(0, (facts.last_offset or 0) + 1 - (facts.first_offset or 0)) for facts in known)
        of_segments = partition.files.segments.items()
        self._snapshots = sorted(
            (base, names[_SNAPSHOT]) for base, names in of_segments if _SNAPSHOT in names and file_name.LOG not in names
        )

    def speaks_against_cleaner(self, gap: Gap) -> bool:
        """Whether the cleaner is unlikely to have made this gap, or a snapshot speaks for a segment there; reported if so."""
        snapshots = self._snapshots[bisect_left(self._snapshots, (gap.first, "")) : bisect_left(self._snapshots, (gap.end, ""))]
        is_cleaned = gap.first < self.cleaned_to or self.last_trace >= self.cleaned_to
        if is_cleaned or self.partition.topic_policy.is_compacted and not self.has_checkpoint:
            return self._has_left_snapshot(gap, snapshots)
        is_whole_segment = 2 * (gap.end - gap.first) >= gap.span
        if self.has_checkpoint or snapshots or (is_whole_segment and self.seen >= _MIN_OFFSETS_WITHOUT_TRACE):
            severity = ERROR
        elif self.seen >= _MIN_OFFSETS_WITHOUT_TRACE:
            severity = WARNING
        else:
            return False
        reasons = [f"no other offset is missing {f'from {self.cleaned_to:,} on' if self.cleaned_to else 'anywhere'}"]
        if self.cleaned_to:
            reasons.append(f"{text_checkpoint.CLEANER_OFFSETS} says that the cleaner reached offset {self.cleaned_to:,}")
        elif self.has_checkpoint:
            reasons.append(f"{text_checkpoint.CLEANER_OFFSETS} does not list the partition")
        reasons += [f"{name} says that a segment started at offset {offset:,}" for offset, name in snapshots]
        self._report(gap, severity, f"Compaction does not explain this: {', '.join(reasons)}")
        return True

    def _has_left_snapshot(self, gap: Gap, snapshots: list[tuple[int, str]]) -> bool:
        """Whether a snapshot names the start of a gap, though the cleaner may have made it; reported if so.

        A broker of 2.8 or later deletes the snapshot of a segment that the cleaner empties, and writes partition.metadata.
        """
        if not snapshots or snapshots[0][0] != gap.first or tree.PARTITION_METADATA not in self.partition.files.others:
            return False
        why = f"{snapshots[0][1]} says that a segment started there, unless a broker was stopped there"
        self._report(gap, WARNING, f"Compaction may explain this, but {why}; brokers delete the snapshots of emptied segments")
        return True

    def _report(self, gap: Gap, severity: str, why: str) -> None:
        before, log = self.partition.files.log_name(gap.before), self.partition.files.log_name(gap.end)
        message = f"Lost between {before} and {log}: {offset_range(gap.first, gap.end - 1)}. {why}."
        context_in(self.partition, log).report(
            "segment-missing",
            0,
            0,
            message,
            severity=severity,
            offsets=(gap.first, gap.end - 1),
            expected=gap.first,
            found=gap.end,
        )


def _traces(partition: PartitionFacts) -> Iterator[int]:
    """Offsets at which the cleaner removed something; gaps that damage explains do not count."""
    oldest = min(partition.files.logs, default=0)
    for name in partition.files.others:
        base = tree.base_offset_of(name)
        is_of_cleaner = is_leftover(name, CLEANED) or is_leftover(name, SWAP)
        if base is not None and (is_of_cleaner or base > oldest and is_leftover(name, DELETED)):
            yield base
    newest = max(partition.files.logs, default=-1)
    for base_offset, facts in partition.segments.items():
        if facts.last_thinned is not None:
            yield facts.last_thinned
        if not facts.size and base_offset != newest:
            yield base_offset
        yield from _skipped(facts)


def _skipped(facts: SegmentFacts) -> Iterator[int]:
    """The offsets after gaps in a segment, without gaps that damage explains."""
    next_offset, position = facts.base_offset or 0, 0
    damages = iter(zip(facts.damage_starts, facts.damage_ends, strict=True))
    damage = next(damages, None)
    for start in range(0, len(facts.positions), _COLUMN_SLICE_ROWS):
        rows = slice(start, start + _COLUMN_SLICE_ROWS)
        for own, first, last in zip(facts.positions[rows], facts.lowest_offsets[rows], facts.last_offsets[rows], strict=True):
            while damage is not None and damage[1] <= position:
                damage = next(damages, None)
            is_behind_damage = damage is not None and damage[0] < own
            if first > next_offset and not is_behind_damage:
                yield first
            next_offset, position = last + 1, own
