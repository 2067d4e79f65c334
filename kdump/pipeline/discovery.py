"""Finds the files of brokers: one walk through directories, which opens no files."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from kdump.binary import system
from kdump.binary.paths import absolute, real
from kdump.binary.source import Source
from kdump.binary.system import unreadable
from kdump.errors import CorruptData, Unreadable, UsageError
from kdump.formats import file_name, properties, tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kdump.pipeline.options import Options

NOT_REGULAR, LINK_OUTSIDE = "not-regular", "link-outside"
_MARKS = ("deleted", "cleaned", "swap")
_ID_NAMES = ("node.id", "broker.id")
_BROKER_PART = "broker="


class FileItem(NamedTuple):
    """A file of a broker, by its directory and its name. `state` is that of FileDetails.

    Where `inode` is given, what is at the path later has to be the file with this number.
    """

    path: str
    broker: str | None
    topic: str | None
    partition: int | None
    base_offset: int | None
    kind: str
    size: int = 0
    allocated: int = 0
    modified_ms: int | None = None
    state: str | None = None
    inode: int | None = None

    @property
    def weight(self) -> int:
        """The number of bytes to read, without holes."""
        return min(self.size, self.allocated)


def files_of(options: Options, unlisted: list[Unreadable] | None = None) -> list[FileItem]:
    """All files that the options select, in the order of their paths. Directories that were left out are added to `unlisted`.

    Raises UsageError where nothing fits a pattern, and Unreadable where a path leads nowhere.
    """
    if options.file_list is not None:
        found = list(read_list(options.file_list))
    else:
        found = [
            item
            for path in tree.matching(options.paths)
            for item in discover(
                path,
                options.broker,
                options.follows_links,
                skips_unlisted=options.unreadable == options.SKIP,
                unlisted=unlisted,
            )
        ]
    return [item for item in found if is_wanted(item, options)]


def require(options: Options) -> None:
    """Raise what `files_of` raises for paths and patterns that lead nowhere, without looking into directories."""
    if options.file_list is None:
        for path in tree.matching(options.paths):
            _require(path)


def _require(path: str) -> None:
    if not system.has_name(path):
        raise Unreadable("file-missing", "no such file", path=path)


def is_wanted(item: FileItem, options: Options) -> bool:
    """Whether a file belongs to a requested topic and partition. Checkpoints belong to many; their rows are filtered instead."""
    return options.table == "checkpoints" or options.selection.has(item.topic, item.partition)


def with_copies_told_apart(items: list[FileItem]) -> list[FileItem]:
    """The same files, but with the log directory in the name of a broker that has a partition in several of them.

    One of these is a copy, such as a backup, and as good as a replica of another broker.
    """
    places: dict[tuple[str | None, str | None, int | None], set[str]] = {}
    for item in items:
        if item.topic is not None and item.state is None:
            places.setdefault((item.broker, item.topic, item.partition), set()).add(_log_directory(item))
    copied = {broker for (broker, _, _), folders in places.items() if len(folders) > 1}
    return [item._replace(broker=f"{item.broker} in {_log_directory(item)}") if item.broker in copied else item for item in items]


def _log_directory(item: FileItem) -> str:
    folder = os.path.dirname(item.path)
    return folder if item.topic is None else os.path.dirname(folder)


def discover(
    root: str,
    broker: str | None = None,
    follows_links: bool = False,
    *,
    skips_unlisted: bool = True,
    unlisted: list[Unreadable] | None = None,
) -> Iterator[FileItem]:
    """The files below a path, which is a partition, a log directory, or a directory above these.

    The name of a broker is `broker`, a part `broker=NAME` of the path, the id in meta.properties, or else the name of its log
    directory. Raises Unreadable for a path that leads nowhere and, unless `skips_unlisted`, a directory that cannot be listed;
    else adds it to `unlisted`.
    """
    _require(root)
    walk = _Walk(root, broker, follows_links, skips_unlisted, [] if unlisted is None else unlisted)
    if not system.is_directory(root):
        directory = tree.parent(root)
        return walk.files_at([root], directory, walk.broker_of(tree.parent(directory)))
    try:
        is_partition = tree.is_partition(root)
    except Unreadable as error:  # even if it can be listed by now, nobody knows what it is
        walk.leave_out(root, error)
        return iter(())
    return walk.partition(root, walk.broker_of(tree.parent(root))) if is_partition else walk.directory(root)


class _Walk:
    """One walk below a root. A directory that cannot be listed ends it, or is left out if a check reports it."""

    def __init__(
        self, root: str, broker: str | None, follows_links: bool, skips_unlisted: bool, unlisted: list[Unreadable]
    ) -> None:
        self._skips_unlisted = skips_unlisted
        self._unlisted = unlisted
        self._broker = broker
        self._real_root = real(root)
        self._follows_links = follows_links

    def directory(self, path: str, depth: int = tree.MAX_DEPTH) -> Iterator[FileItem]:
        """A log directory, or a directory at most `depth` levels above one, as in a check."""
        entries = self._entries(path)
        try:
            folders = _folders(path) if depth else []
        except Unreadable as error:
            self.leave_out(path, error)
            return
        broker = None if folders else self.broker_of(path)
        for entry in entries:
            if folders:
                if entry.path in folders and not entry.is_link:
                    yield from self.directory(entry.path, depth - 1)
            elif system.leads_to_directory(entry) and entry.name != tree.REMOTE_INDEX_CACHE and not self._leads_out(entry):
                yield from self.partition(entry.path, broker)
        yield from self.files_at(
            [entry.path for entry in entries if not system.leads_to_directory(entry)], path, broker, is_partition=False
        )

    def partition(self, path: str, broker: str | None) -> Iterator[FileItem]:
        """The files of one partition."""
        entries = [
            entry.path for entry in self._entries(path) if _is_of_segment(entry.name) or not system.leads_to_directory(entry)
        ]
        return self.files_at(entries, path, broker)

    def files_at(
        self, paths: Iterable[str], directory: str, broker: str | None, *, is_partition: bool = True
    ) -> Iterator[FileItem]:
        """These files of one directory."""
        name = tree.directory_name(directory) if is_partition else None
        for path in paths:
            yield self._item(path, broker, name)

    def broker_of(self, log_directory: str) -> str | None:
        """The name of a log directory's broker; that of the directory if the broker's id cannot be read."""
        try:
            return broker_of(log_directory, self._broker)
        except Unreadable as error:
            if not self._skips_unlisted:
                raise
            self._unlisted.append(error)
            return os.path.basename(absolute(log_directory)) or None

    def _entries(self, path: str) -> list[system.Entry]:
        try:
            return system.entries(path)
        except Unreadable as error:
            self.leave_out(path, error)
            return []

    def leave_out(self, path: str, error: Unreadable) -> None:
        """Note a directory that cannot be listed, or raise Unreadable."""
        fault = Unreadable("directory-unlisted", f"the directory cannot be listed: {error.message.lower()}", path=path)
        if not self._skips_unlisted:
            raise fault from error
        self._unlisted.append(fault)

    def _item(self, path: str, broker: str | None, directory: tree.DirectoryName | None) -> FileItem:
        name = os.path.basename(path)
        plain, mark = _unmarked(name)
        kind = file_name.suffix(plain).removeprefix(".") or plain
        topic, partition = (directory.topic, directory.partition) if directory is not None else (None, None)
        state = mark or (directory.state if directory is not None else "") or None
        item = FileItem(path, broker, topic, partition, base_offset_of(name), kind, state=state)
        try:
            status = _status(path)
        except Unreadable:
            return item  # reading it fails likewise, and is reported
        if status is None:
            return item  # it is gone, or leads nowhere
        if not stat.S_ISREG(status.st_mode):
            return item._replace(state=NOT_REGULAR)
        if not self._follows_links and system.is_link(path) and not self._is_inside(path):
            return item._replace(state=LINK_OUTSIDE)
        return item._replace(size=status.st_size, allocated=status.st_blocks * 512, modified_ms=status.st_mtime_ns // 1_000_000)

    def _leads_out(self, entry: system.Entry) -> bool:
        return entry.is_link and not self._follows_links and not self._is_inside(entry.path)

    def _is_inside(self, path: str) -> bool:
        target = real(path)
        return target == self._real_root or target.startswith(self._real_root.rstrip(os.sep) + os.sep)


def _status(path: str) -> os.stat_result | None:
    """The status of a file; if the system does not say it of the path, that of the open file. Raises Unreadable."""
    try:
        return system.status(path)
    except Unreadable:
        with Source(path) as source:
            return source.status()


def broker_of(log_directory: str, broker: str | None = None) -> str | None:
    """The name of a log directory's broker: `broker` if it is given, or as `discover` says. Raises Unreadable."""
    if broker is not None:
        return broker
    parts = absolute(log_directory).split(os.sep)
    named = next((part for part in reversed(parts) if part.startswith(_BROKER_PART)), None)
    if named is not None:
        return named.removeprefix(_BROKER_PART)
    return _id_in(log_directory) or parts[-1] or None


def base_offset_of(name: str) -> int | None:
    """The number in the name of a segment's file, also while it is renamed or deleted; None for all other files."""
    plain, _ = _unmarked(name)
    is_numbered = _is_of_segment(plain) or file_name.suffix(plain) == file_name.CHECKPOINT
    return tree.base_offset_of(plain.split("-")[0] if plain.endswith(file_name.CHECKPOINT) else plain) if is_numbered else None


def _is_of_segment(name: str) -> bool:
    """Whether a name looks like that of a segment's file."""
    return file_name.suffix(name) in tree.SEGMENT_SUFFIXES


def _folders(path: str) -> list[str]:
    """The subdirectories that may be log directories, if the directory is not one itself. Raises Unreadable."""
    return [] if tree.is_log_directory(path) else tree.folders(tree.partitions(path))


def write_list(items: Iterable[FileItem], path: str) -> None:
    """Write a list of files for later queries, one JSON object a line."""
    import json

    with open(path, "w", encoding="ascii") as file:
        for item in items:
            file.write(json.dumps(item._asdict()) + "\n")


def read_list(path: str) -> Iterator[FileItem]:
    """The files of a list that `write_list` wrote. Raises UsageError if it is not such a list."""
    import json

    number = 0
    try:
        with open(path, encoding="ascii") as file:
            for line in file:
                number += 1
                yield FileItem(**json.loads(line))
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise UsageError(f"filelist {path}: no such file") from error
        raise unreadable(path, error) from error
    except (ValueError, TypeError) as error:
        raise UsageError(f"filelist {path}, line {number}: is no file of a list ({error})")


def _unmarked(name: str) -> tuple[str, str]:
    """A name without the suffix of a file that is being renamed or deleted, and that suffix."""
    stem, _, mark = name.rpartition(".")
    return (stem, mark) if mark in _MARKS else (name, "")


def _id_in(log_directory: str) -> str | None:
    """The broker id in a log directory's files."""
    try:
        with Source(os.path.join(log_directory, properties.META_PROPERTIES)) as source:
            values = properties.read(source.read(0, properties.MAX_SIZE))
    except Unreadable as error:
        if error.code in ("file-io-error", "file-shrank", "file-permission"):
            raise
        return None
    except CorruptData:
        return None
    return next((values[name] for name in _ID_NAMES if values.get(name)), None)
