"""Fields of records that are irregular, and that readers accept."""

from __future__ import annotations

from operator import itemgetter

from kdump.binary import kernel
from kdump.binary.batch_header import BASE_OFFSET, BATCH_HEADER_SIZE
from kdump.binary.kernel import HEADERS, OFFSET_DELTA
from kdump.checks import record_bytes
from kdump.checks.finding import INFO, WARNING
from kdump.checks.rules.rule import SegmentRule
from kdump.checks.wording import counted
from kdump.formats.long_headers import headers_at
from kdump.reading import salvage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kdump.checks.content import Content
    from kdump.checks.context import FileContext
    from kdump.checks.segment_facts import SegmentFacts

_FEWEST_COUNTED = 4  # records for which the kernel is worth a call
_MOST_AT_ONCE = 256  # records that are looked at before the kernel tries again
_CODES = _OF_SIZES, _OF_HEADER_SIZES = "key-length-bad", "header-bytes-odd"
_MAX_TEXT_KEYS = 1000  # remembered: records mostly have the same few headers


class RecordFields(SegmentRule):
    """Reports attributes, lengths, varints and header keys that readers accept, but no client of Kafka writes."""

    reads_records = True

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        super().__init__(context, facts)
        message = "{count} with attributes, which no Kafka release uses; the first, here, has {note}."
        self._attributes = self.tally("record-attributes-set", message, "record", "records")
        message = "{count} longer than needed; the first, here, is the {note}."
        self._long_varints = self.tally("varint-noncanonical", message, "number", "numbers")
        message = "{count} of headers with invalid UTF-8; the first is '{note}'. Readers replace what they cannot decode."
        self._no_text = self.tally("header-bytes-odd", message, "key", "keys", severity=INFO)
        self._text_keys: set[bytes] = set()

    def content(self, content: Content, status: str) -> None:
        if status == salvage.DAMAGED:
            return
        for number, position, attributes, has_more in self._to_look_at(content):
            if not has_more and self._attributes.count:
                self._attributes.count += 1  # only the first place is kept
                continue
            start, end = self._range(content, position)
            offset = content.header[BASE_OFFSET] + content.rows[number][OFFSET_DELTA]
            if attributes:
                self._attributes.add(start, end, (offset, offset), f"0x{attributes:02x}")
            if not has_more:
                continue
            for field in record_bytes.irregular_fields(content.data, position, content.end):
                if self._long_varints.count and field.value >= -1:
                    self._long_varints.count += 1
                else:
                    self._check_field(field, start, end, offset)
            if not content.rows[number][HEADERS]:  # it has none, or too many to be held
                self._check_keys(content, offset, (key for key, _ in headers_at(content.data, position) if key))
        for _, offset_delta, _, _, headers, _, _ in content.rows:
            if headers:
                self._check_keys(content, content.header[BASE_OFFSET] + offset_delta, [key for key, _ in headers])

    def _to_look_at(self, content: Content) -> Iterator[tuple[int, int, int, bool]]:
        """The records of `irregular_records`, except those in which there is nothing but what is counted without a look."""
        data, rows = content.data, content.rows
        if kernel.native is None or len(rows) < _FEWEST_COUNTED:
            yield from record_bytes.irregular_records(data, content.start, rows)
            return
        number, position, at_once = 0, content.start, 0
        while True:
            before = number + at_once
            number, position = self._count(content, number, position, skipped=at_once)
            if number == len(rows):
                return
            at_once = min(2 * at_once, _MOST_AT_ONCE) if at_once and number == before else 1
            run = rows[number : number + at_once]
            for row, start, attributes, has_more in record_bytes.irregular_records(data, position, run):
                yield number + row, start, attributes, has_more

    def _count(self, content: Content, number: int, position: int, *, skipped: int) -> tuple[int, int]:
        """Count what is odd from this record on, after the first `skipped`. Returns the first that must be looked at."""
        assert kernel.native is not None
        native, context = kernel.native, self.context
        counted = native.ODD_ATTRIBUTES if self._attributes.count else 0
        if self._long_varints.count:
            counted |= native.LONG_VARINTS
        for code, flag in zip(_CODES, (native.ODD_SIZES, native.ODD_HEADER_SIZES), strict=True):
            if context.is_full(code, WARNING):
                counted |= flag
        number, position, attributes, long_varints, *sizes = native.count_odd_fields(
            content.data, position, content.end, content.rows, number, skipped, counted
        )
        self._attributes.count += attributes
        self._long_varints.count += long_varints
        found = [
            (first, end, count, code) for code, (count, first, end) in zip(_CODES, (sizes[:3], sizes[3:]), strict=True) if count
        ]
        shift = content.position + BATCH_HEADER_SIZE + content.size_before - content.start
        for first, end, count, code in sorted(found, key=itemgetter(0)):  # codes are reported in the order they came up in
            if content.is_compressed:
                context.count_further(code, count, content.position, content.position + content.size)
            else:
                context.count_further(code, count, shift + first, shift + end)
        return number, position

    @staticmethod
    def _range(content: Content, position: int) -> tuple[int, int]:
        """The bytes of a record in the file; of a compressed batch, all its bytes."""
        if content.is_compressed:
            return content.position, content.position + content.size
        length, body = kernel.read_varint(content.data, position, content.end)
        start = content.position + BATCH_HEADER_SIZE + content.size_before + position - content.start
        return start, start + (body - position) + length

    def _check_keys(self, content: Content, offset: int, keys: Iterable[bytes]) -> None:
        for key in keys:
            if key not in self._text_keys and not self._is_text(key):
                self._no_text.add(content.position, content.position + content.size, (offset, offset), ascii(key)[2:-1])

    def _check_field(self, field: record_bytes.Field, start: int, end: int, offset: int) -> None:
        if not field.is_canonical:
            is_first = not self._long_varints.count
            note = f"{field.name}, {field.value:,} in {counted(field.size, 'byte')}" if is_first else ""
            self._long_varints.add(start, end, (offset, offset), note)
        if field.value < -1 and field.name in ("key length", "value length"):
            message = f"The {field.name} of the record with offset {offset:,} is {field.value:,}; readers treat it as null."
            self._warn(_OF_SIZES, start, end, message, offset, field.value)
        elif field.value < -1 and field.name.startswith("value length of header"):
            message = f"The {field.name} in the record with offset {offset:,} is {field.value:,}; readers treat it as null."
            self._warn(_OF_HEADER_SIZES, start, end, message, offset, field.value)

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
