"""Recovery of a segment: every batch is checked, the indexes are rebuilt, and the log is cut at the first bad batch.

Kafka: LogSegment.recover.
"""

from __future__ import annotations

from kdump.binary.arithmetic import as_int64
from kdump.binary.batch_header import (
    BASE_OFFSET,
    BATCH_HEADER_SIZE,
    LAST_OFFSET_DELTA,
    LEADER_EPOCH,
    LENGTH,
    LOG_OVERHEAD,
    MAX_TIMESTAMP,
    MESSAGE_OFFSET,
    MESSAGE_TIMESTAMP,
    PRODUCER_ID,
)
from kdump.forecasts.exceptions import InvalidBatch, OffsetOverflow
from kdump.forecasts.indexes import MAX_RELATIVE_OFFSET
from kdump.formats.record_batch import NO_PRODUCER_ID, NO_TIMESTAMP
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.forecasts.leader_epochs import LeaderEpochs
    from kdump.forecasts.producer_state import ProducerStates
    from kdump.forecasts.segment import Segment
    from kdump.forecasts.settings import Settings


_MAX_OFFSET = (1 << 63) - 1


class Cut(Declared):
    """The effect of a recovery on a segment: it lost `size` bytes from `position` on, because of `reason`."""

    position: int
    size: int
    reason: str


def recover(segment: Segment, producers: ProducerStates, epochs: LeaderEpochs | None, settings: Settings) -> Cut:
    """Check all batches of a segment, and cut it at the first bad one.

    Raises InvalidOffset, OffsetOverflow and other BrokerException as a broker throws them; changes made by then remain.
    """
    offset_index, time_index = segment.offset_index, segment.time_index
    lowest, highest = segment.base_offset, min(segment.base_offset + MAX_RELATIVE_OFFSET, _MAX_OFFSET)
    segment.reset_indexes()
    valid_bytes = last_indexed = 0
    largest_timestamp, offset_of_largest = NO_TIMESTAMP, segment.base_offset
    reason = ""
    try:
        for position, header, is_legacy, is_valid in segment.log.checked():
            size = header[LENGTH] + LOG_OVERHEAD
            if not is_valid:
                raise InvalidBatch(_what_is_wrong(position, header, size, is_legacy))
            first_offset = header[MESSAGE_OFFSET] if is_legacy else header[BASE_OFFSET]
            last_offset = first_offset if is_legacy else first_offset + header[LAST_OFFSET_DELTA]
            if not lowest <= last_offset <= highest:
                last_offset = as_int64(last_offset)
                if not offset_index.can_hold(last_offset):
                    raise OffsetOverflow(segment.base_offset, last_offset)
            timestamp = header[MESSAGE_TIMESTAMP] if is_legacy else header[MAX_TIMESTAMP]
            if timestamp > largest_timestamp:
                largest_timestamp, offset_of_largest = timestamp, last_offset
            if valid_bytes - last_indexed > settings.index_interval:
                offset_index.append(last_offset, valid_bytes)
                time_index.append(largest_timestamp, offset_of_largest)
                last_indexed = valid_bytes
            valid_bytes += size
            if not is_legacy:
                if epochs is not None:
                    epochs.note(header[LEADER_EPOCH], first_offset)
                if header[PRODUCER_ID] > NO_PRODUCER_ID:
                    _update_producer(segment, position, header, producers, settings)
                producers.end_offset = last_offset + 1 if last_offset < _MAX_OFFSET else as_int64(last_offset + 1)
    except InvalidBatch as error:
        reason = error.reason
    cut = Cut(valid_bytes, segment.truncate(valid_bytes), reason or "what follows is not a whole batch")
    time_index.append(largest_timestamp, offset_of_largest, is_last=True)
    segment.trim_indexes()
    return cut


def remake_index(segment: Segment, settings: Settings) -> None:
    """Append again the offset index entries that the recovery of a segment added."""
    last_indexed = 0
    for batch in segment.log.batches():
        if batch.position - last_indexed > settings.index_interval:
            segment.offset_index.append(batch.last_offset(), batch.position)
            last_indexed = batch.position


def _update_producer(
    segment: Segment, position: int, header: tuple[int, ...], producers: ProducerStates, settings: Settings
) -> None:
    info = producers.prepared(header[PRODUCER_ID])
    completed = info.append(segment.log, position, header, settings.rules)
    producers.update(info)
    if completed is not None:
        if completed.is_aborted:
            segment.transactions.append(completed.last_offset)
        producers.complete(completed)


def _what_is_wrong(position: int, header: tuple[int, ...], size: int, is_legacy: bool) -> str:
    if not is_legacy and size < BATCH_HEADER_SIZE:
        return f"the batch at byte {position:,} has {size} bytes, which is less than its header"
    return f"the checksum of the batch at byte {position:,}, offset {header[BASE_OFFSET]:,}, does not match"
