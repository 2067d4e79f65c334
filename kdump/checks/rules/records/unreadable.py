"""Records that cannot be read."""

from __future__ import annotations

from kdump.binary.batch_header import BATCH_HEADER_SIZE
from kdump.binary.codecs import CODECS, NONE
from kdump.checks import catalogue
from kdump.checks.finding import ERROR
from kdump.checks.rules.batch_findings import offsets_of
from kdump.checks.rules.rule import SegmentRule
from kdump.checks.wording import capitalized, counted
from kdump.reading import salvage
from kdump.reading.items import BY_LENGTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.errors import CorruptData
    from kdump.formats.log import Chunk


class UnreadableRecords(SegmentRule):
    """Reports records that cannot be read, with the reason."""

    reads_records = True

    def unreadable(self, chunk: Chunk, row: int, fault: CorruptData, status: str) -> None:
        if status == salvage.DAMAGED:
            return  # its CRC says so already
        batches = chunk.batches
        count: int | None = batches["count"][row]
        start, size = batches["position"][row], batches["size"][row]
        is_uncompressed = batches["compresscodec"][row] == CODECS[NONE]
        if not is_uncompressed and count and size == BATCH_HEADER_SIZE:
            return  # Codecs reports an empty payload
        from kdump.checks.rules.records.reader_faults import fault_in_catalogue  # most logs need it not

        code, make_message = fault_in_catalogue(self.context.source, chunk, row, fault)
        if code is None:
            return
        end = start + size
        decoded: int = fault.values["decoded"]
        is_after_records = count is not None and decoded >= count
        has_place = "at" in fault.values
        if is_after_records and code == "frame-trailing-bytes":
            start = end - fault.values["trailing"]
        elif count is not None and not is_after_records and is_uncompressed and has_place:
            start += BATCH_HEADER_SIZE + fault.values["at"] - fault.values["data_start"]
        if catalogue.FAULTS[code].severity == ERROR and self.context.counts_only(code, start, end):
            return
        what = make_message()
        if count is None:
            message = f"{what} None of its messages can be read."
        elif is_after_records:
            message = f"{what} All {counted(count, 'record')} can be decoded, but readers fail at the end of the stream."
        else:
            if is_uncompressed and has_place:
                what = f"Record {decoded + 1:,}, byte {start:,}: {what}"
            elif has_place:
                what = f"Record {decoded + 1:,}, byte {fault.values['at']:,} of the decompressed data: {what}"
            message = f"{capitalized(what)} {decoded:,} of {counted(count, 'record')} can be read."
        first, last = offsets_of(batches, row)
        if count is None:  # a wrapper, whose header has the last offset only
            first = min(first, self.facts.lowest_offset_at(batches["position"][row], first))
        self.context.report(
            code,
            start,
            end,
            message,
            offsets=(first, last),
            expected=count,
            found=None if count is None else decoded,
            resync=BY_LENGTH,
            skipped=end - start,
            severity=ERROR,
            words=(lambda *_: message) if status == salvage.SALVAGED else None,  # no checksum covers its offset
        )
