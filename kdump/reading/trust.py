"""Decides which complete batches are beyond doubt, by the offsets and leader epochs around them."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from operator import itemgetter

from kdump.binary.arithmetic import differ_in_a_bit
from kdump.binary.batch_header import (
    BATCH_HEADER_SIZE,
    HEADER_UP_TO_MAGIC,
    LAST_OFFSET_DELTA_AT,
    LOG_OVERHEAD,
    MAGIC_AT,
    batch_offset,
    batch_size,
)
from kdump.reading.items import INTACT, SALVAGED
from kdump.reading.plausible import may_be_header

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kdump.binary.source import SizedReadable
    from kdump.formats.summary import BatchSummary

    # first and last offset, leader epoch (None where the format has none)
    Extent = tuple[int, int, int | None]
    Shifted = tuple[Extent, int]  # with its first offset less the offsets of those before it

SEGMENT_REACH = 1 << 31
"""How many offsets a segment may have from its base on: the index says each in 31 bits."""

MANY_ELECTIONS = 16
"""More elections than a copy of leader-epoch-checkpoint that is older than the log has missed between two batches."""

MOST_FOLLOWING = 8
"""Batches after one that say whether it is out of line."""

_MOST_RUNS = 1 << 10  # that are remembered: each may yet turn out to be out of line
_PAGE_BYTES = 4096  # what a misdirected write leaves is no smaller


def is_flipped_epoch(epoch: int, before: int) -> bool:
    """Whether one bit of the last leader epoch seems to be wrong: it differs from the one before in only that, and much."""
    return epoch - before >= MANY_ELECTIONS and differ_in_a_bit(epoch, before)


class Run:
    """Batches found in doubt, each of which continues the one before: the first and the last, and the bytes of all."""

    def __init__(self, extent: Extent, size: int) -> None:
        self.first = self.last = extent
        self.size = size

    def takes(self, extent: Extent, size: int) -> bool:
        """Add a batch, if it continues the run."""
        if not self.last[1] < extent[0] <= extent[1] or is_lower(extent, self.last):
            return False
        self.last = extent
        self.size += size
        return True


class Order:
    """Separates batches that are beyond doubt from those that were found by a search or are out of line.

    No checksum covers the offset and the leader epoch of a batch. A batch without which more of the next ones are in order is
    salvaged, not intact, and the order is measured without it; of as many, those between which no offset is missing are. So it is
    if its offset differs in one bit from the count of those before it, with which more of the next ones agree. If offsets go back
    and then ascend again, only the first batch after the step is out of line; two that ascend, and a third that does not, are no
    such order, nor are two that leave a gap and have offsets that the log cannot have.

    A batch found by a search is confirmed by the next one if that continues its offsets. Batches inside the span that a damaged
    batch claims may be its payload, and are never beyond doubt.

    After damage, offsets may go back: either what follows is out of line, such as a stale page, or what came before it was, such
    as a page of another partition. The larger run is believed: batches found are in order again when they are more bytes than
    those beyond doubt whose offsets they contradict.
    """

    def __init__(
        self,
        source: SizedReadable,
        base_offset: int | None,
        next_base_offset: int | None,
    ) -> None:
        self._source = source
        self._floor = base_offset or 0
        self._ceiling = 1 << 63 if base_offset is None else base_offset + SEGMENT_REACH
        if next_base_offset is not None:
            self._ceiling = min(self._ceiling, next_base_offset)
        self._last_offset = self._floor - 1  # of the last batch beyond doubt
        self._epoch = -1  # likewise
        self._stray: Extent | None = None  # the last batch, if it was out of line
        self._found: Extent | None = None  # the last batch in doubt
        self._undecided: Extent | None = None
        self._passed = 0  # offsets of batches out of line since the last one beyond doubt
        self.is_in_doubt = False  # the next batch follows damage, and no batch since is beyond doubt; it is up to `nested_end`
        self._run: Run | None = None  # batches found that are out of line
        self._size = 0  # of the batches beyond doubt so far
        # of each run beyond doubt: the last offset before it, the leader epoch there, and the size of all before it
        self._runs: list[tuple[int, int, int]] = [(self._floor - 1, -1, 0)]
        self.nested_end = 0
        self._following: dict[int, tuple[Extent, int]] = {}  # extents in the headers from a position on, and where batches end

    def doubt(self, claimed_end: int) -> None:
        """Record that a search was needed: what follows is in doubt."""
        self.is_in_doubt = True
        self._found = None
        self.nested_end = max(self.nested_end, claimed_end)

    def take_salvaged(self, extent: Extent, size: int) -> None:
        """Record a batch that is intact except for its length. If it is in order, the order continues after it."""
        if not self.is_in_doubt and self.fits(extent):
            self._move(extent, size)

    def wants_summary(self) -> bool:
        """Whether it can take the next batches by their summary."""
        return not self.is_in_doubt and not self._passed and self._stray is None and self._undecided is None

    def takes(self, summary: BatchSummary) -> bool:
        """Whether all batches of this summary fit between the batches before and after them, so that all are beyond doubt.

        If so, the order continues after them.
        """
        if not self.wants_summary():
            return False
        if not self._last_offset < summary.first_offset or not summary.last_offset < self._ceiling:
            return False
        if not summary.is_legacy and (summary.first_leader_epoch < self._epoch or summary.leader_epochs_back):
            return False
        last = summary.first_offset, summary.last_offset, None if summary.is_legacy else summary.last_leader_epoch
        following = list(self._headers_from(summary.end))
        if summary.gaps or summary.first_offset != self._last_offset + 1:
            takes = _are_in_order([last, *following])  # what follows may say that there is no gap
        else:
            takes = all(_ascends(last, extent) for extent in following)
        if takes:
            self._move(last, summary.end - summary.positions[0])
        return takes

    def header_at(self, position: int) -> Extent | None:
        """The extent in the header at this position, if it looks like one. Its CRC is not checked."""
        extent = next(self._headers_from(position), None)
        return None if extent is None or extent[0] < 0 else extent

    def _headers_from(self, position: int) -> Iterator[Extent]:
        """The extents in the headers that look like those of the next batches; those after the batch before are known."""
        known, self._following = self._following, {}
        for _ in range(MOST_FOLLOWING):
            if position not in known:
                header_bytes = self._source.read(position, BATCH_HEADER_SIZE)
                if len(header_bytes) < HEADER_UP_TO_MAGIC or not may_be_header(header_bytes, self._source.size - position):
                    return
                known[position] = extent_of(header_bytes), position + batch_size(header_bytes)
            self._following[position] = known[position]
            extent, position = known[position]
            yield extent

    def judge(self, extent: Extent, size: int, following: Callable[[], list[Extent]]) -> str:
        """The status of a whole batch of `size` bytes; `following` are the extents of the batches after it."""
        undecided, self._undecided = self._undecided, None
        if not self._is_in_line(extent, following) or extent == undecided:
            self._passed += extent[1] - extent[0] + 1
            return SALVAGED
        self._stray = None
        if extent[0] <= self._last_offset:
            del self._runs[max(self._before(extent), 0) + 1 :]
        self._move(extent, size)
        return INTACT

    def _is_in_line(self, extent: Extent, following: Callable[[], list[Extent]]) -> bool:
        """Whether neither the batches before this one nor those after it contradict it."""
        if not self.fits(extent):
            stray, self._stray = self._stray, extent
            if stray is None or not stray[0] >= 0 or not _ascends(stray, extent):
                return False
            may_be_here = self._floor <= extent[0] and extent[1] < self._ceiling
            if self._size and not may_be_here and stray[1] + 1 != extent[0]:
                return False
            after = following()
            return not after or not self.fits(after[0]) and after[0][0] > extent[1]
        expected, counted = self._last_offset + 1, self._last_offset + 1 + self._passed
        if extent[0] == expected == counted and extent[2] in (None, self._epoch):
            return True
        after = following()
        # what is out of line itself vouches for none
        shifted = [other for other in _shifted([extent, *after]) if self.fits(other[0])]
        shifts = [shift for _, shift in shifted[1:]]
        if (self._passed or not _are_in_order([extent, *after])) and differ_in_a_bit(extent[0], counted):
            agree = shifts.count(extent[0])
            if shifts.count(counted) > agree + bool(agree):
                return False  # more of them leave it the offsets that are counted from the last one beyond doubt
        if len(shifted) == 1 or not self._is_outlier(shifted, counted):
            return True
        is_counted = shifts[0] == counted != extent[0]
        if len(shifted) == 2 and not is_counted and shifted[1][0][0] != expected:
            self._undecided = shifted[1][0]  # either of the two last batches may be the wrong one
        return False

    def fits(self, extent: Extent) -> bool:
        """Whether a batch continues after the last one beyond doubt."""
        first, last, epoch = extent
        if not self._last_offset < first <= last < self._ceiling:
            return False
        return epoch is None or epoch >= self._epoch

    def is_near(self, extent: Extent, count: int) -> bool:
        """Whether at most so many offsets are missing between the last batch beyond doubt and this one, which fits after it."""
        return extent[0] - self._last_offset <= count + 1

    def _is_outlier(self, shifted: Sequence[Shifted], expected: int) -> bool:
        """Whether of batches that fit what comes before them more are in order without the first one."""
        lengths = [
            (count, joins + (each[1] == expected)) for each, (count, joins) in zip(shifted, _in_order(shifted), strict=True)
        ]
        own, length = lengths[0], max(lengths[1:])
        is_either = own == length and len(shifted) == 2 and not _ascends(shifted[0][0], shifted[1][0])
        return own < length or is_either

    def judge_found(self, extent: Extent, position: int, size: int, following: Callable[[], list[Extent]]) -> str:
        """The status of the next intact batch, of `size` bytes, where it follows damage and is in doubt."""
        if self._found is not None and extent[0] != self._found[1] + 1:
            later = [other for other in _shifted([extent, *following()]) if _ascends(self._found, other[0])]
            if len(later) > 1 and later[0][0] == extent and self._is_outlier(later, self._found[1] + 1):
                return SALVAGED  # those after it continue what was found without it
        found, self._found = self._found, extent
        self._undecided = None
        if extent[1] >= self._ceiling or position < self.nested_end:
            return SALVAGED
        if self._run is None or not self._run.takes(extent, size):
            self._run = Run(extent, size)
        if found is None or not found[1] < extent[0] <= extent[1] or is_lower(extent, found):
            return SALVAGED
        if not self.fits(found) and not self._yields_to(self._run):
            return SALVAGED
        self.is_in_doubt = False
        self._stray = self._run = None
        self._runs.append((self._last_offset, self._epoch, self._size))
        if len(self._runs) > _MOST_RUNS:
            del self._runs[1]
        self._move(extent, size)
        return INTACT

    def _yields_to(self, run: Run) -> bool:
        """Whether a run that is out of line is larger than what it contradicts. If so, the order goes back to before that."""
        at = self._before(run.first)
        if at < 0 or max(self._size - self._runs[at][2], _PAGE_BYTES) >= run.size:
            return False
        self._last_offset, self._epoch, self._size = self._runs[at]
        del self._runs[max(at, 1) :]
        return True

    def _before(self, extent: Extent) -> int:
        """The last of the runs beyond doubt in whose place this batch could stand; -1 if there is none."""
        at = bisect_left(self._runs, extent[0], key=itemgetter(0)) - 1
        while at >= 0 and extent[2] is not None and extent[2] < self._runs[at][1]:
            at -= 1
        return at

    def _move(self, extent: Extent, size: int) -> None:
        if not self._size and extent[1] >= self._ceiling:
            self._ceiling = 1 << 63  # what the log starts with does not fit its name
        self._last_offset, self._passed = extent[1], 0
        self._size += size
        if extent[2] is not None:
            self._epoch = extent[2]


def extent_of(header_bytes: bytes) -> Extent:
    """The offsets and the epoch in a header, unverified."""
    offset = batch_offset(header_bytes)
    if header_bytes[MAGIC_AT] < 2:
        return offset, offset, None
    last_delta = int.from_bytes(header_bytes[LAST_OFFSET_DELTA_AT : LAST_OFFSET_DELTA_AT + 4], "big")
    leader_epoch = int.from_bytes(header_bytes[LOG_OVERHEAD:MAGIC_AT], "big", signed=True)
    return offset, offset + last_delta, leader_epoch


def _shifted(extents: Sequence[Extent]) -> Iterator[Shifted]:
    """Extents, each with its first offset less the offsets of those before it: the same number where none is missing."""
    count = 0
    for extent in extents:
        yield extent, extent[0] - count
        count += extent[1] - extent[0] + 1


def _in_order(shifted: Sequence[Shifted]) -> list[tuple[int, int]]:
    """For each extent how many at most are in order from it on, and between how many of these no offset is missing."""
    lengths: list[tuple[int, int]] = []
    for row in reversed(range(len(shifted))):
        extent, shift = shifted[row]
        longest = 1, 0
        for (other, others), (count, joins) in zip(shifted[row + 1 :], lengths, strict=True):
            if count + 1 >= longest[0] and _ascends(extent, other):
                longest = max(longest, (count + 1, joins + (shift == others)))
        lengths.insert(0, longest)
    return lengths


def _are_in_order(extents: Sequence[Extent]) -> bool:
    return all(_ascends(one, other) for one, other in pairwise(extents))


def _ascends(extent: Extent, other: Extent) -> bool:
    """Whether a batch may stand after another one."""
    return extent[1] < other[0] and not is_lower(other, extent)


def is_lower(extent: Extent, other: Extent) -> bool:
    """Whether the leader epoch of one batch is lower than that of another."""
    return extent[2] is not None and other[2] is not None and extent[2] < other[2]
