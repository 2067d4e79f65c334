"""Rebuilds the companions of a sound log while it is checked, and while it is copied where that is still to be done."""

from __future__ import annotations

from kdump.checks.segment import Maker
from kdump.reading.items import Section

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.binary.source import Source
    from kdump.checks.live_source import LiveSource
    from kdump.mending.new_directory import NewFile
    from kdump.mending.progress import Progress
    from kdump.mending.rebuilding import Rebuilding, SegmentIndexes
    from kdump.reading.items import Damage, Patches


_WRITTEN_AT_ONCE = 64 << 20  # after which the disk may start to write


class NotSoundError(Exception):
    """A log is not sound from its first byte to its last: what was made of it is of no use."""


class OnePass(Maker):
    """Takes the batches of one log while they are checked.

    They are added to what is rebuilt, copied to `target` if there is one, and shown to `see`. `write_indexes` is given the
    indexes of the log before rules look for them. Raises NotSoundError, and CorruptData for batches that a start would not keep.
    """

    def __init__(
        self,
        rebuilding: Rebuilding,
        source: LiveSource,
        base_offset: int,
        end_offset: int | None,
        *,
        write_indexes: Callable[[SegmentIndexes], None],
        progress: Progress,
        target: NewFile | None = None,
        see: Callable[[int, Source, Section], None] | None = None,
    ) -> None:
        self._rebuilding = rebuilding
        self._source = source
        self._base_offset = base_offset
        self._end_offset = end_offset
        self._write_indexes = write_indexes
        self._progress = progress
        self._target = target
        self._see = see
        self._position = 0
        self._uncopied: list[tuple[int, int]] = []
        self._is_over = False
        self._indexes = rebuilding.start_segment(source, base_offset)

    def take(self, item: Section | Damage | Patches) -> None:
        if not isinstance(item, Section) or not item.is_intact:
            raise NotSoundError
        if item.mixed is not None and not self._rebuilding.takes_mixed(item.mixed):
            for part in item.parts():
                self.take(part)
            return
        summary, chunk = item.summary, item.chunk
        end = summary.end if summary is not None else chunk.batches["position"][-1] + chunk.batches["size"][-1]
        if not chunk.is_copied:
            self._uncopied.append((self._position, end))
        self._rebuilding.add(chunk, self._indexes, self._source, self._end_offset)
        if self._see is not None:
            self._see(self._base_offset, self._source, item)
        if self._target is not None and end // _WRITTEN_AT_ONCE > self._position // _WRITTEN_AT_ONCE:
            self._target.start_sync()
        self._progress.advance(end - self._position)
        self._position = end

    def end(self) -> None:
        if self._position != self._source.size:
            raise NotSoundError
        if self._target is not None:
            self._target.complete(self._source, self._uncopied)
        self._rebuilding.end_segment(self._indexes, self._end_offset)
        self._write_indexes(self._indexes)
        del self._indexes  # millions of batches have large ones
        self._is_over = True

    def require_whole(self) -> None:
        """Raises NotSoundError unless all of the log was read."""
        if not self._is_over or self._source.is_stopped or self._source.bad_ranges:
            raise NotSoundError
