"""What one walk through a log finds, for all who ask about its damage and about the batches that it hides."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from itertools import starmap
from typing import NamedTuple

from kdump.binary.arithmetic import as_int64
from kdump.binary.batch_header import (
    BASE_OFFSET,
    COMPRESSION_MASK,
    CRC,
    LAST_OFFSET_DELTA,
    LENGTH,
    LOG_OVERHEAD,
    MESSAGE_ATTRIBUTES,
    MESSAGE_CRC,
    RECORD_COUNT,
)
from kdump.reading.damaged_offsets import DamagedOffsets
from kdump.reading.items import DAMAGED, NOT_EXAMINED, Damage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kdump.formats.record_batch import RecordBatch
    from kdump.reading.damaged_offsets import DamagedRange
    from kdump.reading.items import Section

UNOPENED = -1
"""In place of a number of records: the messages in a wrapper, whose header has only the last of their offsets."""
STRETCH = -2
"""In place of a number of records: these bytes are sound batches one after the other, from `first_offset` or later on."""
UNEXAMINED = -3
"""In place of a number of records: the search for batches in these bytes was cut short."""

MOST_KEPT = 24 << 20
"""Bytes of memory for what is kept of the logs of one partition."""

_MOST_FOUND = 1 << 18  # in a log: 12 MiB
_RANGE_BYTES = 200  # of a damaged range in memory


class Found(NamedTuple):
    """An intact batch, by its position, its offsets, its records, size and CRC; or bytes that stand for no single batch."""

    position: int
    first_offset: int
    last_offset: int
    records: int
    size: int
    crc: int


_WIDTH = len(Found._fields)
_FIRST, _LAST, _SIZE = map(Found._fields.index, ("first_offset", "last_offset", "size"))


class WalkedLog:
    """The damage in one log, and where intact batches are. It takes each item of the walk, in order."""

    def __init__(self, base_offset: int) -> None:
        self._damaged = DamagedOffsets(base_offset)
        self._numbers = array("q")
        self._is_whole = True
        self._end_of_stretch = 0

    def take(self, item: Section | Damage) -> None:
        """Note the next item."""
        self._damaged.take(item)
        if not self._is_whole:
            return
        for found in found_in(item):
            if found.records == STRETCH and self._numbers and found.position == self._end_of_stretch:
                self._numbers[_SIZE - _WIDTH] += found.size
                self._numbers[_FIRST - _WIDTH] = min(self._numbers[_FIRST - _WIDTH], found.first_offset)
                self._numbers[_LAST - _WIDTH] = max(self._numbers[_LAST - _WIDTH], found.last_offset)
            else:
                self._numbers.extend(found)
            if found.records == STRETCH:
                self._end_of_stretch = found.position + found.size
        if len(self._numbers) > _MOST_FOUND * _WIDTH:
            self.forget()

    def forget(self) -> None:
        """Keep the damaged ranges only."""
        self._is_whole = False
        self._numbers = array("q")

    @property
    def size(self) -> int:
        """The bytes of memory that this takes, about."""
        return len(self._numbers) * self._numbers.itemsize + len(self._damaged) * _RANGE_BYTES

    @property
    def is_too_long(self) -> bool:
        """Whether there are more damaged ranges than a reader should keep."""
        return self._damaged.is_too_long

    def damage(self) -> list[DamagedRange]:
        """The damaged ranges in order, once the walk has ended."""
        return self._damaged.ranges()

    def found(self, start: int, end: int) -> Iterator[Found] | None:
        """What was found between two positions, in order; None if there was too much to keep."""
        if not self._is_whole:
            return None
        numbers = self._numbers
        positions = range(0, len(numbers), _WIDTH)
        first, last = (bisect_left(positions, position, key=numbers.__getitem__) for position in (start, end))
        first = max(0, first - 1)  # `start` may be inside of what stands before it
        rows = (numbers[at : at + _WIDTH] for at in positions[first:last])
        return (found for found in starmap(Found, rows) if found.position + found.size > start)


def found_in(item: Section | Damage, *, is_each: bool = False) -> Iterable[Found]:
    """What an item of a walk has; if `is_each`, each batch, also of a sound section."""
    if isinstance(item, Damage):
        return _found_in_damage(item)
    if item.summary is None or is_each:
        return _batches_in(item)
    summary = item.summary
    start = summary.positions[0]
    first = 0 if summary.is_legacy else summary.first_offset  # wrappers may begin before the offsets in their headers
    return [Found(start, first, summary.last_offset, STRETCH, summary.end - start, 0)]


def _found_in_damage(damage: Damage) -> Iterator[Found]:
    if damage.code == "codec-unknown":
        batch: RecordBatch = damage.row  # type: ignore[assignment]  # the walk of a log gives batches
        count = 1 if batch.count is None else max(batch.count, 0)
        yield Found(damage.start, batch.first_offset, batch.last_offset, count, batch.size, batch.crc)
    elif damage.status == NOT_EXAMINED:
        yield Found(damage.start, 0, 0, UNEXAMINED, damage.end - damage.start, 0)


def _batches_in(section: Section) -> Iterator[Found]:
    if section.status == DAMAGED or section.claimed_length is not None:
        return
    chunk = section.chunk
    for position, header in zip(chunk.batches["position"], chunk.headers, strict=True):
        first, size = header[BASE_OFFSET], header[LENGTH] + LOG_OVERHEAD
        if not chunk.is_legacy:
            last = as_int64(first + header[LAST_OFFSET_DELTA])
            yield Found(position, first, last, max(header[RECORD_COUNT], 0), size, header[CRC])
        else:
            count = UNOPENED if header[MESSAGE_ATTRIBUTES] & COMPRESSION_MASK else 1
            yield Found(position, first, first, count, size, header[MESSAGE_CRC])
