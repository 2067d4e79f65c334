"""Where the parts of a map lie from left to right: by bytes, offsets or time, on one scale for several partitions."""

from __future__ import annotations

from bisect import bisect_right

from kdump.overview.map_rows import BYTES, EPOCH, KINDS, SOUND, TIME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.overview.map_rows import MapSegment, MapSpan
    from kdump.overview.partition_map import PartitionMap

    Extent = tuple[float, float]


class MapScale:
    """The scale of some maps, in `cells`. `oldest` and `newest` are the timestamps at its ends, 0 if there are none."""

    def __init__(self, maps: Sequence[PartitionMap], axis: str, cells: int) -> None:
        self.axis = axis
        self.cells = cells
        segments = [segment for made in maps for segment in made.segments]
        times = [time for one in segments for time in (one.oldest_timestamp, one.newest_timestamp) if time is not None]
        self.oldest, self.newest = min(times, default=0), max(times, default=0)
        if axis == TIME:
            length = self.newest - self.oldest + 1
        else:
            length = max((one.size if axis == BYTES else offsets_of(one) for one in segments), default=0)
        self.per_cell = max(length, 1) / cells
        """Bytes, offsets or milliseconds."""

    def extents(self, segment: MapSegment, spans: Sequence[MapSpan]) -> list[Extent]:
        """Where each span begins and ends, in cells; what has no offset or time lies where its neighbours end and begin."""
        if self.axis == BYTES:
            return [(span.start / self.per_cell, span.end / self.per_cell) for span in spans]
        is_time = self.axis == TIME
        zero = self.oldest if is_time else segment.base_offset
        known: list[tuple[int, int] | None] = []
        for span in spans:
            low, high = (span.oldest_timestamp, span.newest_timestamp) if is_time else (span.first_offset, span.last_offset)
            known.append(None if low is None or high is None else (low - zero, high + 1 - zero))
        extents: list[Extent] = []
        following: list[int | None] = [None] * len(spans)
        for index in range(len(spans) - 2, -1, -1):
            after = known[index + 1]
            following[index] = following[index + 1] if after is None else after[0]
        end = 0
        for index, one in enumerate(known):
            if one is None:
                until = following[index]
                last = end if is_time else offsets_of(segment)
                one = end, max(end, last if until is None else until)
            end = max(end, one[1])
            extents.append((max(one[0], 0) / self.per_cell, max(one[1], 0) / self.per_cell))
        return extents

    def kinds(self, spans: Sequence[MapSpan], extents: Sequence[Extent]) -> list[str | None]:
        """What each cell of a segment shows: the kind in it that hides the others, None where nothing lies."""
        kinds: list[str | None] = [None] * self.cells
        for span, (start, end) in zip(spans, extents, strict=True):
            first = min(int(start), self.cells - 1)
            for cell in range(first, max(min(-int(-end // 1), self.cells), first + 1)):
                held = kinds[cell]
                kinds[cell] = span.status if held is None or KINDS.index(span.status) < KINDS.index(held) else held
        return kinds

    def place(self, position: int, spans: Sequence[MapSpan], extents: Sequence[Extent]) -> float:
        """Where a byte of a segment lies, in cells from the left."""
        if not spans:
            return 0.0
        at = min(bisect_right(spans, position, key=lambda span: max(span.end, span.start + 1)), len(spans) - 1)
        span, (start, end) = spans[at], extents[at]
        share = (position - span.start) / max(span.end - span.start, 1)
        return min(max(start + (end - start) * min(max(share, 0.0), 1.0), 0.0), float(self.cells))


def offsets_of(segment: MapSegment) -> int:
    """How many offsets a segment has, as far as that is known."""
    return max((segment.end_offset or 0) - segment.base_offset, 0)


def odd_kinds(made: PartitionMap, segment: MapSegment) -> set[str]:
    """What there is in a segment that is not sound: kinds of spans, codes of findings, and notes, but for their numbers."""
    kinds = {span.status for span in made.spans[segment.log] if span.status != SOUND}
    kinds |= {mark.what for mark in made.marks[segment.log] if mark.role != EPOCH}
    return kinds | {note.partition(" at byte ")[0] for note in segment.notes}


def drawn_segments(made: PartitionMap, most: int) -> set[int]:
    """The numbers of the segments to draw, at most `most`: the first and last, then odd ones, one of each kind first."""
    count = len(made.segments)
    if count <= most:
        return set(range(count))
    news, others, seen = list[int](), list[int](), set[str]()
    for index, segment in enumerate(made.segments):
        kinds = odd_kinds(made, segment)
        if kinds:
            (others if kinds <= seen else news).append(index)
        seen |= kinds
    return {*(news + others)[: most - 4], 0, 1, count - 2, count - 1}
