"""Decides what of an earlier scan is still true: which files and partitions are as they were.

A file is as it was if its size, time of modification, inode and first and last bytes are, and what its path says of it. If there
is any doubt, it is read again: if it was modified when the earlier scan began, or if that scan could not read all of it.
The findings of a partition are taken over if all its files are as they were, and what the checkpoints around it say of it; not
if it holds timestamps after the earlier scan, because a check compares them with the time.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from kdump.binary import system
from kdump.binary.source import Source
from kdump.checks.jobs import Job, is_place, jobs
from kdump.errors import CorruptData, KdumpError, Unreadable, UsageError
from kdump.formats import tree
from kdump.formats.text_checkpoint import OFFSET_CHECKPOINTS, parsed
from kdump.pipeline.kept import FINDINGS, Kept
from kdump.pipeline.scan_files import FLEET_FILE, MANIFEST, SUMMARY, TABLES_FILE

try:
    from _blake2 import blake2b  # hashlib has it from there, but loads OpenSSL first: a tenth of a scan without changes
except ImportError:
    from hashlib import blake2b

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from kdump.pipeline.discovery import FileItem

VERSION = 2
"""Of the manifest."""

_ENDS = 4 << 10  # bytes at the start and at the end of a file that are compared
_TICK_NS = 2_000_000_000  # a file system may count its times in steps of this
_FLEET_FILES = (FLEET_FILE, TABLES_FILE)
_MAX_LOG_DIR_FILE = 64 << 20

Marks = dict[str, str]
"""What shows whether files or partitions are as they were, by path. Without a mark, they are read again."""


class Found(NamedTuple):
    """What a scan finds before it reads: the marks of files and of the partitions to check, and the time in nanoseconds."""

    files: Marks
    partitions: Marks
    began_ns: int


class EarlierScan:
    """The tables of an earlier scan in a folder."""

    def __init__(self, folder: str, values: Mapping[str, Any]) -> None:  # as json.load has them
        self.folder = folder
        self.began_ns: int = values["beganNs"]
        self._request = values["request"]
        self._files: Marks = values["files"]
        self._partitions: Marks = values["partitions"]
        self.parts: list[dict[str, Any]] = values["parts"]
        self._incomplete = frozenset(values["incomplete"])
        self._doubtful = frozenset(values["doubtful"])
        self._answers: list[dict[str, Any]] = values.get("answers", [])
        self._summary: dict[str, Any] | None = values.get("summary")

    def require(self, request: Mapping[str, Any]) -> None:
        """Raise UsageError unless the earlier scan was asked for the same, and its folder holds nothing else."""
        for name in sorted(request.keys() | self._request.keys()):
            if self._request.get(name) != request.get(name):
                message = f"{self.folder} holds the tables of a scan with another {name}: {self._request.get(name)!r}"
                raise UsageError(message, remedy=f"give the same, not {request.get(name)!r}, or another --tables-to")

        for name in self._foreign():
            raise UsageError(
                f"{self.folder} also holds {name}, which a scan would delete", remedy="move it, or give another --tables-to"
            )

    def _foreign(self) -> Iterator[str]:
        """What is in the folder, and was not written by the scan."""
        ours = {(part["table"], part["file"]) for part in self.parts}
        for name in sorted(os.listdir(self.folder)):
            path = os.path.join(self.folder, name)
            if name in self._request["tables"]:
                files = sorted(os.listdir(path))
                yield from (os.path.join(name, file) for file in files if (name, file) not in ours and file not in _FLEET_FILES)
            elif name not in (MANIFEST, SUMMARY):
                yield name

    def kept(self, found: Found) -> Kept:
        """What is as it was, and whose rows are all there."""
        files = _same(found.files, self._files) - self._incomplete - self._doubtful
        partitions = _same(found.partitions, self._partitions) - self._doubtful
        for part in self.parts:
            if not self._is_whole(part):
                (partitions if part["table"] == FINDINGS else files).difference_update(part["sources"])
        return Kept(frozenset(files), frozenset(partitions))

    def is_all(self, kept: Kept, found: Found, items: Collection[FileItem]) -> bool:
        """Whether there is nothing to read: no file or partition is new, changed or gone.

        Records that are missing because of damage would be missing again.
        """
        paths = {item.path for item in items}
        are_files_kept = kept.files | (_same(found.files, self._files) & self._incomplete) == paths == self._files.keys()
        return are_files_kept and kept.partitions == self._partitions.keys() == found.partitions.keys() and not self._doubtful

    def summary(self) -> dict[str, Any] | None:
        """The summary that was made of the tables; None where it has to be made again, since they are not as they were."""
        answers = {part["file"] for part in self._answers}
        present = {name for name in _FLEET_FILES if os.path.lexists(os.path.join(self.folder, FINDINGS, name))}
        is_fresh = present == answers and all(map(self._is_whole, (*self.parts, *self._answers)))
        return self._summary if is_fresh else None

    def _is_whole(self, part: Mapping[str, Any]) -> bool:
        """Whether a part is the file that the earlier scan wrote."""
        try:
            status = os.stat(os.path.join(self.folder, part["table"], part["file"]))
        except OSError:
            return False
        return [status.st_size, status.st_mtime_ns] == [part["size"], part["mtimeNs"]]


def _same(marks: Marks, earlier: Marks) -> set[str]:
    return {path for path, mark in marks.items() if earlier.get(path) == mark}


def load(folder: str) -> EarlierScan | None:
    """The earlier scan whose tables are in a folder; None if there is none, or none that can be continued.

    Raises Unreadable.
    """
    path = os.path.join(folder, MANIFEST)
    try:
        with open(path, encoding="utf-8") as file:
            values = json.load(file)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    except OSError as error:
        raise system.unreadable(path, error) from error
    return EarlierScan(folder, values) if isinstance(values, dict) and values.get("version") == VERSION else None


# --- What shows that something is as it was


def find(items: Iterable[FileItem], paths: Sequence[str], began_ns: int) -> Found:
    """The marks of files, and of the partitions that a check of these paths examines."""
    files = {item.path: mark for item in items if (mark := _mark(item, began_ns))}
    partitions: Marks = {}
    around: dict[str, _LogDirectory] = {}
    for path in tree.matching(paths):
        for job in jobs(path):
            if job.kind != Job.PARTITION or is_place(job):
                continue
            log_directory = tree.parent(job.path)
            if log_directory not in around:
                around[log_directory] = _LogDirectory(log_directory)
            mark = _mark_of_partition(job.path, around[log_directory], files)
            if mark:
                partitions[job.path] = mark
    return Found(files, partitions, began_ns)


def _mark(item: FileItem, began_ns: int) -> str:
    """The mark of a file; empty if it may be changing, or cannot be read."""
    try:
        with Source(item.path) as source:
            status = source.status()
            if status.st_size != item.size or status.st_mtime_ns > began_ns - _TICK_NS:
                return ""
            ends = source.read(0, min(_ENDS, source.size)), source.read(max(0, source.size - _ENDS), min(_ENDS, source.size))
    except KdumpError:
        return ""
    place = (item.broker, item.topic, item.partition, item.base_offset, item.kind, item.state)
    return _digest(repr((place, status.st_size, status.st_mtime_ns, status.st_dev, status.st_ino)).encode(), *ends)


def _digest(*parts: bytes) -> str:
    whole = blake2b(digest_size=16)
    for part in parts:
        whole.update(len(part).to_bytes(8, "big") + part)
    return whole.hexdigest()


class _LogDirectory:
    """What the files of a log directory say of all its partitions, and of each."""

    def __init__(self, path: str) -> None:
        self.common: list[str] = []
        self.entries: dict[tuple[str, int], list[str]] = {}
        self.is_known = True
        try:
            for entry in system.entries(path):
                if not system.leads_to_directory(entry):
                    self._add(entry.path, entry.name)
        except KdumpError:
            self.is_known = False

    def _add(self, path: str, name: str) -> None:
        with Source(path) as source:
            if source.size > _MAX_LOG_DIR_FILE:
                self.is_known = False
                return
            text = source.read(0, source.size)
        if name not in OFFSET_CHECKPOINTS:
            self.common.append(f"{name} {_digest(text)}")
            return
        lines = text.decode("utf-8", "surrogateescape").split("\n")
        count = 0
        for line in lines[2:]:
            partition = _partition_of(line)
            if partition is not None:
                self.entries.setdefault(partition, []).append(f"{name} {line}")
                count += 1
            else:
                self.common.append(f"{name} {line}")
        said = lines[1] if len(lines) > 1 else ""
        self.common.append(f"{name} {lines[0]} {said == str(count)}")


def _partition_of(line: str) -> tuple[str, int] | None:
    """The topic and partition of a line of a checkpoint: `topic partition offset`.

    None for a malformed line, which is about all partitions: a start resets all offsets, or takes the log directory offline.
    """
    try:
        topic, partition, offset = line.split()
        parsed(offset, 64)
        return topic, parsed(partition, 32)
    except (ValueError, CorruptData):
        return None


def _mark_of_partition(path: str, around: _LogDirectory, files: Marks) -> str:
    """The mark of a partition: of all its files, and of what is said of it around; empty if one of these has none."""
    name = tree.directory_name(path)
    if not around.is_known or name is None:
        return ""
    marks = [*sorted(around.common), *around.entries.get((name.topic, name.partition), [])]
    try:
        for entry in sorted(system.entries(path), key=lambda entry: entry.name):
            mark = files.get(entry.path)
            if not mark:
                return ""
            marks.append(f"{entry.name} {mark}")
    except Unreadable:
        return ""
    return _digest(*(mark.encode("utf-8", "surrogateescape") for mark in marks))
