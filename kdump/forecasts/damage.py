"""Damage that remains in the logs after a start: batches that no start reads and no consumer can pass."""

from __future__ import annotations

import os
from bisect import bisect_right
from typing import NamedTuple

from kdump.binary.source import Source
from kdump.forecasts.batches import MAX_LOG_SIZE
from kdump.forecasts.directory import has_offset, is_canonical, offset_of
from kdump.formats import file_name
from kdump.reading import salvage
from kdump.reading.damaged_offsets import DamagedOffsets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kdump.forecasts.directory import Directory
    from kdump.reading.damaged_offsets import DamagedRange


class DamageLeft(NamedTuple):
    """The number of damaged batches that remain, and the first unreadable offset; None if no damage remains."""

    batches: int = 0
    first_offset: int | None = None


class Damages:
    """The damage in the logs of one directory. Each log is read once for all starts.

    `known` are the ranges of logs that were walked before, by path and size.
    """

    def __init__(self, directory: Directory, known: Mapping[tuple[str, int], list[DamagedRange]] | None = None) -> None:
        self._sizes = directory.before
        self._bases = sorted(offset_of(name) for name in self._sizes if _is_read(name))
        self._ranges = dict(known or {})

    def left_in(self, directory: Directory, log_start: int) -> DamageLeft:
        """The damage in the logs as they are now, from the log start offset on.

        Logs of more than 2 GiB are skipped, because a broker does not load them, and so are unreadable files.
        """
        batches, first_offset = 0, None
        for name, file in directory.files.items():
            if not (_is_read(name) and file.path) or file.size > MAX_LOG_SIZE:
                continue
            for damaged in self._of_file(file.path):
                if damaged.start >= file.start + file.size or damaged.end <= file.start or damaged.next_offset <= log_start:
                    continue
                batches += damaged.is_batch
                offset = max(damaged.offset, log_start)
                first_offset = offset if first_offset is None else min(first_offset, offset)
        return DamageLeft(batches, first_offset)

    def _of_file(self, path: str) -> list[DamagedRange]:
        name = os.path.basename(path)
        key = path, self._sizes[name]
        if key not in self._ranges:
            base_offset = offset_of(name)
            following = bisect_right(self._bases, base_offset)
            next_base_offset = self._bases[following] if following < len(self._bases) else None
            self._ranges[key] = _ranges_of(path, base_offset, next_base_offset)
        return self._ranges[key]


def _is_read(name: str) -> bool:
    """Whether this is the name of a log that brokers read."""
    return name.endswith(file_name.LOG) and has_offset(name) and is_canonical(name)


def _ranges_of(path: str, base_offset: int, next_base_offset: int | None) -> list[DamagedRange]:
    """The damaged ranges of a log, in order."""
    damaged = DamagedOffsets(base_offset)
    with Source(path) as source:
        for item in salvage.walk_patches(source, 0, lambda: True, base_offset=base_offset, next_base_offset=next_base_offset):
            damaged.take(item)
    return damaged.ranges()
