"""`kdump.Log`: the batches and records of a segment or partition, optionally past damage."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from kdump.binary.source import Source
from kdump.errors import CorruptData, UsageError
from kdump.formats import file_name, record_selection, records
from kdump.formats.ranges import Range
from kdump.formats.record_batch import RecordBatch
from kdump.library.arrow_stream import Tables
from kdump.library.decoded import RecordDecoders
from kdump.library.file import File
from kdump.library.rows import EPOCH, Damage, DecodedRecord, Record, SalvagedBatch, SalvagedRecord
from kdump.messages import control_records
from kdump.reading import batch_faults
from kdump.reading.items import Damage as DamagedRange
from kdump.reading.records import UnreadableBatch, past_bad_batches
from kdump.reading.salvage import DAMAGED, Section, walk
from kdump.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from kdump.formats.log import Chunk
    from kdump.formats.record import RecordChunk

RowOfRecord = TypeVar("RowOfRecord", bound=Record)

Time = int | datetime
"""Milliseconds since 1970, or a time with a zone."""

_OF_BATCH = [name for name in Record.__annotations__ if name in RecordBatch.column_names]
"""The columns of a record that are those of its batch."""


class Log(File[RecordBatch]):
    """A log, open for reading: one segment (`.log`), a KRaft snapshot (`.checkpoint`), or all segments of a partition.

    Iteration yields RecordBatch rows in file order; a row of magic 0 or 1 is a message or a wrapper message.
    It holds at most a few megabytes, however large the log is, plus the decompressed size of one batch.

    `segments` are the paths of the files, in the order of their base offsets. The segments of a partition are opened one
    after another, when they are needed. `base_offset` is the number in the name of the first one, or None.
    """

    def __init__(self, path: str, segments: Sequence[str], source: Source | None, size: int) -> None:
        super().__init__(path, source, size)
        self.segments = tuple(segments)

    @property
    def base_offset(self) -> int | None:
        """The base offset in the name of the first segment; None for a KRaft snapshot or a copy."""
        name = os.path.basename(self.segments[0])
        try:
            return None if file_name.CHECKPOINT in name else file_name.base_offset(name)
        except CorruptData:
            return None

    _row_class = RecordBatch

    def tables(self) -> Tables[RecordBatch]:
        """The same rows as tables of columns, at most some ten thousand rows in each; `table["last_offset"]` is a column.

        Raises CorruptData (with `code`, `path` and `position`) at the first damage, after all batches before it, and Unreadable
        if a file can no longer be read. Damage is a batch with a wrong checksum, bytes that are not a batch, zeros (as at the
        end of a preallocated segment), and a truncated batch at the end.
        """
        return Tables(RecordBatch, (chunk.batches for _, chunk in self._while_open(self._sound_chunks())))

    def records(
        self,
        *,
        from_offset: int | None = None,
        to_offset: int | None = None,
        from_time: Time | None = None,
        to_time: Time | None = None,
    ) -> Iterator[Record]:
        """The decompressed records of all batches, including control records, or of a range, both ends included.

        Times are milliseconds since 1970, or datetimes with a zone. Raises the same exceptions as `record_tables`.
        """
        return chain.from_iterable(
            self.record_tables(from_offset=from_offset, to_offset=to_offset, from_time=from_time, to_time=to_time)
        )

    def record_tables(
        self,
        *,
        from_offset: int | None = None,
        to_offset: int | None = None,
        from_time: Time | None = None,
        to_time: Time | None = None,
    ) -> Tables[Record]:
        """The same records as tables of columns, at most some ten thousand rows in each.

        Batches outside the range are checked for damage, but not decompressed.

        Raises the same exceptions as `tables`, and CorruptData, with the position of the batch, if its records cannot be read.
        Raises MissingPackage if the package of a codec is not installed, and UsageError for a time without a zone.
        """
        wanted = Range(from_offset, to_offset, _milliseconds(from_time), _milliseconds(to_time))
        found = self._wanted_records(wanted, lambda _path, part: [(0, _records(part))])
        return Tables(Record, self._while_open(found))

    def decoded_records(
        self,
        *,
        from_offset: int | None = None,
        to_offset: int | None = None,
        from_time: Time | None = None,
        to_time: Time | None = None,
        key_decoder: str = "",
        value_decoder: str = "",
        schemas: str | os.PathLike[str] | None = None,
        decoder_command: str | None = None,
    ) -> Iterator[DecodedRecord]:
        """The same records with keys and values decoded, as `decoded_record_tables` has them."""
        tables = self.decoded_record_tables(
            from_offset=from_offset,
            to_offset=to_offset,
            from_time=from_time,
            to_time=to_time,
            key_decoder=key_decoder,
            value_decoder=value_decoder,
            schemas=schemas,
            decoder_command=decoder_command,
        )
        return chain.from_iterable(tables)

    def decoded_record_tables(
        self,
        *,
        from_offset: int | None = None,
        to_offset: int | None = None,
        from_time: Time | None = None,
        to_time: Time | None = None,
        key_decoder: str = "",
        value_decoder: str = "",
        schemas: str | os.PathLike[str] | None = None,
        decoder_command: str | None = None,
    ) -> Tables[DecodedRecord]:
        """Tables of records with keys and values decoded: of internal topics by Kafka's schemas, of others by the `_schemas-0`
        beside the data, or as the decoders and `schemas` say, which are those of `kdump log`.

        What cannot be decoded is no exception: `decode_error` says why. Raises what `record_tables` raises, and UsageError for
        decoders and schemas that do not exist.
        """
        wanted = Range(from_offset, to_offset, _milliseconds(from_time), _milliseconds(to_time))
        decoders = RecordDecoders(key_decoder, value_decoder, None if schemas is None else os.fspath(schemas), decoder_command)
        decoders.require(self.segments)

        def tables() -> Iterator[Table[DecodedRecord]]:
            with decoders:
                yield from self._wanted_records(wanted, lambda path, part: decoders.decoded(path, part, _records(part)))

        return Tables(DecodedRecord, self._while_open(tables()))

    def salvage(self) -> Iterator[SalvagedBatch | Damage]:
        """All readable batches, past any damage, and a Damage for each unreadable byte range.

        Batches and damage cover a file from its first byte to its last without a gap. A batch with a wrong
        checksum is a Damage with that `batch`. Raises Unreadable if a file cannot be read, and no other exception.
        """
        for _, item in self._while_open(self._items()):
            if isinstance(item, Damage):
                yield item
            else:
                yield from _salvaged(item)

    def salvage_records(self) -> Iterator[SalvagedRecord | Damage]:
        """The records of all batches with correct checksums, past any damage, and all damage.

        Damage inside a batch with a correct checksum is a Damage with that `batch`, after its readable records; there may be
        several for old messages. Raises Unreadable if a file cannot be read, and MissingPackage if the package of a codec
        is not installed.
        """
        return self._while_open(self._salvaged_records())

    # Reading

    def _sources(self) -> Iterator[Source]:
        """The files, each open while it is read."""
        if self._source is not None:
            yield self._source
            return
        for path in self.segments:
            with Source(path) as source:
                yield source

    def _items(self) -> Iterator[tuple[Source, Section | Damage]]:
        """Sections of valid batches, and damage. A damaged batch is a Damage."""
        for source in self._sources():
            for item in walk(source):
                if isinstance(item, DamagedRange):
                    yield source, Damage(source.path, item.start, item.end, item.code, item.message, item.status, None)
                elif item.status == DAMAGED:
                    yield source, _damaged_batch(item.chunk, source.path)
                else:
                    yield source, item

    def _sound_chunks(self) -> Iterator[tuple[Source, Chunk]]:
        """Valid batches up to the first damage. Raises CorruptData."""
        for source, item in self._items():
            if isinstance(item, Damage):
                raise item.error()
            if item.claimed_length is not None:
                raise _wrong_length(item, item.claimed_length, source.path)
            yield source, item.chunk

    def _wanted_records(
        self, wanted: Range, tables_of: Callable[[str, RecordChunk], Iterable[tuple[int, Table[RowOfRecord]]]]
    ) -> Iterator[Table[RowOfRecord]]:
        """The tables that `tables_of` makes of the records of a file, each with its first row's number; rows of the range."""
        for source, chunk in self._sound_chunks():
            part_of_chunk = _in_range(chunk, wanted)
            if part_of_chunk is None:
                continue
            for part in records.read(source, part_of_chunk):
                faults = _message_faults(part, source.path)
                end = min(faults, default=len(part.records))
                for first, table in tables_of(source.path, part):
                    found = _rows_in_range(table.slice(0, min(max(end - first, 0), len(table))), wanted)
                    if len(found):
                        yield found
                if faults:
                    raise faults[end].error()

    def _salvaged_records(self) -> Iterator[SalvagedRecord | Damage]:
        for source, item in self._items():
            if isinstance(item, Damage):
                yield item
                continue
            batches = item.chunk.batches
            for part in past_bad_batches(source, item.chunk):
                if isinstance(part, UnreadableBatch):
                    yield _damage_inside(batches.row(part.row), part.fault.code, part.fault.message, source.path)
                else:
                    yield from _salvaged_part(part, item, source.path)


# --- Batches


def _damaged_batch(chunk: Chunk, path: str) -> Damage:
    fault = batch_faults.of_batch(chunk.batches, 0)
    return _damage_inside(chunk.batches.row(0), fault.code, fault.message, path)


def _wrong_length(section: Section, claimed_length: int, path: str) -> CorruptData:
    fault = batch_faults.of_length(section.chunk.batches, 0, claimed_length)
    fault.path = path
    return fault


def _salvaged(section: Section) -> Table[SalvagedBatch]:
    batches = section.chunk.batches
    columns = {
        **batches.columns,
        "status": [section.status] * len(batches),
        "is_nested": [section.is_nested] * len(batches),
        "claimed_length": [section.claimed_length] * len(batches),
    }
    return Table(SalvagedBatch, columns)


# --- Records


def _records(part: RecordChunk) -> Table[Record]:
    """Records with the fields of their batches."""
    columns: dict[str, Sequence[Any]] = dict(part.records.columns)  # of any type
    columns["key"], columns["value"] = _plain(columns["key"]), _plain(columns["value"])
    for name in _OF_BATCH:
        columns[name] = part.spread(part.batches[name])
    if part.magics:
        columns["magic"] = part.magics
    columns["control_type"] = [
        _control_type(key) if is_control else None for key, is_control in zip(columns["key"], columns["is_control"], strict=True)
    ]
    return Table(Record, columns)


def _plain(column: Sequence[bytes | bytearray | None]) -> Sequence[bytes | None]:
    """Immutable bytes, whichever kernel returned them."""
    return [bytes(data) if isinstance(data, bytearray) else data for data in column]


def _control_type(key: bytes | None) -> str | None:
    """The name of a control record's type, or its number if it has no name; None if the key is invalid."""
    if key is None or len(key) < 4:
        return None
    number = int.from_bytes(key[2:4], "big", signed=True)
    return control_records.NAMES[number] if 0 <= number < len(control_records.NAMES) else str(number)


def _message_faults(part: RecordChunk, path: str) -> dict[int, Damage]:
    """The faults of single messages, by row."""
    found = batch_faults.of_messages(part)
    owners = record_selection.owners(part) if found else ()
    return {row: _damage_inside(part.batches.row(owners[row]), fault.code, fault.message, path) for row, fault in found.items()}


def _damage_inside(batch: RecordBatch, code: str, message: str, path: str) -> Damage:
    return Damage(path, batch.position, batch.position + batch.size, code, message, DAMAGED, batch)


def _salvaged_part(part: RecordChunk, section: Section, path: str) -> Iterator[SalvagedRecord | Damage]:
    table, faults = _records(part), _message_faults(part, path)
    columns = {
        **table.columns,
        "status": [section.status] * len(table),
        "is_nested": [section.is_nested] * len(table),
    }
    for row, record in enumerate(Table(SalvagedRecord, columns)):
        yield faults.get(row, record)


def _in_range(chunk: Chunk, wanted: Range) -> Chunk | None:
    """The first to the last batch that may contain an offset of the range, according to their headers."""
    if wanted.is_open:
        return chunk
    rows = [row for row in range(len(chunk)) if wanted.may_hold(chunk, row)]
    return chunk.slice(rows[0], rows[-1] + 1) if rows else None


def _rows_in_range(table: Table[RowOfRecord], wanted: Range) -> Table[RowOfRecord]:
    if wanted.is_open:
        return table
    moments = zip(table["offset"], table["timestamp"], strict=True)
    return table.picked([row for row, (offset, timestamp) in enumerate(moments) if wanted.holds(offset, timestamp)])


def _milliseconds(time: Time | None) -> int | None:
    """A time in milliseconds since 1970. Raises UsageError for a datetime without a zone."""
    if time is None or isinstance(time, int):
        return time
    if time.tzinfo is None:
        raise UsageError(f"{time} has no zone, so nobody knows when that is", remedy="give it one, such as datetime.UTC")
    return (time - EPOCH) // timedelta(milliseconds=1)
