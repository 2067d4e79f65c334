"""Examines the span of a damaged batch: where it ends if only its length is wrong, and which batches lie inside."""

from __future__ import annotations

from array import array
from bisect import bisect_left

from kdump.binary import zeros
from kdump.binary.batch_header import BATCH_HEADER_SIZE, HEADER_UP_TO_MAGIC, MAGIC_AT, MESSAGE_HEADER_SIZE, batch_size, stored_crc
from kdump.reading.trust import extent_of, is_lower

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kdump.reading.search import Search
    from kdump.reading.trust import Extent

_MAX_ENDS_TRIED = 16  # of a batch whose length is wrong; all take one pass over its bytes
_MAX_PASSED = 1 << 10  # positions that are kept though they were passed
_SPAN = 16 << 20  # bytes: ends are looked for up to the second multiple of it


class HeadersAhead:
    """Where headers of magic 2 seem to stand. What was searched for one damaged batch is not searched again for the next.

    They are searched between `start` and `end`; `known` are those found there, and perhaps some before.
    """

    def __init__(self, search: Search) -> None:
        self._search = search
        self.known = array("q")
        self.start = self.end = 0

    def positions(self, start: int, limit: int) -> Iterator[int]:
        """Their positions from `start` on and before `limit`."""
        if not self.start <= start <= self.end:
            del self.known[:]
            self.end = start
        self.start = start
        if len(self.known) > _MAX_PASSED:
            del self.known[: bisect_left(self.known, start)]
        known = self.known
        yield from known[bisect_left(known, start) : bisect_left(known, limit)]
        if self.end >= limit:
            return
        for position, _ in self._search.candidates(self.end, limit, batches_only=True):
            known.append(position)
            self.end = position + 1
            yield position
        self.end = limit


def fitting_end(search: Search, ahead: HeadersAhead, position: int, header_bytes: bytes, claimed_end: int | None) -> int:
    """Where this batch ends so that its CRC matches: at one of the next headers or at the end of the file; 0 for nowhere.

    With a `claimed_end`, only ends before that are tried.
    """
    source, budget = search.source, search.budget
    limit = min(source.size if claimed_end is None else claimed_end, (position // _SPAN + 2) * _SPAN)
    is_legacy = header_bytes[MAGIC_AT] < 2
    min_size = MESSAGE_HEADER_SIZE if is_legacy else BATCH_HEADER_SIZE
    if position + min_size > source.size:
        return 0
    checksum, covers_from = search.crc_of(header_bytes)
    stored, at = stored_crc(header_bytes), position + covers_from
    gave_up, crc, found = budget.gave_up, 0, 0
    ends: Iterator[int]
    if is_legacy:
        ends = (end for end, _ in search.candidates(position + min_size, limit))
    else:  # a batch is followed by another; in payloads, much looks like an old message, which has a short header
        ends = ahead.positions(position + min_size, limit)
    for tried, end in enumerate(ends):
        if tried == _MAX_ENDS_TRIED or not budget.spend(end - at, is_likely=False):
            break
        crc, at = search.crc_over(at, end, checksum, crc), end
        if crc == stored:
            found = end
            break
    else:
        if claimed_end is None and limit == source.size and budget.spend(limit - at, is_likely=False):
            found = limit if search.crc_over(at, limit, checksum, crc) == stored else 0
    budget.gave_up = gave_up
    if found:
        budget.refund(found - position - covers_from)
    return found


def run_up_to(
    search: Search, end: int, start: int, *, is_legacy: bool, fits: Callable[[Extent], bool]
) -> tuple[int, int, Extent] | None:
    """The consecutive intact batches that end at `end`: where they start, their first offset, and the last batch.

    Each starts where the one before ends, has a higher offset, and `fits`. This takes one pass over the bytes.
    """
    run_start = run_end = first_offset = 0
    last: Extent | None = None
    gave_up = search.budget.gave_up
    for position, header_bytes in search.candidates(start, end, batches_only=not is_legacy):
        size = batch_size(header_bytes)
        if position < run_end or position + size > end:
            continue
        extent = extent_of(header_bytes)
        if not fits(extent) or not search.is_intact(position, header_bytes):
            continue
        if last is None or position != run_end or extent[0] <= last[1] or is_lower(extent, last):
            run_start, first_offset = position, extent[0]
        run_end, last = position + size, extent
    search.budget.gave_up = gave_up
    return (run_start, first_offset, last) if last is not None and run_end == end else None


class ZerosAtTheEnd:
    """The zeros at the end of a log, and the batches before them. What was found for one damaged batch is kept for the next."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._start: int | None = None
        self._known: tuple[int, int, Extent] | None = None
        self._gave_up = False

    def follow(self, start: int, end: int) -> bool:
        """Whether nothing but zeros follows the batch from `start` to `end`."""
        source, window_bytes = self._search.source, self._search.tuning.window_bytes
        if self._start is None:
            if zeros.end(source, end, window_bytes) < source.size:
                return False
            self._start = zeros.start_of_run(source, start, end, window_bytes)
        return end >= self._start

    def hide_batches(self, start: int, end: int, *, is_legacy: bool, fits: Callable[[Extent], bool]) -> bool:
        """Whether an intact batch starts in the span that a damaged batch claims, which they follow, and is not its payload.

        A payload may end with another batch, and the number of headers after it, which is a zero; it does not go on with the
        zeros of a whole header. True if that is not known, because too much looks like a batch.
        """
        search = self._search
        if self._gave_up:
            return True
        lowest_end = (self._start or 0) if end - (self._start or 0) < BATCH_HEADER_SIZE else 0

        def is_hidden(position: int, batch_end: int, extent: Extent) -> bool:
            is_inside = batch_end < lowest_end and position >= start + HEADER_UP_TO_MAGIC
            return start < position < end and not is_inside and batch_end not in (end - 1, end) and fits(extent)

        if self._known is not None and is_hidden(*self._known):
            return True
        gave_up, search.budget.gave_up, is_found = search.budget.gave_up, False, False
        for position, header_bytes in search.candidates(start + 1, end, batches_only=not is_legacy):
            found = position, position + batch_size(header_bytes), extent_of(header_bytes)
            is_found = is_hidden(*found) and search.is_intact(position, header_bytes)
            if is_found:
                self._known = found
                break
        self._gave_up = search.budget.gave_up and not is_found
        search.budget.gave_up = gave_up
        return is_found or self._gave_up
