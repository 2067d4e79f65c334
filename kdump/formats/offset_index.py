"""The offset index (`.index`): the position of a batch in the log, every `index.interval.bytes` or so."""

from __future__ import annotations

import sys
from array import array
from struct import Struct

from kdump.binary.arithmetic import as_int64
from kdump.formats import entries
from kdump.tables import Int32, Int64, Row, Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kdump.binary.source import Source

ENTRY = Struct(">ii")  # relative offset, position
ENTRY_SIZE = ENTRY.size


class OffsetIndexEntry(Row):
    """An entry: the batch that holds `offset` starts at byte `position` of the log, or before the next entry's.

    Kafka: OffsetIndex. Brokers up to 1.1 write the first offset of the batch at that position, later ones the last.
    """

    offset: Int64
    position: Int32


def read(source: Source, base_offset: int) -> Iterator[Table[OffsetIndexEntry]]:
    """All whole entries, zero tail included; the offset of a zero entry is the base offset."""
    for window in windows(source):
        yield table_of(window, base_offset)


def windows(source: Source) -> Iterator[bytes]:
    """The bytes of all whole entries, a window at a time."""
    return entries.windows(source, ENTRY_SIZE)


def table_of(data: bytes, base_offset: int) -> Table[OffsetIndexEntry]:
    """Entries as a table, given the bytes of at least one."""
    relative_offsets, positions = columns_of(data)
    return Table(OffsetIndexEntry, {"offset": entries.absolute(base_offset, relative_offsets), "position": positions})


def columns_of(data: bytes) -> tuple[array[int], array[int]]:
    """Relative offsets and positions of entries, given their bytes."""
    fields = array("i", data)
    if sys.byteorder == "little":
        fields.byteswap()
    return fields[0::2], fields[1::2]


def entry_at(source: Source, base_offset: int, row: int) -> tuple[int, int]:
    """Offset and position of the entry in this row."""
    relative_offset, position = entries.at(source, ENTRY, row)
    return as_int64(base_offset + relative_offset), position


def entry_count(source: Source) -> int:
    """How many whole entries there are, zero tail included."""
    return source.size // ENTRY_SIZE


def packed(offsets: Sequence[int], positions: Sequence[int], base_offset: int) -> bytes:
    """The bytes of these entries.

    Raises CorruptData with the codes `offset-overflow-int32` and `offset-below-base` if an offset does not fit.
    """
    fields = array("i", bytes(len(offsets) * ENTRY_SIZE))
    fields[0::2] = entries.relative(base_offset, offsets)
    fields[1::2] = array("i", positions)
    if sys.byteorder == "little":
        fields.byteswap()
    return fields.tobytes()
