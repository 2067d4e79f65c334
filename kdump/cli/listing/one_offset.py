"""Answers `--offset`: finds the segment that may hold an offset, or explains what is around it."""

from __future__ import annotations

import os

from kdump.binary import system
from kdump.binary.tolerant_source import TolerantSource
from kdump.errors import CorruptData, KdumpError, Unreadable
from kdump.formats import file_name
from kdump.reading import salvage
from kdump.reading.records import UnreadableBatch, past_bad_batches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kdump.binary.source import Source
    from kdump.cli.listing.run import Run
    from kdump.formats.log import Chunk

_GAP = "the cleaner leaves such gaps in a compacted topic; in any other topic, records are missing"


def segments_for(run: Run, paths: Iterable[str | Unreadable], offset: int) -> Iterator[str | Unreadable]:
    """The segment of each directory in which a broker looks for an offset: the last one that starts at or before it.

    Where all start after it, it is the first. If it was listed without the offset, others follow in which a batch may have it,
    until one has. Files whose names have no base offset are listed each.
    """
    together: dict[str, list[tuple[int, str]]] = {}
    for path in paths:
        if isinstance(path, Unreadable):
            yield path
            continue
        base_offset = base_offset_of(path)
        together.setdefault(path if base_offset is None else os.path.dirname(path), []).append((base_offset or 0, path))
    for segments in together.values():
        run.explanation = ""
        earlier = [segment for segment in segments if segment[0] <= offset]
        _, named = max(earlier) if earlier else min(segments)
        yield named
        for _, other in sorted(segments):
            if run.explanation and other != named and _may_have(other, offset):
                yield other
                if not run.explanation:
                    run.say(f"{other}: offset {offset} is here; by the names of the segments, it is in another one")
        if run.explanation:
            run.say(run.explanation)


def _may_have(path: str, offset: int) -> bool:
    """Whether a batch of a segment may have an offset, whatever the name of the segment says."""
    try:
        with TolerantSource(path) as source:
            items = salvage.walk(source)
            return any(isinstance(item, salvage.Section) and _may_be_in(item.chunk, offset) for item in items)
    except KdumpError:
        return True  # whoever lists it meets the same


def _may_be_in(chunk: Chunk, offset: int) -> bool:
    """Whether one of these batches claims an offset, or has so many records; a wrapper does not state its first offset."""
    columns = (chunk.batches[name] for name in ("base_offset", "last_offset", "compresscodec"))
    for first, last, codec, count in zip(*columns, chunk.record_counts(), strict=True):
        if first is None:
            first = last if codec == "none" else 0
        if first <= offset <= max(last, first + count - 1):
            return True
    return False


def base_offset_of(path: str) -> int | None:
    """The base offset in the name of a file; None if it has none."""
    try:
        return file_name.base_offset(os.path.basename(path))
    except CorruptData:
        return None


class Around:
    """The batches around one offset, noted during a walk."""

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.is_found = False
        self.damaged_position: int | None = None  # of a damaged batch after the last one before the offset
        self._before: tuple[int, int] | None = None  # position and last offset
        self._holder: tuple[int, int | None, int] | None = None  # position, first and last offset
        self._after: tuple[int, int] | None = None  # position and first offset
        self._overfull: list[int] = []  # positions of batches with more records than offsets, which may reach up to the offset

    @property
    def candidates(self) -> list[int]:
        """The positions of batches whose headers do not claim the offset, but whose records may have it."""
        near = [at[0] for at in (self._before, self._after) if at is not None]
        return list(dict.fromkeys((*self._overfull, *near)))

    def note(self, chunk: Chunk, status: str) -> bool:
        """Note batches of one status. Returns whether an intact one starts after the offset, once one was found that holds it.

        Until then, an offset after it proves nothing: that batch may be in the wrong place, or its base offset wrong. A wrapper
        that may hold it by its header does not count until it is found there.
        """
        columns = (chunk.batches[name] for name in ("position", "base_offset", "last_offset", "compresscodec"))
        for count, position, first, last, codec in zip(chunk.record_counts(), *columns, strict=True):
            if chunk.is_legacy:
                first = last if codec == "none" else None  # a wrapper does not state its first offset
            if status == salvage.DAMAGED:
                self.damaged_position = position
            elif last < self.offset:
                self._before, self.damaged_position = (position, last), None
                if first is not None and self.offset < first + count:
                    self._overfull.append(position)
            elif self._is_nearer(last) if first is None else first <= self.offset:
                self._holder = position, first, last
            else:
                self._after = self._after or (position, last if first is None else first)
                if status == salvage.INTACT and self._holder is not None and (self.is_found or self._holder[1] is not None):
                    return True
        return False

    def _is_nearer(self, last: int) -> bool:
        """Whether a wrapper whose last offset is not below the offset may rather hold it than what was found before."""
        return self._holder is None or self._holder[1] is None and last < self._holder[2]

    def explanation(self, path: str, *, is_damaged: bool) -> str:
        """The message for an offset that is not in a segment; `is_damaged` if a damaged range may have held it."""
        offset = self.offset
        if is_damaged:
            return f"offset {offset} is in no readable batch; it may be in a damaged one"
        if self._holder is not None:
            position, first, last = self._holder
            which = f"offsets {first} to {last}" if first is not None else f"offsets up to {last}"
            return f"the batch at byte {position} has {which}, but no record with offset {offset}: {_GAP}"
        if self._after is None:
            return self._at_the_end(path)
        if self._before is None:
            return self._at_the_start(path, *self._after)
        (before, last), (after, first) = self._before, self._after
        return (
            f"no batch has offset {offset}: the one at byte {before} ends at offset {last}, and the next one, at byte {after},"
            f" starts at {first}; {_GAP}"
        )

    def _at_the_start(self, path: str, position: int, first: int) -> str:
        offset, base_offset = self.offset, base_offset_of(path)
        if base_offset is not None and base_offset <= offset:
            return (
                f"no batch has offset {offset}: the segment's name says {base_offset}, and its first batch, at byte {position},"
                f" starts at offset {first}; {_GAP}"
            )
        return f"no batch has offset {offset}: the log starts at offset {first}; earlier records were deleted, or never existed"

    def _at_the_end(self, path: str) -> str:
        offset = self.offset
        end = (
            "there is no batch"
            if self._before is None
            else f"the last batch, at byte {self._before[0]}, ends at {self._before[1]}"
        )
        later = _next_segment(path)
        if later is not None:
            name, first = later
            return f"no batch has offset {offset}: in this segment {end}, and the next one, {name}, starts at {first}; {_GAP}"
        return f"no batch has offset {offset}: {end}, and there is no later segment"


def section_with(source: Source, position: int, offset: int) -> salvage.Section | None:
    """The batch at a position, if one of its records has an offset."""
    section = next(salvage.walk(source, position), None)
    if not isinstance(section, salvage.Section):
        return None
    batch = salvage.Section(section.chunk.slice(0, 1), section.status)
    parts = past_bad_batches(source, batch.chunk)
    is_there = any(not isinstance(part, UnreadableBatch) and offset in part.records["offset"] for part in parts)
    return batch if is_there else None


def may_hold(source: Source, batch: Chunk, offset: int) -> bool:
    """Whether a record of a batch has an offset, or not all of them can be read."""
    parts = past_bad_batches(source, batch)
    return any(isinstance(part, UnreadableBatch) or offset in part.records["offset"] for part in parts)


def _next_segment(path: str) -> tuple[str, int] | None:
    """The name and base offset of the segment after this one."""
    base_offset = base_offset_of(path)
    if base_offset is None:
        return None
    try:
        names = system.names(os.path.dirname(path) or ".")
    except Unreadable:
        return None
    bases = ((base_offset_of(name), name) for name in names if name.endswith(file_name.LOG))
    later = [(base, name) for base, name in bases if base is not None and base > base_offset]
    return (min(later)[1], min(later)[0]) if later else None
