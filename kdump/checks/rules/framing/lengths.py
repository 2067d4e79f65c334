"""Lengths: those in headers that are wrong, and the size of the segment."""

from __future__ import annotations

from kdump.binary.batch_header import LOG_OVERHEAD, MIN_BATCH_LENGTH, MIN_RECORD_OVERHEAD
from kdump.checks.rules.batch_findings import report_batch
from kdump.checks.wording import offset_range
from kdump.reading.items import BY_REPAIRED_LENGTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.context import FileContext
    from kdump.formats.record_batch import RecordBatch

MAX_SEGMENT_SIZE = 0x7FFFFFFF
"""Bytes: the broker cannot open a larger file. A segment cannot cover more offsets either."""


def report_length(context: FileContext, batch: RecordBatch, claimed_length: int) -> None:
    """Report a batch whose header claims a wrong length; the batch was read with the right one."""
    magic, length = batch.magic, batch.size - LOG_OVERHEAD
    code = "batch-length-mismatch"
    if claimed_length < 0:
        code = "batch-length-negative"
    elif claimed_length < (MIN_BATCH_LENGTH if magic >= 2 else MIN_RECORD_OVERHEAD + 8 * magic):
        code = "batch-length-too-small"
    elif claimed_length > context.source.size - batch.position - LOG_OVERHEAD:
        code = "batch-length-absurd"
    rest = (
        f". Its length says {claimed_length:,} and should be {length:,}: with that its CRC matches, and its contents are intact."
    )
    report_batch(
        context,
        code,
        batch,
        "",
        expected=length,
        found=claimed_length,
        resync=BY_REPAIRED_LENGTH,
        words=lambda offsets, _: f"One batch{'' if offsets is None else f', {offset_range(*offsets)}'}{rest}",
    )


def report_segment_size(context: FileContext) -> None:
    """Report a segment that is too large for a broker."""
    size = context.source.size
    if size > MAX_SEGMENT_SIZE:
        message = f"The segment has {size:,} bytes; a broker cannot open one above {MAX_SEGMENT_SIZE:,}."
        context.report("segment-over-2gib", MAX_SEGMENT_SIZE, size, message, expected=MAX_SEGMENT_SIZE, found=size)
