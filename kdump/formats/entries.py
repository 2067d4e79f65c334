"""Files of fixed entries, one behind the other, without header or checksum: what the index formats share."""

from __future__ import annotations

from kdump.binary.source import WINDOW_SIZE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from struct import Struct
    from typing import Any

    from kdump.binary.source import Source


def read(source: Source, layout: Struct) -> Iterator[list[tuple[Any, ...]]]:
    """All whole entries as they are unpacked, a window at a time."""
    position = 0
    window_size = WINDOW_SIZE - WINDOW_SIZE % layout.size
    while position + layout.size <= source.size:
        window = source.read(position, window_size)
        size = len(window) - len(window) % layout.size
        if not size:
            return  # the file was cut off meanwhile
        yield list(layout.iter_unpack(memoryview(window)[:size]))
        position += size


def at(source: Source, layout: Struct, row: int) -> tuple[Any, ...]:
    """The entry in this row."""
    return layout.unpack(source.read_exactly(row * layout.size, layout.size))
