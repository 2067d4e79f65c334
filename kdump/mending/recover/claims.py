"""What damaged batches claim: a batch that lies inside one of them may be its payload."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from heapq import heappop, heappush
from itertools import accumulate
from operator import itemgetter

from kdump.binary.batch_header import (
    BATCH_HEADER_SIZE,
    COMPRESSION_MASK,
    MAGIC_AT,
    MESSAGE_ATTRIBUTES_AT,
    batch_offset,
    batch_size,
)


class Claims:
    """The damaged batches of a log, in the order of the file, and then the batches inside them, in the same order."""

    def __init__(self) -> None:
        self._headers: set[bytes] = set()
        self._offsets: list[tuple[int, int]] = []
        self._firsts: list[int] = []  # once all are known: ascending, and the highest last offset of those up to each
        self._highest: list[int] = []
        self._wrappers: list[tuple[int, int, int]] = []  # start, end, last offset
        self._next_wrapper = 0
        self._open_wrappers: list[tuple[int, int]] = []  # a heap: the highest last offset first, negated; where it ends
        self._others: list[tuple[int, int]] = []  # other damaged batches: start, and the highest end of those up to it

    def add(self, first: int, last: int, header_bytes: bytes) -> None:
        """Note a damaged batch with its offsets."""
        self._headers.add(header_bytes)
        self._offsets.append((first, last))

    def add_wrapper(self, start: int, header_bytes: bytes) -> None:
        """Note a damaged batch, if it is a message of magic 0 or 1 that holds others.

        Their offsets are up to its own, or count from 0.
        """
        is_message = len(header_bytes) == BATCH_HEADER_SIZE and header_bytes[MAGIC_AT] < 2
        if len(header_bytes) <= MESSAGE_ATTRIBUTES_AT:
            return
        end = start + batch_size(header_bytes)
        if is_message and header_bytes[MESSAGE_ATTRIBUTES_AT] & COMPRESSION_MASK:
            self._wrappers.append((start, end, batch_offset(header_bytes)))
        else:
            self._others.append((start, max(end, self._others[-1][1] if self._others else 0)))

    def may_hold_message(self, start: int, header_bytes: bytes) -> bool:
        """Whether a message of magic 0 or 1 that starts here may be payload of a damaged batch noted so far.

        One that holds others cannot be in one that does: compression is not nested.
        """
        if not header_bytes[MESSAGE_ATTRIBUTES_AT] & COMPRESSION_MASK:
            return True
        before = bisect_left(self._others, (start,))
        return before > 0 and self._others[before - 1][1] > start

    def hold(self, start: int, first: int, last: int, header_bytes: bytes) -> bool:
        """Whether a damaged batch has offsets of batches that lie inside one, and is not a copy of the first of them.

        `start` is their position, which grows from call to call. All damaged batches have been noted.
        """
        return self._is_in_wrapper(start, first) or (self._has_offsets(first, last) and header_bytes not in self._headers)

    def _has_offsets(self, first: int, last: int) -> bool:
        if len(self._firsts) < len(self._offsets):
            self._offsets.sort()
            self._firsts = [first for first, _ in self._offsets]
            self._highest = list(accumulate(map(itemgetter(1), self._offsets), max))
        below = bisect_right(self._firsts, last)
        return below > 0 and self._highest[below - 1] >= first

    def _is_in_wrapper(self, start: int, first: int) -> bool:
        while self._next_wrapper < len(self._wrappers) and self._wrappers[self._next_wrapper][0] < start:
            _, end, last = self._wrappers[self._next_wrapper]
            heappush(self._open_wrappers, (-last, end))
            self._next_wrapper += 1
        while self._open_wrappers and self._open_wrappers[0][1] <= start:
            heappop(self._open_wrappers)
        return bool(self._open_wrappers) and -self._open_wrappers[0][0] >= first
