"""Keeps watch over the files that are read: a result is only placed if none of them has changed meanwhile."""

from __future__ import annotations

from kdump.binary import system
from kdump.errors import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os

    from kdump.binary.source import Source

    Identity = tuple[int, int, int, int]


class Inputs:
    """The files and directories that a run has read, as they were when they were read first."""

    def __init__(self) -> None:
        self._files: dict[str, Identity] = {}
        self._directories: dict[str, list[str]] = {}

    def note_directory(self, path: str) -> None:
        """Note the names in a directory."""
        self._directories[path] = system.names(path)

    def note(self, source: Source) -> None:
        """Note a file that is open. Raises Unreadable if it was read before, and has changed since."""
        identity = _identity(source.status())
        if self._files.setdefault(source.path, identity) != identity:
            raise _changed(source.path)

    def require_unchanged(self) -> None:
        """Raises Unreadable if a file was changed, or one has come or gone."""
        for path, identity in self._files.items():
            found = system.status(path)
            if found is None or _identity(found) != identity:
                raise _changed(path)
        for path, names in self._directories.items():
            if system.names(path) != names:
                raise _changed(path)


def _changed(path: str) -> Unreadable:
    fault = Unreadable("file-io-error", "was changed while it was being read", path=path)
    fault.remedy = "stop the broker, or copy a snapshot of the file system"
    return fault


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
