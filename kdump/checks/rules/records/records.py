"""Whether the records inside batches are what they can be, and what decompression says of them."""

from __future__ import annotations

from kdump.binary import codecs, kernel
from kdump.binary.batch_header import ATTRIBUTES, BASE_OFFSET, BATCH_HEADER_SIZE, COMPRESSION_MASK, LOG_OVERHEAD
from kdump.binary.codecs import CODECS, GZIP, LZ4, NONE, SNAPPY, ZSTD, lz4
from kdump.binary.codecs.zstd_frame import MAX_WINDOW
from kdump.binary.kernel import OFFSET_DELTA
from kdump.checks import record_bytes
from kdump.checks.finding import ERROR, INFO, WARNING
from kdump.checks.rules.rule import SegmentRule
from kdump.checks.rules.tally import Tally
from kdump.checks.wording import counted
from kdump.formats import record
from kdump.reading import salvage
from kdump.reading.items import BY_LENGTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar

    from kdump.binary.source import Source
    from kdump.checks.content import Content
    from kdump.checks.context import FileContext
    from kdump.checks.segment_facts import SegmentFacts
    from kdump.errors import CorruptData
    from kdump.formats.log import Chunk
    from kdump.formats.record import RecordChunk
    from kdump.formats.record_batch import RecordBatch
    from kdump.reading.items import Damage, Section

_KNOWN = frozenset(CODECS)
_MAX_HELD = 32 << 20  # bytes of a batch that are looked at again
_IGNORED_BY_SNAPPY = 3  # bytes after the last block


class Codecs(SegmentRule):
    """What headers say of compression."""

    @classmethod
    def is_wanted(cls, context: FileContext) -> bool:
        return context.settings.checks_crcs

    def batches(self, section: Section) -> None:
        summary = section.summary
        if summary is not None and not summary.bare and not (summary.is_legacy and summary.codecs & 1 << ZSTD):
            return  # codecs that do not exist end a walk
        batches = section.chunk.batches
        names = batches["compresscodec"]
        is_legacy = section.chunk.is_legacy
        for row, name in enumerate(names):
            if name == CODECS[NONE] or section.statuses[row] == salvage.DAMAGED:
                continue
            batch = batches.row(row)
            if name not in _KNOWN:
                self._unknown(batch, name)
            elif is_legacy and name == CODECS[ZSTD]:
                message = f"A message of magic {batch.magic} says that it is compressed with zstd, which exists from magic 2 on."
                self._report("codec-not-allowed", batch, message, found=name)
            elif not is_legacy and batch.size == BATCH_HEADER_SIZE and batch.count:
                message = (
                    f"The batch says that it holds {counted(batch.count, 'record')}, compressed with {name}, "
                    "but nothing follows its header."
                )
                self._report("payload-empty-compressed", batch, message, expected=batch.count, found=0)

    def damage(self, damage: Damage) -> None:
        if damage.code == "codec-unknown" and damage.row is not None:
            batch: RecordBatch = damage.row  # type: ignore[assignment]  # the walk of a log gives batches
            if batch.isvalid:
                self._unknown(batch, batch.compresscodec)

    def _unknown(self, batch: RecordBatch, name: str) -> None:
        codec = name.removeprefix("unknown(").removesuffix(")")
        message = f"The CRC fits, but codec {codec} does not exist: its records cannot be read."
        self._report("codec-unknown", batch, message, expected="0 to 4", found=codec)

    def _report(self, code: str, batch: RecordBatch, message: str, *, expected: object = None, found: object = None) -> None:
        first = batch.first_offset
        self.context.report(
            code,
            batch.position,
            batch.position + batch.size,
            message,
            offsets=(first, batch.last_offset),
            expected=expected,
            found=found,
        )


class Frames(SegmentRule):
    """Compressed payloads that readers take, though not as Kafka's own clients write them."""

    reads_records: ClassVar[bool] = True

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        super().__init__(context, facts)
        self._raw = Tally()
        self._several = Tally()
        self._legacy_headers = Tally("LZ4 header")

    def content(self, content: Content, status: str) -> None:
        codec = content.header[ATTRIBUTES] & COMPRESSION_MASK
        if content.payload is None or status == salvage.DAMAGED or content.is_plain and codec != SNAPPY:
            return
        self._look(codec, content.payload, content.position, content.position + content.size, content.offsets)

    def batches(self, section: Section) -> None:
        """The same for wrappers, whose payloads stand in messages."""
        chunk, batches = section.chunk, section.chunk.batches
        if not chunk.is_legacy or not chunk.window:
            return
        for row, name in enumerate(batches["compresscodec"]):
            if name == CODECS[NONE] or name not in _KNOWN or section.statuses[row] == salvage.DAMAGED:
                continue
            payload = _payload_of_wrapper(chunk, row)
            if not payload:
                continue
            start, offset = batches["position"][row], batches["last_offset"][row]
            end = start + batches["size"][row]
            if name == CODECS[LZ4] and not batches["magic"][row] and lz4.has_legacy_header(payload):
                self._legacy_headers.add(start, end, (offset, offset))
            self._look(CODECS.index(name), payload, start, end, (offset, offset))

    def _look(self, codec: int, payload: bytes, start: int, end: int, offsets: tuple[int, int]) -> None:
        found = codecs.inspect_frames(codec, payload)
        trailing = len(payload) - found.end
        if found.is_raw:
            self._raw.add(start, end, offsets)
        elif found.count > 1:
            note = f"{found.count:,} {CODECS[codec]} frames"
            if codec == LZ4:
                note += ", of which readers see the first only"
            self._several.add(start, end, offsets, note)
        if found.count and trailing and (codec in (GZIP, LZ4) or codec == SNAPPY and trailing <= _IGNORED_BY_SNAPPY):
            message = f"{counted(trailing, 'byte')} after the end of the {CODECS[codec]} stream, which readers ignore."
            self.context.report("frame-trailing-bytes", end - trailing, end, message, offsets=offsets, expected=0, found=trailing)

    def end(self) -> None:
        self._raw.report(
            self.context, "snappy-raw", "Snappy without the framing of Java's clients in {count}; the first is here."
        )
        self._several.report(self.context, "frame-multi-member", "More than one frame in {count}; the first, here, holds {note}.")
        message = "{count} with the checksum of clients before magic 1, which is lawful in magic 0; the first is here."
        self._legacy_headers.report(self.context, "lz4-legacy-header", message, severity=INFO)


def _payload_of_wrapper(chunk: Chunk, row: int) -> bytes | None:
    """The value of a message of magic 0 in a window, if it has one."""
    from kdump.errors import CorruptData
    from kdump.formats.message_set import Message

    offset, length = chunk.headers[row][:2]
    start = chunk.starts[row] + LOG_OVERHEAD
    try:
        return Message(offset, chunk.window[start : start + length]).value
    except CorruptData:
        return None


class Unread(SegmentRule):
    """Records that cannot be read, with what keeps a reader from them."""

    reads_records: ClassVar[bool] = True

    def unreadable(self, chunk: Chunk, fault: CorruptData, status: str) -> None:
        if status == salvage.DAMAGED:
            return  # its CRC says so already
        batch = chunk.batches.row(0)
        name = batch.compresscodec
        if name != CODECS[NONE] and batch.count and batch.size == BATCH_HEADER_SIZE:
            return  # an empty payload has been told of
        code, what = _named(self.context.source, chunk, fault)
        if code is None:
            return
        start, end = batch.position, batch.position + batch.size
        is_plain = name == CODECS[NONE]
        decoded: int = fault.values["decoded"]
        is_behind = batch.count is not None and decoded >= batch.count
        if is_behind:
            message = (
                f"{what} All {counted(batch.count or 0, 'record')} can be decoded, but readers fail at the end of the stream."
            )
            if code == "frame-trailing-bytes":
                start = end - fault.values["trailing"]
        elif batch.count is None:
            message = f"{what} None of its messages can be read."
        else:
            has_place = "at" in fault.values
            if is_plain and has_place:
                start += BATCH_HEADER_SIZE + fault.values["at"] - fault.values["data_start"]
                what = f"Record {decoded + 1:,}, byte {start:,}: {what}"
            elif has_place:
                what = f"Record {decoded + 1:,}, byte {fault.values['at']:,} of what was decompressed: {what}"
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


_OF_RECORDS = {
    "record-length-past-end": "record-length-bad",
    "last-record-length-past-end": "record-length-bad",
    "record-length-negative": "record-length-bad",
    "record-length-varint-too-long": "varint-too-long",
    "record-structure-invalid": "record-body-mismatch",
    "record-body-mismatch": "record-body-mismatch",
    "header-count-negative": "header-count-bad",
    "header-count-too-high": "header-count-bad",
    "header-key-null": "header-key-null",
    "header-key-past-end": "header-bytes-odd",
    "inner-record-size-too-small": "record-length-bad",
    "decompression-limit": "decompression-limit",
}
"""Codes of the catalogue by those of the readers."""

_OF_FRAMES = {
    "frame-bad-header": "frame-bad-header",
    "frame-truncated": "frame-truncated",
    "frame-ends-early": "frame-truncated",
    "frame-checksum-cut": "frame-truncated",
    "frame-checksum-mismatch": "frame-checksum-mismatch",
    "frame-damaged": "frame-damaged",
    "frame-block-size": "declared-size-forged",
    "frame-block-too-large": "declared-size-forged",
    "frame-first-block-size": "declared-size-forged",
    "frame-negative-size": "declared-size-forged",
}

_OF_MESSAGES = {
    "legacy-wrapper-null": "legacy-wrapper-empty",
    "legacy-wrapper-empty": "legacy-wrapper-empty",
    "legacy-wrapper-offset": "legacy-wrapper-offset",
    "legacy-nested-compression": "legacy-nested-compression",
    "codec-unknown": "codec-unknown",
    "message-content-past-end": "key-length-bad",
    "message-field-past-end": "key-length-bad",
}

_MAY_TRAIL = ("frame-damaged", "frame-block-size", "frame-block-too-large", "frame-truncated", "frame-bad-header")


def _words(fault: CorruptData) -> str:
    """What a reader says of a fault, with thousands separators."""
    import re

    return re.sub(r"\d{4,}", lambda number: f"{int(number[0]):,}", fault.message.rstrip(": "))


def _named(source: Source, chunk: Chunk, fault: CorruptData) -> tuple[str | None, str]:
    """The code of the catalogue for a fault of a reader, and what to say of it; no code for those of other rules."""
    code = fault.code.removesuffix("-behind-records").removeprefix("wrapper-").removeprefix("compressed-")
    words = _words(fault)
    sentence = f"{words[0].upper()}{words[1:]}."
    if code in _OF_FRAMES:
        return _named_frame(source, chunk, fault, code)
    if code in _OF_MESSAGES:
        return _OF_MESSAGES[code], sentence
    values = fault.values
    if code in ("record-structure-invalid", "record-count-too-high") and "at" in values:
        why = record_bytes.why_unreadable(values["data"], values["at"], values["data_end"])
        if code == "record-structure-invalid" and why is not None:
            return why.code, f"{why.message}."
        if why is not None and why.code == "varint-truncated" and values["at"] < values["data_end"]:
            return why.code, f"{why.message}."
    if code == "record-body-mismatch" and values["size"] <= 0:
        return "record-length-bad", f"a record says it is {values['size']:,} bytes long."
    known = _OF_RECORDS.get(code)
    return known, sentence if known == "decompression-limit" or chunk.is_legacy else f"{words}."


def _named_frame(source: Source, chunk: Chunk, fault: CorruptData, code: str) -> tuple[str, str]:
    """The same for a fault of a compressed stream, whose words may tell more than its code."""
    name = chunk.batches["compresscodec"][0]
    words = _words(fault)
    sentence = f"{words[0].upper()}{words[1:]}." if name in words.lower() else f"The {name} stream cannot be read: {words}."
    payload = _payload(source, chunk)
    if payload is None:
        return _OF_FRAMES[code], sentence
    codec = CODECS.index(name)
    if not payload and chunk.is_legacy:
        return "legacy-wrapper-empty", "A compressed message has an empty value."
    if code == "frame-bad-header":
        if codec == LZ4 and lz4.has_legacy_header(payload):
            magic = chunk.batches["magic"][0]
            message = f"The LZ4 header has the checksum of clients before magic 1; readers of magic {magic} refuse it."
            return "lz4-legacy-header", message
        like = codecs.resembles(payload)
        looks = f" The bytes look like {like}." if like not in (None, name) else ""
        return "frame-bad-header", f"The payload does not begin as {name} does: {words}.{looks}"
    if "claimed" in fault.values:
        return "declared-size-forged", sentence
    if code in _MAY_TRAIL:
        found = codecs.inspect_frames(codec, payload)
        if codec == ZSTD and found.window > MAX_WINDOW:
            message = f"A zstd frame asks for a window of {found.window:,} bytes; no more than {MAX_WINDOW:,} are given."
            return "declared-size-forged", message
        all_there = fault.values["decoded"] >= (chunk.batches["count"][0] or 0) > 0
        if all_there and codec in (SNAPPY, ZSTD) and 0 < found.end < len(payload):
            fault.values["trailing"] = len(payload) - found.end
            return "frame-trailing-bytes", f"{counted(len(payload) - found.end, 'byte')} after the end of the {name} stream."
        if codec == ZSTD and "checksum" in fault.message:
            return "frame-checksum-mismatch", sentence
    return _OF_FRAMES[code], sentence


def _payload(source: Source, chunk: Chunk) -> bytes | None:
    """The compressed payload of the only batch of a chunk, unless it is too large to be held."""
    if chunk.is_legacy:
        return _payload_of_wrapper(chunk, 0) if chunk.window else None
    if chunk.batches["size"][0] > _MAX_HELD:
        return None
    return record.bytes_of(source, chunk, 0)[BATCH_HEADER_SIZE:]


class RecordFields(SegmentRule):
    """Fields of records that readers let pass."""

    reads_records: ClassVar[bool] = True

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        super().__init__(context, facts)
        self._attributes = Tally("record", "records")
        self._long_varints = Tally("number", "numbers")
        self._no_text = Tally("key", "keys")
        self._text_keys: set[bytes] = set()

    def content(self, content: Content, status: str) -> None:
        if status == salvage.DAMAGED:
            return
        for number, position, attributes in record_bytes.odd_records(content.data, content.start, content.rows):
            start, end = self._range(content, position)
            offset = content.header[BASE_OFFSET] + content.rows[number][OFFSET_DELTA]
            if attributes:
                self._attributes.add(start, end, (offset, offset), f"0x{attributes:02x}")
            for field in record_bytes.fields(content.data, position, content.end):
                self._look(field, start, end, offset)
        for _, offset_delta, _, _, headers, _, _ in content.rows:
            if headers:
                for key, _ in headers:
                    if key not in self._text_keys and not self._is_text(key):
                        offset = content.header[BASE_OFFSET] + offset_delta
                        self._no_text.add(content.position, content.position + content.size, (offset, offset), ascii(key)[2:-1])

    def end(self) -> None:
        message = "{count} with attributes, for which no release of Kafka has a use; the first, here, has {note}."
        self._attributes.report(self.context, "record-attributes-set", message)
        message = "{count} in more bytes than needed; the first, here, is the {note}."
        self._long_varints.report(self.context, "varint-noncanonical", message)
        message = (
            "{count} of headers that cannot be read as UTF-8; the first is '{note}'. Readers replace what they cannot decode."
        )
        self._no_text.report(self.context, "header-bytes-odd", message, severity=INFO)

    @staticmethod
    def _range(content: Content, position: int) -> tuple[int, int]:
        """Where in the file a record stands: in its batch somewhere, where that is compressed."""
        if content.is_compressed:
            return content.position, content.position + content.size
        length, body = kernel.read_varint(content.data, position, content.end)
        start = content.position + BATCH_HEADER_SIZE + position - content.start
        return start, start + (body - position) + length

    def _look(self, field: record_bytes.Field, start: int, end: int, offset: int) -> None:
        if not field.is_canonical:
            self._long_varints.add(
                start, end, (offset, offset), f"{field.name}, {field.value:,} in {counted(field.size, 'byte')}"
            )
        if field.value < -1 and field.name in ("key length", "value length"):
            message = f"The {field.name} of the record with offset {offset:,} is {field.value:,}; readers take it for null."
            self._warn("key-length-bad", start, end, message, offset, field.value)
        elif field.value < -1 and field.name.startswith("value length of header"):
            message = f"The {field.name} in the record with offset {offset:,} is {field.value:,}; readers take it for null."
            self._warn("header-bytes-odd", start, end, message, offset, field.value)

    def _warn(self, code: str, start: int, end: int, message: str, offset: int, found: int) -> None:
        self.context.report(code, start, end, message, severity=WARNING, offsets=(offset, offset), expected=-1, found=found)

    def _is_text(self, key: bytes) -> bool:
        try:
            key.decode()
        except UnicodeDecodeError:
            return False
        if len(self._text_keys) < _MAX_TEXT_KEYS:
            self._text_keys.add(key)
        return True


_MAX_TEXT_KEYS = 1000  # remembered: records mostly have the same few headers


class CompactedKeys(SegmentRule):
    """Records without key where the cleaner goes by keys."""

    reads_records: ClassVar[bool] = True

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        super().__init__(context, facts)
        self._missing = Tally("record", "records")

    @classmethod
    def is_wanted(cls, context: FileContext) -> bool:
        return super().is_wanted(context) and "compact" in context.settings.cleanup_policy

    def records(self, part: RecordChunk, status: str) -> None:
        sizes = part.records["key_size"]
        if status == salvage.DAMAGED or not any(size is not None and size < 0 for size in sizes):
            return
        first = 0
        batches = part.batches
        for row, count in enumerate(part.counts):
            here, first = first, first + count
            missing = [at for at in range(here, first) if (sizes[at] or 0) < 0]
            if missing and not batches["is_control"][row]:
                offset = part.records["offset"][missing[0]]
                start = batches["position"][row]
                self._missing.add(start, start + batches["size"][row], (offset, offset), count=len(missing))

    def end(self) -> None:
        message = "{count} without key, though the topic is compacted; the first is in this batch."
        self._missing.report(self.context, "key-missing-compacted", message)


class Messages(SegmentRule):
    """Messages of magic 0 and 1, and those inside wrappers."""

    reads_records: ClassVar[bool] = True

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        super().__init__(context, facts)
        self._absolute = Tally("wrapper", "wrappers")

    def records(self, part: RecordChunk, status: str) -> None:
        batches = part.batches
        if batches["base_offset"][0] is not None or status == salvage.DAMAGED:
            return
        records = part.records
        for number, faults in part.faults.items():
            self._report_field(part, number, next(iter(faults.values())))
        for name in ("key_size", "value_size"):
            for number, size in enumerate(records[name]):
                if size is not None and size < -1:
                    what = f"The {name.removesuffix('_size')} length of the message with offset {{offset}}"
                    message = f"{what} is {size:,}; readers take it for null."
                    self._report("key-length-bad", part, number, message, expected=-1, found=size, severity=WARNING)
        if part.counts.count(1) == len(part.counts) and batches["compresscodec"].count(CODECS[NONE]) == len(part.counts):
            return
        self._look_into_wrapper(part)

    def end(self) -> None:
        message = "{count} with offset 0 and absolute offsets inside, as old librdkafka wrote them; the first is here."
        self._absolute.report(self.context, "legacy-wrapper-offset", message, severity=INFO)

    def _look_into_wrapper(self, part: RecordChunk) -> None:
        """The only batch of the part is a wrapper."""
        batches, records = part.batches, part.records
        magic = batches["magic"][0]
        for number, is_valid in enumerate(records["isvalid"]):
            if not is_valid:
                what = f"Message {number + 1:,} in the wrapper, offset {{offset}}"
                message = f"{what}: its own CRC does not fit, though that of the wrapper does."
                self._report("legacy-inner-crc", part, number, message, found=f"0x{records['crc'][number]:08x}")
        others = [number for number, inner in enumerate(part.magics) if inner != magic]
        if others:
            inner = part.magics[others[0]]
            message = (
                f"A wrapper of magic {magic} holds {counted(len(others), 'message')} of magic {inner}, from offset {{offset}} on."
            )
            self._report("legacy-inner-magic", part, others[0], message, expected=magic, found=inner, severity=None)
        if magic == 1 and not batches["last_offset"][0] and records["offset"] and max(records["offset"]) > 0:
            start = batches["position"][0]
            self._absolute.add(start, start + batches["size"][0], (min(records["offset"]), max(records["offset"])))

    def _report_field(self, part: RecordChunk, number: int, fault: CorruptData) -> None:
        self._report("key-length-bad", part, number, f"Offset {{offset}}: {_words(fault)}.")

    def _report(
        self,
        code: str,
        part: RecordChunk,
        number: int,
        message: str,
        *,
        expected: object = None,
        found: object = None,
        severity: str | None = ERROR,
    ) -> None:
        row = first = 0
        while first + part.counts[row] <= number:
            first += part.counts[row]
            row += 1
        start, offset = part.batches["position"][row], part.records["offset"][number]
        self.context.report(
            code,
            start,
            start + part.batches["size"][row],
            message.format(offset=f"{offset:,}"),
            offsets=(offset, offset),
            expected=expected,
            found=found,
            severity=severity,
        )


RULES: tuple[type[SegmentRule], ...] = (Codecs, Frames, Unread, RecordFields, CompactedKeys, Messages)
