"""Batches of a log one by one, at any position: what each step of a walk past damage looks at."""

from __future__ import annotations

from bisect import bisect_left

from kdump.binary import kernel
from kdump.binary.arithmetic import as_int64
from kdump.binary.batch_header import (
    BASE_OFFSET,
    BATCH_HEADER_SIZE,
    HEADER_UP_TO_MAGIC,
    LAST_OFFSET_DELTA,
    LEADER_EPOCH,
    LENGTH,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_AT,
)
from kdump.binary.checksums import crc32c_for
from kdump.binary.codecs import CODECS
from kdump.errors import CorruptData
from kdump.formats import record_batch
from kdump.formats.log import Chunk, Log
from kdump.reading.search import evidence
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.binary.checksums import Checksum
    from kdump.binary.source import SizedReadable
    from kdump.formats.record_batch import RecordBatch
    from kdump.reading.search import Budget
    from kdump.reading.trust import Extent
    from kdump.reading.tuning import ReadTuning
    from kdump.tables import Table

KNOWN_MAGIC = 2  # the highest
_MAX_CODEC = len(CODECS) - 1
_NEGATIVE = 0x80  # magics from here on, as a byte without sign
_WINDOWS_KEPT = 2


class FoundBatch(Declared):
    """A batch or message by its header, at a position of the log. Its `data` is None if it is too large to be held."""

    header: tuple[int, ...]
    position: int
    size: int
    data: bytes | None
    is_legacy: bool
    is_valid: bool

    @property
    def end(self) -> int:
        """The position after it."""
        return self.position + self.size

    @property
    def has_known_magic(self) -> bool:
        """Whether brokers can read its magic."""
        return self.is_legacy or self.header[MAGIC] <= KNOWN_MAGIC

    @property
    def chunk(self) -> Chunk:
        """It alone, with its bytes if they are held."""
        table = _table_of(self.header, self.position, is_valid=self.is_valid, is_legacy=self.is_legacy)
        return Chunk(table, [self.header], [0], self.data or b"", self.is_legacy)

    @property
    def extent(self) -> Extent:
        """Its offsets and its leader epoch."""
        header = self.header
        first = header[BASE_OFFSET]
        if self.is_legacy:
            return first, first, None
        return first, as_int64(first + header[LAST_OFFSET_DELTA]), header[LEADER_EPOCH]


class FoundBatches:
    """Reads single batches of a log. Small ones are walked a window at a time, since neighbours are asked for next."""

    def __init__(self, source: SizedReadable, start: int, tuning: ReadTuning, budget: Budget) -> None:
        """Prepare for positions from `start` on. What large batches claim to hold is read within the `budget`."""
        self._source = source
        self._tuning = tuning
        self._budget = budget
        self._crc32c = crc32c_for(source.size - start)
        self._windows: list[_Window] = []
        self._ahead: dict[int, FoundBatch] = {}  # small ones by position, which were looked at for one before them

    def small_at(self, position: int) -> FoundBatch | None:
        """The batch at this position if it is whole, no larger than a window near by, and its header regular; else None."""
        for window in self._windows:
            found = window.at(position)
            if found is not None:
                return found
        window = _Window(position, self._source.read(position, self._tuning.near_bytes), self._crc32c)
        self._windows = [window, *self._windows[: _WINDOWS_KEPT - 1]]
        return window.at(position)

    def at(self, position: int) -> FoundBatch | None:
        """The batch at this position, of any size; None if it is not whole. Raises CorruptData as Log.chunks."""
        return self._ahead.get(position) or self.small_at(position) or self._irregular_at(position)

    def _irregular_at(self, position: int) -> FoundBatch | None:
        tuning = self._tuning
        log = Log(
            self._source,  # type: ignore[arg-type]  # a walk needs only path, size and read
            position,
            window_size=tuning.near_bytes,
            max_window_size=tuning.window_bytes,
            may_check=lambda size: self._may_check(position, size),
        )
        before = self._budget.crc_bytes
        for chunk in log.chunks():
            size, is_valid = chunk.batches["size"][0], chunk.batches["isvalid"][0]
            if is_valid:
                self._budget.crc_bytes = before
            return FoundBatch(chunk.headers[0], position, size, None, is_legacy=chunk.is_legacy, is_valid=is_valid)
        return None

    def _may_check(self, position: int, size: int) -> bool:
        """Whether the CRC of a large batch may be computed: if its end leads on, unless too many like it did not fit."""
        header_bytes = self._source.read(position, BATCH_HEADER_SIZE)
        return self._budget.spend(size, is_likely=evidence(self._source, position, header_bytes) > 1)

    def extents_from(self, position: int, most: int) -> list[Extent]:
        """The extents of the valid ones among the next batches, up to `most` that stand one after the other.

        A large one whose CRC does not fit is the last of them.
        """
        extents: list[Extent] = []
        ahead: dict[int, FoundBatch] = {}
        try:
            for _ in range(most):
                found = self.at(position)
                if found is None:
                    break
                if found.data is not None:
                    ahead[position] = found
                if found.is_valid and found.has_known_magic:
                    extents.append(found.extent)
                elif found.data is None:
                    break
                position = found.end
        except CorruptData:
            pass
        self._ahead = ahead
        return extents


class _Window:
    """The small batches that stand one after the other from a position on."""

    def __init__(self, position: int, window: bytes, crc32c: Checksum) -> None:
        self._position = position
        self._window = window
        self._is_legacy = False
        self._headers: Sequence[tuple[int, ...]] = ()
        self._starts: Sequence[int] = ()
        self._valid: Sequence[bool] = ()
        if len(window) < HEADER_UP_TO_MAGIC or window[MAGIC_AT] >= _NEGATIVE:
            return
        self._is_legacy = window[MAGIC_AT] < KNOWN_MAGIC
        if self._is_legacy:
            self._headers, self._starts, self._valid, _ = kernel.walk_messages(window, 0, 0, _MAX_CODEC)
        else:
            self._headers, self._starts, self._valid, _ = kernel.walk_batches(window, 0, _MAX_CODEC, crc32c)

    def at(self, position: int) -> FoundBatch | None:
        """The batch at a position; None if no batch starts there."""
        starts, start = self._starts, position - self._position
        row = bisect_left(starts, start)
        if row == len(starts) or starts[row] != start:
            return None
        header = self._headers[row]
        size = header[LENGTH] + LOG_OVERHEAD
        data = self._window[start : start + size]
        return FoundBatch(header, position, size, data, self._is_legacy, self._valid[row])


def _table_of(header: tuple[int, ...], position: int, *, is_valid: bool, is_legacy: bool) -> Table[RecordBatch]:
    if is_legacy:
        return record_batch.table_of_messages([header], [position], [is_valid])  # type: ignore[list-item]  # 6 fields
    return record_batch.table_of_batches([header], [position], [is_valid])  # type: ignore[list-item]  # 13 fields
