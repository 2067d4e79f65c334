"""Keeps stdin in a file: Kafka's files are read by position, which a pipe does not allow."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kdump.binary.batch_header import BATCH_HEADER_SIZE
from kdump.binary.source import WINDOW_SIZE, Source
from kdump.errors import Unreadable, UsageError
from kdump.workers import unfinished

if TYPE_CHECKING:
    from collections.abc import Iterator
_HEAD = 512  # bytes that show what a file is


@contextmanager
def spooled(name: str) -> Iterator[str]:
    """A temporary file of this name with all of stdin; it is removed after the block.

    It may take half of the free space for temporary files. Raises Unreadable if that is too little, or stdin cannot be
    read, and UsageError where stdin is a terminal.
    """
    if sys.stdin is None:
        raise Unreadable("file-io-error", "stdin is closed")
    if os.isatty(0):
        raise UsageError("stdin is a terminal", remedy="redirect it: zcat x.log.gz | kdump log -")
    folder = _temporary_folder()
    try:
        path = os.path.join(folder, name)
        try:
            _copy(path, shutil.disk_usage(folder).free // 2)
        except OSError as error:
            raise Unreadable("file-io-error", f"stdin: {error.strerror or error}") from error
        yield path
    finally:
        unfinished.remove(folder)


def _temporary_folder() -> str:
    try:
        return unfinished.new_folder("kdump-stdin-")
    except OSError as error:
        why = f"stdin cannot be kept in a temporary file: {error.strerror or error}"
        raise Unreadable("file-io-error", why, remedy="TMPDIR names another place") from error


def _copy(path: str, limit: int) -> None:
    size = 0
    with open(path, "wb", buffering=0) as file:
        while piece := os.read(0, WINDOW_SIZE):
            size += len(piece)
            if size > limit:
                where = f"half of the free space in {tempfile.gettempdir()}; TMPDIR selects another directory"
                raise Unreadable("file-io-error", f"stdin holds more than {limit:,} bytes, {where}")
            rest = memoryview(piece)
            while rest:
                rest = rest[file.write(rest) :]


def kind_of(path: str) -> str:
    """The kind of archive or compressed file that a file starts like, such as gzip; empty for anything else."""
    from kdump.checks.rules.framing.file_kinds import kind_of_file

    with Source(path) as source:
        return kind_of_file(source.read(0, _HEAD))


def is_log(path: str) -> bool:
    """Whether a file starts like a log."""
    from kdump.reading.plausible import is_plausible

    with Source(path) as source:
        return is_plausible(source.read(0, BATCH_HEADER_SIZE), source.size)
