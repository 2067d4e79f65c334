"""Finds what growing logs have gained between two moments: intact batches, each in one such step.

A step is a range of bytes where files were only appended to, and a range of offsets in files that were rewritten (compacted) in
between. Kafka: a segment is appended to until it is rolled; then the next one is created, named by the next offset.
"""

from __future__ import annotations

import os
import zlib
from bisect import bisect_right
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from kdump.binary import system
from kdump.binary.batch_header import BATCH_HEADER_SIZE
from kdump.binary.source import Source
from kdump.errors import CorruptData, KdumpError, Unreadable, UsageError
from kdump.formats import tree
from kdump.formats.log import Log
from kdump.pipeline import discovery, planning, reading
from kdump.pipeline.listed_source import Replaced
from kdump.pipeline.options import Options
from kdump.pipeline.planning import FileSlice

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from kdump.pipeline.discovery import FileItem
    from kdump.pipeline.slice_report import SliceReport

TABLES = ("batches", "records")
_KIND, _SWAP = "log", "swap"
_MAX_LISTS = 20  # of one directory, while files are renamed in it
_MAX_REPLACED = 20  # times in a row that a segment is replaced between its listing and its opening
_FAILURES = ("file-io-error", "file-permission")  # codes of what a broker does not cause
_NO_INODE = -1  # of a file that is gone


class End(NamedTuple):
    """The end of a partition's intact batches: whole ones whose checksums fit.

    `next_offset` follows the last of them. `position` is where they end in the segment of `base_offset`, a file of this `inode`;
    `last` is the position of the last batch there (-1 if there is none) and `digest` the checksum of its header.
    """

    next_offset: int
    base_offset: int
    position: int
    inode: int
    last: int
    digest: int


class Range(NamedTuple):
    """The lowest and the highest offset of a slice. `is_by_offset` where its bytes hold others, too: its file was rewritten."""

    lowest: int
    highest: int
    is_by_offset: bool


class Step(NamedTuple):
    """Slices that one task reads, and their ranges, by path."""

    slices: tuple[FileSlice, ...]
    ranges: Mapping[str, Range]


Ends = dict[str, End]
"""The ends of partitions, by their directories."""


def ends(options: Options, known: Mapping[str, End]) -> Ends:
    """Where the intact batches of all partitions end now. The walks start at the ends that are `known`.

    Raises UsageError for a table that does not grow, and Unreadable where the system fails to list or read something, unless
    that is to be skipped.
    """
    if options.table not in TABLES:
        raise UsageError(f"a stream reads the table {' or '.join(TABLES)}, not {options.table!r}")
    found = (
        (directory, _end(items[-1], known.get(directory), options))
        for directory, items in _partitions(discovery.files_of(options), options).items()
    )
    return {directory: end for directory, end in found if end is not None}


def steps(options: Options, start: Mapping[str, End], end: Mapping[str, End]) -> list[Step]:
    """What was gained from `start` to `end`, divided into tasks. Partitions that are not in `start` are read from their start.

    Raises KdumpError if records that were to be read, or that were read, are gone: a log was truncated or deleted, or retention
    was faster. With failOnDataLoss=false, such a partition continues with the next offset that is there.
    """
    partitions = _partitions(discovery.files_of(options), options)
    slices: list[FileSlice] = []
    ranges: dict[str, Range] = {}
    for directory in start.keys() - end.keys() if options.fails_on_data_loss else ():
        raise _loss(directory, "its segments are gone")
    for directory, until in end.items():
        since = start.get(directory)
        if since == until:
            continue
        items = _settled(directory, partitions.get(directory, []), options)
        problem = _problem(since, until, items)
        if problem and options.fails_on_data_loss:
            raise _loss(directory, problem)
        for file_slice, offsets in _slices(None if problem and since is None else since, until, items, is_lost=bool(problem)):
            slices.append(file_slice)
            ranges[file_slice.path] = offsets
    tasks = [tuple(one for one in task if isinstance(one, FileSlice)) for task in planning.bins(slices, options)]
    return [Step(task, {one.path: ranges[one.path] for one in task}) for task in tasks]


def read(step: Step, given: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
    """The rows of a step. Where a broker has replaced a file since the step was planned, the same offsets of what is there now.

    Raises KdumpError as `steps`, and as `reading.read`.
    """
    by_offset = {path for path, offsets in step.ranges.items() if offsets.is_by_offset}
    at_once = len(step.slices) if Options(given).table in reading.NATIVE_TABLES else 1  # else rows wait for the next slice
    left = step.slices
    while left:
        if left[0].path in by_offset:
            yield from _by_offset(os.path.dirname(left[0].path), step.ranges[left[0].path], given)
            left = left[1:]
            continue
        plain = tuple(takewhile(lambda one: one.path not in by_offset, left[:at_once]))
        read_through: list[SliceReport] = []
        try:
            yield from reading.read(plain, Options(given), read_through.append)
            left = left[len(plain) :]
        except Replaced as error:
            by_offset.add(error.path or left[0].path)
            left = left[len(read_through) :]


def _by_offset(directory: str, offsets: Range, given: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
    """The rows of a range of offsets, from the segments that a partition has now, one after the other.

    Raises KdumpError if the segment with an offset is another file whenever it is opened.
    """
    lowest, highest, _ = offsets
    options = Options(given)
    replaced = 0
    while lowest <= highest:
        items = _settled(directory, [], options)
        bases = [item.base_offset or 0 for item in items]
        first = bases[0] if bases else highest + 1
        if first > lowest:
            if options.fails_on_data_loss:
                raise _loss(directory, _deleted(lowest, min(first - 1, highest)))
            lowest = first
            continue
        row = bisect_right(bases, lowest) - 1
        last = min([highest, *(base - 1 for base in bases[row + 1 : row + 2])])
        try:
            yield from reading.read((FileSlice(_identified(items[row])),), Options(_within(given, lowest, last)))
        except Replaced as error:
            replaced += 1
            if replaced == _MAX_REPLACED:
                message = f"the segment with offset {lowest:,} was another file each of the {replaced} times that it was opened"
                remedy = "a broker that compacts is done in a moment: start the query again then"
                raise KdumpError(message, path=error.path, remedy=remedy) from error
            continue
        lowest, replaced = last + 1, 0


def _within(given: Mapping[str, str], lowest: int, highest: int) -> dict[str, str]:
    """Options with a range of offsets that is also within these."""
    asked = Options(given).range
    low = lowest if asked.from_offset is None else max(lowest, asked.from_offset)
    high = highest if asked.to_offset is None else min(highest, asked.to_offset)
    return {**{name.lower(): value for name, value in given.items()}, "fromoffset": str(low), "tooffset": str(high)}


def _partitions(items: Iterable[FileItem], options: Options) -> dict[str, list[FileItem]]:
    """The segments of each partition that is asked for, by directory, in the order of their offsets."""
    found: dict[str, list[FileItem]] = {}
    for item in items:
        is_segment = item.kind == _KIND and item.state in (None, _SWAP) and item.base_offset is not None
        if is_segment and discovery.is_wanted(item, options):
            found.setdefault(os.path.dirname(item.path), []).append(item)
    return {directory: _current(segments, options) for directory, segments in sorted(found.items())}


def _current(items: Sequence[FileItem], options: Options) -> list[FileItem]:
    """The segments that a broker would load, in the order of their offsets: a `.swap` takes the place of those that it replaces.

    Kafka: LocalLog.replaceSegments, and LogLoader, which completes that after a stop in the middle of it.
    """
    swaps = [(item.base_offset or 0, _last_offset(item, options)) for item in items if item.state == _SWAP]
    current = [
        item
        for item in items
        if item.state == _SWAP or not any(first <= (item.base_offset or 0) <= last for first, last in swaps)
    ]
    return sorted(current, key=lambda item: item.base_offset or 0)


def _last_offset(item: FileItem, options: Options) -> int:
    """The last offset of a log; its base offset if it has no batches, or cannot be read any more."""
    last = item.base_offset or 0
    try:
        with Source(item.path) as source:
            for _, last_offsets in Log(source).extents():
                last = last_offsets[-1]
    except CorruptData:
        pass
    except Unreadable as error:  # it has its new name by now
        _require_gone(error, options)
    return last


def _settled(directory: str, items: list[FileItem], options: Options) -> list[FileItem]:
    """The segments of a partition: these if it has the same ones now, else those that two lists in a row have.

    While a broker renames files, a list may have neither the old one nor the new one. Raises Unreadable if it cannot be listed.
    """
    for _ in range(_MAX_LISTS):
        try:
            skips = options.unreadable == options.SKIP
            listed = list(discovery.discover(directory, options.broker, options.follows_links, skips_unlisted=skips))
        except Unreadable as error:
            _require_gone(error, options)
            listed = []
        again = _partitions(listed, options).get(directory, [])
        if [item.path for item in again] == [item.path for item in items]:
            return again
        items = again
    return items


def _require_gone(error: Unreadable, options: Options) -> None:
    """Raise a failure of the system, which is no sign that a broker has renamed or deleted a file, unless it is to be skipped."""
    code = error.__cause__.code if isinstance(error.__cause__, Unreadable) else error.code
    if code in _FAILURES and options.unreadable != options.SKIP:
        raise error


def _identified(item: FileItem) -> FileItem:
    """An item that stands for the file that is there now, with its size."""
    try:
        status = system.status(item.path)
    except Unreadable:
        return item  # reading it fails likewise
    return item._replace(inode=_NO_INODE) if status is None else item._replace(inode=status.st_ino, size=status.st_size)


def _end(item: FileItem, known: End | None, options: Options) -> End | None:
    """Where intact batches end in the newest segment of a partition; None if it is gone by now."""
    base_offset = item.base_offset or 0
    try:
        with Source(item.path) as source:
            inode = source.status().st_ino
            end = End(base_offset, base_offset, 0, inode, -1, 0)
            if known is not None and (known.base_offset, known.inode) == (base_offset, inode) and _still_holds(source, known):
                end = known
            next_offset, last, position = _intact_end(Log(source, end.position), end.next_offset)
            return end if last < 0 else End(next_offset, base_offset, position, inode, last, _digest(source, last))
    except Unreadable as error:
        _require_gone(error, options)
        return None


def _intact_end(log: Log, next_offset: int) -> tuple[int, int, int]:
    """The offset after the last batch before damage, the position of that batch (-1 if there is none), and where it ends.

    A stop may leave a batch at the end of which some blocks were never written. Brokers cut it off at their next start, and write
    others there. What follows damage is read when the segment is closed.
    """
    last, end = -1, log.position
    try:
        for chunk in log.summarized_chunks():
            summary = chunk.summary
            if summary is not None and summary.first_offset >= next_offset:
                next_offset, last, end = summary.last_offset + 1, summary.last_position, summary.end
                continue
            columns = (chunk.batches[name] for name in ("position", "size", "last_offset", "isvalid"))
            for position, size, last_offset, is_valid in zip(*columns, strict=True):
                if not is_valid or last_offset < next_offset:
                    return next_offset, last, end
                next_offset, last, end = last_offset + 1, position, position + size
    except CorruptData:
        pass  # what follows is not complete yet, or is damage
    return next_offset, last, end


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
        return _deleted(since.next_offset, first - 1)
    same = next((item for item in items if item.base_offset == since.base_offset), None)
    if same is None:
        return ""
    try:
        with Source(same.path) as source:
            is_same = source.status().st_ino == since.inode
            if is_same and not _still_holds(source, since):
                return f"it was truncated, and written again: the batch before offset {since.next_offset:,} is another one"
    except Unreadable:
        pass  # it is being replaced, or reading it fails likewise
    return ""


def _slices(since: End | None, until: End, items: Sequence[FileItem], *, is_lost: bool) -> Iterator[tuple[FileSlice, Range]]:
    """The slices between two ends, each with its range of offsets."""
    for listed, following in tree.with_next(items):
        base_offset = listed.base_offset or 0
        next_base = until.next_offset if following is None else following.base_offset or 0
        if base_offset > until.base_offset or base_offset >= until.next_offset:
            continue
        if since is not None and following is not None and next_base <= since.next_offset:
            continue  # all of it was read
        item = _identified(listed)
        begin = look_back = 0
        lowest, end, is_by_offset = base_offset, None, False
        if since is not None and base_offset <= since.next_offset:
            lowest = since.next_offset
            if (base_offset, item.inode) == (since.base_offset, since.inode) and not is_lost:
                begin, look_back = since.position, max(since.last, 0)
            else:
                is_by_offset = True
        if (base_offset, item.inode) == (until.base_offset, until.inode):
            end = until.position
        elif following is None or next_base >= until.next_offset:
            is_by_offset = True
        if end is not None:
            if begin >= end:
                continue
            item = item._replace(size=end)  # a batch that is being written is not seen
        yield FileSlice(item, begin, end, look_back), Range(lowest, min(next_base, until.next_offset) - 1, is_by_offset)


def _deleted(first: int, last: int) -> str:
    return f"offsets {first:,} to {last:,} were deleted before they were read"


def _loss(directory: str, problem: str) -> KdumpError:
    return KdumpError(
        problem, path=directory, remedy="begin with a new checkpoint location, or continue with the option failOnDataLoss=false"
    )
