"""Facts about a log, which other files are compared with."""

from __future__ import annotations

from array import array

from kdump.checks.packed_ints import PackedInts
from kdump.reading.trust import SEGMENT_REACH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


_MAX_DAMAGED_RANGES = 1 << 16  # that are kept apart
_COPIED_ROWS = 1 << 16


class SegmentFacts:
    """Facts about all batches of a log that are not damaged, which other files and segments are compared with.

    `positions`, `first_offsets` and `last_offsets` have one row a batch (a message of magic 0 and 1 has one offset, also a
    wrapper); `lowest_offsets` are the first offsets of what is inside: those of wrappers, or the lowest that may be there.
    `max_timestamps` are those of their headers. `end` is the position after the last of them. `epochs` are leader epochs in
    order, and `epoch_starts` the first offset of each. `last_thinned` is about where the cleaner changed a batch last, None if
    nowhere. `true_last` is the last offset if the last batch has a wrong one.
    `damage_starts` and `damage_ends` bound what is damaged; of very many ranges the last reaches over all that follow.
    `is_plain` says that all batches are intact, regular, of magic 2, and neither control batches nor in transactions.
    """

    def __init__(self, path: str, base_offset: int | None, size: int) -> None:
        self.path = path
        self.base_offset = base_offset
        self.size = size
        self.end = 0
        self.positions = PackedInts()
        self.first_offsets = PackedInts()
        self.last_offsets = PackedInts()
        self._lowest_offsets: PackedInts | None = None  # from the first wrapper on
        self.max_timestamps = PackedInts()
        self.epochs = PackedInts()
        self.epoch_starts = PackedInts()
        self.last_thinned: int | None = None
        self.true_last: int | None = None
        self.is_damaged = False
        self.is_plain = True
        self.damage_starts = array("q")
        self.damage_ends = array("q")

    def record_damage(self, start: int, end: int) -> None:
        """Record a range of bytes that nothing can be compared with."""
        self.is_damaged = True
        if self.damage_ends and (start <= self.damage_ends[-1] or len(self.damage_ends) >= _MAX_DAMAGED_RANGES):
            self.damage_ends[-1] = end
        else:
            self.damage_starts.append(start)
            self.damage_ends.append(end)

    def lowest_offset_at(self, position: int, default: int) -> int:
        """The lowest offset that the batch at this position may have; `default` if no such batch is known."""
        row = self.positions.bisect_left(position)
        return self.lowest_offsets[row] if row < len(self.positions) and self.positions[row] == position else default

    def record_thinned(self, last_offset: int) -> None:
        """Record that the cleaner changed a batch that ends at this offset."""
        self.last_thinned = max(last_offset, self.last_thinned or 0)

    @property
    def has_wrappers(self) -> bool:
        """Whether messages are compressed together, so that offsets may be missing inside."""
        return self._lowest_offsets is not None

    @property
    def lowest_offsets(self) -> PackedInts:
        """The first offset of each batch and of each wrapper; where this is not known, the lowest that it may have."""
        return self.first_offsets if self._lowest_offsets is None else self._lowest_offsets

    def add_offsets(self, first_offsets: Sequence[int], last_offsets: Sequence[int], lowest: Sequence[int] | None = None) -> None:
        """Add the offsets of the next batches, by their headers; `lowest` where there are wrappers among them."""
        if lowest is not None and self._lowest_offsets is None:
            self._lowest_offsets = PackedInts()
            for start in range(0, len(self.first_offsets), _COPIED_ROWS):
                self._lowest_offsets.extend(self.first_offsets[start : start + _COPIED_ROWS])
        self.first_offsets.extend(first_offsets)
        self.last_offsets.extend(last_offsets)
        if self._lowest_offsets is not None:
            self._lowest_offsets.extend(first_offsets if lowest is None else lowest)

    @property
    def first_offset(self) -> int | None:
        """The first offset in the segment, None where it holds no batch."""
        return self.lowest_offsets[0] if self.lowest_offsets else None

    @property
    def last_offset(self) -> int | None:
        """The last offset in the segment, None where it holds no batch."""
        return self.last_offsets[-1] if self.last_offsets else None

    def plausible_offsets(self, next_base_offset: int | None) -> tuple[int, int]:
        """The first and the last offset of the segment; where its name, or that of the next one, rules one out, the next best.

        That is the base offset for the first, and that of a batch before for the last: no checksum covers offsets. There must be
        batches.
        """
        base = self.base_offset or 0
        reach = 1 << 63 if self.base_offset is None else base + SEGMENT_REACH
        possible = range(base, reach if next_base_offset is None else min(reach, next_base_offset))
        first, lasts = self.lowest_offsets[0], self.last_offsets
        last = self.true_last
        if last is None:
            last = next((lasts[row] for row in reversed(range(len(lasts))) if lasts[row] in possible), None)
        return (first, lasts[-1]) if last is None else (first if first in possible else base, last)
