"""A range of offsets and timestamps, and whether a record or a batch may lie in it."""

from __future__ import annotations

from kdump.formats.record_batch import NO_TIMESTAMP
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.formats.log import Chunk

HIGHEST_OFFSET = (1 << 63) - 1


class Range(Declared):
    """A range of offsets and of timestamps in milliseconds, both ends included; None is open.

    What has no timestamp is of no time.
    """

    from_offset: int | None = None
    to_offset: int | None = None
    from_time: int | None = None
    to_time: int | None = None

    @property
    def has_offsets(self) -> bool:
        """Whether offsets are restricted."""
        return self.from_offset is not None or self.to_offset is not None

    @property
    def has_times(self) -> bool:
        """Whether timestamps are restricted."""
        return self.from_time is not None or self.to_time is not None

    @property
    def is_open(self) -> bool:
        """Whether nothing is restricted."""
        return not self.has_offsets and not self.has_times

    def holds_offsets(self, first: int | None, last: int) -> bool:
        """Whether some of these offsets may be in the range; a `first` of None is unknown."""
        return (self.from_offset is None or last >= self.from_offset) and (
            self.to_offset is None or first is None or first <= self.to_offset
        )

    def holds_times(self, first: int | None, last: int) -> bool:
        """Whether some of these timestamps may be in the range; a `first` of None is unknown."""
        if self.from_time is None and self.to_time is None:
            return True
        return (
            last != NO_TIMESTAMP
            and (self.from_time is None or last >= self.from_time)
            and (self.to_time is None or first is None or first <= self.to_time)
        )

    def holds(self, offset: int, timestamp: int) -> bool:
        """Whether a record is in the range."""
        return self.holds_offsets(offset, offset) and self.holds_times(timestamp, timestamp)

    def may_hold(self, chunk: Chunk, row: int) -> bool:
        """Whether a batch may have records in the range, by its header; any of them may be earlier than its first one."""
        batches = chunk.batches
        first, last = batches["base_offset"][row], batches["last_offset"][row]
        if first is None and batches["compresscodec"][row] == "none":  # a wrapper does not store its first offset
            first = last
        return self.holds_offsets(first, last) and self.holds_times(None, batches["timestamp"][row])
