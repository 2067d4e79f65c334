"""The offsets that cannot be read because of damage, noted while a log is walked."""

from __future__ import annotations

from kdump.binary.codecs import CODECS, NONE
from kdump.reading.items import DAMAGED, INTACT, Damage, Patches
from kdump.reading.trust import SEGMENT_REACH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.reading.items import Section

FOREVER = 0x7FFFFFFFFFFFFFFF
"""The next offset where no intact batch follows."""

_MAX_KEPT = 50_000  # ranges of a log: some 10 MiB


class DamagedRange:
    """A byte range of a log, `end` exclusive: a damaged batch, or bytes that are not a batch.

    `offset` is the first offset that cannot be read because of it, `next_offset` the first one of the next intact batch.
    `log` is the path of the log, where there are several.
    """

    __slots__ = ("end", "is_batch", "log", "next_offset", "offset", "start")

    def __init__(self, start: int, end: int, is_batch: bool, offset: int, next_offset: int = FOREVER) -> None:
        self.start = start
        self.end = end
        self.is_batch = is_batch
        self.offset = offset
        self.next_offset = next_offset
        self.log = ""


class DamagedOffsets:
    """The damaged ranges of one log, in order. It takes each item of its walk, at least from the last before damage on."""

    def __init__(self, base_offset: int) -> None:
        self._base_offset = self._expected = base_offset
        self._after_damaged = base_offset  # the offset after what has come, if the header of a damaged wrapper is right
        self._is_after_message = False  # of magic 0 or 1: the header of a wrapper has the last of its offsets
        self._is_after_wrapper = False
        self._ranges: list[DamagedRange] = []

    def __len__(self) -> int:
        return len(self._ranges)

    @property
    def is_too_long(self) -> bool:
        """Whether there are more ranges than a reader should keep."""
        return len(self._ranges) > _MAX_KEPT

    def take(self, item: Section | Damage | Patches) -> None:
        """Note the next item of the walk."""
        if isinstance(item, Patches):
            self._take_patches(item)
            return
        if isinstance(item, Damage):
            self._note_damage(item)
            return
        if item.summary is not None:
            self._end_ranges(item.summary.first_offset)
            self._expect(item.summary.last_offset + 1)
            self._is_after_message = item.chunk.is_legacy
            self._is_after_wrapper = item.chunk.is_legacy and item.summary.codecs != 1 << NONE
            return
        self._take_rows(item, range(len(item.statuses)))

    def _take_patches(self, patches: Patches) -> None:
        for rows, damage in patches.steps():
            self._take_rows(patches.section, rows)
            if damage is not None:
                self._note_damage(damage)

    def _take_rows(self, section: Section, rows: range) -> None:
        batches, statuses = section.chunk.batches, section.statuses
        last_offsets = batches["last_offset"]
        is_legacy = section.chunk.is_legacy
        first_offsets = last_offsets if is_legacy else batches["base_offset"]
        for row in rows:
            if statuses[row] == DAMAGED or row in section.claimed_lengths:
                start, first = batches["position"][row], first_offsets[row]
                # the header of a wrapper has the last of its offsets; that it is not compressed may be wrong
                if is_legacy and (self._is_after_wrapper or batches["compresscodec"][row] != CODECS[NONE]):
                    first, self._after_damaged = self._after_damaged, first + 1
                self._note(start, start + batches["size"][row], True, first)
            elif statuses[row] == INTACT or first_offsets[row] >= self._expected:  # others are out of line
                self._end_ranges(first_offsets[row])
                self._expect(last_offsets[row] + 1)
                self._is_after_message = is_legacy
                self._is_after_wrapper = is_legacy and batches["compresscodec"][row] != CODECS[NONE]

    def ranges(self) -> list[DamagedRange]:
        """All ranges, once the walk has ended."""
        expected, last_possible = self._expected, self._base_offset + SEGMENT_REACH
        for damaged in self._ranges:
            if damaged.next_offset == FOREVER and not expected <= damaged.offset < last_possible:
                damaged.offset = expected
        return self._ranges

    def _expect(self, offset: int) -> None:
        self._expected = self._after_damaged = offset

    def _note_damage(self, damage: Damage) -> None:
        claimed = None if self._is_after_message else damage.claimed_offset
        self._note(damage.start, damage.end, damage.is_batch, claimed)

    def _note(self, start: int, end: int, is_batch: bool, claimed: int | None) -> None:
        self._ranges.append(DamagedRange(start, end, is_batch, self._expected if claimed is None else claimed))

    def _end_ranges(self, offset: int) -> None:
        """The offsets that damaged batches claim are trusted if they lie between those of their neighbours."""
        for damaged in reversed(self._ranges):
            if damaged.next_offset != FOREVER:
                break
            damaged.next_offset = offset
            if not self._expected <= damaged.offset < offset:
                damaged.offset = self._expected
