"""Temporary folders that end with this process, whenever a signal comes that asks it to end."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from kdump.workers.ending_signals import Uninterrupted

if TYPE_CHECKING:
    from collections.abc import Iterator


_folders: set[str] = set()


@atexit.register
def remove_all() -> None:
    """Remove the folders that are still there. A process that ends without Python's own clean-up calls it."""
    for folder in list(_folders):
        remove(folder)


def new_folder(prefix: str, parent: str | None = None) -> str:
    """A new folder in `parent`, or where temporary files go. It is removed when this process ends, if it is still there."""
    with Uninterrupted():
        folder = tempfile.mkdtemp(prefix=prefix, dir=parent)
        _folders.add(folder)
    return folder


def remove(folder: str) -> bool:
    """Remove a folder with all that is in it, if it is still there. Returns whether it is gone."""
    for _ in range(2):  # a call may fail that does not fail again
        with Uninterrupted(), suppress(OSError):  # of some calls, rmtree does not ignore errors
            shutil.rmtree(folder, ignore_errors=True)
            if not os.path.lexists(folder):
                _folders.discard(folder)
                return True
    return False


@contextmanager
def temporary_folder(prefix: str) -> Iterator[str]:
    """A new folder where temporary files go; it is removed after the block."""
    folder = new_folder(prefix)
    try:
        yield folder
    finally:
        remove(folder)
