"""The files that the paths of a command line name."""

from __future__ import annotations

import os

from kdump.binary import system
from kdump.errors import Unreadable, UsageError
from kdump.formats import file_name, tree
from kdump.formats.selection import selected

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


COMMANDS = {
    file_name.LOG: "log",
    file_name.CHECKPOINT: "checkpoint",
    file_name.OFFSET_INDEX: "index",
    file_name.TIME_INDEX: "timeindex",
    file_name.TRANSACTION_INDEX: "txnindex",
    file_name.PRODUCER_SNAPSHOT: "snapshot",
}
"""The command for each kind of file, by suffix."""


def files(paths: Sequence[str], suffix: str) -> Iterator[str | Unreadable]:
    """The files that paths name: files as they are, and those with the suffix in directories and patterns.

    A log directory stands for its partition directories.

    If there are none, the error about this takes their place.
    """
    for path in paths:
        try:
            if system.is_directory(path):
                partitions = _partitions_in(path, suffix)
                yield from _of_partitions(path, partitions, suffix) if partitions else _of_directory(path, suffix)
            elif system.has_magic(path) and not system.exists(path):
                yield from _of_pattern(path, suffix)
            else:
                _check_kind(path, suffix)
                yield path
        except Unreadable as error:
            yield error


def chosen(paths: Sequence[str], suffix: str, topics: str | None, partitions: str | None) -> Sequence[str]:
    """The paths; with topics or partitions, the directories of those that have files with the suffix. Raises UsageError."""
    if topics is None and partitions is None:
        return paths
    found = selected(paths, topics, partitions)
    filled = [path for path in found if not system.is_directory(path) or any(name.endswith(suffix) for name in _names(path))]
    return filled or found[:1]


def _check_kind(path: str, suffix: str) -> None:
    """Raise UsageError for a file whose name shows that another command is for it; any other name may be that of a copy."""
    command = COMMANDS.get(file_name.suffix(os.path.basename(path)), COMMANDS[suffix])
    if command != COMMANDS[suffix] and {command, COMMANDS[suffix]} != {"log", "checkpoint"}:
        raise UsageError(f"{path} is for another command", remedy=f"try: kdump {command} {path}")


def _partitions_in(path: str, suffix: str) -> list[str]:
    """The partition directories in a directory that has no such files itself, including those without any."""
    if any(name.endswith(suffix) for name in _names(path)):
        return []
    return [found for found in tree.partitions(path) if tree.directory_name(found) is not None]


def _of_partitions(path: str, partitions: list[str], suffix: str) -> Iterator[str | Unreadable]:
    found: list[str | Unreadable] = []
    for partition in partitions:
        try:
            found += _of_directory(partition, suffix)
        except Unreadable as error:
            if error.code != "file-missing":  # a partition may have none, such as no .txnindex
                found.append(error)
    yield from found or [_missing(path, suffix)]


def _missing(path: str, suffix: str) -> Unreadable:
    return Unreadable("file-missing", f"no file ends in {suffix}", path=path)


def _names(path: str) -> list[str]:
    """What a directory holds. Raises Unreadable."""
    try:
        return system.names(path)
    except Unreadable as error:
        raise Unreadable("file-io-error", error.message.lower(), path=path) from error


def _of_directory(path: str, suffix: str) -> list[str]:
    names = [name for name in _names(path) if name.endswith(suffix)]
    if not names:
        raise _missing(path, suffix)
    return [os.path.join(path, name) for name in names]


def _of_pattern(pattern: str, suffix: str) -> list[str]:
    found: list[str] = []
    for path in system.matching(pattern):
        if system.is_directory(path):
            try:
                found += _of_directory(path, suffix)
            except Unreadable as error:
                if error.code != "file-missing":
                    raise
        elif path.endswith(suffix):
            found.append(path)
    if not found:
        raise Unreadable("file-missing", f"no file that ends in {suffix} matches this pattern", path=pattern)
    return found
