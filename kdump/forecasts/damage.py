"""Damage that remains in the logs after a start: batches that no start reads and no consumer can pass."""

from __future__ import annotations

import os
from bisect import bisect_right
from typing import NamedTuple

from kdump.binary.source import Source
from kdump.forecasts.batches import MAX_LOG_SIZE
from kdump.forecasts.directory import is_read_log, offset_of
from kdump.reading.salvage import walk
from kdump.reading.walked_log import MOST_KEPT, WalkedLog

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kdump.forecasts.directory import Directory
    from kdump.reading.walked_log import Found


class DamageLeft(NamedTuple):
    """The number of damaged batches that remain, and the first unreadable offset; None if no damage remains."""

    batches: int = 0
    first_offset: int | None = None


class WalkedLogs:
    """What walks through the logs of one directory find. Each log is walked once for all starts.

    `known` are those that were walked before, by path and size. Unless it `is_wanted`, nothing is said of the damage in logs, and
    they are not walked for it.
    """

    def __init__(
        self, directory: Directory, known: Mapping[tuple[str, int], WalkedLog] | None = None, *, is_wanted: bool = True
    ) -> None:
        self._sizes = directory.before
        self._bases = sorted(offset_of(name) for name in self._sizes if is_read_log(name))
        self._walked = dict(known or {})
        self._is_wanted = is_wanted
        self._room = MOST_KEPT - sum(log.size for log in self._walked.values())

    def damage_left(self, directory: Directory, log_start: int) -> DamageLeft:
        """The damage in the logs as they are now, from the log start offset on.

        Logs of more than 2 GiB are skipped, because a broker does not load them, and so are unreadable files.
        """
        batches, first_offset = 0, None
        for name, file in directory.files.items() if self._is_wanted else ():
            if not (is_read_log(name) and file.path) or file.size > MAX_LOG_SIZE:
                continue
            for damaged in self._of(file.path).damage():
                if damaged.start >= file.start + file.size or damaged.end <= file.start or damaged.next_offset <= log_start:
                    continue
                batches += damaged.is_batch
                offset = max(damaged.offset, log_start)
                first_offset = offset if first_offset is None else min(first_offset, offset)
        return DamageLeft(batches, first_offset)

    def found(self, path: str, start: int, end: int) -> Iterator[Found] | None:
        """What a walk found between two positions of a log; None if it has to be walked for that. Without a path, nothing."""
        if not path:
            return iter(())
        name = os.path.basename(path)
        is_known = (path, self._sizes[name]) in self._walked
        if not is_known and not (self._is_wanted and is_read_log(name) and self._sizes[name] <= MAX_LOG_SIZE):
            return None
        return self._of(path).found(start, end)

    def _of(self, path: str) -> WalkedLog:
        name = os.path.basename(path)
        key = path, self._sizes[name]
        if key not in self._walked:
            base_offset = offset_of(name)
            following = bisect_right(self._bases, base_offset)
            next_base_offset = self._bases[following] if following < len(self._bases) else None
            walked = WalkedLog(base_offset)
            with Source(path) as source:
                for item in walk(source, base_offset=base_offset, next_base_offset=next_base_offset):
                    walked.take(item)
            if walked.size > self._room:
                walked.forget()
            self._room -= walked.size
            self._walked[key] = walked
        return self._walked[key]
