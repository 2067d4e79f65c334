"""The time index (`.timeindex`): the largest timestamp of all records up to an offset."""

from __future__ import annotations

import sys
from array import array
from struct import Struct

from kdump.binary.arithmetic import as_int64
from kdump.formats import entries
from kdump.tables import Int64, Row, Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kdump.binary.source import Source

ENTRY = Struct(">qi")  # timestamp, relative offset
ENTRY_SIZE = ENTRY.size


class TimeIndexEntry(Row):
    """An entry: `timestamp` (milliseconds since 1970) is the largest of all records up to `offset`.

    Kafka: TimeIndex, since 0.10.1 (KIP-33).
    """

    timestamp: Int64
    offset: Int64


def read(source: Source, base_offset: int) -> Iterator[Table[TimeIndexEntry]]:
    """All whole entries, zero tail included; the offset of a zero entry is the base offset."""
    for window in entries.windows(source, ENTRY_SIZE):
        yield table_of(window, base_offset)


def table_of(data: bytes, base_offset: int) -> Table[TimeIndexEntry]:
    """Entries as a table, given the bytes of at least one."""
    timestamps, relative_offsets = columns_of(data)
    return Table(TimeIndexEntry, {"timestamp": timestamps, "offset": entries.absolute(base_offset, relative_offsets)})


def columns_of(data: bytes) -> tuple[list[int], list[int]]:
    """Timestamps and relative offsets of entries, given their bytes."""
    fields = array("i", data)
    halves = array("i", bytes(8 * (len(fields) // 3)))
    halves[0::2], halves[1::2], relative_offsets = fields[0::3], fields[1::3], fields[2::3]
    timestamps = array("q", halves.tobytes())
    if sys.byteorder == "little":
        timestamps.byteswap()
        relative_offsets.byteswap()
    return timestamps.tolist(), relative_offsets.tolist()


def entry_at(source: Source, base_offset: int, row: int) -> tuple[int, int]:
    """Timestamp and offset of the entry in this row."""
    timestamp, relative_offset = entries.at(source, ENTRY, row)
    return timestamp, as_int64(base_offset + relative_offset)


def entry_count(source: Source) -> int:
    """How many whole entries there are, zero tail included."""
    return source.size // ENTRY_SIZE


def packed(timestamps: Sequence[int], offsets: Sequence[int], base_offset: int) -> bytes:
    """The bytes of these entries.

    Raises CorruptData with the codes `offset-overflow-int32` and `offset-below-base` if an offset does not fit.
    """
    relative_offsets = entries.relative(base_offset, offsets)
    wide = array("q", timestamps)
    if sys.byteorder == "little":
        wide.byteswap()
        relative_offsets.byteswap()
    halves = array("i", wide.tobytes())
    fields = array("i", bytes(len(wide) * ENTRY_SIZE))
    fields[0::3], fields[1::3], fields[2::3] = halves[0::2], halves[1::2], relative_offsets
    return fields.tobytes()
