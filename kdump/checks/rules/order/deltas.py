"""Last offset deltas: one less than the count of records, or more where the cleaner took some out."""

from __future__ import annotations

from operator import ne, sub

from kdump.binary.batch_header import ATTRIBUTES, BASE_OFFSET, DELETE_HORIZON_BIT, LAST_OFFSET_DELTA, LEADER_EPOCH
from kdump.checks.finding import ERROR, INFO, WARNING
from kdump.checks.rules.order.batch import Batch, report_batch
from kdump.checks.wording import offset_range
from kdump.reading import salvage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.context import FileContext
    from kdump.checks.segment_facts import SegmentFacts
    from kdump.formats.summary import BatchSummary
    from kdump.reading.items import Section


class Deltas:
    """Compares the last offset delta of each batch with its count of records."""

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        self._context = context
        self._facts = facts
        self._sparse: list[tuple[int, int, int, int]] = []  # of the first and the last: position, end, offsets
        self._sparse_count = 0

    def check_summary(self, summary: BatchSummary) -> None:
        """Count the batches with fewer records than offsets, which is valid; none has more."""
        if summary.sparse:
            self._sparse_count += summary.sparse
            for position in (summary.first_sparse, summary.last_sparse):
                first, last, end = summary.extent_at(position)
                self._sparse.append((position, end, first, last))
                self._facts.record_thinned(last)
            del self._sparse[1:-1]
        if summary.empty:
            self._facts.record_thinned(summary.extent_at(summary.last_empty)[1])
        if summary.horizons:
            self._facts.record_thinned(summary.last_offset)

    def check(self, section: Section) -> None:
        """Check each batch of a section."""
        if section.chunk.is_legacy or section.status == salvage.DAMAGED:
            return
        batches = section.chunk.batches
        if any(header[ATTRIBUTES] & DELETE_HORIZON_BIT for header in section.chunk.headers):
            self._facts.record_thinned(section.chunk.headers[-1][BASE_OFFSET])
        counts = batches["count"]
        deltas = list(map(sub, batches["last_offset"], batches["base_offset"]))
        if not any(map(ne, counts, map((1).__add__, deltas))):
            return
        for row, (count, header) in enumerate(zip(counts, section.chunk.headers, strict=True)):
            delta = header[LAST_OFFSET_DELTA]
            if count == delta + 1:
                continue
            position, size, first = batches["position"][row], batches["size"][row], header[BASE_OFFSET]
            batch = Batch(position, position + size, first, first + delta, first, header[LEADER_EPOCH], section.status)
            self._compare(batch, count, delta)

    def _compare(self, batch: Batch, count: int, delta: int) -> None:
        if delta < 0:
            message = f"One batch at offset {batch.first:,} says its last offset is {-delta:,} below its first."
            report_batch(self._context, "last-offset-delta-negative", batch, message, found=delta)
        elif count > delta + 1:
            room = f"{offset_range(batch.first, batch.last)} {'has' if not delta else 'have'} room for {delta + 1:,}"
            message = f"{count:,} records in one batch, but {room}."
            report_batch(
                self._context, "last-offset-delta-mismatch", batch, message, severity=ERROR, expected=count - 1, found=delta
            )
        elif count >= 0:
            self._facts.record_thinned(batch.last)
        if 0 < count <= delta:
            self._sparse_count += 1
            self._sparse.append((batch.position, batch.end, batch.first, batch.last))
            del self._sparse[1:-1]

    def report_sparse(self) -> None:
        """Report all batches with fewer records than offsets in one finding."""
        if not self._sparse:
            return
        (start, _, first, _), (_, end, _, last) = self._sparse[0], self._sparse[-1]
        count = self._sparse_count
        message = f"{count:,} batch{'' if count == 1 else 'es'} with fewer records than offsets, as left by compaction."
        severity = INFO if self._context.settings.may_be_compacted else WARNING
        self._context.report(
            "last-offset-delta-mismatch", start, end, message, severity=severity, offsets=(first, last), found=count
        )
