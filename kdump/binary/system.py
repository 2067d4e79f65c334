"""Asks the system what stands under a path, and says why where it cannot tell.

All functions raise Unreadable, with the codes of `Source`, where a call fails: only that nothing has a name is an answer.
No other module asks the system itself, so that no failure is taken for "not there". A path may be a URL; a store is asked then.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from struct import Struct

from kdump.binary.paths import is_url, root
from kdump.errors import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from kdump.binary.elsewhere import ListedEntry


def calls(path: str) -> Any:  # a module, either `os` or one with functions of the same names
    """The calls for a path: those of the system, or for a URL those that ask its store."""
    if not is_url(path):
        return os
    from kdump.binary import elsewhere  # seldom needed, and slow to load

    return elsewhere


LOST_AND_FOUND = "lost+found"
"""The name of a directory of file systems that only root may list."""

_MAGIC = frozenset("*?[")  # what makes a path a pattern


class Entry:
    """One entry of a directory: its name and path, and whether it is itself a link or a directory."""

    __slots__ = ("is_directory", "is_link", "name", "path")

    def __init__(self, entry: os.DirEntry[str] | ListedEntry) -> None:
        self.name = entry.name
        self.path = entry.path
        self.is_link = entry.is_symlink()
        self.is_directory = entry.is_dir(follow_symlinks=False)


def status(path: str) -> os.stat_result | None:
    """The status of what a path leads to; None if it leads nowhere, as a link that leads to itself."""
    try:
        found: os.stat_result = calls(path).stat(path)
        return found
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            return None
        raise unreadable(path, error) from error


def size(path: str) -> int:
    """The size of what a path leads to in bytes, 0 if it leads nowhere."""
    found = status(path)
    return 0 if found is None else found.st_size


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
        found: os.stat_result = calls(path).lstat(path)
        return found
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
        with calls(path).scandir(path) as found:
            return sorted(map(Entry, found), key=lambda entry: entry.name)
    except OSError as error:
        raise unreadable(path, error) from error


def target_of(link: str) -> str:
    """The path in a link, as it is written there."""
    try:
        target: str = calls(link).readlink(link)
        return target
    except OSError as error:
        raise unreadable(link, error) from error


def names(path: str) -> list[str]:
    """The names that a directory lists, in order."""
    try:
        return sorted(calls(path).listdir(path))
    except OSError as error:
        raise unreadable(path, error) from error


def matching(pattern: str) -> list[str]:
    """The paths that match a pattern, in order. The bucket of a URL is no part of it, `**` is as `*`, and `{a,b}` is a or b.

    Unlike `glob.glob`, which takes a directory that cannot be listed for an empty one, this raises Unreadable.
    """
    return sorted({path for one in _alternatives(pattern) for path in _matching(one)})


def _alternatives(pattern: str) -> list[str]:
    """The patterns for which one with braces stands."""
    if "{" not in pattern:
        return [pattern]
    import re  # slow to load

    group = re.search(r"\{([^{}]*,[^{}]*)\}", pattern)
    if group is None:
        return [pattern]
    before, after = pattern[: group.start()], pattern[group.end() :]
    return [one for word in group[1].split(",") for one in _alternatives(before + word + after)]


def _matching(pattern: str) -> list[str]:
    from fnmatch import fnmatchcase  # slow to load

    place = root(pattern) if is_url(pattern) else pattern[: len(pattern) - len(pattern.lstrip(os.sep))]
    found = [place]
    for part in filter(None, pattern[len(place) :].split("/")):
        if not has_magic(part):
            found = [os.path.join(directory, part) for directory in found]
            continue
        found = [
            os.path.join(directory, name)
            for directory in found
            for name in _names_if_directory(directory or os.curdir)
            if fnmatchcase(name, part) and (part.startswith(".") or not name.startswith("."))
        ]
    if pattern.endswith("/") and not is_url(pattern):
        found = [os.path.join(directory, "") for directory in found if is_directory(directory)]
    return [path for path in found if has_name(path)]


def _names_if_directory(path: str) -> list[str]:
    """The names that a directory lists; none for anything else, or if it is gone by now."""
    try:
        return names(path) if is_directory(path) else []
    except Unreadable as error:
        is_of_root = error.code == "file-permission" and os.path.basename(path) == LOST_AND_FOUND
        if error.code != "file-missing" and not is_of_root:
            raise
        return []


def has_magic(path: str) -> bool:
    """Whether a path has the signs of a pattern."""
    return not _MAGIC.isdisjoint(path) or len(_alternatives(path)) > 1


def leads_to_directory(entry: Entry) -> bool:
    """Whether an entry is a directory, or a link to one."""
    return entry.is_directory or entry.is_link and is_directory(entry.path)


def file_statuses(path: str) -> Iterator[tuple[Entry, os.stat_result]]:
    """The regular files that a directory lists, by name, with the status of each. Those that vanish meanwhile are left out."""
    for entry in entries(path):
        found = None if entry.is_directory else status(entry.path)
        if found is not None and stat.S_ISREG(found.st_mode):
            yield entry, found


def is_locked(path: str) -> bool:
    """Whether a process holds a lock on a file that keeps others from reading it. The lock is asked for, and not taken.

    False where nobody can tell: there is no such file, it may not be opened, or this is neither Linux nor macOS. Raises
    Unreadable where it cannot be opened for another reason.
    """
    layout = _FLOCKS.get(sys.platform)
    if layout is None or sys.maxsize < 1 << 32:
        return False
    import fcntl  # not on every system

    lock, fields = layout
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENXIO):
            return False
        raise unreadable(path, error) from error
    try:
        values = {"type": fcntl.F_RDLCK, "whence": os.SEEK_SET, "start": 0, "size": 0, "process": 0}
        asked = lock.pack(*(values[field] for field in fields))
        found = lock.unpack(fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return bool(found[fields.index("type")] != fcntl.F_UNLCK)


_FLOCKS = {
    "linux": (Struct("@hhqqi4x"), ("type", "whence", "start", "size", "process")),
    "darwin": (Struct("@qqihh"), ("start", "size", "process", "type", "whence")),
}
"""The structure `flock` of fcntl, and the order of its fields; of 64-bit systems."""


def unreadable(path: str, error: OSError, position: int | None = None) -> Unreadable:
    """What a failed call says of a path, as the fault that readers raise."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return Unreadable("file-missing", "no such file", path=path)
    if isinstance(error, IsADirectoryError):
        return Unreadable("file-is-directory", "is a directory", path=path)
    if isinstance(error, PermissionError):
        return Unreadable("file-permission", str(error.strerror) if is_url(path) else "permission denied", path=path)
    if error.errno == errno.ESTALE and position is not None:  # of a store or NFS: the bytes of the open file are gone
        return Unreadable("file-shrank", "was replaced or removed while it was read", path=path, position=position)
    return Unreadable("file-io-error", error.strerror or str(error), path=path, position=position)
