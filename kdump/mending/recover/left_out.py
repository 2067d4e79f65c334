"""Finds what was left out between two pieces of a recovered log, however much was left out."""

from __future__ import annotations

import os
from bisect import bisect_left
from itertools import accumulate

from kdump.formats import tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.mending.recover.pieces import LeftOut, Log, Piece


class Losses:
    """What was left out of several logs, by its place in them and by its offsets."""

    def __init__(self, left_out: Sequence[LeftOut]) -> None:
        self._by_path: dict[str, _Places] = {}
        paths: dict[str, list[tuple[int, int]]] = {}
        for left in left_out:
            paths.setdefault(left.path, []).append((left.start, left.end))
        for path, places in paths.items():
            self._by_path[path] = _Places(places)
        bases = ((tree.base_offset_of(os.path.basename(path)), path) for path in paths)
        self._bases = sorted((base, path) for base, path in bases if base is not None)
        offsets = sorted((left.first, left.last) for left in left_out if left.first is not None and left.last is not None)
        self._firsts = [first for first, _ in offsets]
        self._highest = list(accumulate((last for _, last in offsets), max))  # last offset, of what starts no later

    def are_between(self, before: Piece, after: Piece) -> bool:
        """Whether something lies between two pieces, by its place in their logs or one between them, or by its offsets."""
        starting = bisect_left(self._firsts, after.first)
        if starting and self._highest[starting - 1] > before.last:
            return True
        bases = self._bases[bisect_left(self._bases, (before.last + 1,)) : bisect_left(self._bases, (after.first,))]
        if any(path not in (before.log.path, after.log.path) for _, path in bases):
            return True
        of_before, of_after = self._by_path.get(before.log.path), self._by_path.get(after.log.path)
        if before.log is after.log and before.end > after.start:  # one of them was in the wrong place
            return of_before is not None
        if before.log is after.log:
            return of_before is not None and of_before.first_end(before.end) <= after.start
        is_after = of_before is not None and of_before.last_start >= before.end
        return is_after or (of_after is not None and of_after.first_end(0) <= after.start)

    def are_before(self, log: Log, first: Piece) -> bool:
        """Whether something lies in a log before the first piece of all."""
        places = self._by_path.get(log.path)
        return places is not None and (log is not first.log or places.first_end(0) <= first.start)


class _Places:
    """Ranges of bytes of one log, which may overlap."""

    def __init__(self, places: list[tuple[int, int]]) -> None:
        places.sort()
        self._starts = [start for start, _ in places]
        self._ends = list(accumulate((end for _, end in reversed(places)), min))[::-1]  # the first, of what starts no earlier

    @property
    def last_start(self) -> int:
        return self._starts[-1]

    def first_end(self, start: int) -> float:
        """Where the first of those ends that start no earlier; infinite if there is none."""
        at = bisect_left(self._starts, start)
        return self._ends[at] if at < len(self._ends) else float("inf")
