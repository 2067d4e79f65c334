"""A file that may change while it is read, with a time limit; and the progress of its check."""

from __future__ import annotations

import os
import time

from kdump.binary.paths import is_url
from kdump.binary.system import status
from kdump.binary.tolerant_source import TolerantSource

_RECENT_SECONDS = 5.0  # a broker that writes to a file wrote to it just now
_WAIT_SECONDS = 0.1  # a broker in the middle of a batch continues sooner


class CheckAborted(Exception):
    """The check of this file ends here. The source knows why."""


class Watch:
    """Receives the progress of a check, here without use; files that are `skipped` are not checked."""

    skipped: frozenset[str] = frozenset()

    def begin(self, path: str) -> None:
        """The check of the next file starts."""

    def at(self, position: int) -> None:
        """The file is read at this position."""

    def end(self, size: int) -> None:
        """The check of the file, of this size, is done."""


class LiveSource(TolerantSource):
    """A file that may change, fail or take too long while it is read.

    Bytes that cannot be read are zeros, and are listed in `bad_ranges`. Reading raises CheckAborted, once, if the file has become
    shorter (`shrunk_to`) or the time for it is over (`is_late`).
    """

    def __init__(self, path: str, *, time_limit: float | None = None, watch: Watch | None = None) -> None:
        super().__init__(path)
        self._watch = watch or Watch()
        self._deadline = None if time_limit is None else time.monotonic() + time_limit
        self._is_growing: bool | None = None
        self.is_late = False
        self.shrunk_to: int | None = None

    def read(self, position: int, count: int) -> bytes:
        self.tick(position)
        return super().read(position, count)

    def _at(self, position: int) -> None:
        self.tick(position)

    def _cut_short(self, position: int, data: bytes) -> bytes:
        if self.shrunk_to is not None:
            return data
        self.shrunk_to = position + len(data)
        raise CheckAborted

    def tick(self, position: int) -> None:
        """Note the progress of the check. Raises CheckAborted when its time is over."""
        self._watch.at(position)
        if self._deadline is not None and not self.is_late and time.monotonic() >= self._deadline:
            self.is_late = True
            raise CheckAborted

    @property
    def is_stopped(self) -> bool:
        """Whether CheckAborted was raised."""
        return self.is_late or self.shrunk_to is not None

    def is_growing(self) -> bool:
        """Whether someone is writing to the file: it has grown since it was opened, or grows within a moment."""
        if self._is_growing is None:
            self._is_growing = self._grows_soon()
        return self._is_growing

    def grown_to(self) -> int:
        """The size of the file now."""
        return self.status().st_size

    def is_at_its_path(self) -> bool | None:
        """Whether the path still leads to this file; None if it leads nowhere. Raises Unreadable if the system does not say."""
        there = status(self.path)
        if there is None:
            return None
        return is_url(self.path) or os.path.samestat(there, self.status())  # reading fails where a store has another version

    def holes(self, limit: int) -> tuple[int, int]:
        """How many of the first `limit` holes of the file there are, and how many bytes they cover."""
        count = size = position = 0
        try:
            while count < limit and position < self.size:
                hole = os.lseek(self._descriptor, position, os.SEEK_HOLE)
                if hole >= self.size:
                    break
                try:
                    position = min(os.lseek(self._descriptor, hole, os.SEEK_DATA), self.size)
                except OSError:  # there is no data after it
                    position = self.size
                count += 1
                size += position - hole
        except (OSError, AttributeError):  # the system does not say
            pass
        return count, size

    @property
    def allocated(self) -> int:
        """The bytes that the file takes on its disk."""
        return self.status().st_blocks * 512

    def _grows_soon(self) -> bool:
        now = self.status()
        if time.time() - now.st_mtime > _RECENT_SECONDS:
            return now.st_size > self.size
        end = time.monotonic() + _WAIT_SECONDS
        while self.grown_to() <= self.size:
            if time.monotonic() >= end:
                return False
            time.sleep(_WAIT_SECONDS / 10)
        return True
