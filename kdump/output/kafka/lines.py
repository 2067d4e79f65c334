"""Tables as the lines of Kafka's tool, in the words of one release."""

from __future__ import annotations

from itertools import islice, takewhile

from kdump.binary.arithmetic import as_int32, decrement_sequence
from kdump.binary.java_strings import escaped, shown_text, text_of
from kdump.tables import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from typing import Any, Protocol

    from kdump.errors import CorruptData, Fault
    from kdump.formats.producer_snapshot import ProducerState
    from kdump.formats.record import Record, RecordChunk
    from kdump.formats.record_batch import RecordBatch
    from kdump.releases.profile import Profile
    from kdump.tables import Row

    class ContentsColumn(Protocol):
        """The text after the fields of each record's line, as `record_contents.contents_column` says."""

        def __call__(self, chunk: RecordChunk) -> tuple[list[str], Fault | None]: ...


_MAX_TEXTS = 4096  # of headers that are joined at once
_FEW_ROWS = 16  # for which it costs more than it saves to look for columns that do not vary


class Template:
    """Text with fields in it: a field between each two literals."""

    def __init__(self, literals: list[str], fields: list[str]) -> None:
        self.literals = literals
        self.fields = fields
        self._pattern = "%s".join(map(_escaped, literals))

    @classmethod
    def parse(cls, text: str) -> Template:
        """A template from text with `{fields}` in it; a brace that encloses no name is text."""
        literals: list[str] = []
        fields: list[str] = []
        for part in text.split("{"):
            field, brace, literal = part.partition("}") if literals else ("", "", part)
            if brace and field.isidentifier():
                fields.append(field)
                literals.append(literal)
            elif literals:
                literals[-1] += "{" + part
            else:
                literals.append(part)
        return cls(literals, fields)

    def lines(self, column: Callable[[str], Sequence[object]], count: int) -> list[str]:
        """The text for each of `count` rows, given the columns of its fields.

        Columns that do not vary, which most do not, become part of the text before the loop over rows.
        """
        if count <= _FEW_ROWS and self.fields:
            return list(map(self._pattern.__mod__, zip(*map(column, self.fields), strict=True)))
        text = _escaped(self.literals[0])
        varying = []
        for field, literal in zip(self.fields, self.literals[1:], strict=True):
            values = column(field)
            if values[0] == values[-1] and values.count(values[0]) == count:
                text += _escaped(str(values[0]))
            else:
                text += "%s"
                varying.append(values)
            text += _escaped(literal)
        if not varying:
            return [text % ()] * count
        return list(map(text.__mod__, zip(*varying, strict=True)))


def _escaped(literal: str) -> str:
    return literal.replace("%", "%%")


class Line:
    """A line of Kafka's tool: the `writes` with which the tool prints it, the `whole` line, and what comes before contents."""

    def __init__(self, writes: Sequence[str]) -> None:
        self.writes = [Template.parse(text) for text in writes]
        self.whole = Template.parse("".join(writes))
        before = takewhile(lambda pair: "contents" not in pair[1].fields, zip(writes, self.writes, strict=True))
        self.before_contents = Template.parse("".join(text for text, _ in before))


class KafkaText:
    """Writes tables in the words of a release, with what records say as it is, or escaped for a terminal."""

    def __init__(self, profile: Profile, *, is_terminal: bool = False) -> None:
        self._profile = profile
        self._is_terminal = is_terminal  # which must not obey what records say
        self._text_of = shown_text if is_terminal else text_of
        self._batch = Line(profile.batch_line)
        self._message = Line(profile.message_line)
        self._batch_record = Line(profile.batch_record_line)
        self._message_record = Line(profile.message_record_line)
        self._contents = Line(["{contents}", "\n"])

    # Batches

    def batch_lines(self, batches: Table[RecordBatch]) -> list[str]:
        """One line for each batch; all rows are of one family (magic 2 and higher, or lower)."""
        line = self._batch if batches["magic"][0] >= 2 else self._message
        return line.whole.lines(self._batch_columns(batches), len(batches))

    def partial_batch_line(self, row: Row, through: str) -> str:
        """The writes of a batch's line before the first with an unsound field; `through` is the last sound one."""
        names = _names(row)
        sound = set(names[: names.index(through) + 1]) if through else set()
        line = self._batch if getattr(row, "base_offset", None) is not None else self._message
        known = Table.of(type(row), [[getattr(row, name, None) for name in _names(row)]])
        columns = self._batch_columns(known)
        text = ""
        for write in line.writes:
            if not sound.issuperset(write.fields):
                break
            text += write.lines(columns, 1)[0]
        return text

    def _batch_columns(self, batches: Table[Row]) -> Callable[[str], Sequence[object]]:
        def column(name: str) -> Sequence[object]:
            values = batches[name]
            if name in ("is_transactional", "is_control", "isvalid"):
                return _mapped(values, java_boolean)
            if name == "compresscodec":
                return _mapped(values, lambda codec: self._profile.codec_names.get(codec, codec))
            if name == "delete_horizon_ms":
                return _mapped(values, java_optional)
            return values

        return column

    # Records

    def record_lines(self, chunk: RecordChunk, contents: ContentsColumn | None, skips_metadata: bool, lines: list[str]) -> None:
        """Append one line for each record to `lines`; `contents` makes the text after the fields.

        Raises Fault if the contents of a record cannot be read. `lines` then ends with its line up to the contents.
        """
        records = chunk.records
        count = len(records)
        if not count:
            return
        contents_column, fault = contents(chunk) if contents is not None else ([""] * count, None)
        if self._is_terminal:
            contents_column = [escaped(text) for text in contents_column]
        bad_size = next(iter(_faults_of_sizes(chunk)), None) if not skips_metadata else None
        if bad_size is not None and bad_size[0] < len(contents_column) + 1:
            if bad_size[0]:
                self.record_lines(_first_rows(chunk, bad_size[0]), contents, skips_metadata, lines)
            lines.append("")  # the tool fails before it writes any of this line
            raise bad_size[1]
        if fault is not None:
            contents_column.append("")
            count = len(contents_column)
            records = records.slice(0, count)
        line = self._record_line(chunk, skips_metadata)
        columns = self._record_columns(chunk, records, contents_column)
        if fault is None:
            lines += line.whole.lines(columns, count)
            return
        if count > 1:
            lines += line.whole.lines(columns, count)[:-1]
        lines.append(line.before_contents.lines(columns, count)[-1])
        raise fault

    def _record_line(self, chunk: RecordChunk, skips_metadata: bool) -> Line:
        """The line of a record in this chunk."""
        if skips_metadata:
            return self._contents
        return self._batch_record if chunk.batches["magic"][0] >= 2 else self._message_record

    def _record_columns(
        self, chunk: RecordChunk, records: Table[Record], contents: list[str]
    ) -> Callable[[str], Sequence[object]]:
        batch_column = self._batch_columns(chunk.batches)
        is_legacy = chunk.batches["magic"][0] < 2

        def column(name: str) -> Sequence[object]:
            if name == "contents":
                return contents
            if name == "first_offset":
                return chunk.spread(chunk.first_offsets)[: len(records)]
            if name == "headers":
                return _mapped(records["headers"], self._headers)
            if name == "record_crc":
                return records["crc"]
            if name == "record_isvalid":
                return _mapped(records["isvalid"], java_boolean) if is_legacy else ["true"] * len(records)
            if name in records.columns and name != "isvalid":
                return records[name]
            return chunk.spread(batch_column(name))[: len(records)]

        return column

    def _headers(self, headers: Collection[tuple[bytes, bytes | None]]) -> str:
        if len(headers) <= _MAX_TEXTS:
            return "[" + ",".join([self._text_of(key) for key, _ in headers]) + "]"
        rest = iter(headers)  # millions of short texts would take far more memory than what they are joined to
        parts = [
            ",".join([self._text_of(key) for key, _ in islice(rest, _MAX_TEXTS)]) for _ in range(0, len(headers), _MAX_TEXTS)
        ]
        return "[" + ",".join(parts) + "]"

    # The other tables

    def rows(self, line: str, table: Table[Row]) -> list[str]:
        """One line for each row of a table whose columns are printed unchanged."""
        return Template.parse(line).lines(table.__getitem__, len(table)) if len(table) else []

    def producer_line(self, producer: ProducerState) -> str:
        """The line of a producer in a snapshot."""
        first_sequence = as_int32(producer.last_sequence - producer.offset_delta)
        if self._profile.snapshot_wraps_sequence:
            first_sequence = decrement_sequence(producer.last_sequence, producer.offset_delta)
        transaction_offset = producer.current_txn_first_offset
        values = {column.name: getattr(producer, column.name) for column in producer.schema}
        absent, present = self._profile.optional_long
        values["current_txn_first_offset"] = absent if transaction_offset < 0 else present.format(value=transaction_offset)
        values["first_sequence"] = first_sequence
        values["cached_metadata"] = (
            f"Queue(BatchMetadata(firstSeq={first_sequence}, lastSeq={producer.last_sequence}, "
            f"firstOffset={producer.last_offset - producer.offset_delta}, lastOffset={producer.last_offset}, "
            f"timestamp={producer.timestamp}))"
        )
        parts = self._profile.snapshot_line
        if producer.last_offset >= 0 or not self._profile.snapshot_omits_unknown_batch:
            parts += self._profile.snapshot_batch_part
        return "".join(parts).format(**values) + "\n"


def interleaved(batch_lines: list[str], part: RecordChunk, record_lines: list[str], *, is_whole: bool) -> list[str]:
    """The lines of batches, each followed by the lines of its records. If records are missing, it ends with the last one."""
    lines: list[str] = []
    if is_whole and not part.continues and part.counts.count(1) == len(batch_lines) == len(record_lines):
        lines = [""] * (2 * len(batch_lines))
        lines[::2], lines[1::2] = batch_lines, record_lines
        return lines
    end = 0
    for number, (batch_line, count) in enumerate(zip(batch_lines, part.counts, strict=True)):
        start, end = end, end + count
        if number or not part.continues:
            lines.append(batch_line)
        lines += record_lines[start:end]
        if not is_whole and end >= len(record_lines):
            break
    return lines


def _faults_of_sizes(chunk: RecordChunk) -> Iterator[tuple[int, CorruptData]]:
    """The rows whose key or value size, which starts the line, cannot be read."""
    for row, faults in chunk.faults.items():
        for name in ("key_size", "value_size"):
            if name in faults:
                yield row, faults[name]


def _first_rows(chunk: RecordChunk, count: int) -> RecordChunk:
    """The first `count` records of the chunk."""
    records = chunk.records.slice(0, count)
    faults = {row: faults for row, faults in chunk.faults.items() if row < count}
    counts = []
    for batch_count in chunk.counts:
        counts.append(min(batch_count, count))
        count -= counts[-1]
    return type(chunk)(chunk.batches, counts, records, chunk.continues, faults, chunk.first_offsets)


def _mapped(values: Sequence[Any], function: Callable[[Any], str]) -> Sequence[str]:
    """`function` of each value, called once for each distinct value; most columns have few."""
    if values.count(values[0]) == len(values):
        return [function(values[0])] * len(values)
    texts = {value: function(value) for value in set(values)}
    return list(map(texts.__getitem__, values))


def java_optional(value: int | None) -> str:
    """A number that may be absent, as java.util.OptionalLong prints itself."""
    return "OptionalLong.empty" if value is None else f"OptionalLong[{value}]"


def java_boolean(value: bool) -> str:
    """A boolean as Java prints it."""
    return "true" if value else "false"


def _names(row: Row) -> list[str]:
    return [column.name for column in row.schema]
