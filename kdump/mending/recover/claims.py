"""What damaged batches claim: a batch that lies inside one of them may be its payload."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from heapq import heappop, heappush

from kdump.binary.batch_header import (
    BATCH_HEADER_SIZE,
    COMPRESSION_MASK,
    LOG_OVERHEAD,
    MAGIC_AT,
    MESSAGE_ATTRIBUTES_AT,
    batch_offset,
    batch_size,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


_MOST_OPEN = 64  # damaged batches around a batch that are looked at: the nearest


class Claims:
    """The damaged batches of a log, in the order of the file, and then the batches inside them, in the same order."""

    def __init__(self) -> None:
        self._end = 0  # of the bytes that any of them claims
        self._headers: set[bytes] = set()
        self._batches: list[tuple[int, int, int, int]] = []  # start, end, first and last offset
        self._next_batch = 0
        self._open_batches: list[tuple[int, int, int, int]] = []  # that reach up to where batches inside them were asked for last
        self._wrappers: list[tuple[int, int, int]] = []  # start, end, last offset
        self._next_wrapper = 0
        self._open_wrappers: list[tuple[int, int]] = []  # a heap: the highest last offset first, negated; where it ends
        self._others: list[tuple[int, int]] = []  # other damaged batches: start, and the highest end of those up to it

    def add(self, start: int, first: int, last: int, header_bytes: bytes) -> None:
        """Note a damaged batch at this position with its offsets."""
        self._headers.add(header_bytes)
        self._batches.append((start, start + batch_size(header_bytes), first, last))

    def limit(self, starts: Sequence[int], firsts: Sequence[int]) -> None:
        """Let no damaged batch claim offsets from the next batch beyond doubt on: no checksum says that its last offset is right.

        `starts` are the positions of those beyond doubt in ascending order, and `firsts` their first offsets. All damaged batches
        have been noted.
        """
        for row, (start, end, first, last) in enumerate(self._batches):
            after = bisect_right(starts, start)
            if after < len(starts) and first < firsts[after] <= last:
                self._batches[row] = start, end, first, firsts[after] - 1

    def leave_out(self, starts: Sequence[int], ends: Sequence[int]) -> None:
        """Let no damaged batch claim anything whose end lies inside of one of these whole batches: its length is wrong.

        They are in the order of the file.
        """

        def is_possible(end: int) -> bool:
            before = bisect_left(starts, end) - 1
            return before < 0 or ends[before] <= end

        self._batches = [batch for batch in self._batches if is_possible(batch[1])]
        self._wrappers = [wrapper for wrapper in self._wrappers if is_possible(wrapper[1])]

    def reach(self, start: int, header_bytes: bytes) -> None:
        """Note the bytes that a damaged batch claims, or what may be one."""
        if len(header_bytes) >= LOG_OVERHEAD:
            self._end = max(self._end, start + batch_size(header_bytes))

    def may_hold(self, end: int) -> bool:
        """Whether what ends here may lie inside of a damaged batch noted so far."""
        return end <= self._end

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
        """Whether a damaged batch has offsets of batches that lie inside it, and is not a copy of the first of them.

        A compressed message holds messages of magic 0 and 1. `start` is their position, which grows from call to call. All
        damaged batches have been noted.
        """
        is_message = header_bytes[MAGIC_AT] < 2
        return (
            is_message
            and self._is_in_wrapper(start, first)
            or (self._is_inside(start, first, last) and header_bytes not in self._headers)
        )

    def _is_inside(self, start: int, first: int, last: int) -> bool:
        while self._next_batch < len(self._batches) and self._batches[self._next_batch][0] < start:
            self._open_batches.append(self._batches[self._next_batch])
            self._next_batch += 1
        self._open_batches = [batch for batch in self._open_batches[-_MOST_OPEN:] if batch[1] > start]
        return any(batch[2] <= last and first <= batch[3] for batch in self._open_batches)

    def _is_in_wrapper(self, start: int, first: int) -> bool:
        while self._next_wrapper < len(self._wrappers) and self._wrappers[self._next_wrapper][0] < start:
            _, end, last = self._wrappers[self._next_wrapper]
            heappush(self._open_wrappers, (-last, end))
            self._next_wrapper += 1
        while self._open_wrappers and self._open_wrappers[0][1] <= start:
            heappop(self._open_wrappers)
        return bool(self._open_wrappers) and -self._open_wrappers[0][0] >= first
