"""A partition directory at one moment of a start: names and bytes, changed in memory only."""

from __future__ import annotations

import os
import stat
from bisect import bisect_left, bisect_right
from collections import Counter

from kdump.binary.source import WINDOW_SIZE, Source
from kdump.binary.system import entries, status
from kdump.errors import CorruptData
from kdump.forecasts import permissions
from kdump.forecasts.exceptions import NUMBER_FORMAT, BrokerException, UnreadableFile
from kdump.formats import file_name, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

DELETED, CLEANED, SWAP = ".deleted", ".cleaned", ".swap"
INDEX_SUFFIXES = (file_name.OFFSET_INDEX, file_name.TIME_INDEX, file_name.TRANSACTION_INDEX)

_OPEN_SOURCES = 8


class File:
    """The bytes of a file on disk from `start` on; without a path, bytes that a broker would have written.

    `is_copy`: a broker would have copied them to a new file. `made_size`: the size of the index that replaces this one.
    """

    def __init__(self, path: str = "", size: int = 0, start: int = 0, *, is_copy: bool = False) -> None:
        self.path = path
        self.start = start
        self.size = size
        self.is_copy = is_copy
        self.made_size: int | None = None

    def is_named(self, name: str) -> bool:
        """Whether its bytes are those of the file with this name on disk."""
        return os.path.basename(self.path) == name


class Snapshots:
    """The names of producer snapshots by offset. Of names with the same offset, the last counts.

    Raises BrokerException for a name without an offset.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = {offset_of(name): name for name in names}
        self._offsets = sorted(self._names)

    def __len__(self) -> int:
        return len(self._offsets)

    def __iter__(self) -> Iterator[int]:
        """The offsets, ascending."""
        return iter(self._offsets)

    def __getitem__(self, offset: int) -> str:
        return self._names[offset]

    def __setitem__(self, offset: int, name: str) -> None:
        if offset not in self._names:
            self._offsets.insert(bisect_left(self._offsets, offset), offset)
        self._names[offset] = name

    def get(self, offset: int) -> str | None:
        """The name of the snapshot of an offset; None if there is none."""
        return self._names.get(offset)

    def pop(self, offset: int) -> str | None:
        """Remove an offset, and return its name; None if it was not there."""
        name = self._names.pop(offset, None)
        if name is not None:
            del self._offsets[bisect_left(self._offsets, offset)]
        return name

    def copy(self) -> Snapshots:
        """The same snapshots, to be changed by themselves."""
        other = Snapshots(())
        other._names, other._offsets = self._names.copy(), self._offsets.copy()
        return other

    @property
    def latest(self) -> int | None:
        """The highest offset; None without snapshots."""
        return self._offsets[-1] if self._offsets else None

    def outside(self, start: int, end: int) -> list[int]:
        """The offsets up to `start`, and those above `end`."""
        first = bisect_right(self._offsets, start)
        return self._offsets[:first] + self._offsets[max(bisect_right(self._offsets, end), first) :]


class Directory:
    """The files of a directory by name. Creating, truncating, renaming and deleting them happens in memory only.

    It keeps a few of the files on disk open; `close` closes them.
    """

    def __init__(
        self,
        path: str,
        files: dict[str, File],
        others: frozenset[str] = frozenset(),
        dead_links: frozenset[str] = frozenset(),
    ) -> None:
        self.path = path
        self.dead_links = dead_links
        self.files = files
        self.before = {name: file.size for name, file in files.items()}
        self._others = others
        self._snapshots: Snapshots | None = None  # those in `files`, once they were listed
        self._doubled: set[int] = set()  # the offsets of several snapshots
        self._sources: dict[str, Source] = {}
        self.known_positions: dict[tuple[str, int, int, int, int], int | None] = {}
        """Where batches with an offset were found, by the file, where its bytes start, their number, the offset and the position
        from which they were searched; for other starts, too."""

    @classmethod
    def of(cls, path: str) -> Directory:
        """The current contents of a directory. Raises OSError if it cannot be listed, or for a file that we may not read."""
        files: dict[str, File] = {}
        others: set[str] = set()
        dead_links: set[str] = set()
        for entry in entries(path):
            found = status(entry.path)
            if found is None and entry.is_link:
                dead_links.add(entry.name)  # not a file to a broker either
            elif found is not None and stat.S_ISREG(found.st_mode):
                permissions.require_readable(entry.path)
                files[entry.name] = File(entry.path, found.st_size)
            elif found is not None and stat.S_ISDIR(found.st_mode):
                others.add(entry.name)
        return cls(path, files, frozenset(others), frozenset(dead_links))

    def again(self, without: Sequence[str] = (), with_empty: Sequence[str] = ()) -> Directory:
        """The directory as it was listed, for another start, optionally with files removed or added."""
        files = {name: File(self.path_of(name), size) for name, size in self.before.items() if name not in without}
        files |= {name: File() for name in with_empty}
        directory = Directory(self.path, files, self._others, self.dead_links)
        directory.known_positions = self.known_positions
        return directory

    def path_of(self, name: str) -> str:
        """The path on disk of a file with this name."""
        return os.path.join(self.path, name)

    def has(self, name: str) -> bool:
        """Whether anything has this name, even a directory."""
        return name in self.files or name in self._others

    def names(self) -> list[str]:
        """All names in order."""
        return sorted(self.files)

    def read(self, file: File, position: int, count: int) -> bytes:
        """Bytes of a file; fewer than `count` only at its end."""
        count = min(count, file.size - position)
        if not file.path or count <= 0:
            return bytes(max(count, 0))
        return self.source(file).read(file.start + position, count)

    def begins_with(self, name: str, part: File) -> bool:
        """Whether the original file with a name begins with the bytes of another."""
        whole = File(self.path_of(name), self.before[name])
        return part.size <= whole.size and all(
            self.read(whole, position, WINDOW_SIZE)[: part.size - position] == self.read(part, position, WINDOW_SIZE)
            for position in range(0, part.size, WINDOW_SIZE)
        )

    def source(self, file: File) -> Source:
        """The file on disk that holds the bytes of this one."""
        source = self._sources.pop(file.path, None) or Source(file.path)
        self._sources[file.path] = source  # move to the end: the first is the least recently used
        if len(self._sources) > _OPEN_SOURCES:
            self._sources.pop(next(iter(self._sources))).close()
        return source

    def create(self, name: str) -> File:
        """The file with this name, created empty if missing. Raises UnreadableFile if a link has its name."""
        if name in self.dead_links and name not in self.files:
            raise UnreadableFile(f"{name} is a dangling link")
        return self.files.setdefault(name, File())

    def snapshots(self) -> Snapshots:
        """The producer snapshots now. They follow further changes here: copy them to keep them.

        Raises BrokerException for a snapshot without an offset in its name.
        """
        if self._snapshots is None:
            names = list(self.with_suffix(file_name.PRODUCER_SNAPSHOT))
            self._snapshots, self._doubled = Snapshots(names), set()
            if len(self._snapshots) < len(names):
                self._doubled = {offset for offset, count in Counter(map(offset_of, names)).items() if count > 1}
        return self._snapshots.copy() if self._doubled else self._snapshots

    def add_snapshot(self, offset: int, file: File) -> str:
        """Write a snapshot, and return its name."""
        name = name_of(offset, file_name.PRODUCER_SNAPSHOT)
        self.files[name] = file
        if self._snapshots is not None:
            if self._snapshots.get(offset) in (None, name):
                self._snapshots[offset] = name
            else:
                self._snapshots = None
        return name

    def rename(self, old: str, new: str) -> None:
        """Give a file another name, in place of the file that has it."""
        file = self.files[old]
        self.delete(old)
        self.files[new] = file
        if new.endswith(file_name.PRODUCER_SNAPSHOT):
            self._snapshots = None

    def delete(self, name: str) -> None:
        """Delete a file if it is there."""
        file = self.files.pop(name, None)
        if file is not None and self._snapshots is not None and name.endswith(file_name.PRODUCER_SNAPSHOT):
            offset = offset_of(name)
            if offset in self._doubled:
                self._snapshots = None
            else:
                self._snapshots.pop(offset)

    def with_suffix(self, *suffixes: str) -> Iterator[str]:
        """The names with this suffix, in order."""
        return iter(sorted(name for name in self.files if name.endswith(suffixes)))

    def close(self) -> None:
        for source in self._sources.values():
            source.close()
        self._sources.clear()


def name_of(base_offset: int, suffix: str) -> str:
    """The name of a file in Kafka's format: twenty digits, after a sign if the number is negative."""
    return f"{base_offset:020d}{suffix}" if base_offset >= 0 else f"-{-base_offset:020d}{suffix}"


def offset_of(name: str) -> int:
    """The number before the first dot. Raises BrokerException if it is not a number, as a broker does."""
    try:
        return file_name.base_offset(name)
    except CorruptData as fault:
        raise BrokerException(f"{name} is not the name of a segment file: {fault.message}", NUMBER_FORMAT) from None


def has_offset(name: str) -> bool:
    """Whether a name has a number before its first dot."""
    return "." in name and tree.base_offset_of(name) is not None


def is_log(name: str) -> bool:
    """Whether this is the name of a log, however its number is written."""
    return name.endswith(file_name.LOG) and has_offset(name)


def is_read_log(name: str) -> bool:
    """Whether this is the name of a log that brokers read."""
    return is_log(name) and is_canonical(name)


def is_canonical(name: str) -> bool:
    """Whether the number in a name has twenty digits, as Kafka writes it."""
    stem = file_name.stem(name)
    return len(stem) == 20 and stem.isascii() and stem.isdigit()
