"""`kdump.open`: opens a path with the class for its type."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, overload

from kdump.binary import system
from kdump.binary.source import Source
from kdump.errors import Unreadable, UsageError
from kdump.formats import file_name, foreign, text_checkpoint, tree
from kdump.library.entry_files import (
    EntryFile,
    LeaderEpochCheckpoint,
    OffsetCheckpoint,
    OffsetIndex,
    ProducerSnapshot,
    TimeIndex,
    TransactionIndex,
)
from kdump.library.log import Log

if TYPE_CHECKING:
    from typing import Any

    from kdump.library.file import File

    Path = str | os.PathLike[str]

_LOGS = ("log", "checkpoint")
_CHECKPOINTS = ("offset-checkpoint", "leader-epoch-checkpoint")

_CLASSES: dict[str, type[EntryFile[Any]]] = {  # rows of any class
    "index": OffsetIndex,
    "timeindex": TimeIndex,
    "txnindex": TransactionIndex,
    "snapshot": ProducerSnapshot,
    "offset-checkpoint": OffsetCheckpoint,
    "leader-epoch-checkpoint": LeaderEpochCheckpoint,
}
FILE_TYPES = (*_LOGS, *_CLASSES)
"""The types of files; all but the last two are suffixes."""

_MARKS = (".deleted", ".cleaned", ".swap")
"""The suffixes that brokers append to files that they are replacing or deleting."""


@overload
def open(path: Path, file_type: None = None) -> Log: ...
@overload
def open(path: Path, file_type: Literal["log", "checkpoint"]) -> Log: ...
@overload
def open(path: Path, file_type: Literal["index"]) -> OffsetIndex: ...
@overload
def open(path: Path, file_type: Literal["timeindex"]) -> TimeIndex: ...
@overload
def open(path: Path, file_type: Literal["txnindex"]) -> TransactionIndex: ...
@overload
def open(path: Path, file_type: Literal["snapshot"]) -> ProducerSnapshot: ...
@overload
def open(path: Path, file_type: Literal["offset-checkpoint"]) -> OffsetCheckpoint: ...
@overload
def open(path: Path, file_type: Literal["leader-epoch-checkpoint"]) -> LeaderEpochCheckpoint: ...
def open(path: Path, file_type: str | None = None) -> File[Any]:
    """Open one of Kafka's files, or a partition directory, for reading only.

    The name determines the type: `.log` or `.checkpoint` (a KRaft snapshot) returns a Log, `.index` an OffsetIndex,
    `.timeindex` a TimeIndex, `.txnindex` a TransactionIndex, `.snapshot` a ProducerSnapshot, `leader-epoch-checkpoint` a
    LeaderEpochCheckpoint, and `recovery-point-offset-checkpoint` and similar files an OffsetCheckpoint. For a file with
    another name, pass `file_type`: `log`, `checkpoint`, `index`, `timeindex`, `txnindex`, `snapshot`, `offset-checkpoint` or
    `leader-epoch-checkpoint`. Type checkers cannot see names: for them a path without `file_type` returns a Log.

    A partition directory returns a Log of its segments, in the order of their base offsets. Only files that a broker would load
    are segments, not `.deleted`, `.cleaned` or `.swap` files, and not files without a base offset in their name.

    The result can be used in a `with` block, which closes it; that is optional: `for batch in open(path)` works as well.

    Raises Unreadable (`file-missing`, `file-permission`, `file-not-regular`, `file-io-error`) if the path cannot be opened or
    a directory has no segments, for a segment of another broker (`foreign-segment`), and for an index whose name has no base
    offset (`number-malformed`). Raises UsageError for an unknown `file_type`, a name without a known type, and a directory that
    is not a partition directory, such as a log
    directory.
    """
    path = os.fspath(path)
    if file_type is not None and file_type not in FILE_TYPES:
        raise UsageError(f"there is no type {file_type!r}", remedy=f"types are {', '.join(FILE_TYPES)}")
    if system.is_directory(path):
        return _partition(path, file_type)
    source = Source(path)
    try:
        kind = file_type or _type_of(path)
        if kind in _LOGS:
            foreign.require_kafka(source)
            return Log(path, (path,), source, source.size)
        return _CLASSES[kind](path, source)
    except BaseException:
        source.close()
        raise


def _type_of(path: str) -> str:
    """The type of a file according to its name."""
    name = os.path.basename(path)
    if text_checkpoint.LEADER_EPOCHS in name:
        return "leader-epoch-checkpoint"
    if any(known in name for known in text_checkpoint.OFFSET_CHECKPOINTS):
        return "offset-checkpoint"
    for mark in _MARKS:
        name = name.removesuffix(mark)
    suffix = file_name.suffix(name).removeprefix(".")
    if suffix in FILE_TYPES and suffix not in _CHECKPOINTS:
        return suffix
    raise UsageError("the name does not say what the file is", path=path, remedy=f"give its file_type: {', '.join(FILE_TYPES)}")


def _partition(path: str, file_type: str | None) -> Log:
    """The log of a partition directory."""
    if file_type not in (None, "log"):
        raise UsageError(f"is a directory, and no file of type {file_type}", path=path, remedy="name the file")
    with Source(path, may_be_directory=True):  # says why where it cannot be read
        foreign.require_kafka_directory(path)
        files = tree.PartitionFiles(path)
    if not files.logs:
        if tree.is_log_directory(path) or any(tree.directory_name(found) for found in tree.partitions(path)):
            raise UsageError(
                "is a log directory, not a partition", path=path, remedy="kdump.partitions(path) has its partition directories"
            )
        raise Unreadable("file-missing", "no segment (.log) is in this directory", path=path)
    segments = [os.path.join(path, files.log_name(base_offset)) for base_offset in files.logs]
    size = 0
    for segment in segments:
        with Source(segment) as source:
            size += source.size
    return Log(path, segments, None, size)
