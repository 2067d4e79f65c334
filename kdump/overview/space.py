"""What fills a place: all its files by what they are for, so that they add up to what `du` says."""

from __future__ import annotations

import os
import stat

from kdump.binary import system
from kdump.binary.paths import is_url
from kdump.errors import Unreadable
from kdump.formats import file_name, text_checkpoint, tree
from kdump.overview.row import Space, Unseen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from kdump.tables import Row

LOGS, INDEXES, SMALL = "logs", "indexes", "other files of Kafka"
DELETED, REPLACED, REMOTE = ".deleted files", "files being replaced", "remote index cache"
MARKED = {tree.DELETE: "-delete directories", tree.STRAY: "-stray directories", tree.FUTURE: "-future directories"}
FOREIGN, DIRECTORIES = "not Kafka's", "directories"

_MARKS = {".deleted": DELETED, ".cleaned": REPLACED, ".swap": REPLACED}
_INDEXES = (file_name.OFFSET_INDEX, file_name.TIME_INDEX, file_name.TRANSACTION_INDEX)
_SMALL = frozenset(
    (
        *text_checkpoint.OFFSET_CHECKPOINTS,
        *(text_checkpoint.LEADER_EPOCHS, tree.META_PROPERTIES, tree.PARTITION_METADATA, tree.QUORUM_STATE),
        *(tree.CLEAN_SHUTDOWN, tree.LOCK, "remote_log_snapshot"),
    )
)
_BLOCK = 512  # bytes, of those that the system counts


def kind_of(name: str) -> str:
    """What a file is for, by its name."""
    suffix = file_name.suffix(name)
    if suffix in _MARKS or name.startswith(file_name.OF_NFS):
        return _MARKS.get(suffix, DELETED)
    if suffix == file_name.LOG:
        return LOGS if tree.base_offset_of(name) is not None else FOREIGN
    if suffix in _INDEXES and tree.base_offset_of(name) is not None:
        return INDEXES
    is_small = name in _SMALL or suffix in (file_name.PRODUCER_SNAPSHOT, file_name.CHECKPOINT) or name.endswith((".tmp", ".part"))
    return SMALL if is_small else FOREIGN


class _Sum:
    """Adds up the files of one kind."""

    def __init__(self) -> None:
        self.files = self.size = self.disk = self._most = 0
        self.largest = ""

    def add(self, path: str, size: int, disk: int, *, is_file: bool) -> None:
        self.files += is_file
        self.size += size
        self.disk += disk
        if disk >= self._most and is_file:
            self._most, self.largest = disk, path


def space_of(path: str, emit: Callable[[Row], None], without: Collection[str] = ()) -> None:
    """Emit a row for each kind of files at a path, what takes most first, and what could not be listed.

    Directories `without` which it is asked are left out with all that is in them.
    A file with several names counts once, as for `du`; links are not followed, but the path itself may be one.
    """
    sums: dict[str, _Sum] = {}
    seen: set[tuple[int, int]] = set()

    def add(path: str, what: str, found: os.stat_result | None) -> None:
        if found is None:
            return
        is_directory = stat.S_ISDIR(found.st_mode)
        if found.st_nlink > 1 and not is_directory:
            if (found.st_dev, found.st_ino) in seen:
                return
            seen.add((found.st_dev, found.st_ino))
        disk = found.st_size if is_url(path) else found.st_blocks * _BLOCK
        size = 0 if is_directory and is_url(path) else found.st_size
        sums.setdefault(what, _Sum()).add(path, size, disk, is_file=not is_directory)

    def walk(directory: str, whole: str | None) -> None:
        try:
            entries = system.entries(directory)
        except Unreadable as error:
            emit(Unseen(directory, error.message))
            return
        for entry in entries:
            if entry.path in without:
                continue
            try:
                found = system.link_status(entry.path)
            except Unreadable as error:
                emit(Unseen(entry.path, error.message))
                continue
            if entry.is_directory:
                add(entry.path, DIRECTORIES, found)
                walk(entry.path, whole or _whole(entry))
            else:
                add(entry.path, whole or (SMALL if entry.is_link else kind_of(entry.name)), found)

    found = system.status(path)
    if found is None or not stat.S_ISDIR(found.st_mode):
        add(path, kind_of(os.path.basename(path)), found)
    else:
        add(path, DIRECTORIES, found)
        name = tree.directory_name(path)
        walk(path, MARKED.get(name.state) if name is not None else None)
    for what, one in sorted(sums.items(), key=lambda item: (-item[1].disk, item[0])):
        emit(Space(path, what, one.files, one.size, one.disk, one.largest if what == FOREIGN else None))


def _whole(entry: system.Entry) -> str | None:
    """What all files below a directory are for; None if their names say it."""
    if entry.name == tree.REMOTE_INDEX_CACHE:
        return REMOTE
    name = tree.directory_name(entry.path)
    if name is None:
        return FOREIGN if entry.name == system.LOST_AND_FOUND else None
    return MARKED.get(name.state)
