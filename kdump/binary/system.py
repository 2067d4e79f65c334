"""Asks the system what stands under a path, and says why where it cannot tell.

All functions raise Unreadable, with the codes of `Source`, where a call fails: only that nothing has a name is an answer.
No other module asks the system itself, so that no failure is taken for "not there".
"""

from __future__ import annotations

import errno
import os
import stat
from typing import NamedTuple

from kdump.errors import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


class Entry(NamedTuple):
    """What a directory lists: a name, its path, and whether it is itself a link or a directory."""

    name: str
    path: str
    is_link: bool
    is_directory: bool


def status(path: str) -> os.stat_result | None:
    """The status of what a path leads to; None if it leads nowhere, as a link that leads to itself."""
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            return None
        raise unreadable(path, error) from error


def exists(path: str) -> bool:
    """Whether a path leads to anything."""
    return status(path) is not None


def is_directory(path: str) -> bool:
    """Whether a path leads to a directory."""
    found = status(path)
    return found is not None and stat.S_ISDIR(found.st_mode)


def is_file(path: str) -> bool:
    """Whether a path leads to a regular file."""
    found = status(path)
    return found is not None and stat.S_ISREG(found.st_mode)


def link_status(path: str) -> os.stat_result | None:
    """The status of what has this name, be it a link; None if nothing has."""
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise unreadable(path, error) from error


def is_link(path: str) -> bool:
    """Whether a link has this name."""
    found = link_status(path)
    return found is not None and stat.S_ISLNK(found.st_mode)


def has_name(path: str) -> bool:
    """Whether anything has this name, be it a link that leads nowhere."""
    return link_status(path) is not None


def entries(path: str) -> list[Entry]:
    """What a directory lists, by name."""
    try:
        with os.scandir(path) as found:
            return sorted(
                Entry(entry.name, entry.path, entry.is_symlink(), entry.is_dir(follow_symlinks=False)) for entry in found
            )
    except OSError as error:
        raise unreadable(path, error) from error


def names(path: str) -> list[str]:
    """The names that a directory lists, in order."""
    try:
        return sorted(os.listdir(path))
    except OSError as error:
        raise unreadable(path, error) from error


def leads_to_directory(entry: Entry) -> bool:
    """Whether an entry is a directory, or a link to one."""
    return entry.is_directory or entry.is_link and is_directory(entry.path)


def file_statuses(path: str) -> Iterator[tuple[Entry, os.stat_result]]:
    """The regular files that a directory lists, by name, with the status of each. Those that vanish meanwhile are left out."""
    for entry in entries(path):
        found = None if entry.is_directory else status(entry.path)
        if found is not None and stat.S_ISREG(found.st_mode):
            yield entry, found


def unreadable(path: str, error: OSError, position: int | None = None) -> Unreadable:
    """What a failed call says of a path, as the fault that readers raise."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return Unreadable("file-missing", "no such file", path=path)
    if isinstance(error, IsADirectoryError):
        return Unreadable("file-is-directory", "is a directory", path=path)
    if isinstance(error, PermissionError):
        return Unreadable("file-permission", "permission denied", path=path)
    return Unreadable("file-io-error", error.strerror or str(error), path=path, position=position)
