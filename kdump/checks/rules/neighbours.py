"""Segments side by side: those that share offsets, those that leave some out, and what speaks for a lost segment there."""

from __future__ import annotations

from kdump.checks.context import context_in
from kdump.checks.finding import ERROR, INFO, WARNING
from kdump.checks.rules import witnesses
from kdump.checks.rules.leftovers import CLEANED, DELETED, SWAP, is_leftover
from kdump.checks.settings import UNKNOWN
from kdump.checks.wording import counted, offset_range
from kdump.formats import file_name, text_checkpoint, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.checks.facts import PartitionFacts, SegmentFacts

_MAX_INT = 0x7FFFFFFF
_STEP = 4096  # rows of a column that are unpacked at once
_ENOUGH = 8  # offsets without a trace of the cleaner, from which on it seems that it was never there
_COMPACTED = ("__consumer_offsets", "__transaction_state", "__share_group_state")
_CHANGELOG = "-changelog"  # of Kafka Streams


class Gap:
    """Offsets from `first` to before `end` that no segment has, between the logs `before` and `end`, by base offset.

    It is certain where the log before can be read to its last byte, so that no damage there explains the gap.
    """

    __slots__ = ("before", "end", "first", "is_certain", "span")

    def __init__(self, first: int, end: int, before: int, span: int, *, is_certain: bool) -> None:
        self.first = first
        self.end = end
        self.before = before
        self.span = span  # offsets of the smaller of the two segments
        self.is_certain = is_certain


def check(partition: PartitionFacts) -> None:
    """Every segment has to begin where those before it end."""
    gaps: list[Gap] = []
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
        elif is_known and end < base_offset:
            spans = [span for span in (end - base_before, own_end - base_offset) if span]
            gaps.append(Gap(end, base_offset, base_before, min(spans, default=0), is_certain=is_certain))
        if own_end > end or base_before < 0:
            end, base_before = own_end, base_offset
        is_known, is_certain = True, _ends_well(facts)
    _report_gaps(partition, gaps)
    if not partition.is_being_deleted:
        _report_orphans(partition, gaps)


def _log(partition: PartitionFacts, base_offset: int) -> str:
    return partition.files.segments[base_offset][file_name.LOG]


def _end(facts: SegmentFacts) -> int | None:
    """The offset after the highest, None where offsets are there that no segment of this base offset can hold."""
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
    context_in(partition, log).report(
        "segments-overlap", 0, 0, message, offsets=(base_offset, shared), expected=f"at least {last + 1}", found=base_offset
    )


def _report_gaps(partition: PartitionFacts, gaps: list[Gap]) -> None:
    """Each is an error where nothing may be missing, or where something attests what is; the others are told together."""
    certain = [gap for gap in gaps if gap.is_certain]
    if not partition.settings.may_be_compacted:
        for gap in certain:
            where = f"between {_log(partition, gap.before)} and the next segment"
            message = (
                f"Missing {where}: {offset_range(gap.first, gap.end - 1)}. The topic is not compacted, so a segment is lost."
            )
            _report_gap(partition, gap.first, gap.end, gap.end, message, ERROR)
        return
    orphans = [] if partition.is_being_deleted else witnesses.orphans(partition)
    unexplained = [gap for gap in certain if not any(gap.first <= base < gap.end for base in orphans)]
    if unexplained and not partition.is_being_deleted:
        evidence = _Evidence(partition)
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
    message = f"{where}. Lawful if the topic is compacted; if not, say --cleanup-policy delete."
    _report_gap(partition, first, end, unexplained[-1].end, message, INFO)


def _report_gap(partition: PartitionFacts, end: int, base_offset: int, last_base: int, message: str, severity: str) -> None:
    context = context_in(partition, _log(partition, base_offset))
    offsets = end, last_base - 1
    context.report("segments-gap", 0, 0, message, severity=severity, offsets=offsets, expected=end, found=base_offset)


# --- Segments that were there


def _report_orphans(partition: PartitionFacts, gaps: list[Gap]) -> None:
    """Report segments of which indexes attest that they were there; those after the newest log are told with that."""
    logs = partition.files.logs
    orphans = witnesses.orphans(partition)
    for gap in gaps:
        inside = [base for base in orphans if gap.first <= base < gap.end]
        if inside:
            found = [witness for base in inside for witness in witnesses.of_orphan(partition, base)]
            first = gap.first if gap.is_certain and not _is_compacted(partition) else inside[0]
            where = f"between {_log(partition, gap.before)} and {_log(partition, gap.end)}"
            _report_missing(partition, _log(partition, gap.end), first, gap.end - 1, where, found)
    at_start = [base for base in orphans if logs and base < logs[0] or not logs]
    with_entries = [base for base in at_start if witnesses.has_entries(partition, base)]
    if with_entries:
        found = [witness for base in with_entries for witness in witnesses.of_orphan(partition, base)]
        last = logs[0] - 1 if logs else max(witness.offset for witness in found)
        where = f"before {_log(partition, logs[0])}, the first log" if logs else "and no log is there"
        _report_missing(partition, found[0].name, with_entries[0], last, where, found)


def _report_missing(
    partition: PartitionFacts, name: str, first: int, last: int, where: str, found: list[witnesses.Witness]
) -> None:
    others = f" and {counted(len(found) - 1, 'more index', 'more indexes')}" if len(found) > 1 else ""
    message = (
        f"Lost {where}: {offset_range(first, last)}. {found[0].name}{others} {'are' if others else 'is'} still there "
        "without a log; a broker that deletes a segment takes its indexes along."
    )
    context = context_in(partition, name)
    context.report("segment-missing", 0, 0, message, offsets=(first, last), is_estimated=True, expected=first, found=last + 1)


# --- Whether the cleaner may have made a gap


class _Evidence:
    """What a partition shows of the cleaner: offsets that it took out, and how far its checkpoint says that it came."""

    def __init__(self, partition: PartitionFacts) -> None:
        self.partition = partition
        self.has_checkpoint, cleaned_to = partition.noted(text_checkpoint.CLEANER_OFFSETS)
        self.cleaned_to = max(cleaned_to or 0, 0)
        self.last_trace = max(_traces(partition), default=-1)
        self.seen = sum(
            max(0, (facts.last_offset or 0) + 1 - max(facts.first_offset or 0, self.cleaned_to))
            for facts in partition.segments.values()
            if facts.last_offset is not None
        )

    def speaks_against_cleaner(self, gap: Gap) -> bool:
        """Whether the cleaner hardly made this gap: then it is reported, with what says so."""
        if gap.first < self.cleaned_to or self.last_trace >= self.cleaned_to:
            return False
        if _is_compacted(self.partition) and not self.has_checkpoint:
            return False
        snapshots = self._snapshots(gap)
        is_whole_segment = 2 * (gap.end - gap.first) >= gap.span
        if self.has_checkpoint or snapshots or (is_whole_segment and self.seen >= _ENOUGH):
            severity = ERROR
        elif self.seen >= _ENOUGH:
            severity = WARNING
        else:
            return False
        reasons = [f"no other offset is missing {f'from {self.cleaned_to:,} on' if self.cleaned_to else 'anywhere'}"]
        if self.cleaned_to:
            reasons.append(f"{text_checkpoint.CLEANER_OFFSETS} says that the cleaner came to offset {self.cleaned_to:,}")
        elif self.has_checkpoint:
            reasons.append(f"{text_checkpoint.CLEANER_OFFSETS} does not list the partition")
        reasons += [f"{name} says that a segment began at offset {offset:,}" for offset, name in snapshots]
        before, log = _log(self.partition, gap.before), _log(self.partition, gap.end)
        message = (
            f"Lost between {before} and {log}: {offset_range(gap.first, gap.end - 1)}. Compaction does not explain it: "
            f"{', '.join(reasons)}."
        )
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
        return True

    def _snapshots(self, gap: Gap) -> list[tuple[int, str]]:
        return [
            (base, names[file_name.PRODUCER_SNAPSHOT])
            for base, names in sorted(self.partition.files.segments.items())
            if gap.first <= base < gap.end and file_name.PRODUCER_SNAPSHOT in names
        ]


def _is_compacted(partition: PartitionFacts) -> bool:
    """Whether the topic is compacted, by what the caller says or by its name."""
    name = tree.directory_name(partition.path)
    topic = "" if name is None else name.topic
    return partition.settings.cleanup_policy != UNKNOWN or topic in _COMPACTED or topic.endswith(_CHANGELOG)


def _traces(partition: PartitionFacts) -> Iterator[int]:
    """Offsets at which something was taken out, as only the cleaner does it; what damage explains is none."""
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
    """The offsets before which others are missing in a segment, unless damage is in between."""
    next_offset, position = facts.base_offset or 0, 0
    damages = iter(zip(facts.damage_starts, facts.damage_ends, strict=True))
    damage = next(damages, None)
    for start in range(0, len(facts.positions), _STEP):
        rows = slice(start, start + _STEP)
        for own, first, last in zip(facts.positions[rows], facts.first_offsets[rows], facts.last_offsets[rows], strict=True):
            while damage is not None and damage[1] <= position:
                damage = next(damages, None)
            is_behind_damage = damage is not None and damage[0] < own
            if first > next_offset and not is_behind_damage:
                yield first
            next_offset, position = last + 1, own
