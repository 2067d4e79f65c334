"""Finds where the last batches or records of a log start, for `--tail`: from its end, with the offset index where it helps."""

from __future__ import annotations

import os
from collections import deque
from typing import NamedTuple

from kdump.binary.source import Source
from kdump.binary.tolerant_source import TolerantSource
from kdump.errors import KdumpError, Unreadable
from kdump.reading import salvage
from kdump.reading.records import UnreadableBatch, past_bad_batches
from kdump.reading.starts import starts_from_the_end

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.formats.log import Chunk


class ListingStart(NamedTuple):
    """Where the listing of a segment starts: at the batch at `position`, without its first `skipped` records.

    `start` is where a walk must start so that it reaches this batch as a walk through the whole log would.
    """

    start: int = 0
    position: int = 0
    skipped: int = 0


def begins(paths: Sequence[str | Unreadable], count: int, *, is_deep: bool) -> dict[str, ListingStart | Unreadable]:
    """Where to start in each segment that has some of the last `count` batches, or records, of its directory.

    For a segment that cannot be read, the error stands in place of the start.
    """
    found: dict[str, ListingStart | Unreadable] = {}
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
                found[path] = ListingStart()  # whoever lists it meets the same
    return found


def _begin_in(source: Source, wanted: int, *, is_deep: bool) -> tuple[ListingStart, int]:
    """Where the last rows of a segment start, and how many rows there are from that batch on."""
    for start in starts_from_the_end(source):
        last = _last_rows(source, start, wanted, is_deep=is_deep)
        if last is not None:
            return last
    raise AssertionError("position 0 was tried, and had no rows")


def _last_rows(source: Source, start: int, wanted: int, *, is_deep: bool) -> tuple[ListingStart, int] | None:
    """The same, by a walk from here; None if that has too few rows, or if there is damage, which only a walk from 0 can judge."""
    first: int | None = None  # the position of the first batch
    last: deque[tuple[int, int]] = deque()  # the position and rows of each batch that may be among the last
    total = 0
    for item in salvage.walk(source, start):
        if start and not (isinstance(item, salvage.Section) and item.is_intact):
            return None
        if isinstance(item, salvage.Damage):
            continue
        positions = item.chunk.batches["position"] if item.summary is None else item.summary.positions
        counts = _read_counts(source, item.chunk) if is_deep else [1] * len(positions)
        first = positions[0] if first is None else first
        for position, rows in zip(positions, counts, strict=True):
            if rows:
                last.append((position, rows))
                total += rows
                while total - last[0][1] >= wanted:
                    total -= last.popleft()[1]
    is_cut = total >= wanted and last[0][0] != first
    if start and not is_cut:
        return None
    skipped = max(0, total - wanted)
    return ListingStart(start, last[0][0] if is_cut or skipped else 0, skipped), total


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
