"""Reports batches that other fields or files contradict and that fit elsewhere if one bit of their offset is wrong."""

from __future__ import annotations

import os
from bisect import bisect_right
from typing import NamedTuple

from kdump.binary.arithmetic import with_a_bit_flipped
from kdump.binary.source import Source
from kdump.checks.context import FileContext
from kdump.checks.wording import offset_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.checks.segment_facts import SegmentFacts

_MAX_SHOWN = 3
_MAX_OFFSET = 0x7FFFFFFFFFFFFFFF


class Misplaced(NamedTuple):
    """A batch of a log, by its row in the facts, and the offsets that it may have been written with instead of its own."""

    facts: SegmentFacts
    row: int
    offsets: Sequence[int]


def misplaced(facts: SegmentFacts, row: int, end: int, possible: range) -> list[Misplaced]:
    """The batch in this row, if its offset with one bit flipped is possible, and lies between those around it.

    `end` is an offset that it does not reach. No checksum covers the offset of a batch.
    """
    first, last = facts.first_offsets[row], facts.last_offsets[row]
    low = facts.last_offsets[row - 1] + 1 if row else facts.base_offset or 0
    high = min(end, *facts.first_offsets[row + 1 : row + 2], _MAX_OFFSET)
    offsets = with_a_bit_flipped(first, max(low, possible.start), min(high - (last - first), possible.stop) - 1)
    return [Misplaced(facts, row, offsets)] if offsets else []


def is_joined(facts: SegmentFacts, row: int) -> bool:
    """Whether a batch continues the one before it, or the log, or the next one continues it: then its offset may be right."""
    before = facts.last_offsets[row - 1] + 1 if row else facts.base_offset
    after = facts.first_offsets[row + 1] if row + 1 < len(facts.first_offsets) else None
    return facts.first_offsets[row] == before or facts.last_offsets[row] + 1 == after


def batch_at(logs: Sequence[SegmentFacts], offset: int) -> tuple[SegmentFacts, int] | None:
    """The log and the row in its facts of the batch that holds an offset; `logs` are those of a partition, in order."""
    at = bisect_right(logs, offset, key=lambda facts: facts.base_offset or 0) - 1
    row = logs[at].last_offsets.bisect_left(offset) if at >= 0 else 0
    if at < 0 or row == len(logs[at].last_offsets) or logs[at].first_offsets[row] > offset:
        return None
    return logs[at], row


def report(context: FileContext, found: Sequence[Misplaced], why: str) -> None:
    """Report the first of the batches, one of which has a wrong offset; `why` says what contradicts it."""
    facts, row, offsets = found[0]
    partition, positions = context.partition, facts.positions
    start, end = positions[row], positions[row + 1] if row + 1 < len(positions) else facts.end
    first, last = facts.first_offsets[row], facts.last_offsets[row]
    right = " or ".join(f"{offset:,}" for offset in offsets[:_MAX_SHOWN])
    message = f"One batch has {offset_range(first, last)}, but {why}: {right} would fit, which differs in one bit."
    message += " Its CRC does not cover this field."
    for other in found[1:]:
        place = other.facts.positions[other.row]
        message += f" Or the batch at byte {place:,} of {os.path.basename(other.facts.path)} has a wrong offset instead."
    expected = offsets[0] if len(found) == len(offsets) == 1 else None

    def report_in(log: FileContext) -> None:
        offsets = (first, last) if first >= 0 else None  # no batch has others
        log.report("uncovered-header-rot", start, end, message, offsets=offsets, expected=expected, found=first)

    if partition is None or context.path == facts.path:
        report_in(context)
        return
    with Source(facts.path) as source:
        report_in(FileContext(source, facts.path, "log", context.settings, partition.emit, partition=partition))
