"""Where batches begin and end, and whether their bytes are what their checksums say."""

from __future__ import annotations

from itertools import islice
from math import log2
from operator import itemgetter

from kdump.binary import kernel
from kdump.binary.batch_header import (
    ATTRIBUTES,
    ATTRIBUTES_IN_USE,
    BASE_OFFSET,
    BATCH_HEADER,
    BATCH_HEADER_SIZE,
    COMPRESSION_MASK,
    CRC_AT,
    CRC_COVERS_FROM,
    LAST_OFFSET_DELTA,
    LOG_OVERHEAD,
    MAGIC_AT,
    MESSAGE_CRC_COVERS_FROM,
    MIN_BATCH_LENGTH,
    MIN_RECORD_OVERHEAD,
    RECORD_COUNT,
    batch_size,
)
from kdump.binary.checksums import crc32, crc32c_for, of_range
from kdump.binary.source import WINDOW_SIZE
from kdump.checks.finding import ERROR, WARNING
from kdump.checks.rules import witnesses
from kdump.checks.rules.rule import SegmentRule
from kdump.checks.wording import counted, offset_range
from kdump.errors import CorruptData
from kdump.formats import records
from kdump.formats.record_batch import RecordBatch
from kdump.reading import salvage
from kdump.reading.items import BY_LENGTH, BY_REPAIRED_LENGTH, END

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.context import FileContext
    from kdump.checks.facts import SegmentFacts
    from kdump.formats.log import Chunk
    from kdump.formats.summary import BatchSummary
    from kdump.reading.items import Damage, Section

_MAX_SEGMENT = 0x7FFFFFFF  # the broker opens no larger file, and no segment reaches over more offsets
_ACTIVE_MS = 60_000  # a file that was written to this long ago may be in use
_PAGE = 4096
_SAMPLE = 64 << 10  # bytes of a damaged range that are looked at
_DECODED_BATCHES = 200  # of those with a wrong CRC, whose records are read to tell where the damage is
_DECODED_SIZE = 1 << 20
_VAGUE = ("zero-hole", "zero-tail", "garbage-region")  # what a range of bytes looks like of which some cannot be read

_FILE_MAGICS = (
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"PK\x03\x04", "zip"),
    (b"\x7fELF", "ELF"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"SQLite format 3", "SQLite"),
)

_attributes = itemgetter(5)


class Framing(SegmentRule):
    """Torn tails, checksums, lengths, ranges without batches, and what single headers say."""

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        super().__init__(context, facts)
        self._crc32c = crc32c_for(context.source.size)
        self._holes: list[tuple[Damage, int]] = []
        self._held: list[tuple[Damage, str, str | None, object, object, int]] = []  # findings, until it is known what follows
        self._gap_told = -1  # how many batches stood before the last range of which was told what is missing
        self._decoded = 0
        self._is_damaged_at_end = False
        self._magic = -1  # of the batch before
        self._empty: list[tuple[int, int]] = []  # first and last batch without records
        self._empty_count = 0
        self._nested: tuple[int, int, int] | None = None  # where batches stand inside the span of a damaged one, and how many

    # Batches

    def batches(self, section: Section) -> None:
        if self._held and len(self.facts.positions) > self._held[0][-1]:
            self._tell_held()
        if section.summary is not None and self._is_ordinary(section.summary):
            return
        chunk = section.chunk
        batches, statuses = chunk.batches, section.statuses
        sizes = batches["size"]
        if section.nested_end:
            self._note_nested(section)
        if section.claimed_length is not None:
            self._tell_length(batches.row(0), section.claimed_length)
        if salvage.DAMAGED in statuses:
            for row, status in enumerate(statuses):
                if status == salvage.DAMAGED:
                    self._tell_damaged(chunk, row)
            is_at_end = batches["position"][-1] + sizes[-1] == self.context.source.size
            self._is_damaged_at_end = is_at_end and statuses[-1] == salvage.DAMAGED
        self._look_at_magic(section)
        if max(sizes) > self.context.settings.max_message_bytes:
            self._tell_large(chunk)
        if chunk.is_legacy:
            return
        headers = chunk.headers
        if min(batches["count"]) <= 0:
            self._tell_counts(section)
        kinds = set(map(_attributes, headers))
        if min(kinds) < 0 or max(kinds) > ATTRIBUTES_IN_USE:
            for row, header in enumerate(headers):
                if not 0 <= header[ATTRIBUTES] <= ATTRIBUTES_IN_USE and statuses[row] != salvage.DAMAGED:
                    bits = header[ATTRIBUTES] & 0xFFFF & ~ATTRIBUTES_IN_USE
                    batch = batches.row(row)
                    message = f"One batch, {_offsets(batch)}. Attribute bits 0x{bits:04x} have no meaning yet."
                    self._report("attributes-unknown-bits", batch, message, found=f"0x{header[ATTRIBUTES] & 0xFFFF:04x}")

    def _is_ordinary(self, summary: BatchSummary) -> bool:
        """Whether there is nothing to say of intact batches, but that some are empty."""
        if summary.lowest_magic != summary.highest_magic or summary.lowest_magic != self._magic >= 0:
            return False
        if summary.highest_size > self.context.settings.max_message_bytes:
            return False
        if not summary.is_legacy and (summary.lowest_count < 0 or summary.hollow or summary.any_attributes & ~ATTRIBUTES_IN_USE):
            return False
        self._magic = summary.lowest_magic
        if summary.empty:
            self._empty_count += summary.empty
            self._empty += [(position, summary.extent_at(position)[1]) for position in (summary.first_empty, summary.last_empty)]
            del self._empty[1:-1]
        return True

    def _report(self, code: str, batch: RecordBatch, message: str, **values: object) -> None:
        """Report on a whole batch."""
        first = batch.first_offset
        end = batch.position + batch.size
        self.context.report(code, batch.position, end, message, offsets=(first, batch.last_offset), **values)  # type: ignore[arg-type]

    def _note_nested(self, section: Section) -> None:
        """Take note of batches that may be payload; they are told of where the last of them is known."""
        batches = section.chunk.batches
        positions, sizes = batches["position"], batches["size"]
        count = sum(position < section.nested_end for position in positions)
        if count:
            start, _, before = self._nested or (positions[0], 0, 0)
            self._nested = start, positions[count - 1] + sizes[count - 1], before + count
        if count < len(positions):
            self._tell_nested()

    def _tell_nested(self) -> None:
        if self._nested is None:
            return
        (start, end, count), self._nested = self._nested, None
        message = (
            f"{counted(count, 'batch', 'batches')} stand{'s' if count == 1 else ''} inside the bytes "
            "that a damaged batch claims. They may be its payload, or the batches that really follow it."
        )
        self.context.report("resync-nested-candidate", start, end, message, found=count)

    def _tell_length(self, batch: RecordBatch, claimed: int) -> None:
        rest = self.context.source.size - batch.position - LOG_OVERHEAD
        length = batch.size - LOG_OVERHEAD
        code = "batch-length-mismatch"
        if claimed < 0:
            code = "batch-length-negative"
        elif claimed < (MIN_BATCH_LENGTH if batch.magic >= 2 else MIN_RECORD_OVERHEAD + 8 * batch.magic):
            code = "batch-length-too-small"
        elif claimed > rest:
            code = "batch-length-absurd"
        message = (
            f"One batch, {_offsets(batch)}. Its length says {claimed:,} and should be {length:,}: "
            "with that its CRC fits, and its contents are intact."
        )
        values = {"resync": BY_REPAIRED_LENGTH, "skipped": batch.size, "expected": length, "found": claimed}
        self._report(code, batch, message, **values)

    def _tell_damaged(self, chunk: Chunk, row: int) -> None:
        """A batch whose CRC does not fit, or whose magic does not exist; its length leads on."""
        batch = chunk.batches.row(row)
        if (batch.magic > 2 and batch.isvalid) or (
            batch.magic < 2 and self._has_crc_of_magic_2(batch.position, batch.position + batch.size)
        ):
            message = f"One batch. Its magic says {batch.magic}; as magic 2 its CRC fits, so only this byte is wrong."
            values = {"resync": BY_LENGTH, "skipped": batch.size, "expected": 2, "found": batch.magic}
            self._report("bad-magic", batch, message, **values)
            return
        computed = self._computed(batch)
        locus, story = self._locus(chunk, row, computed)
        message = (
            f"One batch, {_offsets(batch)}{_records(batch)}. Stored CRC 0x{batch.crc:08x}, computed 0x{computed:08x}. {story}"
        )
        values = {"resync": BY_LENGTH, "skipped": batch.size, "expected": f"0x{computed:08x}", "found": f"0x{batch.crc:08x}"}
        self._report("crc-mismatch", batch, f"{message} Locus: {locus}.", **values)

    def _computed(self, batch: RecordBatch) -> int:
        checksum, covers_from = (crc32, MESSAGE_CRC_COVERS_FROM) if batch.magic < 2 else (self._crc32c, CRC_COVERS_FROM)
        return of_range(self.context.source, batch.position + covers_from, batch.position + batch.size, checksum)

    def _has_crc_of_magic_2(self, start: int, end: int) -> bool:
        if end - start < BATCH_HEADER_SIZE:
            return False
        source = self.context.source
        stored = int.from_bytes(source.read(start + CRC_AT, 4), "big")
        return of_range(source, start + CRC_COVERS_FROM, end, self._crc32c) == stored

    def _locus(self, chunk: Chunk, row: int, computed: int) -> tuple[str, str]:
        """Where the damage seems to be (crc-field, header, records, payload, unknown), and that in words."""
        batch = chunk.batches.row(row)
        difference = batch.crc ^ computed
        if any(difference & ~(0xFF << shift) == 0 for shift in (0, 8, 16, 24)):
            return "crc-field", "They differ in one byte: the CRC itself seems to be damaged, not what it covers."
        if batch.magic >= 2:
            header = chunk.headers[row]
            attributes, last_offset_delta, count = header[ATTRIBUTES], header[LAST_OFFSET_DELTA], header[RECORD_COUNT]
            if not 0 <= attributes <= ATTRIBUTES_IN_USE or last_offset_delta < 0 or not 0 <= count <= last_offset_delta + 1:
                return "header", "Fields of its header contradict each other: the damage is in the header."
        data = self.context.source.read(batch.position, min(batch.size, _DECODED_SIZE))
        zeros = max(data.find(bytes(512)), 0)
        if zeros:
            return "unknown", f"Zeros from byte {batch.position + zeros:,} on: looks like a lost page."
        self._decoded += 1
        if batch.compresscodec != "none" or batch.size > _DECODED_SIZE or self._decoded > _DECODED_BATCHES:
            return "unknown", "`kdump log --deep` shows what decodes."
        count = 0
        try:
            for part in records.read(self.context.source, chunk.slice(row, row + 1)):
                count += len(part.records)
        except CorruptData as fault:
            return "records", f"{counted(count, 'record', 'records')} decode, then: {fault.message}."
        return "payload", "All records decode; the damage is inside a key, a value, a header or a time."

    def _look_at_magic(self, section: Section) -> None:
        """Formats may go up within a segment, but not down."""
        magics = section.chunk.batches["magic"]
        if magics.count(self._magic) == len(magics):
            return
        for row, status in enumerate(section.statuses):
            magic = magics[row]
            if status == salvage.DAMAGED or magic == self._magic:
                continue
            before, self._magic = self._magic, magic
            if before < 0:
                continue
            batch = section.chunk.batches.row(row)
            code = "magic-upgrade" if magic > before else "magic-regression"
            words = "newer" if magic > before else "older"
            message = f"From {_offsets(batch)} on batches have the {words} magic {magic}; before it was {before}."
            self._report(code, batch, message, expected=before, found=magic)

    def _tell_large(self, chunk: Chunk) -> None:
        limit = self.context.settings.max_message_bytes
        for row, size in enumerate(chunk.batches["size"]):
            if size > limit:
                batch = chunk.batches.row(row)
                message = f"One batch, {_offsets(batch)}, of {size:,} bytes, more than {limit:,}."
                self._report("batch-over-limit", batch, message, expected=limit, found=size)

    def _tell_counts(self, section: Section) -> None:
        """Batches that say they have no records, or fewer."""
        batches = section.chunk.batches
        for row, count in enumerate(batches["count"]):
            if count > 0 or section.statuses[row] == salvage.DAMAGED:
                continue
            batch = batches.row(row)
            left = batch.size - BATCH_HEADER_SIZE
            if count < 0:
                message = f"One batch, {_offsets(batch)}. It says it has {count:,} records; a consumer fails on it."
                self._report("record-count-negative", batch, message, found=count)
            elif left:
                message = (
                    f"One batch, {_offsets(batch)}. It says it has no records, but {left:,} bytes follow: no consumer sees them."
                )
                self._report("record-count-zero-nonempty", batch, message, expected=0, found=left)
            else:
                self._empty_count += 1
                self._empty.append((batch.position, batch.last_offset))
                del self._empty[1:-1]

    # Damaged ranges

    def damage(self, damage: Damage) -> None:
        code, start, end = damage.code, damage.start, damage.end
        self._is_damaged_at_end = end >= self.context.source.size
        if code in _VAGUE and self.context.is_unreadable(start, end):
            return  # told as bytes that cannot be read
        if code == "zero-hole":
            self._holes.append((damage, len(self.facts.positions)))
        elif code == "zero-tail":
            self._tell_zero_tail(damage)
        elif code == "torn-tail":
            self._tell_torn_tail(damage)
        elif code == "torn-header":
            message = f"The file ends with {counted(end - start, 'byte', 'bytes')}, too few for the header of a batch."
            words, offsets = self._attested()
            severity = ERROR if offsets else self._severity_of_tail()
            self._tell(damage, message + words, severity=severity, offsets=offsets)
        elif code == "garbage-region" and start == 0 and (self._file_kind() or end >= self.context.source.size):
            self._tell_no_segment(damage)
        elif code == "garbage-region":
            self._hold(
                damage,
                f"{end - start:,} bytes that are no batch: {_looks(self.context.source.read(start, _SAMPLE), start, end)}.",
            )
        elif code == "crc-mismatch":
            why = "its length leads to no batch: bytes are missing, or too many, or changed"
            if damage.resync == BY_LENGTH:
                why = "the codec it names does not exist"
            elif damage.message == salvage.LEADS_OVER_BATCHES:
                why = "its length leads over batches that go on with its offsets: these are listed"
            self._hold(damage, f"The CRC of one batch does not fit, and {why}.")
        elif code == "codec-unknown":
            pass  # told by the rules for records
        elif code == "resync-budget":
            message = (
                f"{end - start:,} bytes look like headers of batches again and again and are none; the search was cut short."
            )
            self._hold(damage, message)
        elif code == "bad-magic":
            message = damage.message[:1].upper() + damage.message[1:]
            if self._has_crc_of_magic_2(start, end):
                message = f"One batch. {message}; as magic 2 its CRC fits, so only this byte is wrong"
            magic = int.from_bytes(self.context.source.read(start + MAGIC_AT, 1), "big", signed=True)
            self._hold(damage, f"{message}.", expected=2, found=magic)
        else:
            self._hold(damage, damage.message[:1].upper() + damage.message[1:] + ".")

    def _hold(
        self, damage: Damage, message: str, *, severity: str | None = None, expected: object = None, found: object = None
    ) -> None:
        """Report on a damaged range when it is known which offsets are missing."""
        self._held.append((damage, message, severity, expected, found, len(self.facts.positions)))

    def _tell_held(self) -> None:
        held, self._held = self._held, []
        for damage, message, severity, expected, found, count in held:
            words, offsets = self._missing(count)
            self._tell(damage, message + words, severity=severity, offsets=offsets, expected=expected, found=found)

    def _missing(self, count: int) -> tuple[str, tuple[int, int] | None]:
        """Which offsets are missing after the first `count` batches, in words, too; said once of ranges side by side."""
        facts, base_offset = self.facts, self.context.base_offset
        first = facts.last_offsets[count - 1] + 1 if count else base_offset
        following = facts.first_offsets[count] if len(facts.positions) > count else self.context.next_base_offset
        if first is None or following is None or not first < following <= first + _MAX_SEGMENT or self._gap_told == count:
            return "", None
        self._gap_told = count
        return f" Missing here: {offset_range(first, following - 1)}.", (first, following - 1)

    def _tell(
        self,
        damage: Damage,
        message: str,
        *,
        severity: str | None = None,
        offsets: tuple[int, int] | None = None,
        expected: object = None,
        found: object = None,
    ) -> None:
        """Report on a damaged range; offsets are those that its header claims, if no others are known."""
        row = damage.row
        if offsets is None and row is not None and damage.through == "isvalid":
            assert isinstance(row, RecordBatch)
            offsets = (row.first_offset, row.last_offset)
        self.context.report(
            damage.code,
            damage.start,
            damage.end,
            message,
            severity=severity,
            offsets=offsets,
            is_estimated=True,
            resync=damage.resync,
            skipped=damage.end - damage.start,
            expected=expected,
            found=found,
        )

    def _severity_of_tail(self) -> str:
        """How bad an end is that a broker leaves when it is killed; one that it writes to now is known by its growth."""
        return WARNING if self.context.is_newest else ERROR

    def _tell_torn_tail(self, damage: Damage) -> None:
        source, start = self.context.source, damage.start
        header_bytes = source.read(start, BATCH_HEADER_SIZE)
        size = batch_size(header_bytes)
        there = damage.end - start
        missing = size - there
        message = f"The last batch says it is {size:,} bytes long; {missing:,} of them are missing."
        offsets = None
        if len(header_bytes) == BATCH_HEADER_SIZE and header_bytes[MAGIC_AT] == 2:
            header = BATCH_HEADER.unpack(header_bytes)
            first, last = header[BASE_OFFSET], header[BASE_OFFSET] + max(header[LAST_OFFSET_DELTA], 0)
            message = (
                f"The last batch, {offset_range(first, last)}, says it is {size:,} bytes long; {missing:,} of them are missing."
            )
            if not header[ATTRIBUTES] & COMPRESSION_MASK:
                whole = self._whole_records(start + BATCH_HEADER_SIZE, damage.end, header[RECORD_COUNT])
                message += f" Whole, and to be salvaged, are {whole:,} of {counted(header[RECORD_COUNT], 'record', 'records')}."
            offsets = (first, last)
        words, gap = self._missing(len(self.facts.positions))  # up to the next segment, if there is one
        if gap is None:
            words, gap = self._attested()
            if gap and offsets:
                (first, last), (first_missing, last_missing) = offsets, gap
                if first == first_missing:
                    gap = first, max(last, last_missing)
        severity = ERROR if gap else self._severity_of_tail()
        self._tell(damage, message + words, severity=severity, offsets=gap or offsets, expected=size, found=there)

    def _whole_records(self, start: int, end: int, count: int) -> int:
        """How many records there are before the end of the file."""
        whole = 0
        while whole < count and start < end:
            data = self.context.source.read(start, min(WINDOW_SIZE, end - start))
            position = before = 0
            while whole < count:
                rows: list[object] = []
                step = min(count - whole, 4096)
                position, _, _ = kernel.walk_records(data, position, len(data), step, len(data), False, rows)  # type: ignore[arg-type]
                whole += len(rows)
                if len(rows) < step:
                    break
            if position == before:
                break
            start += position
        return whole

    def _tell_zero_tail(self, damage: Damage) -> None:
        size = self.context.source.size
        zeros = damage.end - damage.start
        message = "The last byte of the file is zero." if zeros == 1 else f"The last {zeros:,} bytes of the file are zero."
        if size % (1 << 20) == 0:
            message += f" The file is {size >> 20:,} MiB exactly: it looks preallocated."
        is_newest = self.context.is_newest
        if is_newest is None:
            is_newest = size % _PAGE == 0  # as preallocated files end, and hardly another
        words, offsets = self._attested()
        self._tell(damage, message + words, severity=WARNING if is_newest and not offsets else ERROR, offsets=offsets)

    def _file_kind(self) -> str:
        """What kind of file this is instead of a segment, going by its first bytes."""
        return kind_of_file(self.context.source.read(0, 512))

    def _tell_no_segment(self, damage: Damage) -> None:
        kind = self._file_kind()
        looks = _looks(self.context.source.read(0, _SAMPLE), damage.start, damage.end)
        message = f"This is no segment: it begins like a file of {kind}." if kind else f"No batch in the whole file: {looks}."
        damage.code = "not-a-segment"
        self._tell(damage, message, found=kind or None)

    # Other files

    def _look_for_witnesses(self) -> None:
        """A log that ends after a whole batch may still be cut: the files beside it tell how far it went."""
        context, facts = self.context, self.facts
        found = [] if self._is_damaged_at_end else witnesses.after(context, self._last_offset())
        if not found:
            return
        last, attested = self._last_offset(), max(witness.offset for witness in found)
        message = (
            f"The file ends after offset {last:,}, at the end of a batch, but {witnesses.words(found)} "
            f"of offset {attested:,}: batches seem to be cut off."
        )
        values = {"offsets": (last + 1, attested), "is_estimated": True, "expected": attested, "found": last, "resync": END}
        context.report("truncated-at-boundary", facts.end, context.source.size, message, **values)  # type: ignore[arg-type]

    def _last_offset(self) -> int:
        """The highest offset so far; where there is none, the one before the segment begins."""
        return self.facts.last_offsets.highest((self.context.base_offset or 0) - 1)

    def _attested(self) -> tuple[str, tuple[int, int] | None]:
        """What is known to be lost with the end of the file, in words, too."""
        last = self._last_offset()
        found = witnesses.after(self.context, last)
        if not found:
            return "", None
        attested = max(witness.offset for witness in found)
        them = "it" if attested == last + 1 else "them"
        return f" Lost: {offset_range(last + 1, attested)}, for {witnesses.words(found)} of {them}.", (last + 1, attested)

    def end(self) -> None:
        self._tell_held()
        self._tell_nested()
        self._look_for_witnesses()
        facts, source = self.facts, self.context.source
        for damage, count in self._holes:
            following = len(facts.positions) - count
            words, offsets = self._missing(count)
            message = f"{damage.end - damage.start:,} bytes are zero.{words}"
            if following > 0:
                last = max(islice(facts.last_offsets, count, None))
                message += (
                    f" {counted(following, 'batch', 'batches')} after, offsets {facts.first_offsets[count]:,} to {last:,}: "
                    "a restart that scans this segment deletes them."
                )
            self._tell(damage, message, offsets=offsets, found=following)
        if self._empty_count:
            (first, offset), (last, last_offset) = self._empty[0], self._empty[-1]
            message = f"{counted(self._empty_count, 'batch', 'batches')} without records, as compaction leaves them."
            end = last + BATCH_HEADER_SIZE
            self.context.report("batch-empty", first, end, message, offsets=(offset, last_offset), found=self._empty_count)
        if source.size > _MAX_SEGMENT:
            message = f"The segment has {source.size:,} bytes; a broker opens none above {_MAX_SEGMENT:,}."
            self.context.report("segment-over-2gib", _MAX_SEGMENT, source.size, message, expected=_MAX_SEGMENT, found=source.size)


def _offsets(batch: RecordBatch) -> str:
    return offset_range(batch.first_offset, batch.last_offset)


def _records(batch: RecordBatch) -> str:
    return "" if batch.count is None or batch.count < 0 else f" ({counted(batch.count, 'record', 'records')})"


def kind_of_file(head: bytes) -> str:
    """What kind of file begins with these 512 bytes, of those that are taken for Kafka's by mistake; empty for all others."""
    return next((kind for magic, kind in _FILE_MAGICS if head.startswith(magic)), "tar" if head[257:262] == b"ustar" else "")


def _looks(sample: bytes, start: int, end: int) -> str:
    """What bytes look like: how many are printable, and how many bits of a byte are used."""
    sample = sample[: end - start]
    if not sample:
        return "they could not be read"
    printable = sum(sample.count(byte) for byte in (*range(32, 127), 9, 10, 13))
    shares = [sample.count(byte) / len(sample) for byte in set(sample)]
    entropy = -sum(share * log2(share) for share in shares)
    kind = "text" if printable > 0.95 * len(sample) else "compressed or encrypted" if entropy > 7.5 else "binary data"
    return f"{kind} ({100 * printable // len(sample)} % printable, {abs(entropy):.1f} bits a byte)"


RULES: tuple[type[SegmentRule], ...] = (Framing,)
