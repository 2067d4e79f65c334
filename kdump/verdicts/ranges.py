"""Ranges of offsets or bytes, merged and shown on one line."""

from __future__ import annotations

from bisect import bisect_right
from operator import itemgetter

from kdump.checks.wording import ranges_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Ranges:
    """Ranges of whole numbers, both ends included, in any order. Those that overlap or touch become one."""

    def __init__(self) -> None:
        self._ranges: list[tuple[int, int]] = []
        self._merged = True

    def add(self, first: int, last: int) -> None:
        if self._ranges and self._merged and self._ranges[-1][0] <= first <= self._ranges[-1][1] + 1:
            start, end = self._ranges[-1]
            self._ranges[-1] = start, max(end, last)  # as they mostly come
            return
        self._merged = self._merged and (not self._ranges or first > self._ranges[-1][1])
        self._ranges.append((first, last))

    def __len__(self) -> int:
        return len(self.merged())

    @property
    def held(self) -> int:
        """How many ranges are held, some of which may become one."""
        return len(self._ranges)

    @property
    def total(self) -> int:
        """The number of all numbers in them."""
        return sum(last - first + 1 for first, last in self.merged())

    def merged(self) -> Sequence[tuple[int, int]]:
        """The ranges in ascending order, none of which overlap or touch."""
        if not self._merged:
            merged: list[tuple[int, int]] = []
            for first, last in sorted(self._ranges):
                if merged and first <= merged[-1][1] + 1:
                    merged[-1] = merged[-1][0], max(merged[-1][1], last)
                else:
                    merged.append((first, last))
            self._ranges, self._merged = merged, True
        return self._ranges

    def hold(self, first: int, last: int) -> bool:
        """Whether all numbers from the first to the last one are in them."""
        merged = self.merged()
        row = bisect_right(merged, first, key=itemgetter(0)) - 1
        return row >= 0 and last <= merged[row][1]

    def touch(self, first: int, last: int) -> bool:
        """Whether some number from the first to the last one is in them."""
        merged = self.merged()
        row = bisect_right(merged, last, key=itemgetter(0)) - 1
        return row >= 0 and first <= merged[row][1]

    def text(self, what: str, most: int) -> str:
        """Such as `offsets 3, 11 to 1,200 and 4 more ranges`; at most `most` are named."""
        return ranges_text(what, self.merged(), most)
