"""`kdump.open`: from a path to what reads it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, overload

from kdump.binary import system
from kdump.binary.source import Source
from kdump.errors import Unreadable, UsageError
from kdump.formats import file_name, text_checkpoint, tree
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
"""What a file may be; all but the last two are suffixes."""

_MARKS = (".deleted", ".cleaned", ".swap")
"""What brokers append to the names of files on their way."""


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
    """Open one of Kafka's files, or a partition directory, for reading; nothing is ever written.

    The name says what a file is: `.log` or `.checkpoint` (a KRaft snapshot) gives a Log, `.index` an OffsetIndex, `.timeindex` a
    TimeIndex, `.txnindex` a TransactionIndex, `.snapshot` a ProducerSnapshot, `leader-epoch-checkpoint` a
    LeaderEpochCheckpoint, and `recovery-point-offset-checkpoint` and its like an OffsetCheckpoint. `file_type` says it for a file
    of any other name: `log`, `checkpoint`, `index`, `timeindex`, `txnindex`, `snapshot`, `offset-checkpoint` or
    `leader-epoch-checkpoint`. Type checkers cannot read names: to them a path without `file_type` gives a Log.

    A partition directory gives a Log of its segments, in the order of their base offsets. Only files that a broker would load
    are segments: not `.deleted`, `.cleaned` or `.swap` ones, nor names without a base offset.

    What is returned closes itself at the end of a `with` block. Closing it is not needed to read it: `for batch in open(path)`.

    Raises Unreadable (`file-missing`, `file-permission`, `file-not-regular`, `file-io-error`) where the path cannot be opened or
    a directory has no segments; for an index whose name has no base offset (`number-malformed`); and UsageError for an unknown
    `file_type`, a name that does not say what the file is, and a directory that is no partition's, such as a log directory.
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
            return Log(path, (path,), source, source.size)
        return _CLASSES[kind](path, source)
    except BaseException:
        source.close()
        raise


def _type_of(path: str) -> str:
    """What a file is by its name."""
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
        files = tree.PartitionFiles(path)
    if not files.logs:
        if tree.is_log_directory(path) or any(tree.directory_name(found) for found in tree.partitions(path)):
            raise UsageError("is a log directory, not a partition", path=path, remedy="open one of its partition directories")
        raise Unreadable("file-missing", "no segment (.log) is in this directory", path=path)
    segments = [os.path.join(path, files.segments[base_offset][file_name.LOG]) for base_offset in files.logs]
    size = 0
    for segment in segments:
        with Source(segment) as source:
            size += source.size
    return Log(path, segments, None, size)
