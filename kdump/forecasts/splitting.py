"""Splitting a segment in which an offset is too far from its base. Kafka: LocalLog.splitOverflowedSegment."""

from __future__ import annotations

from kdump.forecasts.directory import File, name_of
from kdump.forecasts.exceptions import ILLEGAL_ARGUMENT, ILLEGAL_STATE, BrokerException
from kdump.forecasts.segment import Segment, Segments
from kdump.formats import file_name
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.forecasts.directory import Directory
    from kdump.forecasts.settings import Settings
    from kdump.forecasts.split_budget import SplitBudget


class _NewSegment(Declared):
    """A new segment: a run of batches of the old one, from `start` up to `end`."""

    base_offset: int
    start: int
    end: int


def split(directory: Directory, segments: Segments, segment: Segment, settings: Settings, budget: SplitBudget) -> list[int]:
    """Replace one segment by several. Returns the base offset of the old one if no new segment has it.

    Their indexes stay without entries: a broker makes some, but loads or recovers again all segments in which it may look for an
    offset.

    Raises BrokerException if there is nothing to split, or if a batch cannot be read; TooManySplits, with nothing changed, if
    the budget does not have so many segments.
    """
    if not segment.overflows():
        reason = f"the segment that starts at {segment.base_offset:,} should be split, but does not end too far above its base"
        raise BrokerException(reason, ILLEGAL_ARGUMENT)
    new_segments: list[_NewSegment] = []
    position = 0
    while position < segment.size:
        budget.spend(1)
        new_segment = _next_segment(segment, position)
        new_segments.append(new_segment)
        position = new_segment.end
    # A segment that overflows while it is loaded is not in the list yet. Kafka then does not mark it as deleted: the new segment
    # with its base offset, if there is one, overwrites it.
    is_known = segment.base_offset in segments
    if is_known:
        segment.delete()
        segments.remove(segment.base_offset)
    old = directory.files[name_of(segment.base_offset, file_name.LOG) + segment.mark]
    for new_segment in new_segments:
        name = name_of(new_segment.base_offset, file_name.LOG)
        directory.files[name] = File(old.path, new_segment.end - new_segment.start, old.start + new_segment.start, is_copy=True)
        for suffix in (file_name.OFFSET_INDEX, file_name.TIME_INDEX):
            directory.files[name_of(new_segment.base_offset, suffix)] = File()
        segments.add(Segment(directory, new_segment.base_offset, settings))
    is_replaced = any(new_segment.base_offset == segment.base_offset for new_segment in new_segments)
    return [segment.base_offset] if is_known and not is_replaced else []


def _next_segment(segment: Segment, position: int) -> _NewSegment:
    """The batches from a position that fit into a segment that starts with the first of them."""
    new_segment: _NewSegment | None = None
    for batch in segment.log.batches(position):
        if new_segment is None:
            new_segment = _NewSegment(batch.first_offset(), position, position)
        if not 0 <= batch.last_offset() - new_segment.base_offset <= 0x7FFFFFFF:
            break
        new_segment.end = batch.position + batch.size
    if new_segment is None:
        reason = f"the segment has no batch at byte {position:,}"
        raise BrokerException(reason, "java.util.NoSuchElementException", file=segment.log.name)
    if new_segment.end == position:
        reason = f"no batch from byte {position:,} on fits into a segment that starts with it"
        raise BrokerException(reason, ILLEGAL_STATE, file=segment.log.name)
    return new_segment
