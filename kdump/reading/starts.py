"""Finds sound batches near the end of a log with its offset index."""

from __future__ import annotations

import os

from kdump.binary.source import Source
from kdump.errors import CorruptData, KdumpError
from kdump.formats import file_name, offset_index
from kdump.formats.entries import used_entries
from kdump.formats.log import Log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_WINDOW_SIZE = 16 << 10  # bytes that mostly hold the batch an index points to


def starts_from_the_end(log: Source) -> Iterator[int]:
    """Positions of sound batches from the index: of the last entry, of the 2nd, 4th and 8th from the end, and finally 0."""
    folder, name = os.path.split(log.path)
    try:
        base_offset = file_name.base_offset(name)
        with Source(os.path.join(folder, file_name.stem(name) + file_name.OFFSET_INDEX)) as index:
            count, after = used_entries(index, offset_index.ENTRY_SIZE), 1
            while after <= count:
                position = offset_index.entry_at(index, base_offset, count - after)[1]
                if position > 0 and first_offset_at(log, position) is not None:
                    yield position
                after *= 2
    except KdumpError:
        pass  # without an index, or with a broken one, the log is read from its start
    yield 0


def first_offset_at(log: Source, position: int) -> int | None:
    """The first offset of the sound batch here, or the last of old messages; None if there is no such batch."""
    return next(iter(offsets_at(log, position)), None)


def offsets_at(log: Source, position: int) -> Sequence[int]:
    """The first offsets of the next batches, or the last ones of old messages; none if no sound batch is here."""
    try:
        chunk = next(Log(log, position, window_size=_WINDOW_SIZE).chunks())
    except (CorruptData, StopIteration):
        return ()
    offsets: Sequence[int] = chunk.batches["last_offset" if chunk.is_legacy else "base_offset"]
    return offsets if chunk.batches["isvalid"][0] else ()
