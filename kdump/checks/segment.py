"""Checks one segment: walks its batches past any damage, and shows them to the rules."""

from __future__ import annotations

from array import array
from itertools import groupby

from kdump.checks import salvage
from kdump.checks.finding import Accounts
from kdump.checks.rules import SEGMENT_RULES
from kdump.checks.salvage import Damage, Section

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.context import FileContext
    from kdump.checks.rules.rule import SegmentRule
    from kdump.formats.record_batch import RecordBatch
    from kdump.tables import Table


class SegmentFacts:
    """What other files and segments are compared with: what the log itself says, of all batches that are not damaged.

    `positions`, `first_offsets` and `last_offsets` have one row a batch (a message of magic 0 and 1 has one offset);
    `max_timestamps` are those of their headers. `end` is the position behind the last of them. `epochs` are leader epochs with
    the first offset of each, in order.
    """

    def __init__(self, path: str, base_offset: int | None, size: int) -> None:
        self.path = path
        self.base_offset = base_offset
        self.size = size
        self.end = 0
        self.positions = array("q")
        self.first_offsets = array("q")
        self.last_offsets = array("q")
        self.max_timestamps = array("q")
        self.epochs: list[tuple[int, int]] = []
        self.is_damaged = False

    @property
    def first_offset(self) -> int | None:
        """The first offset in the segment, None where it holds no batch."""
        return self.first_offsets[0] if self.first_offsets else None

    @property
    def last_offset(self) -> int | None:
        """The last offset in the segment, None where it holds no batch."""
        return self.last_offsets[-1] if self.last_offsets else None


def check(context: FileContext) -> SegmentFacts:
    """Check one segment: what is wrong is reported to the context, what it says is the answer."""
    facts = SegmentFacts(context.path, context.base_offset, context.source.size)
    rules: list[SegmentRule] = [rule(context, facts) for rule in SEGMENT_RULES if rule.is_wanted(context)]
    record_rules = [rule for rule in rules if rule.reads_records]
    for item in salvage.walk(context.source):
        if isinstance(item, Damage):
            facts.is_damaged = True
            for rule in rules:
                rule.damage(item)
            context.accounts.take(Accounts.DAMAGED, item.end)
            continue
        _count(context, item)
        _note(facts, item)
        for rule in rules:
            rule.batches(item)
        if record_rules:
            _show_records(context, item, record_rules)
    for rule in rules:
        rule.end()
    return facts


def _count(context: FileContext, section: Section) -> None:
    """Enter the batches of a section into the account of the file."""
    positions, sizes = section.chunk.batches["position"], section.chunk.batches["size"]
    if section.statuses.count(salvage.INTACT) == len(section.statuses):
        context.accounts.take(Accounts.INTACT, positions[-1] + sizes[-1], batches=len(sizes))
        return
    for status, position, size in zip(section.statuses, positions, sizes, strict=True):
        context.accounts.take(status, position + size, batches=1)


def _note(facts: SegmentFacts, section: Section) -> None:
    """Keep what other files are compared with."""
    chunk, row = section.chunk, 0
    for is_damaged, run in groupby(section.statuses, salvage.DAMAGED.__eq__):
        start, row = row, row + len(list(run))
        if is_damaged:
            facts.is_damaged = True
        elif row - start == len(chunk.batches):
            _note_batches(facts, chunk.batches)
        else:
            _note_batches(facts, chunk.batches.slice(start, row))


def _note_batches(facts: SegmentFacts, batches: Table[RecordBatch]) -> None:
    positions, last_offsets, epochs = batches["position"], batches["last_offset"], batches["partition_leader_epoch"]
    first_offsets = last_offsets if batches["base_offset"][0] is None else batches["base_offset"]
    facts.positions.extend(positions)
    facts.first_offsets.extend(first_offsets)
    facts.last_offsets.extend(last_offsets)
    facts.max_timestamps.extend(batches["timestamp"])
    facts.end = positions[-1] + batches["size"][-1]
    if epochs.count(epochs[0]) == len(epochs):
        epochs = epochs[:1]
    for epoch, first_offset in zip(epochs, first_offsets, strict=False):
        if epoch is not None and epoch >= 0 and (not facts.epochs or facts.epochs[-1][0] != epoch):
            facts.epochs.append((epoch, first_offset))


def _show_records(context: FileContext, section: Section, rules: list[SegmentRule]) -> None:
    """Read the records of each batch on its own, so that one that cannot be read keeps nothing from the next."""
    from kdump.errors import CorruptData
    from kdump.formats import records

    for row, status in enumerate(section.statuses):
        chunk = section.chunk.slice(row, row + 1)
        try:
            for part in records.read(context.source, chunk):
                for rule in rules:
                    rule.records(part, status)
        except CorruptData as fault:
            for rule in rules:
                rule.unreadable(chunk, fault, status)
