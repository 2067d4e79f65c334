"""Walks the records of a large batch window by window: its large keys and values stay where they are."""

from __future__ import annotations

from kdump.binary import kernel
from kdump.binary.batch_header import (
    ATTRIBUTES,
    BATCH_HEADER_SIZE,
    COMPRESSION_MASK,
    CONTROL_BIT,
    LENGTH,
    LOG_OVERHEAD,
    MAGIC,
    RECORD_COUNT,
)
from kdump.binary.codecs.streamed import StreamedPayload
from kdump.binary.file_bytes import MIN_SIZE, FileBytes
from kdump.binary.source import WINDOW_SIZE
from kdump.binary.varints import varint
from kdump.errors import CorruptData, MissingPackage
from kdump.formats.record import (
    MAX_BATCH_SIZE,
    MAX_RECORD_HEADERS,
    MAX_RECORD_SIZE,
    MAX_ROWS,
    RecordChunk,
    bytes_of,
    table_of_records,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.binary.kernel import RecordTuple
    from kdump.binary.source import Source
    from kdump.formats.log import Chunk

_MAX_HEAD = 24  # bytes of a record before its key: a length, attributes, two deltas and a size
_NULLS = varint(-1) * 2
_MIN_SIZE_IN_PAYLOAD = 4 << 20  # of what stays in a payload, which is decompressed from its start for each reading


def is_walkable(chunk: Chunk, row: int) -> bool:
    """Whether LargeBatch can walk the batch in this row: it is of magic 2, holds data, and is not too large to be read at all."""
    if chunk.is_legacy:
        return False
    header = chunk.headers[row]
    is_control = bool(header[ATTRIBUTES] & CONTROL_BIT)
    return not is_control and header[RECORD_COUNT] > 0 and BATCH_HEADER_SIZE < header[LENGTH] + LOG_OVERHEAD <= MAX_BATCH_SIZE


class LargeBatch:
    """The records of the batch in this row, of which `walked` came out so far.

    If the batch is irregular, `parts` ends early and `is_regular` is false then: a reader of the whole batch knows why, and finds
    the records from `walked` on. Large keys and values of records that do not fit into a window are FileBytes.
    """

    def __init__(self, source: Source, chunk: Chunk, row: int) -> None:
        self.walked = 0
        self.is_regular = True
        self._header = chunk.headers[row]
        self._batches = chunk.batches.slice(row, row + 1)
        self._source: Source | StreamedPayload = source
        self._min_size = MIN_SIZE  # of keys and values that stay where they are
        self._start: int = chunk.batches["position"][row] + BATCH_HEADER_SIZE
        self._end: int = chunk.batches["position"][row] + self._header[LENGTH] + LOG_OVERHEAD
        if self._header[ATTRIBUTES] & COMPRESSION_MASK:
            self._open_payload(source, chunk, row)

    def _open_payload(self, source: Source, chunk: Chunk, row: int) -> None:
        """Walk what is in the payload. As no record counts if one is damaged, all are walked once before the first comes out."""
        codec, magic = self._header[ATTRIBUTES] & COMPRESSION_MASK, self._header[MAGIC]
        try:
            payload = StreamedPayload(codec, bytes_of(source, chunk, row)[BATCH_HEADER_SIZE:], magic)
        except (CorruptData, MissingPackage):
            self.is_regular = False
            return
        self._source, self._start, self._end = payload, 0, payload.size
        self._min_size = _MIN_SIZE_IN_PAYLOAD
        for _ in self._rows():
            pass

    def parts(self) -> Iterator[RecordChunk]:
        """The records, a part of them at a time. Raises Unreadable."""
        if not self.is_regular:
            return
        for rows in self._rows():
            records = table_of_records([self._header], [len(rows)], rows)
            yield RecordChunk(self._batches, [len(rows)], records, self.walked > 0)
            self.walked += len(rows)

    def _rows(self) -> Iterator[list[RecordTuple]]:
        position, end = self._start, self._end
        left = self._header[RECORD_COUNT]
        while left:
            window = self._source.read_exactly(position, min(WINDOW_SIZE, end - position))
            at = 0
            while left:
                rows: list[RecordTuple] = []
                at, _, _ = kernel.walk_records(
                    window, at, len(window), min(left, MAX_ROWS), len(window), True, rows, True, None, MAX_RECORD_HEADERS
                )
                left -= len(rows)
                if not left and position + at != end:
                    self.is_regular = False  # bytes follow the last record, which then does not count
                    return
                if not rows:
                    break
                yield rows
            if not left:
                return
            if at:
                position += at
                continue
            large = self._large_record(position, end) if position + len(window) < end else None
            if large is None or (left == 1) != (large[1] == end):
                self.is_regular = False
                return
            row, position = large
            left -= 1
            yield [row]

    def _large_record(self, position: int, end: int) -> tuple[RecordTuple, int] | None:
        """The record here and where it ends; None if it is irregular, or has large headers."""
        try:
            head = self._head(position, end)
            size, body = kernel.read_varint(head, 0, len(head))
            record_end = position + body + size
            if record_end > end or size > MAX_RECORD_SIZE:
                return None
            _, at = kernel.read_varint(head, body + 1, len(head), 10)  # the delta of the timestamp
            _, key_size_at = kernel.read_varint(head, at, len(head))  # the delta of the offset
            key_size, key_at = kernel.read_varint(head, key_size_at, len(head))
            value_size_at = position + key_at + max(key_size, 0)
            head_of_value = self._head(value_size_at, record_end)
            value_size, after = kernel.read_varint(head_of_value, 0, len(head_of_value))
        except (IndexError, kernel.VarintTooLong):
            return None
        headers_at = value_size_at + after + max(value_size, 0)
        if not 0 < record_end - headers_at <= WINDOW_SIZE:
            return None
        # what is left without key and value is a small record
        rest = head[body:key_size_at] + _NULLS + self._source.read_exactly(headers_at, record_end - headers_at)
        small = varint(len(rest)) + rest
        rows: list[RecordTuple] = []
        walked, code, _ = kernel.walk_records(small, 0, len(small), 1, len(small), True, rows, True, None, MAX_RECORD_HEADERS)
        if code or walked != len(small):
            return None
        timestamp_delta, offset_delta, _, _, headers, _, _ = rows[0]
        key = self._bytes(position + key_at, key_size)
        value = self._bytes(value_size_at + after, value_size)
        row = timestamp_delta, offset_delta, key_size, value_size, headers, key, value
        return row, record_end  # type: ignore[return-value]  # FileBytes are what a reader of this module expects

    def _head(self, position: int, end: int) -> bytes:
        return self._source.read_exactly(position, max(0, min(_MAX_HEAD, end - position)))

    def _bytes(self, start: int, size: int) -> bytes | FileBytes | None:
        if size < 0:
            return None
        return FileBytes(self._source, start, size) if size >= self._min_size else self._source.read_exactly(start, size)
