"""Findings about a whole batch."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.context import FileContext, Words
    from kdump.formats.record_batch import RecordBatch
    from kdump.tables import Table


def report_batch(
    context: FileContext,
    code: str,
    batch: RecordBatch,
    message: str,
    *,
    expected: object = None,
    found: object = None,
    resync: str | None = None,
    offsets: tuple[int, int] | None = None,
    words: Words | None = None,
) -> None:
    """Report a fault in the bytes and offsets of this batch; with `resync`, the batch was skipped, and the walk went on so.

    `offsets` are those of the batch unless given; `words` are as in `FileContext.report`.
    """
    end = batch.position + batch.size
    offsets = offsets or (batch.first_offset, batch.last_offset)
    if resync is None:
        context.report(code, batch.position, end, message, offsets=offsets, expected=expected, found=found)
        return
    context.report(
        code,
        batch.position,
        end,
        message,
        offsets=offsets,
        expected=expected,
        found=found,
        resync=resync,
        skipped=batch.size,
        words=words,
    )


def report_row(
    context: FileContext,
    code: str,
    batches: Table[RecordBatch],
    row: int,
    message: str,
    *,
    expected: object = None,
    found: object = None,
) -> None:
    """Report a fault of the batch of magic 2 in this row."""
    position = batches["position"][row]
    end = position + batches["size"][row]
    context.report(code, position, end, message, offsets=offsets_of(batches, row), expected=expected, found=found)


def offsets_of(batches: Table[RecordBatch], row: int) -> tuple[int, int]:
    """The first and last offset of the batch or message in this row."""
    first, last = batches["base_offset"][row], batches["last_offset"][row]
    return last if first is None else first, last
