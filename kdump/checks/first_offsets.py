"""Finds the first offsets of wrappers, compressed messages of magic 0 and 1: their headers say the last offset only."""

from __future__ import annotations

from operator import lt

from kdump.binary.batch_header import LOG_OVERHEAD, MESSAGE_OFFSET, batch_offset
from kdump.binary.codecs import CODECS, NONE
from kdump.checks.record_reader import Budget, RecordReader
from kdump.errors import CorruptData, MissingPackage
from kdump.formats import message_set
from kdump.formats.record import MAX_BATCH_SIZE
from kdump.reading import salvage
from kdump.reading.items import Section

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.checks.context import FileContext
    from kdump.formats.summary import BatchSummary
    from kdump.reading.items import Damage

_UNCOMPRESSED = 1  # as the codecs of a summary
_MAX_OPENED = 1000  # wrappers, where records are not read
_MAX_PAYLOAD = 1 << 20  # bytes, likewise, of each
_MAX_MESSAGES = 1 << 16  # likewise


class FirstOffsets:
    """Adds the lowest offset of each wrapper to the sections of a walk.

    Where records are read, each wrapper is opened. Where they are not, only those are that are out of line or follow no intact
    batch of lower offsets, at the start of a log and past damage; any other is taken to begin after the batch before it, as all
    do in a log that was not compacted, so that no gap is claimed that nobody has seen.
    """

    def __init__(self, context: FileContext, reader: RecordReader) -> None:
        self._source = context.source
        self._reader = reader
        self._base_offset = context.base_offset if context.file_type == "log" else None
        self._last: int | None = None  # the last offset of the batch before, if that is intact
        self._is_at_start = self._base_offset is not None
        self._left = _MAX_OPENED
        max_payload = context.settings.max_payload if reader.reads_all else min(context.settings.max_payload, _MAX_PAYLOAD)
        self._budget = Budget(max_payload)

    def find(self, item: Section | Damage) -> None:
        """Add the lowest offsets to the sections of an item of the walk that have wrappers."""
        if isinstance(item, Section):
            self._find(item)
        else:
            self._last = None
        self._is_at_start = False

    def _find(self, section: Section) -> None:
        summary = section.summary
        if _has_wrappers(section):
            known = self._reader.pass_ahead(section) if summary is not None else []
            if len(known) == len(section.chunk):
                lowest = self._completed(known, summary.last_offsets if summary is not None else ())
            elif summary is not None and not summary.codecs & _UNCOMPRESSED and not self._reader.reads_all:
                lowest = self._after_each_other(summary)
            else:
                lowest = self._lowest(section, known)
            section.lowest_offsets = lowest
            if summary is not None:
                lasts = summary.last_offsets
                firsts = [last if first is None else first for first, last in zip(lowest, lasts, strict=True)]
                is_ascending = all(map(lt, lasts, firsts[1:]))
                section.summary = summary.with_first_offsets(firsts) if is_ascending else None
        if summary is not None:
            self._last = summary.last_offset
        else:
            self._last = section.chunk.batches["last_offset"][-1] if section.is_intact else None

    def _after_each_other(self, summary: BatchSummary) -> Sequence[int | None]:
        """The lowest offsets of intact wrappers of which none but the first is opened."""
        positions, lasts = summary.positions, summary.last_offsets
        if self._is_next(lasts[0]):
            first = self._placed(None, lasts[0])
        else:
            end = positions[1] if len(positions) > 1 else summary.end
            first = self._placed(self._opened(positions[0], end - positions[0]), lasts[0])
        return [first, *map((1).__add__, lasts[:-1])]

    def _completed(self, known: Sequence[int], lasts: Sequence[int]) -> Sequence[int | None]:
        """The lowest offsets of batches with these last ones, by those that are known, -1 where one is not."""
        floor = (self._base_offset or 0) if self._last is None else self._last + 1
        if min(known) >= 0 and known[0] >= floor and all(map(lt, lasts, known[1:])):
            return known
        lowest: list[int | None] = []
        for first, last in zip(known, lasts, strict=True):
            lowest.append(self._placed(first if first >= 0 else None, last))
            self._last = last
        return lowest

    def _lowest(self, section: Section, known: Sequence[int]) -> Sequence[int | None]:
        """The lowest offset of each batch of a section, of which the first ones are `known`."""
        chunk, status = section.chunk, section.status
        headers, codecs = chunk.headers, chunk.batches["compresscodec"]
        positions, sizes = chunk.batches["position"], chunk.batches["size"]
        lowest: list[int | None] = []
        for row, header in enumerate(headers):
            last = header[MESSAGE_OFFSET]
            if row < len(known):
                lowest.append(self._placed(known[row] if known[row] >= 0 else None, last))
            elif codecs[row] == CODECS[NONE] or status == salvage.DAMAGED:
                lowest.append(last)
            elif self._is_next(last) and status == salvage.INTACT and not self._reader.reads_all:
                lowest.append(self._placed(None, last))
            else:
                lowest.append(self._placed(self._opened(positions[row], sizes[row]), last))
            self._last = last if status == salvage.INTACT else None
        return lowest

    def _is_next(self, last: int) -> bool:
        """Whether a wrapper with this last offset may follow what comes before it."""
        return self._last is not None and self._last < last

    def _placed(self, first: int | None, last: int) -> int | None:
        """The lowest offset of a wrapper with this first offset, if that is known, and this last one.

        The first wrapper of a segment may begin before its base: a follower cuts its log inside of one, and gets all of it again.
        """
        floor = self._last + 1 if self._last is not None else self._base_offset or 0
        is_at_start, self._is_at_start = self._is_at_start, False
        if first is None:
            return floor if self._is_next(last) or is_at_start and floor <= last else None
        return max(first, floor) if floor <= last and self._last is None else first

    def _opened(self, position: int, size: int) -> int | None:
        """The first offset in the wrapper of this size at this position; None where nothing says it, or it cannot be opened."""
        reads_all = self._reader.reads_all
        if not self._left or size > (MAX_BATCH_SIZE if reads_all else _MAX_PAYLOAD):
            return None
        self._left -= not reads_all
        limits = message_set.Limits(self._budget.limit(size), _MAX_MESSAGES)
        try:
            data = self._source.read_exactly(position, size)
            unwrapped = message_set.unwrap(message_set.Message(batch_offset(data), data[LOG_OVERHEAD:]), limits)
            self._budget.spend(size, unwrapped.size, messages=unwrapped.count)
            return unwrapped.lowest_offset()
        except MissingPackage:
            return None
        except CorruptData as fault:
            if fault.code.endswith("decompression-limit"):
                self._budget.spend(size, limits.max_payload)
            return None


def _has_wrappers(section: Section) -> bool:
    """Whether there are compressed messages of magic 0 or 1 in a section."""
    chunk = section.chunk
    if not chunk.is_legacy:
        return False
    if section.summary is not None:
        return section.summary.codecs != _UNCOMPRESSED
    codecs = chunk.batches["compresscodec"]
    return codecs.count(CODECS[NONE]) < len(codecs)
