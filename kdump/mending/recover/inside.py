"""Intact batches inside the bytes of a damaged batch: its payload, or what a misdirected write left there."""

from __future__ import annotations

from typing import NamedTuple

from kdump.binary.arithmetic import as_int64
from kdump.binary.batch_header import (
    BATCH_HEADER,
    BATCH_HEADER_SIZE,
    LAST_OFFSET_DELTA,
    MAGIC_AT,
    RECORD_COUNT,
    batch_offset,
    batch_size,
)
from kdump.reading.recent import RecentBytes
from kdump.reading.search import WHOLE, Budget, Search
from kdump.reading.tuning import DEFAULT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.binary.source import SizedReadable

_FREE_CRC_BYTES = 16 << 20


class InsideBatch(NamedTuple):
    """An intact batch inside a damaged one: its bytes in the log, its offsets, and how many records it says it has."""

    start: int
    end: int
    first: int
    last: int
    records: int


class InsideSearch:
    """Looks for intact batches inside the damaged batches of a log. `gave_up` says that some bytes were not searched."""

    def __init__(self, source: SizedReadable) -> None:
        self._bytes = _Start(RecentBytes(source, DEFAULT))
        self._search = Search(self._bytes, Budget(source.size + _FREE_CRC_BYTES, kept_for_likely=source.size), WHOLE)

    @property
    def gave_up(self) -> bool:
        return self._search.budget.gave_up

    def within(self, start: int, end: int) -> Iterator[InsideBatch]:
        """The intact batches from `start` on that end at `end` or before."""
        self._bytes.size = end
        position = self._search.next_intact(start)
        while position < end:
            header_bytes = self._bytes.read(position, BATCH_HEADER_SIZE)
            inside = _described(position, header_bytes)
            yield inside
            position = self._search.next_intact(inside.end)


def _described(position: int, header_bytes: bytes) -> InsideBatch:
    first, end = batch_offset(header_bytes), position + batch_size(header_bytes)
    if header_bytes[MAGIC_AT] < 2:
        return InsideBatch(position, end, first, first, 1)
    header = BATCH_HEADER.unpack(header_bytes)
    return InsideBatch(position, end, first, as_int64(first + header[LAST_OFFSET_DELTA]), max(header[RECORD_COUNT], 0))


class _Start:
    """A log up to a position."""

    def __init__(self, source: RecentBytes) -> None:
        self._source = source
        self.path = source.path
        self.size = source.size

    def read(self, position: int, count: int) -> bytes:
        return self._source.read(position, max(0, min(count, self.size - position)))
