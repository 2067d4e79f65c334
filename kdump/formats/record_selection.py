"""Some of the records of a chunk, with the batches that hold them."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate

from kdump.formats.record import RecordChunk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def owners(part: RecordChunk) -> list[int]:
    """The row of its batch for each record."""
    return part.spread(range(len(part.counts)))


def selected(part: RecordChunk, kept: Sequence[int], shown_position: int) -> tuple[RecordChunk, list[int]]:
    """The records in these rows with their batches, and the rows of these batches.

    The result continues the batch at `shown_position` if it starts with a record of it.
    """
    owner_of = owners(part)
    counts: dict[int, int] = {}
    for row in kept:
        counts[owner_of[row]] = counts.get(owner_of[row], 0) + 1
    rows = list(counts)
    batches = part.batches.picked(rows)
    chunk = RecordChunk(
        batches,
        list(counts.values()),
        part.records.picked(kept),
        bool(rows) and batches["position"][0] == shown_position,
        faults={row: part.faults[of] for row, of in enumerate(kept) if of in part.faults},
        first_offsets=[part.first_offsets[row] for row in rows] if part.first_offsets else (),
        magics=[part.magics[row] for row in kept] if part.magics else (),
    )
    return chunk, rows


class Rest:
    """What is left of a chunk whose records are taken from the front. Taking some costs what they are, whatever is left."""

    def __init__(self, part: RecordChunk) -> None:
        self._part = part
        self._starts = list(accumulate(part.counts, initial=0))  # of the records of each batch, and where the last ones end
        self._batch = self._row = 0

    @property
    def is_empty(self) -> bool:
        """Whether no batch is left."""
        return self._batch >= len(self._part.counts)

    def first(self, count: int) -> RecordChunk:
        """The next `count` records with their batches, or the next batch if that has none."""
        part, starts, first, start = self._part, self._starts, self._batch, self._row
        end = min(start + count, starts[-1])
        last = len(part.counts) if end == starts[-1] else bisect_left(starts, end, first + 1)
        if first == start == 0 and last == len(part.counts):
            return part
        counts = part.counts[first:last]
        counts[0] -= start - starts[first]
        counts[-1] -= starts[last] - end
        return RecordChunk(
            part.batches.slice(first, last),
            counts,
            part.records.slice(start, end),
            start > starts[first] or (first == start == 0 and part.continues),
            faults={row - start: part.faults[row] for row in range(start, end) if row in part.faults},
            first_offsets=part.first_offsets[first:last],
            magics=part.magics[start:end],
        )

    def drop(self, piece: RecordChunk) -> None:
        """Leave out what `first` returned."""
        self._row += len(piece.records)
        self._batch += len(piece.counts)
        if self._starts[self._batch] > self._row:
            self._batch -= 1

    def drop_first(self, count: int) -> int:
        """Leave out some records, at least one. Returns the position of the batch that holds the last of them."""
        self._row += count
        batch = bisect_left(self._starts, self._row, self._batch + 1) - 1
        self._batch = batch + (self._starts[batch + 1] == self._row)
        position: int = self._part.batches["position"][batch]
        return position
