"""Watches a check from outside: how far it has come, how long it takes, and what becomes of the file meanwhile."""

from __future__ import annotations

import os
import time

from kdump.binary.source import Source
from kdump.binary.system import status
from kdump.errors import Unreadable

_BLOCK = 4096  # what is read at once where the device has errors
_RECENT = 5.0  # seconds; a broker that writes to a file wrote to it just now
_PATIENCE = 0.1  # seconds; a broker in the middle of a batch goes on sooner


class Stopped(Exception):
    """The check of this file ends here. The source knows why."""


class Watch:
    """Is told how far a check has come; files that are `skipped` it leaves alone. This one does not care."""

    skipped: frozenset[str] = frozenset()

    def begin(self, path: str) -> None:
        """The next file."""

    def at(self, position: int) -> None:
        """The file is being read here."""

    def end(self, size: int) -> None:
        """The file of this size is through."""


class WatchedSource(Source):
    """A file that may change, fail or take too long while it is read.

    What cannot be read is zeros, noted in `bad_ranges`. Raises Stopped, once, where the file has become shorter (`shrunk_to`) or
    the time for it is over (`is_late`).
    """

    __slots__ = ("_deadline", "_is_growing", "_watch", "bad_ranges", "is_late", "shrunk_to")

    def __init__(self, path: str, *, time_limit: float | None = None, watch: Watch | None = None) -> None:
        super().__init__(path)
        self._watch = watch or Watch()
        self._deadline = None if time_limit is None else time.monotonic() + time_limit
        self._is_growing: bool | None = None
        self.bad_ranges: list[tuple[int, int]] = []
        self.is_late = False
        self.shrunk_to: int | None = None

    def read(self, position: int, count: int) -> bytes:
        self.tick(position)
        count = max(0, min(count, self.size - position))
        try:
            data = self._take(position, count)
        except Unreadable:
            data = self._read_around_errors(position, count)
        if len(data) < count and self.shrunk_to is None:
            if self.status().st_size >= self.size:  # the file goes on here: the system says no more
                return data + self._read_around_errors(position + len(data), count - len(data))
            self.shrunk_to = position + len(data)
            raise Stopped
        return data

    def tick(self, position: int) -> None:
        """The check has come so far. Raises Stopped when its time is over."""
        self._watch.at(position)
        if self._deadline is not None and not self.is_late and time.monotonic() >= self._deadline:
            self.is_late = True
            raise Stopped

    @property
    def is_stopped(self) -> bool:
        """Whether Stopped was raised."""
        return self.is_late or self.shrunk_to is not None

    def is_growing(self) -> bool:
        """Whether someone writes to the file now: it is longer than when it was opened, or becomes so in a moment."""
        if self._is_growing is None:
            self._is_growing = self._grows_soon()
        return self._is_growing

    def grown_to(self) -> int:
        """The size of the file now."""
        return self.status().st_size

    def is_at_its_path(self) -> bool | None:
        """Whether the path still leads to this file; None if it leads nowhere. Raises Unreadable where that cannot be told."""
        there = status(self.path)
        return None if there is None else os.path.samestat(there, self.status())

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
        except (OSError, AttributeError):  # the system does not tell
            pass
        return count, size

    @property
    def allocated(self) -> int:
        """How many bytes the file takes on its disk."""
        return self.status().st_blocks * 512

    def _grows_soon(self) -> bool:
        now = self.status()
        if time.time() - now.st_mtime > _RECENT:
            return now.st_size > self.size
        end = time.monotonic() + _PATIENCE
        while self.grown_to() <= self.size:
            if time.monotonic() >= end:
                return False
            time.sleep(_PATIENCE / 10)
        return True

    def _read_around_errors(self, position: int, count: int) -> bytes:
        """The bytes here, those of blocks that cannot be read as zeros."""
        pieces = []
        end = position + count
        while position < end:
            stop = min(position // _BLOCK * _BLOCK + _BLOCK, end)
            self.tick(position)
            try:
                piece = self._take(position, stop - position)
            except Unreadable:
                piece = bytes(stop - position)
                self._note_bad(position, stop)
            if len(piece) < stop - position:
                if self.status().st_size < self.size:
                    pieces.append(piece)
                    break
                self._note_bad(position + len(piece), stop)
                piece = piece.ljust(stop - position, b"\0")
            pieces.append(piece)
            position = stop
        return b"".join(pieces)

    def _note_bad(self, start: int, end: int) -> None:
        """Note a range that cannot be read; ranges are met again when bytes are looked at twice."""
        if self.bad_ranges and self.bad_ranges[-1][0] <= start <= self.bad_ranges[-1][1]:
            first, last = self.bad_ranges[-1]
            self.bad_ranges[-1] = first, max(last, end)
        elif not any(first <= start and end <= last for first, last in self.bad_ranges):
            self.bad_ranges.append((start, end))
