"""Files and folders that this process removes again at the latest when it ends, whenever a signal comes that asks it to."""

from __future__ import annotations

import atexit
import errno
import os
from contextlib import contextmanager, suppress

from kdump.workers.ending_signals import Uninterrupted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_paths: set[str] = set()


@atexit.register
def remove_all() -> None:
    """Remove what is still there. A process that ends without Python's own clean-up calls it."""
    for path in list(_paths):
        remove(path)


class Making(Uninterrupted):
    """A block that makes a file or folder of this name. If it does, that is to be removed."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            _paths.add(self._path)
        super().__exit__(*error)


def new_folder(prefix: str, parent: str | None = None) -> str:
    """A new folder in `parent`, or where temporary files go."""
    import tempfile

    with Uninterrupted():
        folder = tempfile.mkdtemp(prefix=prefix, dir=parent)
        _paths.add(folder)
    return folder


def remove(path: str) -> bool:
    """Remove a file, or a folder with all that is in it, if it is still there. Returns whether it is gone."""
    for _ in range(2):  # a call may fail that does not fail again
        with Uninterrupted(), suppress(OSError, MemoryError):  # of some calls, rmtree does not ignore errors
            if os.path.isdir(path) and not os.path.islink(path):
                import shutil

                shutil.rmtree(path, ignore_errors=True)
            else:
                with suppress(FileNotFoundError):
                    os.unlink(path)
            if not os.path.lexists(path):
                _paths.discard(path)
                return True
    return False


def require_removed(path: str) -> None:
    """Remove a file that has its final name, too, by now. Raises OSError if that is not possible."""
    if not remove(path):
        raise OSError(errno.EIO, f"it is complete, but {path} beside it cannot be removed", path)


@contextmanager
def temporary_folder(prefix: str) -> Iterator[str]:
    """A new folder where temporary files go; it is removed after the block."""
    folder = new_folder(prefix)
    try:
        yield folder
    finally:
        remove(folder)
