"""Finds where the last batches or records of a log start, for `--tail`: from its end, with the offset index where it helps."""

from __future__ import annotations

import os
from collections import deque
from typing import NamedTuple

from kdump.binary.source import Source
from kdump.binary.tolerant_source import TolerantSource
from kdump.cli.listing.seek import starts_from_the_end
from kdump.errors import CorruptData, KdumpError, Unreadable
from kdump.formats import records
from kdump.reading import salvage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.formats.log import Chunk


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
    for start in starts_from_the_end(source):
        last = _last_rows(source, start, wanted, is_deep=is_deep)
        if last is not None:
            return last
    raise ValueError("the last start is that of the log")


def _last_rows(source: Source, start: int, wanted: int, *, is_deep: bool) -> tuple[Begin, int] | None:
    """The same, by a walk from here; None if that has too few rows, or if there is damage, which only a walk from 0 can judge."""
    batches: deque[tuple[int, int]] = deque()  # the position and rows of each that may be among the last
    total, is_cut = 0, False
    for item in salvage.walk(source, start):
        if start and (isinstance(item, salvage.Damage) or not item.is_intact):
            return None
        if isinstance(item, salvage.Damage):
            continue
        counts = _record_counts(source, item) if is_deep else [1] * len(item.chunk)
        for position, rows in zip(item.chunk.batches["position"], counts, strict=True):
            batches.append((position, rows))
            total += rows
            while total - batches[0][1] >= wanted:
                total -= batches.popleft()[1]
                is_cut = True
    if start and not is_cut:
        return None
    return Begin(start, batches[0][0] if is_cut else 0, max(0, total - wanted)), total


def _record_counts(source: Source, section: salvage.Section) -> list[int]:
    """The number of records in each batch of a section; a batch that cannot be read counts as one row."""
    chunk = section.chunk
    if chunk.is_legacy or not section.is_intact:
        return [_read_count(source, chunk.slice(row, row + 1)) for row in range(len(chunk))]
    return [max(0, count) for count in chunk.batches["count"]]


def _read_count(source: Source, batch: Chunk) -> int:
    count = 0
    try:
        for part in records.read(source, batch):
            count += sum(part.counts)
    except CorruptData:
        return count + 1
    return count
