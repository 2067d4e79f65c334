"""`kdump slice --with-damage`: the bytes of logs that hold a range of offsets, damage included, for somebody who is to see it."""

from __future__ import annotations

import os

from kdump.binary.batch_header import RECORD_COUNT
from kdump.binary.codecs import CODECS, NONE
from kdump.binary.source import Source
from kdump.checks.wording import byte_range
from kdump.errors import UsageError
from kdump.formats import file_name, tree
from kdump.mending.inputs import Inputs
from kdump.mending.new.new_directory import NewDirectory
from kdump.mending.row import Hole, SlicedSegment
from kdump.mending.slice.slicing import MOST_GAPS, extent, require_here
from kdump.reading import salvage
from kdump.reading.items import DAMAGED, INTACT, Damage
from kdump.tables import Declared
from kdump.verdicts.ranges import Ranges

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.mending.plan import PartitionPlan
    from kdump.mending.progress import Progress
    from kdump.mending.slice.slicing import Wanted


class Excerpt:
    """The logs of an excerpt: `rows` has one for each log that was read, `damage` the offsets that are damaged in them."""

    def __init__(self, part: PartitionPlan, wanted: Wanted, directory: NewDirectory, inputs: Inputs, progress: Progress) -> None:
        self.rows: list[SlicedSegment] = []
        self.damage: list[Hole] = []
        self.bases: list[int] = []
        self.log_end = 0
        self._wanted = wanted
        self._directory = directory
        self._seen = Ranges()  # offsets of batches that were copied, as long as they are few ranges
        for base, end in tree.with_next(list(part.logs)):
            if base > wanted.to_offset or end is not None and end <= wanted.from_offset:
                continue
            with Source(os.path.join(part.path, part.logs[base])) as source:
                inputs.note(source)
                self._take(source, base, end)
                progress.advance(source.size)
        if self._seen.held <= MOST_GAPS:
            require_here(part, wanted, self._seen, inputs)
        if not self.bases:
            raise UsageError(f"{part.path}: nothing is in this range, so there is nothing to write")
        metadata = os.path.join(part.path, tree.PARTITION_METADATA)
        if tree.PARTITION_METADATA in part.cloned:
            with Source(metadata) as source:
                inputs.note(source)
                directory.clone(source, tree.PARTITION_METADATA)

    def _take(self, source: Source, base: int, end: int | None) -> None:
        """Copy the bytes from after the last intact batch before the range to before the first one after it."""
        log = _Log(base, self._seen)
        for item in salvage.walk(source, base_offset=base, next_base_offset=end):
            if isinstance(item, Damage):
                log.damage(item.start, item.end)
            else:
                log.take(item, self._wanted)
        start, stop = log.start, source.size if log.stop is None else log.stop
        if start >= stop:
            return
        for position, first, last in log.doubtful:
            if start <= position < stop:
                self._seen.add(first, last)
        path = f"{log.offset:020}{file_name.LOG}"
        file = self._directory.create(path)
        file.copy(source, start, stop)
        file.close()
        self.bases.append(log.offset)
        following = log.last if end is None else end - 1
        for place in log.damaged:
            if start <= place.start < stop:
                until = max(following if place.until is None else place.until, place.first)
                where = f"{byte_range(place.start, place.end)} of {os.path.basename(source.path)}"
                here = f"here {byte_range(place.start - start, place.end - start)}"
                offsets = until - place.first + 1
                self.damage.append(Hole(path, place.first, until, offsets, True, f"damaged, and kept: {where}, {here}"))
                log.last_taken = max(log.last_taken, until)
        self.log_end = log.last_taken + 1
        self.rows.append(
            SlicedSegment.like(
                log,
                path=path,
                source=os.path.basename(source.path),
                first_offset=log.offset,
                last_offset=max(log.last_taken, log.offset),
                outside=log.batches - log.taken,
                cloned=log.taken,
                kept=log.records,
                **dict.fromkeys(("rewritten", "emptied", "dropped", "out_of_range", "by_key"), 0),
            )
        )


class _Place(Declared):
    """A damaged place: its bytes, and the offsets that it may have held, up to the next intact batch."""

    start: int
    end: int
    first: int
    until: int | None = None


class _Log:
    """Where the range lies in one log, found batch by batch. `seen` gets the offsets of batches that are surely in it."""

    def __init__(self, base: int, seen: Ranges) -> None:
        self.start = 0
        self.stop: int | None = None
        self.offset = base
        """The offset at `start`."""
        self.last = self.last_taken = base - 1
        self.batches = self.taken = self.records = 0
        self.damaged: list[_Place] = []
        self.doubtful: list[tuple[int, int, int]] = []
        """Position and offsets of batches of the range that are out of line, and copied only with what is around them."""
        self._seen = seen
        self._closed = 0  # places before this one have their last offset
        self._is_found = False  # an intact batch of the range

    def damage(self, start: int, end: int) -> None:
        self.damaged.append(_Place(start, end, self.last + 1))

    def take(self, section: salvage.Section, wanted: Wanted) -> None:
        """Take the next batches. Those of the range may follow later ones, such as a page that was written to a wrong place."""
        chunk = section.chunk
        if section.is_intact:
            first, last, end = extent(chunk)
            is_after = first > wanted.to_offset and (not chunk.is_legacy or self.last >= wanted.to_offset)
            if last < wanted.from_offset or is_after:
                start = chunk.batches["position"][0] if section.summary is None else section.summary.positions[0]
                self._pass(first, last, start, end, len(chunk), is_after=is_after)
                return
        batches = chunk.batches
        status = section.status
        for row, (position, size) in enumerate(zip(batches["position"], batches["size"], strict=True)):
            first, last = batches.row(row).first_offset, batches["last_offset"][row]
            if chunk.is_legacy and batches["compresscodec"][row] != CODECS[NONE]:  # only its messages say where it starts
                first = min(first, self.last + 1)
            if status == DAMAGED:
                self.damage(position, position + size)
            elif status == INTACT and (last < wanted.from_offset or first > wanted.to_offset):
                self._pass(first, last, position, position + size, 1, is_after=first > wanted.to_offset)
                continue
            else:
                self.batches += 1
                if status == INTACT and self.last < last or len(self.doubtful) == MOST_GAPS:
                    self._seen.add(first, last)
                else:
                    self.doubtful.append((position, first, last))
                if self.last < last and (status == INTACT or first <= wanted.to_offset):  # else it is there already
                    self._close(first)
                    if status == INTACT:  # only what is intact says where the range starts and ends
                        self.stop, self._is_found = None, True
                    if last >= wanted.from_offset:
                        self.taken += 1
                        self.records += 1 if chunk.is_legacy else chunk.headers[row][RECORD_COUNT]
                    self.last = self.last_taken = last

    def _pass(self, first: int, last: int, start: int, end: int, count: int, *, is_after: bool) -> None:
        """Pass over intact batches outside of the range, which starts after those before it, and ends at those after it."""
        self._close(first)
        self.batches += count
        is_kept = self.taken > 0 or bool(self.damaged) and self.damaged[-1].start >= self.start
        if self._is_found or is_after and is_kept:
            self.stop = start if self.stop is None else self.stop
            return
        self.start, self.stop = end, None
        self.taken = self.records = 0
        if not is_after:
            self.last = self.last_taken = last
            self.offset = last + 1

    def _close(self, first: int) -> None:
        """An intact batch follows the damage."""
        for place in self.damaged[self._closed :]:
            place.until = first - 1
        self._closed = len(self.damaged)
