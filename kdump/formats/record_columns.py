"""Records of batches of magic 2 as columns that the kernel fills, without an object for each record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from kdump.binary import codecs, columns_reference, kernel
from kdump.binary.batch_header import (
    ATTRIBUTES,
    BASE_OFFSET,
    BASE_SEQUENCE,
    BASE_TIMESTAMP,
    MAX_TIMESTAMP,
    RECORD_COUNT,
    TIMESTAMP_TYPE_BIT,
)
from kdump.binary.columns_reference import RECORD_COLUMNS
from kdump.formats.record import MAX_PAYLOAD_AT_ONCE, Record, RecordChunk, plain_records, read_batch
from kdump.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kdump.binary.columns_reference import BytesBuffers, HeadersBuffers, PlainBatch
    from kdump.binary.reference import Buffer, Headers
    from kdump.binary.source import Source
    from kdump.formats.log import Chunk

MAX_ROWS = 1 << 14
"""A table has at most about this many rows, or those of one batch."""

_MAX_BATCH_ROWS = 1 << 16  # a batch of more records is read in parts
_MAX_HELD_BYTES = 4 << 20  # of payloads, until their records are read
_MAX_HEADERS = 1 << 17  # of a batch whose records are held at once


def read(
    source: Source, chunk: Chunk, wanted: Iterable[str], decompressor: codecs.BatchDecompressor | None = None
) -> Iterator[RecordChunk]:
    """As `record.read`, but tables of regular batches have RecordColumns, of which those that are wanted are made at once."""
    if decompressor is None:
        decompressor = codecs.BatchDecompressor(MAX_PAYLOAD_AT_ONCE)
    names = [name for name in RECORD_COLUMNS if name in wanted]
    held: list[PlainBatch] = []
    rows = size = 0
    for row in range(len(chunk.headers)):
        batch = _plain_batch(chunk, row, decompressor)
        if batch is None or rows + chunk.headers[row][RECORD_COUNT] > MAX_ROWS:
            yield from _tables(source, chunk, row - len(held), held, names)
            held, rows, size = [], 0, 0
        if batch is None:
            yield from read_batch(source, chunk, row)
            continue
        held.append(batch)
        rows += chunk.headers[row][RECORD_COUNT]
        size += 0 if batch[0] is chunk.window else len(batch[0])
        if size >= _MAX_HELD_BYTES:
            yield from _tables(source, chunk, row + 1 - len(held), held, names)
            held, rows, size = [], 0, 0
    yield from _tables(source, chunk, len(chunk.headers) - len(held), held, names)


def _plain_batch(chunk: Chunk, row: int, decompressor: codecs.BatchDecompressor) -> PlainBatch | None:
    """The batch in this row, decompressed, or None if it is large, bad, or compressed in an unusual way."""
    plain = plain_records(chunk, row, _MAX_BATCH_ROWS, decompressor)
    if plain is None:
        return None
    header = chunk.headers[row]
    attributes = header[ATTRIBUTES]
    is_append_time = bool(attributes & TIMESTAMP_TYPE_BIT)
    timestamp = header[MAX_TIMESTAMP] if is_append_time else header[BASE_TIMESTAMP]
    return *plain, header[RECORD_COUNT], header[BASE_OFFSET], timestamp, is_append_time, header[BASE_SEQUENCE]


def _tables(source: Source, chunk: Chunk, first: int, held: Sequence[PlainBatch], names: Sequence[str]) -> Iterator[RecordChunk]:
    """The records of these batches, which are in the rows from `first` on; irregular ones as `record.read` has them."""
    while held:
        columns = RecordColumns(held, names)
        regular = len(columns.batches)
        if regular:
            counts = [header[RECORD_COUNT] for header in chunk.headers[first : first + regular]]
            yield RecordChunk(chunk.batches.slice(first, first + regular), counts, Table(Record, columns), False)
        if regular < len(held):
            yield from read_batch(source, chunk, first + regular)
        first, held = first + regular + 1, held[regular + 1 :]


class RecordColumns(Mapping[str, Sequence[Any]]):
    """The columns of a table of records in the layout of Arrow: `batches` are the regular ones at the start of those given.

    A column is made when it is asked for, unless it is one of `names`. `largest` is the size of the largest key or value.
    """

    def __init__(self, batches: Sequence[PlainBatch], names: Iterable[str]) -> None:
        self._buffers: dict[str, Any] = {}  # of several types, by column
        self.batches = batches
        self.largest = 0
        self.batches = batches[: self._make(names)]
        self._rows = sum([batch[3] for batch in self.batches])

    def _make(self, names: Iterable[str]) -> int:
        """Make these columns. Returns how many of the batches are regular."""
        numbers = [RECORD_COLUMNS.index(name) for name in names]
        make = columns_reference.record_columns if kernel.native is None else kernel.native.record_columns
        regular, self.largest, columns = make(self.batches, sum([1 << number for number in numbers]), _MAX_HEADERS)
        self._buffers.update({RECORD_COLUMNS[number]: columns[number] for number in numbers})
        return regular

    def buffers(self, name: str) -> Any:  # a buffer, or a tuple of several
        """The buffers of one of RECORD_COLUMNS."""
        if name not in self._buffers:
            self._make([name])
        return self._buffers[name]

    def __getitem__(self, name: str) -> Sequence[Any]:
        """A column as values, which are made as they are read."""
        if name in ("offset", "timestamp"):
            return memoryview(self.buffers(name)).cast("q")
        if name in ("key_size", "value_size", "sequence"):
            return memoryview(self.buffers(name)).cast("i")
        if name in ("key", "value"):
            return _BytesSequence(self.buffers(name), self._rows)
        if name == "headers":
            return self._headers
        if name in _NAMES:  # what only messages have
            return [None] * self._rows
        raise KeyError(name)

    @cached_property
    def _headers(self) -> list[Headers]:
        found: HeadersBuffers = self.buffers("headers")
        offsets, keys, values = memoryview(found[0]).cast("i"), found[1], found[2]
        pairs = list(zip(_BytesSequence(keys, offsets[-1]), _BytesSequence(values, offsets[-1]), strict=True))
        return [tuple(pairs[offsets[row] : offsets[row + 1]]) for row in range(self._rows)]

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


_NAMES = tuple(column.name for column in Record.schema)


class _BytesSequence(Sequence[Any]):
    """Keys or values, each of which is copied when it is read."""

    def __init__(self, buffers: BytesBuffers, rows: int) -> None:
        bitmap, offsets, self._data = buffers
        self._bitmap: Buffer | None = bitmap
        self._offsets = memoryview(offsets).cast("i")
        self._rows = rows

    def __len__(self) -> int:
        return self._rows

    @overload
    def __getitem__(self, row: int) -> bytes | None: ...
    @overload
    def __getitem__(self, row: slice) -> list[bytes | None]: ...
    def __getitem__(self, row: int | slice) -> bytes | list[bytes | None] | None:
        if isinstance(row, slice):
            return [self[at] for at in range(*row.indices(self._rows))]
        if not 0 <= row < self._rows:
            raise IndexError(row)
        if self._bitmap is not None and not self._bitmap[row >> 3] >> (row & 7) & 1:
            return None
        return bytes(self._data[self._offsets[row] : self._offsets[row + 1]])
