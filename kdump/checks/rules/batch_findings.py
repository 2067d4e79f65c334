"""Findings about a whole batch."""

from __future__ import annotations

from kdump.checks.finding import NONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Unpack

    from kdump.checks.context import Details, FileContext, Words
    from kdump.formats.record_batch import RecordBatch
    from kdump.tables import Table


def report_batch(
    context: FileContext,
    code: str,
    batch: RecordBatch,
    message: str,
    *,
    resync: str = NONE,
    offsets: tuple[int, int] | None = None,
    words: Words | None = None,
    **details: Unpack[Details],
) -> None:
    """Report a fault in the bytes and offsets of this batch; with `resync`, the batch was skipped, and the walk went on so.

    `offsets` are those of the batch unless given; `words` and `details` are as in `FileContext.report`.
    """
    end = batch.position + batch.size
    offsets = offsets or (batch.first_offset, batch.last_offset)
    skipped = 0 if resync == NONE else batch.size
    context.report(code, batch.position, end, message, offsets=offsets, resync=resync, skipped=skipped, words=words, **details)


def report_row(
    context: FileContext, code: str, batches: Table[RecordBatch], row: int, message: str, **details: Unpack[Details]
) -> None:
    """Report a fault of the batch of magic 2 in this row."""
    position = batches["position"][row]
    end = position + batches["size"][row]
    context.report(code, position, end, message, offsets=offsets_of(batches, row), **details)


def offsets_of(batches: Table[RecordBatch], row: int) -> tuple[int, int]:
    """The first and last offset of the batch or message in this row."""
    first, last = batches["base_offset"][row], batches["last_offset"][row]
    return last if first is None else first, last
