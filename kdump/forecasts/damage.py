"""Damage that remains in the logs after a start: batches that no start reads and no consumer can pass."""

from __future__ import annotations

import os
from typing import NamedTuple

from kdump.binary.source import Source
from kdump.forecasts.batches import MAX_LOG_SIZE
from kdump.forecasts.directory import has_offset, is_canonical, offset_of
from kdump.formats import file_name
from kdump.reading import salvage
from kdump.reading.damaged_offsets import DamagedOffsets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.forecasts.directory import Directory
    from kdump.reading.damaged_offsets import DamagedRange


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
    base_offset = offset_of(os.path.basename(path))
    damaged = DamagedOffsets(base_offset)
    with Source(path) as source:
        for item in salvage.walk_patches(source, 0, lambda: True, base_offset=base_offset):
            damaged.take(item)
    return damaged.ranges()
