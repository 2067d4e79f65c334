"""Single batch headers: magics, sizes, record counts and attributes."""

from __future__ import annotations

from operator import itemgetter

from kdump.binary.batch_header import ATTRIBUTES, ATTRIBUTES_IN_USE, BATCH_HEADER_SIZE
from kdump.checks.rules.batch_findings import report_batch
from kdump.checks.wording import counted, offset_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.context import FileContext
    from kdump.formats.log import Chunk
    from kdump.formats.record_batch import RecordBatch
    from kdump.formats.summary import BatchSummary

_attributes = itemgetter(ATTRIBUTES)

MAGIC_CHANGES = "magic-upgrade", "magic-regression"
"""The codes of a magic that is newer than the one before, and of one that is older."""


class Headers:
    """Checks each header on its own, but for the magic, which is compared with that of the batch before."""

    def __init__(self, context: FileContext) -> None:
        self._context = context
        self._magic = -1  # of the batch before
        self._empty: list[tuple[int, int, int]] = []  # first and last batch without records: position, offsets
        self._empty_count = 0

    def are_ordinary(self, summary: BatchSummary) -> bool:
        """Whether there is no more to report about intact batches than changes of the magic, and that some are empty."""
        is_odd = summary.lowest_count < 0 or summary.hollow or summary.any_attributes & ~ATTRIBUTES_IN_USE
        if is_odd and not summary.is_legacy or summary.highest_size > self._context.settings.max_message_bytes:
            return False
        if self._magic < 0 and summary.lowest_magic == summary.highest_magic:
            self._magic = summary.lowest_magic
        is_other = not summary.lowest_magic == summary.highest_magic == self._magic
        for start in summary.positions if is_other else ():
            if (magic := summary.magic_at(start)) != self._magic:
                first, last, end = summary.extent_at(start)
                self._take_magic(magic, start, end, (last if summary.is_legacy else first, last))
        if summary.empty:
            self._empty_count += summary.empty
            self._empty += [(start, *summary.extent_at(start)[:2]) for start in (summary.first_empty, summary.last_empty)]
            del self._empty[1:-1]
        return True

    def check(self, chunk: Chunk) -> None:
        """Check the header of each of these batches, which are not damaged."""
        self._check_magics(chunk)
        if max(chunk.batches["size"]) > self._context.settings.max_message_bytes:
            self._report_large(chunk)
        if chunk.is_legacy:
            return
        if min(chunk.batches["count"]) <= 0:
            self._check_counts(chunk)
        kinds = set(map(_attributes, chunk.headers))
        if min(kinds) < 0 or max(kinds) > ATTRIBUTES_IN_USE:
            for row, header in enumerate(chunk.headers):
                if not 0 <= header[ATTRIBUTES] <= ATTRIBUTES_IN_USE:
                    self._report_attributes(chunk.batches.row(row), header[ATTRIBUTES])

    def report_empty_batches(self) -> None:
        """Report all batches without records in one finding."""
        if self._empty_count:
            (first, offset, _), (last, _, last_offset) = self._empty[0], self._empty[-1]
            message = f"{counted(self._empty_count, 'batch', 'batches')} without records, as left by compaction."
            end = last + BATCH_HEADER_SIZE
            self._context.report("batch-empty", first, end, message, offsets=(offset, last_offset), found=self._empty_count)

    def _check_magics(self, chunk: Chunk) -> None:
        """Report each change of the magic: it may go up within a segment, but not down."""
        magics = chunk.batches["magic"]
        if magics.count(self._magic) == len(magics):
            return
        for row, magic in enumerate(magics):
            if magic != self._magic:
                batch = chunk.batches.row(row)
                end = batch.position + batch.size
                self._take_magic(magic, batch.position, end, (batch.first_offset, batch.last_offset))

    def _take_magic(self, magic: int, start: int, end: int, offsets: tuple[int, int]) -> None:
        """Report that another magic begins with the batch in these bytes."""
        before, self._magic = self._magic, magic
        code, words = MAGIC_CHANGES[magic < before], "newer" if magic > before else "older"
        if before < 0 or self._context.counts_only(code, start, end):
            return
        message = f"From {offset_range(*offsets)} on, batches have the {words} magic {magic}; before, it was {before}."
        self._context.report(code, start, end, message, offsets=offsets, expected=before, found=magic)

    def _report_large(self, chunk: Chunk) -> None:
        limit = self._context.settings.max_message_bytes
        for row, size in enumerate(chunk.batches["size"]):
            if size > limit:
                batch = chunk.batches.row(row)
                message = f"One batch, {_offsets(batch)}, of {size:,} bytes, more than {limit:,}."
                report_batch(self._context, "batch-over-limit", batch, message, expected=limit, found=size)

    def _check_counts(self, chunk: Chunk) -> None:
        """Report batches whose record count is zero or negative; count those that are empty."""
        batches = chunk.batches
        for row, count in enumerate(batches["count"]):
            if count > 0:
                continue
            left = batches["size"][row] - BATCH_HEADER_SIZE
            code = "record-count-negative" if count < 0 else "record-count-zero-nonempty"
            if not count and not left:
                self._empty_count += 1
                self._empty.append((batches["position"][row], batches.row(row).first_offset, batches["last_offset"][row]))
                del self._empty[1:-1]
                continue
            batch = batches.row(row)
            if count < 0:
                message = f"One batch, {_offsets(batch)}. It says it has {count:,} records; a consumer fails on it."
                report_batch(self._context, code, batch, message, found=count)
            else:
                message = (
                    f"One batch, {_offsets(batch)}. Its record count is 0, but {left:,} bytes follow: no consumer sees them."
                )
                report_batch(self._context, code, batch, message, expected=0, found=left)

    def _report_attributes(self, batch: RecordBatch, attributes: int) -> None:
        bits = attributes & 0xFFFF & ~ATTRIBUTES_IN_USE
        message = f"One batch, {_offsets(batch)}. Attribute bits 0x{bits:04x} have no meaning yet."
        report_batch(self._context, "attributes-unknown-bits", batch, message, found=f"0x{attributes & 0xFFFF:04x}")


def _offsets(batch: RecordBatch) -> str:
    return offset_range(batch.first_offset, batch.last_offset)
