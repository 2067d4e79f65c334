"""Batches with a wrong checksum, and where in them the damage seems to be."""

from __future__ import annotations

from kdump.binary.batch_header import (
    ATTRIBUTES,
    ATTRIBUTES_IN_USE,
    BASE_OFFSET,
    BATCH_HEADER,
    BATCH_HEADER_SIZE,
    CRC_AT,
    CRC_COVERS_FROM,
    LAST_OFFSET_DELTA,
    LOG_OVERHEAD,
    MAGIC_AT,
    MESSAGE_CRC_COVERS_FROM,
    RECORD_COUNT,
    is_wrapper,
)
from kdump.binary.checksums import crc32, crc32c_for, of_range
from kdump.binary.codecs import CODECS, NONE
from kdump.checks.rules.batch_findings import report_batch
from kdump.checks.wording import counted, offset_range
from kdump.errors import CorruptData
from kdump.formats import records
from kdump.reading.items import BY_LENGTH, BY_REPAIRED_LENGTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.context import FileContext
    from kdump.checks.segment_facts import SegmentFacts
    from kdump.formats.log import Chunk
    from kdump.formats.record_batch import RecordBatch

_MAX_DECODED_BATCHES = 200  # of those with a wrong CRC, whose records are read to locate the damage
_MAX_DECODED_BYTES = 1 << 20  # of one of them
_SECTOR_BYTES = 512


class Checksums:
    """Compares batches with their checksums. At most `_MAX_DECODED_BATCHES` are decoded to locate their damage."""

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        self._context = context
        self._facts = facts
        self._source = context.source
        self._crc32c = crc32c_for(context.source.size)
        self._decoded_count = 0

    def report_damaged(self, chunk: Chunk, claimed_length: int | None = None) -> None:
        """Report the only batch of a chunk: its CRC does not fit, or its magic does not exist; its length leads to the next one.

        `claimed_length` is the wrong length in its header, if only that and the magic are wrong.
        """
        batch = chunk.batches.row(0)
        position, size, magic = batch.position, batch.size, batch.magic
        fits = batch.isvalid if magic > 2 else magic < 2 and self.fits_as_magic_2(position, position + size)
        code = "bad-magic" if fits else "crc-mismatch"
        if self._context.counts_only(code, position, position + size):
            return
        if fits:
            message, resync = f"Its magic says {batch.magic}", BY_LENGTH
            if claimed_length is not None:
                message += f", and its length {claimed_length:,} instead of {batch.size - LOG_OVERHEAD:,}"
                resync = BY_REPAIRED_LENGTH
            message = f"One batch. {message}; {only_wrong(resync)}."
            header = BATCH_HEADER.unpack(self._source.read_exactly(position, BATCH_HEADER_SIZE))
            offsets = header[BASE_OFFSET], header[BASE_OFFSET] + header[LAST_OFFSET_DELTA]
            report_batch(
                self._context,
                "bad-magic",
                batch,
                message,
                expected=2,
                found=batch.magic,
                resync=resync,
                offsets=offsets,
                words=lambda *_: message,
            )
            return
        checksum, covers_from = (crc32, MESSAGE_CRC_COVERS_FROM) if batch.magic < 2 else (self._crc32c, CRC_COVERS_FROM)
        computed = of_range(self._source, batch.position + covers_from, batch.position + batch.size, checksum)
        locus, story = self._locus(chunk, batch, computed)
        rest = f"{_records(batch)}. Stored CRC 0x{batch.crc:08x}, computed 0x{computed:08x}. {story} Locus: {locus}."
        self._context.report(
            "crc-mismatch",
            position,
            position + size,
            "",
            offsets=None if self._follows_magic_2(batch) else (self._lowest_offset(batch), batch.last_offset),
            expected=f"0x{computed:08x}",
            found=f"0x{batch.crc:08x}",
            resync=BY_LENGTH,
            skipped=size,
            header=batch,
            words=lambda offsets, _: f"One batch{'' if offsets is None else f', {offset_range(*offsets)}'}{rest}",
        )

    def _follows_magic_2(self, batch: RecordBatch) -> bool:
        """Whether the header of a damaged batch says magic 0 or 1, but the sound batch before it has magic 2.

        Its magic is probably damaged, too, so that its only offset may be the first of many.
        """
        if batch.magic >= 2:
            return False
        row = self._facts.positions.bisect_left(batch.position)
        return row > 0 and self._source.read(self._facts.positions[row - 1] + MAGIC_AT, 1) == b"\x02"

    def _is_wrapper(self, position: int) -> bool:
        return is_wrapper(self._source.read(position, BATCH_HEADER_SIZE))

    def _lowest_offset(self, batch: RecordBatch) -> int:
        """The first offset of a batch; of a wrapper, whose header says the last only, that after the sound batch before it.

        After a wrapper, a damaged message is one, too: that it is not compressed may be wrong.
        """
        facts, context = self._facts, self._context
        row = facts.positions.bisect_left(batch.position)
        if batch.magic >= 2 or batch.compresscodec == CODECS[NONE] and not (row and self._is_wrapper(facts.positions[row - 1])):
            return batch.first_offset
        base_offset = context.base_offset if context.file_type == "log" else None
        lowest = facts.last_offsets[row - 1] + 1 if row else batch.first_offset if base_offset is None else base_offset
        return min(lowest, batch.first_offset)

    def fits_as_magic_2(self, start: int, end: int) -> bool:
        """Whether the checksum of these bytes matches, if they are read as a batch of magic 2."""
        if end - start < BATCH_HEADER_SIZE:
            return False
        stored = int.from_bytes(self._source.read(start + CRC_AT, 4), "big")
        return of_range(self._source, start + CRC_COVERS_FROM, end, self._crc32c) == stored

    def _locus(self, chunk: Chunk, batch: RecordBatch, computed: int) -> tuple[str, str]:
        """Where the damage seems to be (crc-field, header, records, payload, unknown), and a sentence that says so."""
        difference = batch.crc ^ computed
        if any(difference & ~(0xFF << shift) == 0 for shift in (0, 8, 16, 24)):
            return "crc-field", "They differ in one byte: probably the CRC itself is damaged, not the data."
        if batch.magic >= 2:
            header = chunk.headers[0]
            attributes, last_offset_delta, count = header[ATTRIBUTES], header[LAST_OFFSET_DELTA], header[RECORD_COUNT]
            is_hollow = not count and batch.size > BATCH_HEADER_SIZE
            is_possible = 0 <= attributes <= ATTRIBUTES_IN_USE and last_offset_delta >= 0 and 0 <= count <= last_offset_delta + 1
            if is_hollow or not is_possible:
                return "header", "Its header fields contradict each other: the damage is in the header."
            if batch.size == BATCH_HEADER_SIZE:
                return "header", "It has no records: the damage is in the header."
        data = self._source.read(batch.position, min(batch.size, _MAX_DECODED_BYTES))
        zeros = max(data.find(bytes(_SECTOR_BYTES)), 0)
        if zeros:
            return "unknown", f"Zeros from byte {batch.position + zeros:,} on: looks like a lost page."
        self._decoded_count += 1
        if batch.compresscodec != CODECS[NONE] or batch.size > _MAX_DECODED_BYTES or self._decoded_count > _MAX_DECODED_BATCHES:
            return "unknown", "`kdump log --deep` shows what decodes."
        count = 0
        try:
            for part in records.read(self._source, chunk):
                count += len(part.records)
        except CorruptData as fault:
            return "records", f"{counted(count, 'record', 'records')} decode, then: {fault.message}."
        return "payload", "All records decode; the damage is inside a key, a value, a header or a timestamp."


def only_wrong(resync: str) -> str:
    """What is known about a batch whose CRC matches if it is read as magic 2, with its own length or a repaired one."""
    what = "these two fields are" if resync == BY_REPAIRED_LENGTH else "this byte is"
    return f"as magic 2 its CRC matches, so only {what} wrong"


def _records(batch: RecordBatch) -> str:
    return "" if batch.count is None or batch.count < 0 else f" ({counted(batch.count, 'record', 'records')})"
