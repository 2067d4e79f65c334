"""Some of the records of a chunk, with the batches that hold them."""

from __future__ import annotations

from kdump.formats.record import RecordChunk
from kdump.tables import Row, Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeVar

    RowType = TypeVar("RowType", bound=Row)


def owners(part: RecordChunk) -> list[int]:
    """The row of its batch for each record."""
    return [row for row, count in enumerate(part.counts) for _ in range(count)]


def selected(part: RecordChunk, kept: Sequence[int], shown_position: int) -> tuple[RecordChunk, list[int]]:
    """The records in these rows with their batches, and the rows of these batches.

    The result continues the batch at `shown_position` if it starts with a record of it.
    """
    owner_of = owners(part)
    counts: dict[int, int] = {}
    for row in kept:
        counts[owner_of[row]] = counts.get(owner_of[row], 0) + 1
    rows = list(counts)
    batches = picked(part.batches, rows)
    chunk = RecordChunk(
        batches,
        list(counts.values()),
        picked(part.records, kept),
        bool(rows) and batches["position"][0] == shown_position,
        faults={row: part.faults[of] for row, of in enumerate(kept) if of in part.faults},
        first_offsets=[part.first_offsets[row] for row in rows] if part.first_offsets else (),
        magics=[part.magics[row] for row in kept] if part.magics else (),
    )
    return chunk, rows


def picked(table: Table[RowType], rows: Sequence[int]) -> Table[RowType]:
    """The rows of a table at these places."""
    return Table(table.row_class, {name: [column[row] for row in rows] for name, column in table.columns.items()})
