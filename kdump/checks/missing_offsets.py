"""Finds which offsets are missing because of damaged bytes of a log: those between the batches that are not damaged."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.checks.segment_facts import SegmentFacts

    Offsets = tuple[int, int]
    """The first and the last of a range."""

_MOST_MISSING = 1 << 31  # in one place: a segment reaches no farther
_MAX_OFFSETS_PER_BYTE = 100  # that damaged bytes may hold: records that are well compressed, or cleaned away
_HIGHEST = (1 << 63) - 1


class MissingOffsets:
    """The offsets of one log that no batch has, once the log was read.

    What stands in the wrong place of the file, such as a stale page, has its offsets all the same. `next_base_offset` is that
    of the next segment, None if it is not known.
    """

    def __init__(self, facts: SegmentFacts, next_base_offset: int | None) -> None:
        self._facts = facts
        self._next = next_base_offset
        firsts, lasts = facts.lowest_offsets, facts.last_offsets
        self._firsts: Sequence[int] = firsts  # type: ignore[assignment]  # all that bisect needs
        self._lasts: Sequence[int] = lasts  # type: ignore[assignment]
        if any(first <= last for first, last in zip(islice(firsts, 1, None), lasts)):  # noqa: B905  # one is shorter
            self._firsts, self._lasts = _merged(sorted(zip(firsts, lasts, strict=True)))
        self._found: set[Offsets] = set()

    def of(self, start: int, end: int, claimed: Offsets | None, *, is_one_batch: bool) -> tuple[Offsets | None, bool]:
        """The offsets that are missing because of a damaged range of bytes, and whether they are those that it claims.

        None if no more are missing than were said before, or if it is not known.

        Those that its header claims are believed if no batch has them and they lie next to the batches around the range.
        `is_one_batch` says that the range is a single batch, so that it may have less than all that are missing.
        """
        facts = self._facts
        row = bisect_left(facts.positions, start)
        base = facts.base_offset
        before = facts.last_offsets[row - 1] if row else None if base is None else base - 1
        after = facts.lowest_offsets[row] if row < len(facts.positions) else self._next
        is_last = row == len(facts.positions)
        gaps = [] if before is None else [self._from(before + 1, is_last=is_last)]
        gaps += [] if after is None else [self._up_to(after - 1)]
        if claimed is not None and not 0 <= claimed[0] <= claimed[1]:
            claimed = None
        bounded = [gap for gap in gaps if gap is not None and gap[1] < _HIGHEST]
        is_believed = claimed is not None and any(
            gap is not None and gap[0] <= claimed[0] and claimed[1] <= gap[1] for gap in gaps
        )
        if is_believed and claimed is not None and not any(gap[0] <= claimed[0] <= gap[1] for gap in bounded):
            is_believed = claimed[1] - claimed[0] < (end - start) * _MAX_OFFSETS_PER_BYTE  # nothing else bounds it
        if is_believed and is_one_batch:
            return claimed, True
        for gap in bounded:
            if gap not in self._found and gap[1] - gap[0] < _MOST_MISSING:
                self._found.add(gap)
                return gap, False
        return (claimed, True) if is_believed else (None, False)

    def _from(self, offset: int, *, is_last: bool) -> Offsets | None:
        """The missing offsets from this one on; None if no batch has a higher one, except at the end of the file."""
        at = bisect_right(self._firsts, offset)
        if at and self._lasts[at - 1] >= offset:
            return None
        last = self._firsts[at] - 1 if at < len(self._firsts) else _HIGHEST
        if self._next is not None and offset < self._next:
            last = min(last, self._next - 1)
        return (offset, last) if offset <= last and (is_last or last < _HIGHEST) else None

    def _up_to(self, offset: int) -> Offsets | None:
        """The missing offsets up to this one."""
        at = bisect_right(self._firsts, offset)
        if at and self._lasts[at - 1] >= offset:
            return None
        first = self._lasts[at - 1] + 1 if at else self._facts.base_offset
        return None if first is None or first > offset else (first, offset)


def _merged(ranges: Sequence[Offsets]) -> tuple[list[int], list[int]]:
    """The first and the last offsets of these ranges, in ascending order; those that overlap as one."""
    firsts: list[int] = []
    lasts: list[int] = []
    for first, last in ranges:
        if lasts and first <= lasts[-1]:
            lasts[-1] = max(lasts[-1], last)
        else:
            firsts.append(first)
            lasts.append(last)
    return firsts, lasts
