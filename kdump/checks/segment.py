"""Checks one segment: walks its batches, past any damage, and passes them to the rules."""

from __future__ import annotations

from kdump.binary.batch_header import CONTROL_BIT, TRANSACTIONAL_BIT
from kdump.checks.finding import ByteCoverage
from kdump.checks.first_offsets import FirstOffsets
from kdump.checks.live_source import CheckAborted
from kdump.checks.record_reader import RecordReader
from kdump.checks.rules import SEGMENT_RULES
from kdump.checks.rules.files import file_object
from kdump.checks.rules.rule import SegmentRule
from kdump.checks.segment_facts import SegmentFacts
from kdump.errors import Unreadable
from kdump.reading import salvage
from kdump.reading.items import Damage, Section
from kdump.reading.walked_log import WalkedLog

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.checks.context import FileContext
    from kdump.formats.log import Chunk
    from kdump.formats.record_batch import RecordBatch
    from kdump.formats.summary import BatchSummary
    from kdump.tables import Table


def check(context: FileContext, rule_classes: Sequence[type[SegmentRule]] = SEGMENT_RULES) -> SegmentFacts:
    """Check one segment. Findings go to the context; the facts about it are returned."""
    facts = SegmentFacts(context.path, context.base_offset, context.source.size)
    context.hold(facts)
    try:
        _check(context, facts, rule_classes)
    except CheckAborted:
        facts.is_damaged = True  # as far as others are concerned: its end is not known
    except Unreadable as error:  # the bytes have changed since they were first looked at
        facts.is_damaged = True
        file_object.report_rewritten(context, error.position or 0)
    finally:
        context.release()
    return facts


def _check(context: FileContext, facts: SegmentFacts, rule_classes: Sequence[type[SegmentRule]]) -> None:
    """Pass the whole segment to the rules. Raises CheckAborted if it cannot be read to its end."""
    rules: list[SegmentRule] = [rule(context, facts) for rule in rule_classes if rule.is_wanted(context)]
    # rules that look at records report the last batch before others report what follows it
    closing_first = sorted(rules, key=lambda rule: not rule.reads_records)
    at_damage = [rule.damage for rule in closing_first if type(rule).damage is not SegmentRule.damage]
    at_batches = [rule.batches for rule in closing_first if type(rule).batches is not SegmentRule.batches]
    record_reader = RecordReader(context, [rule for rule in rules if rule.reads_records])
    base_offset = context.base_offset if context.file_type == "log" else None
    items = salvage.walk(
        context.source,
        base_offset=base_offset,
        next_base_offset=context.next_base_offset,
        keeps_bytes=record_reader.reads_all,
    )
    first_offsets = FirstOffsets(context, record_reader)
    walked = WalkedLog(context.base_offset or 0) if context.is_part_of_log else None
    try:
        for item in items:
            first_offsets.find(item)
            if walked is not None:
                walked.take(item)
                walked = None if walked.is_too_long else walked
            if isinstance(item, Damage):
                facts.record_damage(item.start, item.end)
                for look_at_damage in at_damage:
                    look_at_damage(item)
                _count_damage(context, item)
                continue
            _count(context, item)
            _record_section(facts, item)
            for look_at_batches in at_batches:
                look_at_batches(item)
            context.tick(context.coverage.position)
            record_reader.show(item)
    finally:
        items.close()  # it may have an open file
    record_reader.end()
    for rule in rules:
        rule.end()
    if walked is not None and context.partition is not None and not context.is_unreadable(0, facts.size):
        context.partition.keep(facts, walked)


def _count_damage(context: FileContext, damage: Damage) -> None:
    """Count the bytes of a damaged range, and the batch that was lost there."""
    is_known = damage.status != salvage.ZERO or not context.is_unreadable(damage.start, damage.end)
    status = damage.status if is_known else ByteCoverage.NOT_EXAMINED
    context.coverage.add(status, damage.end, batches=int(damage.is_batch))


def _count(context: FileContext, section: Section) -> None:
    """Count the bytes and batches of a section."""
    if section.summary is not None:
        context.coverage.add(ByteCoverage.INTACT, section.summary.end, batches=section.summary.count)
        return
    positions, sizes = section.chunk.batches["position"], section.chunk.batches["size"]
    context.coverage.add(section.status, positions[-1] + sizes[-1], batches=len(section.chunk))


def _record_section(facts: SegmentFacts, section: Section) -> None:
    """Record the facts that other files are compared with."""
    chunk = section.chunk
    if section.summary is not None:
        _record_summary(facts, section.summary, chunk, section.lowest_offsets)
        return
    if section.status == salvage.DAMAGED:
        batch = chunk.batches.row(0)
        facts.record_damage(batch.position, batch.position + batch.size)
    else:
        _record_batches(facts, chunk.batches, section.lowest_offsets)


def _record_summary(facts: SegmentFacts, summary: BatchSummary, chunk: Chunk, lowest: Sequence[int | None] | None) -> None:
    facts.positions.extend(summary.positions)
    if lowest is None:
        facts.add_offsets(summary.first_offsets, summary.last_offsets)
    else:
        facts.add_offsets(summary.last_offsets, summary.last_offsets, summary.first_offsets)
    facts.max_timestamps.extend(summary.timestamps)
    facts.end = summary.end
    if summary.is_legacy:
        facts.is_plain = False
        return
    facts.is_plain &= not summary.any_attributes & (TRANSACTIONAL_BIT | CONTROL_BIT)
    if summary.lowest_leader_epoch == summary.highest_leader_epoch:
        _record_epochs(facts, [summary.first_leader_epoch], [summary.first_offset])
    else:
        _record_epochs(facts, chunk.batches["partition_leader_epoch"], summary.first_offsets)


def _record_batches(facts: SegmentFacts, batches: Table[RecordBatch], lowest: Sequence[int | None] | None) -> None:
    positions, last_offsets = batches["position"], batches["last_offset"]
    first_offsets = last_offsets if batches["base_offset"][0] is None else batches["base_offset"]
    facts.positions.extend(positions)
    starts: Sequence[int] | None = None
    if lowest is not None:
        starts = [last if first is None else first for first, last in zip(lowest, last_offsets, strict=True)]
    facts.add_offsets(first_offsets, last_offsets, starts)
    facts.max_timestamps.extend(batches["timestamp"])
    facts.end = positions[-1] + batches["size"][-1]
    facts.is_plain = False
    if batches["base_offset"][0] is not None:
        _record_epochs(facts, batches["partition_leader_epoch"], first_offsets)


def _record_epochs(facts: SegmentFacts, epochs: Sequence[int], first_offsets: Sequence[int]) -> None:
    last = facts.epochs[-1] if facts.epochs else None
    changes: list[int] = []
    starts: list[int] = []
    for epoch, first_offset in zip(epochs, first_offsets, strict=True):
        if epoch >= 0 and epoch != last:
            changes.append(epoch)
            starts.append(first_offset)
            last = epoch
    if changes:
        facts.epochs.extend(changes)
        facts.epoch_starts.extend(starts)
