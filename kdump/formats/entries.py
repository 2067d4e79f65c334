"""Files of fixed entries, one after the other, without header or checksum: what the index formats share."""

from __future__ import annotations

from array import array

from kdump.binary import zeros
from kdump.binary.arithmetic import as_int64
from kdump.binary.source import WINDOW_SIZE
from kdump.errors import CorruptData

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from struct import Struct
    from typing import Any

    from kdump.binary.source import Source

_MAX_RELATIVE = 0x7FFFFFFF


def windows(source: Source, entry_size: int) -> Iterator[bytes]:
    """The bytes of all whole entries, a window at a time."""
    position = 0
    window_size = WINDOW_SIZE - WINDOW_SIZE % entry_size
    while position + entry_size <= source.size:
        window = source.read(position, window_size)
        size = len(window) - len(window) % entry_size
        if not size:
            return  # the file was cut off meanwhile
        yield window[:size]
        position += size


def absolute(base_offset: int, offsets: Sequence[int]) -> list[int]:
    """Absolute offsets from 32-bit offsets relative to the base offset."""
    if -(1 << 62) < base_offset < 1 << 62:
        return [base_offset + offset for offset in offsets]
    return [as_int64(base_offset + offset) for offset in offsets]


def relative(base_offset: int, offsets: Sequence[int]) -> array[int]:
    """Offsets relative to the base offset, as entries store them.

    Raises CorruptData where one does not fit: `offset-overflow-int32`, where a broker would split the segment, or
    `offset-below-base`.
    """
    if offsets and min(offsets) < base_offset:
        offset = min(offsets)
        raise CorruptData("offset-below-base", f"offset {offset:,} is below the base offset {base_offset:,}", offset=offset)
    if offsets and max(offsets) - base_offset > _MAX_RELATIVE:
        offset = max(offsets)
        message = f"offset {offset:,} is more than {_MAX_RELATIVE:,} above the base offset {base_offset:,}"
        raise CorruptData("offset-overflow-int32", message, offset=offset)
    return array("i", [offset - base_offset for offset in offsets])


def at(source: Source, layout: Struct, row: int) -> tuple[Any, ...]:
    """The entry in this row."""
    return layout.unpack(source.read_exactly(row * layout.size, layout.size))


def used_entries(index: Source, entry_size: int) -> int:
    """How many entries there are before the zero tail."""
    return -(-zeros.start_of_run(index, 0, index.size - index.size % entry_size) // entry_size)
