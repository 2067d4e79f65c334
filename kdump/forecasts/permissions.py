"""Permissions on the files of a log directory: ours, and those of the broker's user, derived from the owners of files."""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from kdump.binary import system
from kdump.binary.paths import is_url
from kdump.errors import Unreadable
from kdump.formats import file_name, partition_metadata, properties, text_checkpoint, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

YOU_MAY_NOT = "you may not read it; run kdump as the broker's user, or on a copy. Whether the broker may read it is unknown"

_READ, _WRITE, _ENTER = 4, 2, 1
_ALL = _READ | _WRITE | _ENTER
_ROOT = 0
_SEGMENT_FILES = tuple(suffix for suffix in file_name.SEGMENT_SUFFIXES if suffix != file_name.PRODUCER_SNAPSHOT)
_READ_ONLY = (partition_metadata.NAME, text_checkpoint.LEADER_EPOCHS)
_OF_LOG_DIRECTORY = {
    properties.META_PROPERTIES: _READ,
    text_checkpoint.RECOVERY_POINTS: _READ,
    text_checkpoint.LOG_START_OFFSETS: _READ,
    ".lock": _READ | _WRITE,
}


def require_readable(path: str) -> None:
    """Raises Unreadable for a file that we may not read: the broker may have other ones. A store says so when it is read."""
    if not is_url(path) and not os.access(path, os.R_OK):
        raise Unreadable("file-permission", YOU_MAY_NOT, path=path)


class Denial(NamedTuple):
    """A permission that the broker's user lacks.

    If not `is_certain`, it depends on whether the broker runs as root. `is_alone`: only this file is affected.
    """

    reason: str
    is_certain: bool
    is_alone: bool


class _Needed(NamedTuple):
    path: str
    status: os.stat_result
    wanted: int


def denial(partition: str, log_directory: str) -> Denial | None:
    """The first file of a partition, or of its log directory, that the broker's user may not read or write during a start.

    The broker's user is assumed to be the owner of the log directory or, if that is root, of its meta.properties. Root may do
    everything; for files that root owns or that nobody may write, it depends on whether the broker runs as root.

    Kafka opens logs and indexes for reading and writing, even if it only reads them. What a store holds has no owners or modes:
    the broker's user is assumed to have all permissions on the files when they are back on its disk.
    """
    user = _user(partition, log_directory)
    needed = list(_needed(partition, log_directory))
    if is_url(partition):
        return None
    if user.st_uid != _ROOT:
        who = f"a broker that runs as user {user.st_uid}, who owns the log directory,"
        for file in needed:
            if file.wanted & ~_granted(file.status, user.st_uid, user.st_gid) and not _is_kept_read_only(
                file, needed, user.st_uid
            ):
                return Denial(f"{who} may not {_verb(file)} {_shown(file, partition)}", True, True)
    for file in needed:
        if file.wanted & ~(file.status.st_mode >> 6):
            reason = f"a broker that does not run as root may not {_verb(file)} {_shown(file, partition)}"
            return Denial(reason, False, not _is_kept_read_only(file, needed, file.status.st_uid))
    return None


def _user(partition: str, log_directory: str) -> os.stat_result:
    is_one = tree.is_log_directory(log_directory)
    status = _status(log_directory if is_one else partition)
    of_broker = (
        system.status(os.path.join(log_directory, properties.META_PROPERTIES)) if is_one and status.st_uid == _ROOT else None
    )
    return of_broker or status


def _needed(partition: str, log_directory: str) -> Iterator[_Needed]:
    """All files that a start reads or writes, in the broker's order."""
    if tree.is_log_directory(log_directory):
        yield _Needed(log_directory, _status(log_directory), _ALL)
        for name, wanted in _OF_LOG_DIRECTORY.items():
            path = os.path.join(log_directory, name)
            found = system.status(path)
            if found is not None and stat.S_ISREG(found.st_mode):
                yield _Needed(path, found, wanted)
    yield _Needed(partition, _status(partition), _ALL)
    for entry, found in system.file_statuses(partition):
        wanted = _READ | _WRITE if entry.name.endswith(_SEGMENT_FILES) else _READ
        if entry.name.endswith((*file_name.SEGMENT_SUFFIXES, *_READ_ONLY)):
            yield _Needed(entry.path, found, wanted)


def _status(path: str) -> os.stat_result:
    found = system.status(path)
    if found is None:
        raise Unreadable("file-missing", "no such directory", path=path)
    return found


def _granted(status: os.stat_result, uid: int, gid: int) -> int:
    """The permissions of a user by the mode of a file, without access lists."""
    if status.st_uid == uid:
        return status.st_mode >> 6 & _ALL
    return (status.st_mode >> 3 if status.st_gid == gid else status.st_mode) & _ALL


def _is_kept_read_only(file: _Needed, needed: list[_Needed], uid: int) -> bool:
    """Whether a file belongs to a read-only copy: its owner may not write any segment file."""
    may_write = [bool(other.status.st_mode & stat.S_IWUSR) for other in needed if other.path.endswith(_SEGMENT_FILES)]
    return file.status.st_uid == uid and bool(file.status.st_mode & stat.S_IRUSR) and not any(may_write)


def _verb(file: _Needed) -> str:
    return "write" if file.wanted & _WRITE else "read"


def _shown(file: _Needed, partition: str) -> str:
    name = os.path.basename(file.path) if file.path.startswith(os.path.join(partition, "")) else file.path
    return f"{name} (owner {file.status.st_uid}, mode {stat.S_IMODE(file.status.st_mode):04o})"
