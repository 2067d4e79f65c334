"""Records that cannot be read."""

from __future__ import annotations

from kdump.binary.batch_header import BATCH_HEADER_SIZE
from kdump.binary.codecs import CODECS, NONE
from kdump.checks.finding import ERROR
from kdump.checks.rules.records.reader_faults import fault_in_catalogue
from kdump.checks.rules.rule import SegmentRule
from kdump.checks.wording import counted
from kdump.reading import salvage
from kdump.reading.items import BY_LENGTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar

    from kdump.errors import CorruptData
    from kdump.formats.log import Chunk


class UnreadableRecords(SegmentRule):
    """Reports records that cannot be read, with the reason."""

    reads_records: ClassVar[bool] = True
    passes_over_ordinary: ClassVar[bool] = True

    def unreadable(self, chunk: Chunk, fault: CorruptData, status: str) -> None:
        if status == salvage.DAMAGED:
            return  # its CRC says so already
        batch = chunk.batches.row(0)
        name = batch.compresscodec
        if name != CODECS[NONE] and batch.count and batch.size == BATCH_HEADER_SIZE:
            return  # Codecs reports an empty payload
        code, what = fault_in_catalogue(self.context.source, chunk, fault)
        if code is None:
            return
        start, end = batch.position, batch.position + batch.size
        is_uncompressed = name == CODECS[NONE]
        decoded: int = fault.values["decoded"]
        is_after_records = batch.count is not None and decoded >= batch.count
        if is_after_records:
            message = (
                f"{what} All {counted(batch.count or 0, 'record')} can be decoded, but readers fail at the end of the stream."
            )
            if code == "frame-trailing-bytes":
                start = end - fault.values["trailing"]
        elif batch.count is None:
            message = f"{what} None of its messages can be read."
        else:
            has_place = "at" in fault.values
            if is_uncompressed and has_place:
                start += BATCH_HEADER_SIZE + fault.values["at"] - fault.values["data_start"]
                what = f"Record {decoded + 1:,}, byte {start:,}: {what}"
            elif has_place:
                what = f"Record {decoded + 1:,}, byte {fault.values['at']:,} of the decompressed data: {what}"
            message = f"{what[0].upper()}{what[1:]} {decoded:,} of {counted(batch.count, 'record')} can be read."
        first = batch.first_offset
        self.context.report(
            code,
            start,
            end,
            message,
            offsets=(first, batch.last_offset),
            expected=batch.count,
            found=None if batch.count is None else decoded,
            resync=BY_LENGTH,
            skipped=end - start,
            severity=ERROR,
        )
