"""The records inside record batches (magic 2), decompressed where they are compressed."""

from __future__ import annotations

from itertools import chain, repeat
from operator import add
from types import MappingProxyType

from kdump.binary import codecs, kernel
from kdump.binary.arithmetic import NO_SEQUENCE, as_int64, sequence_of_record
from kdump.binary.batch_header import (
    ATTRIBUTES,
    BASE_OFFSET,
    BASE_SEQUENCE,
    BASE_TIMESTAMP,
    BATCH_HEADER_SIZE,
    COMPRESSION_MASK,
    CONTROL_BIT,
    LENGTH,
    LOG_OVERHEAD,
    MAGIC,
    MAX_TIMESTAMP,
    MIN_BATCH_LENGTH,
    RECORD_COUNT,
    TIMESTAMP_TYPE_BIT,
    batch_offset,
)
from kdump.errors import CorruptData, MissingPackage
from kdump.formats.long_headers import headers_at
from kdump.formats.record_batch import RecordBatch
from kdump.tables import Binary, Bool, Declared, Int32, Int64, Row, Table, UInt32

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypeVar

    from kdump.binary.codecs.quirks import CodecQuirks
    from kdump.binary.kernel import Buffer, RecordTuple
    from kdump.binary.source import Source
    from kdump.formats.log import Chunk

    Headers = kernel.Headers
    Value = TypeVar("Value")

_OFFSET_SIZE = 8  # bytes
MAX_ROWS = 8192
"""A table of records has at most about this many rows."""

MAX_BATCH_SIZE = 128 << 20
"""Batches larger than this are not loaded to read their records."""

UNCHECKED_HEADER_COUNT = "unchecked-header-count"
"""The variant of a fault for readers that take any number of headers for possible."""

UNBUFFERED = "unbuffered"
"""The variant of a fault for readers that decompress no further than to the record they read."""

MAX_RECORD_HEADERS = 1 << 17
"""A record with more headers than this is not read, unless only their keys are asked for."""

MAX_PAYLOAD_AT_ONCE = 8 << 20
"""Bytes of a sound payload that is decompressed in one call."""

MAX_RECORD_SIZE = 128 << 20
"""A record that says it is larger than this is not waited for."""

MAX_SMALL_BATCH = 64 << 10
"""Bytes of a bad batch that is shown to the rules of a check together with its neighbours."""

_REFERENCE_SIZE = 4
_MAX_HEADERS = (250 << 20) // _REFERENCE_SIZE  # of the 256 MiB that Kafka's launcher gives the tool
_MAX_HELD_RECORD_BYTES = 1 << 20  # up to this size, all records of a batch are held at once, with those of its neighbors
_MAX_HELD_PARTS = 8  # of MAX_ROWS records each, of a compressed batch
_MIN_BLOCK_BYTES = 256 << 10  # of a decompressed payload, at least
_MAX_HEAP_OF_HEADERS = 245_000_000  # bytes; found with the tool of 4.3.1, whose heap has 256 MiB; that of 1.0.1 is alike
_NO_HEADERS = -1  # of the records are held
_WANTS_MORE = ("record-length-past-end", "record-count-too-high")
_BEHIND_RECORDS = "-behind-records"  # in the code of a fault of a stream that gave all records before


class Record(Row):
    """A record of magic 2, or a message of magic 0 or 1 that is not a wrapper.

    `key_size` and `value_size` are -1 for null; messages give them as stored, so other negative numbers occur, and a damaged one
    may be too short to have them.
    `sequence` and `headers` exist from magic 2 on; a message has its own checksum, `crc`, and `isvalid` says whether it
    fits.
    `timestamp` is in milliseconds since 1970, -1 for none.

    Kafka: DefaultRecord (magic 2, since 0.11.0, KIP-98), LegacyRecord.
    """

    offset: Int64
    timestamp: Int64
    key_size: Int32 | None
    value_size: Int32 | None
    sequence: Int32 | None
    headers: Headers | None
    key: Binary | None
    value: Binary | None
    crc: UInt32 | None
    isvalid: Bool | None


class Cut(Declared):
    """Bytes after the last whole message in a wrapper: the start of another message, of which some bytes are missing.

    `data` are the first of them, no more than the header of a message has, `size` is how many there are, and `missing` how many
    more its length asks for, None where that is missing, too. `count` messages before it are whole, the last with `last_offset`
    as it is inside.
    """

    count: int
    last_offset: int
    data: bytes
    size: int
    missing: int | None

    @property
    def offset(self) -> int | None:
        """The offset in its header, as it is inside; None where that is missing, too."""
        return batch_offset(self.data) if len(self.data) >= _OFFSET_SIZE else None


class RecordChunk(Declared):
    """Records of neighbouring batches: `counts[n]` of them belong to row n of `batches`.

    If `continues` is true, the first of these batches is also the last one of the previous chunk. `first_offsets` are the
    offsets of the first record in each batch; only messages have them, because wrappers do not state them. `faults` are those
    of single fields, by row and name; such a field is None. Only messages have them.
    `magics` are those of the messages, which may differ from that of their wrapper; records have that of their batch.
    `cuts` says of wrappers, by their rows, what follows the last whole message in them.
    """

    batches: Table[RecordBatch]
    counts: list[int]
    records: Table[Record]
    continues: bool
    faults: Mapping[int, dict[str, CorruptData]] = MappingProxyType({})
    first_offsets: Sequence[int] = ()
    magics: Sequence[int] = ()
    cuts: Mapping[int, Cut] = MappingProxyType({})

    def spread(self, column: Sequence[Value]) -> list[Value]:
        """A column of the batches, once for each of their records."""
        if column and column.count(column[0]) == len(column):
            return [column[0]] * sum(self.counts)
        return [value for value, count in zip(column, self.counts, strict=True) for _ in range(count)]

    def statuses(self, of_batches: str, wrong: str) -> list[str]:
        """The status of each record: that of the batches, or `wrong` for a message with a wrong CRC or a wrong field."""
        found = [of_batches] * len(self.records)
        if self.magics:
            for row, is_valid in enumerate(self.records["isvalid"]):
                if is_valid is False or row in self.faults:
                    found[row] = wrong
        return found


def read(
    source: Source,
    chunk: Chunk,
    quirks: CodecQuirks | None = None,
    *,
    with_data: bool = True,
    with_header_values: bool = True,
    decompressor: codecs.BatchDecompressor | None = None,
) -> Iterator[RecordChunk]:
    """The records of a chunk of batches of magic 2, as records.read says."""
    if quirks is not None:
        decompressor = None
    elif decompressor is None:
        decompressor = codecs.BatchDecompressor(MAX_PAYLOAD_AT_ONCE)
    rows: list[RecordTuple] = []
    counts: list[int] = []
    first = held = 0
    for row, header in enumerate(chunk.headers):
        wants_data = with_data or bool(header[ATTRIBUTES] & CONTROL_BIT)
        size = _walk_plain(chunk, row, decompressor, rows, wants_data)
        if size is not None:
            # the usual case: its records join those of its neighbours
            counts.append(header[RECORD_COUNT])
            held += size
            if len(rows) < MAX_ROWS and held < _MAX_HELD_RECORD_BYTES:
                continue
        if counts:
            yield _chunk_of(chunk, first, counts, rows)
        if size is None:
            is_tried = bool(chunk.window) and header[RECORD_COUNT] <= MAX_ROWS
            yield from read_batch(
                source, chunk, row, quirks, with_data, with_header_values, decompressor=None if is_tried else decompressor
            )
        rows, counts, first, held = [], [], row + 1, 0
    if counts:
        yield _chunk_of(chunk, first, counts, rows)


def _walk_plain(
    chunk: Chunk,
    row: int,
    decompressor: codecs.BatchDecompressor | None,
    rows: list[RecordTuple],
    wants_data: bool,
) -> int | None:
    """Append the records of the batch in this row, and return the number of bytes it was decompressed to.

    Returns None, and appends nothing, if the batch is large, bad, or compressed in an unusual way.
    """
    header = chunk.headers[row]
    count, length, size = header[RECORD_COUNT], header[LENGTH], 0
    is_compressed = bool(header[ATTRIBUTES] & COMPRESSION_MASK)
    if 0 < count <= MAX_ROWS and chunk.window and length >= MIN_BATCH_LENGTH and not is_compressed:  # as `plain_records`, at once
        data, start = chunk.window, chunk.starts[row]
        position, end = start + BATCH_HEADER_SIZE, start + LOG_OVERHEAD + length
    else:
        plain = plain_records(chunk, row, MAX_ROWS, decompressor)
        if plain is None:
            return None
        if not count:
            return 0  # Kafka reads nothing after the header
        data, position, end = plain
        size = len(data)
    before = len(rows)
    position, code, _ = kernel.walk_records(data, position, end, count, end, is_compressed, rows, wants_data, MAX_RECORD_HEADERS)
    if position == end and not code and len(rows) == before + count:
        return size
    del rows[before:]
    return None


def fault_at_stop(code: str, values: dict[str, Any], *, is_last: bool) -> CorruptData | None:
    """What is wrong with the record at which a walk over a batch without compression stopped, if the walk says all about it."""
    if not code or code == kernel.HEADERS_NOT_HELD or "position" in values:
        return None
    return _fault_of_record(code, values, is_compressed=False, is_last=is_last)


def plain_records(
    chunk: Chunk, row: int, max_count: int, decompressor: codecs.BatchDecompressor | None
) -> tuple[bytes, int, int] | None:
    """The bytes that hold the records of the batch in this row, where the first starts and where the last ends in them.

    They are the chunk's window, or the decompressed payload; that of a batch without records is left as it is.
    Returns None if the batch is large, has a damaged header or more than `max_count` records, or is compressed in an unusual way.
    """
    header, window = chunk.headers[row], chunk.window
    if not 0 <= header[RECORD_COUNT] <= max_count or not window or header[LENGTH] < MIN_BATCH_LENGTH:
        return None
    start = chunk.starts[row]
    position, end = start + BATCH_HEADER_SIZE, start + LOG_OVERHEAD + header[LENGTH]
    codec = header[ATTRIBUTES] & COMPRESSION_MASK
    if not codec or not header[RECORD_COUNT]:
        return window, position, end
    payload = None if decompressor is None else decompressor.decompress(codec, memoryview(window)[position:end])
    if payload is None:
        return None
    data = bytes(payload)  # the decompressor's buffer is about to be reused
    return data, 0, len(data)


def read_batch(
    source: Source,
    chunk: Chunk,
    row: int,
    quirks: CodecQuirks | None = None,
    with_data: bool = True,
    with_header_values: bool = True,
    *,
    decompressor: codecs.BatchDecompressor | None = None,
) -> Iterator[RecordChunk]:
    """The records of the batch in this row, which may be large or bad; everything else is as `read` says.

    The `decompressor` is for a payload that may be sound and small.
    """
    header = chunk.headers[row]
    batches = chunk.batches.slice(row, row + 1)
    position = batches["position"][0]

    def part(rows: list[RecordTuple], continues: bool) -> RecordChunk:
        return RecordChunk(batches, [len(rows)], table_of_records([header], [len(rows)], rows), continues)

    continues = False
    try:
        batch = bytes_of(source, chunk, row)
        opened = None
        if decompressor is not None and header[RECORD_COUNT] > 0:
            opened = decompressor.opened(header[ATTRIBUTES] & COMPRESSION_MASK, memoryview(batch)[BATCH_HEADER_SIZE:])
        walk = BatchRecords(
            header,
            batch,
            quirks,
            with_data=with_data,
            with_header_values=with_header_values,
            opened=opened,
        )
        for rows in walk.checked_parts() if walk.is_compressed else walk.parts():
            yield part(rows, continues)
            continues = True
    except CorruptData as error:
        yield part(error.values.pop("good_rows", []), continues)
        raise _placed(error, source, position)
    if not continues:
        yield part([], False)


def first_of(header: Sequence[int], batch: bytes, *, max_payload: int = codecs.MAX_PAYLOAD) -> RecordTuple | None:
    """The first record of a batch of magic 2, given its header and its bytes; None if it has none that can be read."""
    try:
        return next((rows[0] for rows in BatchRecords(header, batch, max_payload=max_payload).parts()), None)
    except CorruptData as fault:
        rows: Sequence[RecordTuple] = fault.values.get("good_rows", ())
        return rows[0] if rows else None
    except MissingPackage:
        return None


class BatchRecords:
    """Walks the records of one batch of magic 2, given its header and all its bytes.

    `quirks` is how an old reader decompresses; `with_data` and `with_header_values` are as records.read says.
    With `max_headers`, no more of them are held at once, and a record that has more comes without them. `examine` is given
    each part of the records before `parts` yields it: the bytes that hold it, where it starts and ends in them, its rows.
    `opened` is what the payload decompresses to, if the caller knows.
    Raises CorruptData if nothing can be read at all: a batch shorter than its header, or a negative count.
    """

    def __init__(
        self,
        header: Sequence[int],
        batch: bytes,
        quirks: CodecQuirks | None = None,
        *,
        max_payload: int = codecs.MAX_PAYLOAD,
        with_data: bool = True,
        with_header_values: bool = True,
        max_headers: int | None = None,
        examine: Callable[[Buffer, int, int, list[RecordTuple]], None] | None = None,
        opened: codecs.Payload | None = None,
    ) -> None:
        self.header = header
        self._opened = opened
        self._max_payload = max_payload
        self.payload_size = 0  # of what was decompressed so far
        self._codec = header[ATTRIBUTES] & COMPRESSION_MASK
        self.is_compressed = bool(self._codec)
        self._batch = batch
        self._quirks = quirks
        self._with_data = with_data or bool(header[ATTRIBUTES] & CONTROL_BIT)
        self._with_header_values = with_header_values
        self._max_headers = MAX_RECORD_HEADERS if max_headers is None else max_headers
        self._may_omit_headers = max_headers is not None
        self._examine = examine
        self._data: bytes | bytearray = batch
        self._stream_error: CorruptData | None = None
        self._whole_blocks = len(batch)  # up to where the stream gave whole blocks
        count = header[RECORD_COUNT]
        if len(batch) < BATCH_HEADER_SIZE:
            raise CorruptData("batch-shorter-than-header", f"a record batch of {len(batch)} bytes is too small for its header")
        if count < 0:
            if self.is_compressed:
                self._open_payload()  # Kafka opens the payload before it looks at the count
            message = f"a record batch says it holds {count} records"
            raise CorruptData("record-count-negative", message, count=count, magic=header[MAGIC])

    def checked_parts(self) -> Iterator[list[RecordTuple]]:
        """As `parts`, but nothing is yielded unless all records are valid. Raises CorruptData as `parts`."""
        held: list[list[RecordTuple]] = []
        count, most = self.header[RECORD_COUNT], _MAX_HELD_PARTS * MAX_ROWS
        try:
            for rows in self.parts():
                if count <= most and self.payload_size <= _MAX_HELD_RECORD_BYTES:
                    held.append(rows)
        except CorruptData as error:
            error.values.pop("good_rows", None)
            raise
        return iter(held) if count <= most and self.payload_size <= _MAX_HELD_RECORD_BYTES else self.parts()

    def parts(self) -> Iterator[list[RecordTuple]]:
        """All records, at most MAX_ROWS at a time and no more than some MiB.

        Raises CorruptData at a bad record, or after the last if bytes are left; `good_rows` among its values are those of the
        part that it ends.
        """
        self._stream_error = None
        position = 0 if self.is_compressed else BATCH_HEADER_SIZE
        left = self.header[RECORD_COUNT]
        blocks = self._open_payload() if left else iter(())  # Kafka does not open the payload of an empty batch
        if left > 0 and self._stream_error is not None and not self._data:  # as often, where it is no payload of its codec
            raise self._stream_fault(is_after_records=False)
        while left > 0:
            rows: list[RecordTuple] = []
            start = position
            position, code, values = self._walk(start, min(left, MAX_ROWS), rows, self._max_headers)
            if code == kernel.HEADERS_NOT_HELD and not rows and self._may_omit_headers:
                position, code, values = self._walk(start, 1, rows, _NO_HEADERS)
            elif code == kernel.HEADERS_NOT_HELD and not rows and not self._with_header_values:
                position, code, values = self._walk_long_headers(start, rows)
            left -= len(rows)
            if rows and self._examine is not None:
                self._examine(self._data, start, position, rows)
            try:
                if code == kernel.HEADERS_NOT_HELD and rows:
                    pass  # those of the records before are held; the next call has room for it
                elif code in _WANTS_MORE and self._has_more(blocks, position, values):
                    position = 0
                elif code:
                    raise self._fault(code, values, position, is_last=left == 1)
                elif left == 0:
                    self._check_end(blocks, position, rows)
            except CorruptData as error:
                error.values["good_rows"] = rows
                raise
            if rows:
                yield rows

    def _walk(self, start: int, count: int, rows: list[RecordTuple], max_headers: int) -> tuple[int, str, dict[str, int]]:
        """As kernel.walk_records, over the bytes that are held."""
        return kernel.walk_records(
            self._data,
            start,
            len(self._data),
            count,
            start + _MAX_HELD_RECORD_BYTES,
            self.is_compressed,
            rows,
            self._with_data,
            max_headers,
        )

    def _walk_long_headers(self, start: int, rows: list[RecordTuple]) -> tuple[int, str, dict[str, Any]]:
        """Walk one record, and keep its headers as bytes, unless they are too many for Kafka's tool."""
        position, code, values = self._walk(start, 1, rows, _NO_HEADERS)
        if rows:
            headers = headers_at(self._data, start)
            if headers.needs_more_heap_than(_MAX_HEAP_OF_HEADERS):
                rows.clear()
                return start, kernel.HEADERS_NOT_HELD, {"count": len(headers)}
            timestamp_delta, offset_delta, key_size, value_size, _, key, value = rows.pop()
            row = (timestamp_delta, offset_delta, key_size, value_size, headers, key, value)
            rows.append(row)  # type: ignore[arg-type]  # only the keys of these headers are read
        return position, code, values

    def _open_payload(self) -> Iterator[bytes]:
        """The blocks of a compressed payload. The first of them are in `_data` already, from where records are walked."""
        if not self.is_compressed:
            return iter(())
        if self._opened is not None:
            self._data, self._stream_error = self._opened.data, self._opened.error
            self._whole_blocks, self.payload_size = self._opened.whole_blocks, self._opened.size
            return iter(())
        self._data = bytearray()
        self._whole_blocks = 0
        payload = self._batch[BATCH_HEADER_SIZE:]
        blocks = codecs.decompressed(self._codec, payload, self.header[MAGIC], limit=self._max_payload, quirks=self._quirks)
        self._has_more(blocks, 0, {})
        return blocks

    def _has_more(self, blocks: Iterator[bytes], position: int, values: dict[str, Any]) -> bool:
        """Whether the stream yielded more. `_data` then starts with the byte that was at `position`."""
        if not self.is_compressed or self._opened is not None or self._stream_error is not None:
            return False
        if values.get("size", 0) > MAX_RECORD_SIZE:
            return False
        assert isinstance(self._data, bytearray)
        held = len(self._data) - position
        wanted = 2 * max(held, _MIN_BLOCK_BYTES)  # so that a long record is not walked over and over
        more = 0
        try:
            for block in blocks:
                del self._data[:position]
                position = 0
                self._data += block
                more += len(block)
                if len(self._data) >= wanted:
                    break
        except CorruptData as error:
            if error.code == "frame-bad-header":
                raise
            self._stream_error = error.without_frames()
        salvaged, lost = b"", 0
        if self._stream_error is not None:
            salvaged = self._stream_error.values.pop("salvaged", b"")
            lost = self._stream_error.values.pop("lost", 0)
        if not more and not salvaged and self._stream_error is None:
            return False
        del self._data[:position]
        self.payload_size += more
        self._whole_blocks = max(0, len(self._data) - lost)
        self._data += salvaged
        return True

    def _check_end(self, blocks: Iterator[bytes], position: int, rows: list[RecordTuple]) -> None:
        """Check that nothing follows the last record; if something does, Kafka's tool does not show that record."""
        if position >= len(self._data) and self._has_more(blocks, position, {}):
            position = 0
        is_left_over = position < len(self._data)
        if is_left_over and (self._stream_error is None or position < self._whole_blocks):
            rows.pop()
            raise _left_over()
        if self._stream_error is not None:
            rows.pop()
            is_after_records = position <= self._whole_blocks
            fault = self._stream_fault(is_after_records=is_after_records)
            if is_left_over:
                fault.variants[UNBUFFERED] = _left_over()
            elif not is_after_records:
                fault.variants[UNBUFFERED] = self._stream_fault(is_after_records=True)
            raise fault

    def _fault(self, code: str, values: dict[str, Any], position: int, is_last: bool) -> CorruptData:
        """The fault of the record at this position, or of the stream it comes from."""
        if self._stream_error is not None and code in _WANTS_MORE:
            return self._stream_fault(is_after_records=False)
        fault = _fault_of_record(code, values, is_compressed=self.is_compressed, is_last=is_last)
        if code == "header-count-too-high":
            found = kernel.fault_of_headers(self._data, values["position"], values["limit"], values["count"])
            if values["count"] > _MAX_HEADERS:
                found = "decompression-limit", {"size": _REFERENCE_SIZE * values["count"]}
            fault.variants[UNCHECKED_HEADER_COUNT] = _fault_of_record(*found, is_compressed=self.is_compressed, is_last=is_last)
        if self._stream_error is not None and self._end_of_record(position) > self._whole_blocks:
            stream_fault = self._stream_fault(is_after_records=False)
            stream_fault.variants[UNBUFFERED] = fault
            return stream_fault
        return fault

    def _end_of_record(self, position: int) -> int:
        try:
            length, body = kernel.read_varint(self._data, position, len(self._data))
        except (IndexError, kernel.VarintTooLong):
            return position + 5
        return body + max(length, 0)

    def _stream_fault(self, is_after_records: bool) -> CorruptData:
        error = self._stream_error
        assert error is not None
        code = error.code + (_BEHIND_RECORDS if is_after_records else "")
        return CorruptData(code, error.message, **error.values)


def _fault_of_record(code: str, values: dict[str, Any], *, is_compressed: bool, is_last: bool) -> CorruptData:
    """What is wrong with a record, which may be the last of its batch, as the kernel says."""
    if code == kernel.HEADERS_NOT_HELD:
        message = f"a record has {values['count']:,} headers, which are too many to read"
        return CorruptData("decompression-limit", message, size=_REFERENCE_SIZE * values["count"])
    if code == "record-length-past-end" and not is_compressed and is_last and values["remaining"]:
        code = "last-record-length-past-end"
    if is_compressed and code == "record-length-past-end" and values["size"] > MAX_RECORD_SIZE:
        code = "decompression-limit"
    if is_compressed and code in _CODES_OF_COMPRESSED:
        code = _CODES_OF_COMPRESSED[code]
    return CorruptData(code, _MESSAGES[code].format(**values), **values)


def _left_over() -> CorruptData:
    return CorruptData("record-count-too-low", "bytes are left after the last record")


_CODES_OF_COMPRESSED = {
    "record-length-past-end": "compressed-record-length-past-end",
    "record-length-varint-too-long": "compressed-record-length-varint-too-long",
    "record-length-negative": "compressed-record-length-negative",
    "record-count-too-high": "compressed-record-count-too-high",
}

_MESSAGES = {
    "record-length-past-end": "a record says it is {size} bytes long, with {remaining} left in its batch",
    "last-record-length-past-end": "the last record says it is {size} bytes long, with {remaining} left in its batch",
    "compressed-record-length-past-end": "a record says it is {size} bytes long, with {remaining} left in its batch",
    "record-length-varint-too-long": "the length of a record does not end within 5 bytes",
    "compressed-record-length-varint-too-long": "the length of a record does not end within 5 bytes",
    "compressed-record-length-negative": "a record says it is {size} bytes long",
    "record-count-too-high": "the batch holds fewer records than its header says",
    "compressed-record-count-too-high": "the batch holds fewer records than its header says",
    "record-structure-invalid": "the fields of a record reach past its end",
    "record-body-mismatch": "a record says it is {size} bytes long, but its fields take {read}",
    "header-count-negative": "a record says it has {count} headers",
    "header-count-too-high": "a record says it has {count} headers, which is more than the bytes that are left",
    "header-key-past-end": "a header says its key is {size} bytes long, which is past the end",
    "decompression-limit": "a record says it is {size} bytes long, more than the limit",
    "header-key-null": "a header says its key is {size} bytes long",
}


def bytes_of(source: Source, chunk: Chunk, row: int) -> bytes:
    """All bytes of the batch in this row."""
    size = chunk.headers[row][LENGTH] + LOG_OVERHEAD
    if chunk.window:
        return chunk.window[chunk.starts[row] : chunk.starts[row] + size]
    if size > MAX_BATCH_SIZE:
        raise CorruptData("decompression-limit", f"a record batch of {size} bytes is too large to read its records")
    return source.read(chunk.batches["position"][row], size)


def _placed(error: CorruptData, source: Source, position: int) -> CorruptData:
    error.path, error.position = source.path, position
    return error


def _chunk_of(chunk: Chunk, first: int, counts: list[int], rows: list[RecordTuple]) -> RecordChunk:
    last = first + len(counts)
    return RecordChunk(chunk.batches.slice(first, last), counts, table_of_records(chunk.headers[first:last], counts, rows), False)


def table_of_records(headers: Sequence[tuple[int, ...]], counts: Sequence[int], rows: list[RecordTuple]) -> Table[Record]:
    """Records as a table: what they hold relative to their batches made absolute."""
    if rows:
        timestamp_deltas, offset_deltas, key_sizes, value_sizes, record_headers, keys, values = zip(*rows, strict=True)
    else:
        timestamp_deltas = offset_deltas = key_sizes = value_sizes = record_headers = keys = values = ()
    if len(headers) == 1:
        base_offset, base_timestamp = headers[0][BASE_OFFSET], headers[0][BASE_TIMESTAMP]
        offsets = [base_offset + delta for delta in offset_deltas]
        timestamps = [base_timestamp + delta for delta in timestamp_deltas]
    else:
        offsets = list(map(add, _spread([header[BASE_OFFSET] for header in headers], counts), offset_deltas))
        timestamps = list(map(add, _spread([header[BASE_TIMESTAMP] for header in headers], counts), timestamp_deltas))
    if any(header[ATTRIBUTES] & TIMESTAMP_TYPE_BIT for header in headers):
        append_times = [header[MAX_TIMESTAMP] if header[ATTRIBUTES] & TIMESTAMP_TYPE_BIT else None for header in headers]
        timestamps = [
            timestamp if append_time is None else append_time
            for timestamp, append_time in zip(timestamps, _spread(append_times, counts), strict=True)
        ]
    sequences = [NO_SEQUENCE] * len(rows)
    if any(header[BASE_SEQUENCE] >= 0 for header in headers):
        sequences = list(map(sequence_of_record, _spread([header[BASE_SEQUENCE] for header in headers], counts), offset_deltas))
    nothing = [None] * len(rows)
    return Table(
        Record,
        {
            "offset": _wrapped(offsets),
            "timestamp": _wrapped(timestamps),
            "key_size": mapped_sizes(key_sizes),
            "value_size": mapped_sizes(value_sizes),
            "sequence": sequences,
            "headers": record_headers,
            "key": keys,
            "value": values,
            "crc": nothing,
            "isvalid": nothing,
        },
    )


def _spread(values: Sequence[Value], counts: Sequence[int]) -> Iterable[Value]:
    """Each value as often as its count says."""
    return chain.from_iterable(map(repeat, values, counts))


def mapped_sizes(sizes: Sequence[int]) -> Sequence[int]:
    """Sizes of keys or values where every negative size means null, shown as -1."""
    return sizes if not sizes or min(sizes) >= -1 else [max(size, -1) for size in sizes]


def _wrapped(numbers: list[int]) -> list[int]:
    if numbers and (max(numbers) > 0x7FFFFFFFFFFFFFFF or min(numbers) < -0x8000000000000000):
        return [as_int64(number) for number in numbers]
    return numbers
