"""Reads batches that stand alone between damaged ranges, one after the other, as cheaply as can be."""

from __future__ import annotations

from kdump.binary import kernel
from kdump.binary.arithmetic import as_int64
from kdump.binary.batch_header import (
    BASE_OFFSET,
    HEADER_UP_TO_MAGIC,
    LAST_OFFSET_DELTA,
    LEADER_EPOCH,
    LENGTH,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAGIC_AT,
    MIN_RECORD_OVERHEAD,
)
from kdump.binary.checksums import crc32c_for
from kdump.binary.codecs import CODECS
from kdump.formats import record_batch
from kdump.formats.log import Chunk
from kdump.reading.items import SALVAGED, Damage, Damages, Patches, Section

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.binary.source import SizedReadable
    from kdump.reading.trust import Extent
    from kdump.reading.tuning import ReadTuning

LARGEST = 4 << 10
"""Bytes of a batch that stands alone, with the header after it."""

_MOST_BATCHES = 128
_MAX_CODEC = len(CODECS) - 1
_MAGIC = 2
_NEGATIVE = 0x80


class LoneBatch:
    """A batch that no small batch follows: its position, size and header, and bytes from there on.

    `claimed_size` is that of the large batch that the bytes after it claim to be; 0 if they cannot be one.
    """

    __slots__ = ("claimed_size", "header", "is_legacy", "position", "size", "window")

    def __init__(self, position: int, header: tuple[int, ...], window: bytes, claimed_size: int, *, is_legacy: bool) -> None:
        self.claimed_size = claimed_size
        self.position = position
        self.header = header
        self.size = header[LENGTH] + LOG_OVERHEAD
        self.window = window
        self.is_legacy = is_legacy

    @property
    def extent(self) -> Extent:
        """Its offsets and its leader epoch."""
        header = self.header
        first = header[BASE_OFFSET]
        if self.is_legacy:
            return first, first, None
        return first, as_int64(first + header[LAST_OFFSET_DELTA]), header[LEADER_EPOCH]

    def section(self, status: str, nested_end: int) -> Section:
        """The batch with its status."""
        chunk = chunk_of([self.header], [self.position], self.window, is_legacy=self.is_legacy)
        return Section(chunk, [status], nested_end)


class LoneBatches:
    """Recognizes batches of a log that stand alone."""

    def __init__(self, source: SizedReadable, start: int, tuning: ReadTuning) -> None:
        self._source = source
        self._size = min(LARGEST, 2 * tuning.near_bytes)
        self._smallest_claim = smallest_claim(tuning)
        self._crc32c = crc32c_for(source.size - start)

    def at(self, position: int) -> LoneBatch | None:
        """The batch at this position; None if it is not small and valid, or if a walk would go on after it."""
        window = self._source.read(position, self._size)
        if len(window) < HEADER_UP_TO_MAGIC:
            return None
        magic = window[MAGIC_AT]
        headers: list[tuple[int, ...]]
        if magic == _MAGIC:
            headers, _, valid, end = kernel.walk_batches(window, 0, _MAX_CODEC, self._crc32c)  # type: ignore[assignment]
        elif magic < _MAGIC:
            headers, _, valid, end = kernel.walk_messages(window, 0, 0, _MAX_CODEC)  # type: ignore[assignment]
        else:
            return None
        if len(headers) != 1 or not valid[0] or end + HEADER_UP_TO_MAGIC > len(window):
            return None
        length = int.from_bytes(window[end + LENGTH_AT : end + LOG_OVERHEAD], "big", signed=True)
        claimed_size = 0
        if MIN_RECORD_OVERHEAD <= length <= self._source.size - position - end - LOG_OVERHEAD:
            claimed_size = length + LOG_OVERHEAD
            if claimed_size <= self._smallest_claim or window[end + MAGIC_AT] >= _NEGATIVE:
                return None
        return LoneBatch(position, headers[0], window, claimed_size, is_legacy=magic < _MAGIC)


class PatchesUnderWay:
    """Salvaged batches that stand alone, and the damage after each, until a walk hands them over together."""

    __slots__ = ("_end", "_headers", "_pieces", "_positions", "counts", "damages", "first", "nested_end")

    def __init__(self, first: LoneBatch, nested_end: int) -> None:
        self.first = first
        self.nested_end = nested_end
        self._headers: list[tuple[int, ...]] = []
        self._positions: list[int] = []
        self._pieces: list[bytes] = []
        self._end = first.position
        self.damages: list[Damage] = []
        self.counts: list[int] = []
        self.add(first)

    def takes(self, batch: LoneBatch, status: str, nested_end: int) -> bool:
        """Whether this batch may come with those before it: the bytes up to it are known, and it is of their kind."""
        return (
            batch.position == self._end
            and status == SALVAGED
            and len(self._headers) < _MOST_BATCHES
            and batch.is_legacy == self.first.is_legacy
            and nested_end == self.nested_end
        )

    def add(self, batch: LoneBatch) -> None:
        """Add a batch."""
        self._headers.append(batch.header)
        self._positions.append(batch.position)
        self._pieces.append(batch.window)
        self._end = batch.position + batch.size

    def add_damage(self, damage: Damage) -> None:
        """Add a damaged range after the batches so far."""
        self.damages.append(damage)
        self.counts.append(len(self._headers))
        if damage.end - self._positions[-1] <= len(self._pieces[-1]):
            self._end = damage.end

    def patches(self) -> Patches:
        """All of them."""
        positions = self._positions
        ends = [*positions[1:], positions[-1] + len(self._pieces[-1])]
        window = b"".join(piece[: end - position] for piece, position, end in zip(self._pieces, positions, ends, strict=True))
        chunk = chunk_of(self._headers, positions, window, is_legacy=self.first.is_legacy)
        return Patches(Section(chunk, [SALVAGED] * len(positions), self.nested_end), Damages.of(self.damages), self.counts)


def smallest_claim(tuning: ReadTuning) -> int:
    """Bytes up to which a walk reads whatever claims to be a batch: more than any window that it reads first."""
    return 4 * tuning.near_bytes


def chunk_of(headers: list[tuple[int, ...]], positions: list[int], window: bytes, *, is_legacy: bool) -> Chunk:
    """Valid batches at these positions; the window starts with the first of them."""
    valid = [True] * len(positions)
    if is_legacy:
        table = record_batch.table_of_messages(headers, positions, valid)  # type: ignore[arg-type]  # 6 fields
    else:
        table = record_batch.table_of_batches(headers, positions, valid)  # type: ignore[arg-type]  # 13 fields
    return Chunk(table, headers, [position - positions[0] for position in positions], window, is_legacy)
