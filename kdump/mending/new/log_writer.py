"""Writes the logs of a new partition from whole batches: cloned, copied in stretches, or given as bytes."""

from __future__ import annotations

import os

from kdump.formats import file_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from kdump.binary.source import Source
    from kdump.mending.new.new_directory import NewDirectory, NewFile

LARGEST_SIZE = LARGEST_DELTA = 0x7FFFFFFF
"""No log has more bytes than this, and no offset is farther above the base of its segment: a start would split it."""


class LogWriter:
    """The logs of one partition of a new directory; `name` is its folder there, empty for the new directory itself.

    Batches come in ascending order of their offsets. Where one does not fit into its segment, another segment starts with it,
    as a start splits them. Use it in a `with` statement: a log is synced when the next one starts, or at the end.
    """

    def __init__(self, directory: NewDirectory, name: str = "") -> None:
        self.bases: list[int] = []
        """The base offsets of the logs so far, ascending."""
        self._directory = directory
        self._name = name
        self._file: NewFile | None = None

    def start(self, base_offset: int) -> None:
        """Start a segment, which may stay empty. Base offsets must ascend."""
        self._end()
        self.bases.append(base_offset)
        self._file = self._directory.create(self._path(base_offset))

    def add(self, data: bytes | memoryview, first_offset: int, last_offset: int) -> None:
        """Write consecutive whole batches, with all their bytes as they are to be."""
        self._fitting(len(data), first_offset, last_offset).write(data)

    def copy(self, source: Source, start: int, end: int, first_offset: int, last_offset: int) -> None:
        """Copy consecutive whole batches between two positions of a log. Raises Unreadable if it shrinks meanwhile."""
        self._fitting(end - start, first_offset, last_offset).copy(source, start, end)

    def _fitting(self, size: int, first_offset: int, last_offset: int) -> NewFile:
        """The file that these batches go to."""
        file = self._file
        if file is None or last_offset - self.bases[-1] > LARGEST_DELTA or file.size + size > LARGEST_SIZE:
            self.start(first_offset)
            file = self._file
            assert file is not None
        return file

    def _path(self, base_offset: int) -> str:
        return os.path.join(self._name, f"{base_offset:020}{file_name.LOG}")

    def _end(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end()
