"""Damage that remains in the logs after a start: batches that no start reads and no consumer can pass."""

from __future__ import annotations

import os
from typing import NamedTuple

from kdump.binary.source import Source
from kdump.forecasts.batches import MAX_LOG_SIZE
from kdump.forecasts.directory import has_offset, is_canonical, offset_of
from kdump.formats import file_name
from kdump.reading import salvage
from kdump.reading.items import DAMAGED, Damage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.forecasts.directory import Directory

_FOREVER = 0x7FFFFFFFFFFFFFFF


class DamagedRange(NamedTuple):
    """A byte range of a log, `end` exclusive: a damaged batch, or bytes that are not a batch.

    `offset` is the first offset that cannot be read because of it, `next_offset` the first one of the next intact batch.
    """

    start: int
    end: int
    is_batch: bool
    offset: int
    next_offset: int


class DamageLeft(NamedTuple):
    """The number of damaged batches that remain, and the first unreadable offset; None if no damage remains."""

    batches: int = 0
    first_offset: int | None = None


class Damages:
    """The damage in the logs of one directory. Each log is read once for all starts."""

    def __init__(self) -> None:
        self._ranges: dict[str, list[DamagedRange]] = {}

    def left_in(self, directory: Directory, log_start: int) -> DamageLeft:
        """The damage in the logs as they are now, from the log start offset on.

        Logs of more than 2 GiB are skipped, because a broker does not load them, and so are unreadable files.
        """
        batches, first_offset = 0, None
        for name, file in directory.files.items():
            if not (name.endswith(file_name.LOG) and has_offset(name) and is_canonical(name) and file.path):
                continue
            if file.size > MAX_LOG_SIZE:
                continue
            for damaged in self._of_file(file.path):
                if damaged.start >= file.start + file.size or damaged.end <= file.start or damaged.next_offset <= log_start:
                    continue
                batches += damaged.is_batch
                offset = max(damaged.offset, log_start)
                first_offset = offset if first_offset is None else min(first_offset, offset)
        return DamageLeft(batches, first_offset)

    def _of_file(self, path: str) -> list[DamagedRange]:
        if path not in self._ranges:
            self._ranges[path] = _ranges_of(path)
        return self._ranges[path]


def _ranges_of(path: str) -> list[DamagedRange]:
    """The damaged ranges of a log, in order."""
    ranges: list[DamagedRange] = []
    expected = base_offset = offset_of(os.path.basename(path))

    def note(start: int, end: int, is_batch: bool, claimed: int | None) -> None:
        ranges.append(DamagedRange(start, end, is_batch, expected if claimed is None else claimed, _FOREVER))

    def end_ranges(offset: int) -> None:
        """The offsets that damaged batches claim are trusted if they lie between those of their neighbours."""
        for row in range(len(ranges) - 1, -1, -1):
            if ranges[row].next_offset != _FOREVER:
                break
            is_likely = expected <= ranges[row].offset < offset
            ranges[row] = ranges[row]._replace(next_offset=offset, offset=ranges[row].offset if is_likely else expected)

    with Source(path) as source:
        for item in salvage.walk(source, base_offset=base_offset):
            if isinstance(item, Damage):
                claimed = getattr(item.row, "base_offset", None) if item.is_batch else None
                note(item.start, item.end, item.is_batch, claimed)
                continue
            if item.summary is not None:
                end_ranges(item.summary.first_offset)
                expected = item.summary.last_offset + 1
                continue
            batches = item.chunk.batches
            for row, status in enumerate(item.statuses):
                first, last = batches["base_offset"][row], batches["last_offset"][row]
                first = last if first is None else first
                if status == DAMAGED or item.claimed_length is not None:
                    start = batches["position"][row]
                    note(start, start + batches["size"][row], True, first)
                else:
                    end_ranges(first)
                    expected = last + 1
    last_possible = base_offset + (1 << 31)
    return [
        damaged._replace(offset=expected)
        if damaged.next_offset == _FOREVER and not expected <= damaged.offset < last_possible
        else damaged
        for damaged in ranges
    ]
