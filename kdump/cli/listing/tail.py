"""Finds where the last batches or records of a log start, for `--tail`: from its end, with the offset index where it helps."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import deque
from functools import partial
from typing import NamedTuple

from kdump.binary.source import Source
from kdump.binary.tolerant_source import TolerantSource
from kdump.cli.listing.seek import starts_from_the_end
from kdump.errors import KdumpError, Unreadable
from kdump.reading import salvage
from kdump.reading.records import UnreadableBatch, past_bad_batches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
    find = _last_records if is_deep else _last_batches
    for start in starts_from_the_end(source):
        last = find(source, start, wanted)
        if last is not None:
            return last
    raise ValueError("the last start is that of the log")


def _last_batches(source: Source, start: int, wanted: int) -> tuple[Begin, int] | None:
    """The same, by a walk from here; None if that has too few rows, or if there is damage, which only a walk from 0 can judge."""
    return _last_rows(source, start, wanted, lambda section: [1] * len(section.chunk))


def _last_records(source: Source, start: int, wanted: int) -> tuple[Begin, int] | None:
    """The same for records. Headers say where they roughly start: only the last batches have to be read to count them."""
    counted_from = source.size
    while True:
        last = _last_rows(source, start, wanted, partial(_record_counts, source, counted_from))
        if last is None or last[0].position >= counted_from:
            return last
        # where batches have fewer records than their headers claim, all are counted
        counted_from = last[0].position if counted_from == source.size else 0


def _last_rows(
    source: Source, start: int, wanted: int, counts_of: Callable[[salvage.Section], list[int]]
) -> tuple[Begin, int] | None:
    batches: deque[tuple[int, int]] = deque()  # the position and rows of each that may be among the last
    total, is_cut = 0, False
    for item in salvage.walk(source, start):
        if start and (isinstance(item, salvage.Damage) or not item.is_intact):
            return None
        if isinstance(item, salvage.Damage):
            continue
        for position, rows in zip(item.chunk.batches["position"], counts_of(item), strict=True):
            batches.append((position, rows))
            total += rows
            while total - batches[0][1] >= wanted:
                total -= batches.popleft()[1]
                is_cut = True
    if start and not is_cut:
        return None
    skipped = max(0, total - wanted)
    return Begin(start, batches[0][0] if is_cut or skipped else 0, skipped), total


def _record_counts(source: Source, counted_from: int, section: salvage.Section) -> list[int]:
    """The rows that the records of each batch of a section have.

    Those of intact batches before the position `counted_from` are as many as their headers claim.
    """
    chunk = section.chunk
    row = bisect_left(chunk.batches["position"], counted_from) if section.is_intact and not chunk.is_legacy else 0
    claimed = [max(0, count) for count in chunk.batches["count"][:row]] if row else []
    return claimed + (_read_counts(source, chunk.slice(row, len(chunk))) if row < len(chunk) else [])


def _read_counts(source: Source, chunk: Chunk) -> list[int]:
    """The same, of batches that are read; where records cannot be read, they are one row."""
    counts = dict.fromkeys(chunk.batches["position"], 0)
    for part in past_bad_batches(source, chunk, columns=()):
        if isinstance(part, UnreadableBatch):
            counts[part.position] += 1
            continue
        for position, count in zip(part.batches["position"], part.counts, strict=True):
            counts[position] += count
    return list(counts.values())
