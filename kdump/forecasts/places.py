"""Classifies a path: a partition, a log directory, or the parent of several log directories (JBOD)."""

from __future__ import annotations

import os

from kdump.binary import system
from kdump.binary.paths import real
from kdump.errors import Unreadable
from kdump.formats import tree

PARTITION, LOG_DIRECTORY, NEITHER = "partition", "log-directory", "neither"


def places(path: str, depth: int = tree.MAX_DEPTH) -> list[str]:
    """The partition and log directories that a path stands for, as in a check: usually the path itself.

    Log directories are searched up to `depth` levels below a folder that is not one, and inside one that is. What cannot be
    listed is included, so that it is reported there; folders without partitions, such as a `config` beside them, are not.
    """
    return _places_in(path, depth) or [path]


def _places_in(path: str, depth: int) -> list[str]:
    try:
        if tree.is_log_directory(path):
            inner = filter(tree.is_log_directory, tree.partitions(path) if depth else [])
            return [path, *(place for child in inner for place in _places_in(child, depth - 1))]
        if not depth or tree.is_partition(path):
            return [path]
        children = tree.partitions(path)
    except Unreadable as error:
        return [path] if _may_hide_files(path, error) else []
    if any(map(_is_partition, children)) and not any(map(tree.is_log_directory, children)):
        return [path]
    inside = [child for child in children if tree.is_log_directory(child) or not (system.is_link(child) or _is_empty(child))]
    found = [place for child in inside for place in _places_in(child, depth - 1)]
    return list({real(place): place for place in reversed(found)}.values())[::-1]


def kind_of(path: str) -> str:
    """Whether a directory is that of a partition, a log directory, or neither. What may not be listed is neither.

    Raises Unreadable (`file-io-error`) where the system fails.
    """
    if tree.is_log_directory(path):
        return LOG_DIRECTORY
    return PARTITION if _is_partition(path) else NEITHER


def may_be_partition(path: str) -> bool:
    """Whether a directory is a partition directory, by its files or by its name."""
    return tree.directory_name(path) is not None or _is_partition(path)


def may_be_loaded(path: str) -> bool:
    """Whether a directory of a folder may be a partition, by its files, by its name, or because it cannot be listed."""
    try:
        return tree.directory_name(path) is not None or tree.is_partition(path)
    except Unreadable as error:
        return _may_hide_files(path, error)


def _is_empty(path: str) -> bool:
    try:
        return not system.names(path)
    except Unreadable:
        return False


def _may_hide_files(path: str, error: Unreadable) -> bool:
    """Whether there may be something in what cannot be listed."""
    is_dead_link = error.code == "file-missing"
    return not is_dead_link and os.path.basename(path) != system.LOST_AND_FOUND


def _is_partition(path: str) -> bool:
    try:
        return tree.is_partition(path)
    except Unreadable as error:
        if error.code == "file-io-error":
            raise
        return False
