"""Finds where the last batches or records of a log start, for `--tail`: from its end, with the offset index where it helps."""

from __future__ import annotations

import os
from collections import deque
from functools import partial
from typing import NamedTuple

from kdump.binary.source import Source
from kdump.binary.tolerant_source import TolerantSource
from kdump.cli.listing.seek import starts_from_the_end
from kdump.errors import KdumpError, Unreadable
from kdump.reading import salvage
from kdump.reading.items import Damage, Patches, Section
from kdump.reading.records import UnreadableBatch, past_bad_batches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kdump.formats.log import Chunk

_MAX_HELD_BYTES = 16 << 20  # of the last batches of a log, until they are counted


class Begin(NamedTuple):
    """Where the listing of a segment starts: at the batch at `position`, without its first `skipped` records.

    `start` is where a walk must start so that it reaches this batch as a walk through the whole log would.
    """

    start: int = 0
    position: int = 0
    skipped: int = 0


def begins(paths: Sequence[str | Unreadable], count: int, *, is_deep: bool) -> dict[str, Begin | Unreadable]:
    """Where to start in each segment that has some of the last `count` batches, or records, of its directory.

    For a segment that cannot be read, the error stands in place of the start.
    """
    found: dict[str, Begin | Unreadable] = {}
    by_directory: dict[str, list[str]] = {}
    for path in paths:
        if isinstance(path, str):
            by_directory.setdefault(os.path.dirname(path), []).append(path)
    for segments in by_directory.values():
        wanted = count
        for path in sorted(set(segments), reverse=True):
            if wanted <= 0:
                break
            try:
                with TolerantSource(path) as source:
                    found[path], rows = _begin_in(source, wanted, is_deep=is_deep)
                wanted -= rows
            except Unreadable as error:
                found[path] = error
            except KdumpError:
                found[path] = Begin()  # whoever lists it meets the same
    return found


def _begin_in(source: Source, wanted: int, *, is_deep: bool) -> tuple[Begin, int]:
    """Where the last rows of a segment start, and how many rows there are from that batch on."""
    rows_of = partial(_rows_of, source, is_deep=is_deep)
    for start in starts_from_the_end(source):
        last = _last_rows(source, start, wanted, rows_of)
        if last is not None:
            return last
    raise ValueError("the last start is that of the log")


def _last_rows(source: Source, start: int, wanted: int, rows_of: Callable[[Chunk], list[int]]) -> tuple[Begin, int] | None:
    """The same, by a walk from here; None if that has too few rows, or if there is damage, which only a walk from 0 can judge.

    Batches are counted from the last one on, so that only few of them have to be read.
    """
    held = _LastItems(wanted)
    for item in salvage.walk_patches(source, start, lambda: True):
        if start and not _is_intact(item):
            return None
        held.add(item)
    total, position, is_cut = 0, 0, held.is_cut
    for section in held.sections_from_the_end():
        chunk, end = section.chunk, len(section.chunk)
        while end and total < wanted:
            begin = _block_before(section, end, wanted - total)
            rows = rows_of(chunk.slice(begin, end))
            while rows and total < wanted:
                total += rows.pop()
                end -= 1
                position = chunk.batches["position"][end]
        if total >= wanted:
            is_cut |= end > 0 or position > held.first
            break
    if total < wanted and held.is_cut:  # many batches without rows
        total, position, is_cut = _last_of_all(source, start, wanted, rows_of)
    if start and not is_cut:
        return None
    skipped = max(0, total - wanted)
    return Begin(start, position if is_cut or skipped else 0, skipped), total


def _is_intact(item: Section | Damage | Patches) -> bool:
    """Whether there is no damage, and all batches are intact."""
    if isinstance(item, Patches):
        return all(map(_is_intact, item.items()))
    return isinstance(item, Section) and item.is_intact


class _LastItems:
    """The last items of a walk: those with at least so many batches, if they do not take too much memory."""

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._items: deque[Section | Patches] = deque()
        self._batches = self._bytes = 0
        self.is_cut = False
        """Whether there are batches before the first of these items."""

    def add(self, item: Section | Damage | Patches) -> None:
        """Add the next item of the walk, and let go of those that are not among the last."""
        if isinstance(item, Damage):
            return
        self._items.append(item)
        self._count(item, 1)
        while len(self._items) > 1:
            first = self._items[0]
            self._count(first, -1)
            if self._batches < self._wanted and self._bytes < _MAX_HELD_BYTES:
                self._count(first, 1)
                return
            self._items.popleft()
            self.is_cut = True

    def _count(self, item: Section | Patches, times: int) -> None:
        chunk = _section_of(item).chunk
        self._batches += times * len(chunk)
        self._bytes += times * len(chunk.window)

    @property
    def first(self) -> int:
        """The position of the first batch of these."""
        first: int = _section_of(self._items[0]).chunk.batches["position"][0]
        return first

    def sections_from_the_end(self) -> Iterator[Section]:
        """Their batches, the last section first."""
        while self._items:
            item = self._items[-1]
            sections = list(item.items()) if isinstance(item, Patches) else [item]
            yield from (section for section in reversed(sections) if isinstance(section, Section))
            if len(self._items) == 1:
                return
            self._items.pop()


def _section_of(item: Section | Patches) -> Section:
    return item.section if isinstance(item, Patches) else item


def _block_before(section: Section, end: int, wanted: int) -> int:
    """The row from which on batches are counted together, up to `end`: where headers say how many records they have, enough."""
    chunk = section.chunk
    begin = max(0, end - wanted)
    if section.is_intact and not chunk.is_legacy:
        counts = chunk.batches["count"]
        for row in range(end - 1, begin, -1):
            wanted -= max(0, counts[row])
            if wanted <= 0:
                return row
    return begin


def _last_of_all(source: Source, start: int, wanted: int, rows_of: Callable[[Chunk], list[int]]) -> tuple[int, int, bool]:
    """How many rows there are from the batch on with which the last ones start, its position, and whether others are before it.

    All batches are counted.
    """
    batches: deque[tuple[int, int]] = deque()  # the position and rows of each that may be among the last
    total, is_cut = 0, False
    for item in salvage.walk(source, start):
        if isinstance(item, Section):
            for position, rows in zip(item.chunk.batches["position"], rows_of(item.chunk), strict=True):
                batches.append((position, rows))
                total += rows
                while total - batches[0][1] >= wanted:
                    total -= batches.popleft()[1]
                    is_cut = True
    return total, batches[0][0], is_cut


def _rows_of(source: Source, chunk: Chunk, *, is_deep: bool) -> list[int]:
    """How many rows each batch has in the listing."""
    return _read_counts(source, chunk) if is_deep else [1] * len(chunk)


def _read_counts(source: Source, chunk: Chunk) -> list[int]:
    """The rows that the records of each batch have; where records cannot be read, they are one row."""
    counts = dict.fromkeys(chunk.batches["position"], 0)
    for part in past_bad_batches(source, chunk, columns=()):
        if isinstance(part, UnreadableBatch):
            counts[part.position] += 1
            continue
        for position, count in zip(part.batches["position"], part.counts, strict=True):
            counts[position] += count
    return list(counts.values())
