"""Finds what growing logs have gained between two moments: complete batches, each in one such step.

A step is a range of bytes where files were only appended to, and a range of offsets in files that were rewritten (compacted) in
between. Kafka: a segment is appended to until it is rolled; then the next one is created, named by the next offset.
"""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING, NamedTuple

from kdump.binary import system
from kdump.binary.batch_header import BATCH_HEADER_SIZE
from kdump.binary.source import Source
from kdump.errors import CorruptData, KdumpError, Unreadable, UsageError
from kdump.formats.log import Log
from kdump.pipeline import discovery, planning, reading
from kdump.pipeline.options import Options
from kdump.pipeline.planning import FileSlice

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from kdump.pipeline.discovery import FileItem

TABLES = ("batches", "records")
_KIND = "log"


class End(NamedTuple):
    """The end of a partition's complete batches.

    `next_offset` follows the last of them. `position` is where they end in the segment of `base_offset`, a file of this `inode`;
    `last` is the position of the last batch there (-1 if there is none) and `digest` the checksum of its header.
    """

    next_offset: int
    base_offset: int
    position: int
    inode: int
    last: int
    digest: int


class Step(NamedTuple):
    """Slices that one task reads; `ranges` gives the lowest and the highest offset for files that were rewritten."""

    slices: tuple[FileSlice, ...]
    ranges: Mapping[str, tuple[int | None, int | None]]


Ends = dict[str, End]
"""The ends of partitions, by their directories."""


def ends(options: Options, known: Mapping[str, End]) -> Ends:
    """Where the complete batches of all partitions end now. The walks start at the ends that are `known`.

    Raises UsageError for a table that does not grow.
    """
    if options.table not in TABLES:
        raise UsageError(f"a stream reads the table {' or '.join(TABLES)}, not {options.table!r}")
    found = ((directory, _end(items[-1], known.get(directory))) for directory, items in _partitions(options).items())
    return {directory: end for directory, end in found if end is not None}


def steps(options: Options, start: Mapping[str, End], end: Mapping[str, End]) -> list[Step]:
    """What was gained from `start` to `end`, divided into tasks. Partitions that are not in `start` are read from their start.

    Raises KdumpError if records that were to be read, or that were read, are gone: a log was truncated or deleted, or retention
    was faster. With failOnDataLoss=false, such a partition continues with the next offset that is there.
    """
    partitions = _partitions(options)
    slices: list[FileSlice] = []
    ranges: dict[str, tuple[int | None, int | None]] = {}
    for directory in start.keys() - end.keys() if options.fails_on_data_loss else ():
        raise _loss(directory, "its segments are gone")
    for directory, until in end.items():
        since = start.get(directory)
        if since == until:
            continue
        items = [item for item in partitions.get(directory, ()) if item.base_offset is not None]
        problem = _problem(since, until, items)
        if problem and options.fails_on_data_loss:
            raise _loss(directory, problem)
        for file_slice, offsets in _slices(None if problem and since is None else since, until, items, is_lost=bool(problem)):
            slices.append(file_slice)
            if offsets != (None, None):
                ranges[file_slice.path] = offsets
    tasks = planning.bins(slices, options)
    return [Step(tuple(one for one in task if isinstance(one, FileSlice)), _ranges_of(task, ranges)) for task in tasks]


def read(step: Step, given: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
    """The rows of a step."""
    plain = tuple(file_slice for file_slice in step.slices if file_slice.path not in step.ranges)
    yield from reading.read(plain, Options(given))
    for file_slice in step.slices:
        if file_slice.path in step.ranges:
            yield from reading.read((file_slice,), Options(_within(given, *step.ranges[file_slice.path])))


def _within(given: Mapping[str, str], lowest: int | None, highest: int | None) -> dict[str, str]:
    """Options with a range of offsets that is also within these."""
    options = Options(given)
    lows = [offset for offset in (lowest, options.from_offset) if offset is not None]
    highs = [offset for offset in (highest, options.to_offset) if offset is not None]
    narrowed = {name.lower(): value for name, value in given.items()}
    if lows:
        narrowed["fromoffset"] = str(max(lows))
    if highs:
        narrowed["tooffset"] = str(min(highs))
    return narrowed


def _ranges_of(
    task: Sequence[object], ranges: Mapping[str, tuple[int | None, int | None]]
) -> dict[str, tuple[int | None, int | None]]:
    paths = [one.path for one in task if isinstance(one, FileSlice)]
    return {path: ranges[path] for path in paths if path in ranges}


def _partitions(options: Options) -> dict[str, list[FileItem]]:
    """The segments of each partition, by directory, in the order of their offsets."""
    found: dict[str, list[FileItem]] = {}
    for item in discovery.files_of(options):
        if item.kind == _KIND and item.state is None and item.base_offset is not None:
            found.setdefault(os.path.dirname(item.path), []).append(item)
    return {directory: sorted(items, key=lambda item: item.base_offset or 0) for directory, items in sorted(found.items())}


def _end(item: FileItem, known: End | None) -> End | None:
    """Where complete batches end in the newest segment of a partition; None if it cannot be read now."""
    base_offset = item.base_offset or 0
    try:
        with Source(item.path) as source:
            inode = source.status().st_ino
            end = End(base_offset, base_offset, 0, inode, -1, 0)
            if known is not None and (known.base_offset, known.inode) == (base_offset, inode) and _still_holds(source, known):
                end = known
            log = Log(source, end.position)
            next_offset, last = end.next_offset, end.last
            try:
                for positions, last_offsets in log.extents():
                    next_offset, last = last_offsets[-1] + 1, positions[-1]
            except CorruptData:
                pass  # what follows is not complete yet, or is damage: it is read when the segment is closed
            return end if last < 0 else End(next_offset, base_offset, log.position, inode, last, _digest(source, last))
    except Unreadable:
        return None


def _digest(source: Source, position: int) -> int:
    return zlib.crc32(source.read(position, BATCH_HEADER_SIZE)[:BATCH_HEADER_SIZE])


def _still_holds(source: Source, end: End) -> bool:
    """Whether a file still holds the batch up to which it was read."""
    return source.size >= end.position and (end.last < 0 or _digest(source, end.last) == end.digest)


def _problem(since: End | None, until: End, items: Sequence[FileItem]) -> str:
    """Why records were lost between two ends; empty if none were."""
    if not items:
        return "its segments are gone"
    if since is None:
        return ""
    if until.next_offset < since.next_offset:
        return f"it was truncated: it ends before offset {until.next_offset:,}, and was read up to {since.next_offset - 1:,}"
    first = items[0].base_offset or 0
    if first > since.next_offset:
        return f"offsets {since.next_offset:,} to {first - 1:,} were deleted before they were read"
    same = next((item for item in items if item.base_offset == since.base_offset), None)
    if same is not None:
        with Source(same.path) as source:
            if source.status().st_ino == since.inode and not _still_holds(source, since):
                return f"it was truncated, and written again: the batch before offset {since.next_offset:,} is another one"
    return ""


def _slices(
    since: End | None, until: End, items: Sequence[FileItem], *, is_lost: bool
) -> Iterator[tuple[FileSlice, tuple[int | None, int | None]]]:
    """The slices between two ends, each with the range of offsets that it is restricted to if its file was rewritten."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        base_offset = item.base_offset or 0
        if base_offset > until.base_offset or base_offset >= until.next_offset:
            continue
        if since is not None and following is not None and (following.base_offset or 0) <= since.next_offset:
            continue  # all of it was read
        try:
            status = system.status(item.path)
        except Unreadable:
            status = None  # reading it fails likewise
        inode = -1 if status is None else status.st_ino
        begin = look_back = 0
        lowest = highest = end = None
        if since is not None and base_offset <= since.next_offset:
            if (base_offset, inode) == (since.base_offset, since.inode) and not is_lost:
                begin, look_back = since.position, max(since.last, 0)
            else:
                lowest = since.next_offset
        if (base_offset, inode) == (until.base_offset, until.inode):
            end = until.position
        elif following is None or (following.base_offset or 0) >= until.next_offset:
            highest = until.next_offset - 1
        if end is not None:
            if begin >= end:
                continue
            item = item._replace(size=end)  # a batch that is being written is not seen
        yield FileSlice(item, begin, end, look_back), (lowest, highest)


def _loss(directory: str, problem: str) -> KdumpError:
    return KdumpError(
        problem, path=directory, remedy="begin with a new checkpoint location, or continue with the option failOnDataLoss=false"
    )
