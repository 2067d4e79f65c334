"""Records in a batch: whether they are as many as its header says, and their offsets in order."""

from __future__ import annotations

from operator import lt

from kdump.checks.finding import ERROR
from kdump.checks.rules.rule import SegmentRule
from kdump.checks.wording import counted, offset_range
from kdump.reading import salvage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.checks.context import FileContext
    from kdump.checks.segment_facts import SegmentFacts
    from kdump.errors import CorruptData
    from kdump.formats.log import Chunk
    from kdump.formats.record import RecordChunk


class RecordOrder(SegmentRule):
    """Compares the number of records, and their offsets, with the header of their batch."""

    reads_records = True

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        super().__init__(context, facts)
        self._last_offset = 0  # of the record before, in the same batch

    def records(self, part: RecordChunk, status: str) -> None:
        offsets = part.records["offset"]
        row = 0
        for at, count in enumerate(part.counts):
            batch_offsets = offsets[row : row + count]
            row += count
            first, last = part.batches["base_offset"][at], part.batches["last_offset"][at]
            if not count or status == salvage.DAMAGED or first is None:
                continue
            if not (at == 0 and part.continues):
                self._last_offset = first - 1
            in_order = self._last_offset < batch_offsets[0] and all(map(lt, batch_offsets, batch_offsets[1:]))
            if not in_order or batch_offsets[0] < first or batch_offsets[-1] > last:
                self._report(part, at, batch_offsets, first, last)
            self._last_offset = batch_offsets[-1]

    def _report(self, part: RecordChunk, at: int, offsets: Sequence[int], first: int, last: int) -> None:
        position, size = part.batches["position"][at], part.batches["size"][at]
        highest = max(offsets)
        before = max(self._last_offset, first - 1)
        wrong: list[int] = []
        for offset in offsets:
            if not before < offset <= last:
                wrong.append(offset)
            before = max(before, offset)
        message = (
            f"{counted(len(wrong), 'record')} out of order in the batch of {offset_range(first, last)}; "
            f"the first has offset {wrong[0]:,}."
        )
        self.context.report("record-offset-order", position, position + size, message, offsets=(first, last), found=wrong[0])
        if highest > last:
            message = f"The last offset of the batch is {last:,}, but a record has {highest:,}."
            values = {"severity": ERROR, "offsets": (first, last), "expected": highest - first, "found": last - first}
            self.context.report("last-offset-delta-mismatch", position, position + size, message, **values)  # type: ignore[arg-type]

    def unreadable(self, chunk: Chunk, row: int, fault: CorruptData, status: str) -> None:
        code = fault.code.removeprefix("compressed-")
        if status == salvage.DAMAGED or code not in ("record-count-too-high", "record-count-too-low"):
            return
        position = chunk.batches["position"][row]
        end = position + chunk.batches["size"][row]
        batch = chunk.batches.row(row)
        first = batch.first_offset
        count = counted(batch.count or 0, "record")
        says = f"says it has {count}, but has fewer" if code == "record-count-too-high" else f"has bytes after its {count}"
        message = f"The batch of {offset_range(first, batch.last_offset)} {says}."
        self.context.report(code, position, end, message, offsets=(first, batch.last_offset), found=batch.count)
