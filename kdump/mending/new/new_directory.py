"""Makes a new directory that appears under its name only when it is complete: what mends writes nowhere else."""

from __future__ import annotations

import errno
import os

from kdump.binary import system
from kdump.binary.paths import require_directory_name, require_local
from kdump.binary.source import WINDOW_SIZE
from kdump.errors import Unreadable, UsageError
from kdump.mending.new.syncing import Syncing
from kdump.workers import unfinished

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

    from kdump.binary.source import Source

INCOMPLETE = ".incomplete"
"""What follows the name until everything is there and verified."""

_CLONED_AT_ONCE = 64 << 20  # after which the disk may start to write
_FILE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
_MODE = 0o666  # less what the umask takes away


class NewDirectory:
    """A directory that is built under `path` and `.incomplete`, and gets its name when `place` is called.

    Missing directories above it are made, too. Files are synced while the next ones are written, folders by `sync`. Left
    without `place`, it is removed again; a process that is killed leaves the incomplete one. The inputs are only read.

    Raises UsageError for URLs, for `-` and names of archives, if the path or the incomplete directory exists, if the path lies
    inside an input, or below something that is not a directory. Writing raises OSError.
    """

    def __init__(self, path: str, inputs: Sequence[str]) -> None:
        for given in (path, *inputs):
            require_local(given, "what is mended or made")
        self.path = os.path.normpath(path) if path else ""
        self.built = self.path + INCOMPLETE
        self._is_placed = False
        self._above: list[str] = []  # directories that were made for it, the outermost first
        self._folders = [self.built]
        self._links: list[str] = []
        self._syncing = Syncing()
        _refuse(self.path, self.built, inputs)

    def __enter__(self) -> Self:
        try:
            for folder in _missing(os.path.dirname(self.path)):
                os.mkdir(folder)
                self._above.append(folder)
            with unfinished.Making(self.built):
                os.mkdir(self.built)
        except OSError as error:
            self._remove_above()
            if isinstance(error, FileExistsError):
                raise _exists(str(error.filename)) from None
            raise
        return self

    def folder(self, name: str) -> None:
        """Make a folder."""
        os.mkdir(self.inside(name))
        self._folders.append(self.inside(name))

    def inside(self, name: str) -> str:
        """The path of a file or folder while the directory is being built."""
        return os.path.join(self.built, name)

    def write(self, name: str, data: bytes) -> None:
        """Write a file, in place of one that was written before."""
        with self.create(name) as file:
            file.write(data)

    def clone(self, source: Source, name: str) -> None:
        """Copy a file without reading it where the system can, and share its blocks where the file system can.

        Raises Unreadable if the file shrinks meanwhile.
        """
        with self.create(name) as file:
            file.copy(source, 0, source.size)

    def link(self, path: str, name: str) -> None:
        """Let a file of an input be seen under this name until `remove_links`, for checks that need it there."""
        os.symlink(os.path.abspath(path), self.inside(name))
        self._links.append(name)

    def remove_links(self) -> None:
        """Remove all links to files of the inputs."""
        while self._links:
            self.remove(self._links.pop())

    def create(self, name: str) -> NewFile:
        """A file that is written piece by piece, in place of one that was written before."""
        return NewFile(self.inside(name), self._syncing)

    def remove(self, name: str) -> None:
        """Remove a file that was written."""
        os.unlink(self.inside(name))

    def empty(self, folder: str) -> None:
        """Remove the files in a folder, to write them again."""
        for entry in list(os.scandir(self.inside(folder))):
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)

    def sync(self) -> None:
        """Wait until all files are synced, then sync all folders, the innermost first."""
        self._syncing.finish()
        for folder in reversed(self._folders):
            _sync_folder(folder)

    def place(self) -> None:
        """Give the directory its name, after `sync`. Raises UsageError if something else has it by now."""
        self._syncing.finish()
        if system.has_name(self.path):
            raise UsageError(f"{self.path} exists by now; kdump does not overwrite anything")
        os.rename(self.built, self.path)
        self._is_placed = True
        for folder in dict.fromkeys((self.path, *reversed(self._above))):
            _sync_folder(os.path.dirname(folder) or os.curdir)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self._is_placed:
            import contextlib

            with contextlib.suppress(OSError, MemoryError):  # another one is being raised
                self._syncing.finish()
        unfinished.remove(self.built)
        if not self._is_placed:
            self._remove_above()

    def _remove_above(self) -> None:
        """Remove the directories that were made for this one, unless something else is in them by now."""
        import contextlib

        with contextlib.suppress(OSError):
            while self._above:
                os.rmdir(self._above.pop())


class NewFile:
    """A file that is being written; when it is closed, `syncing` syncs it. Writing raises OSError."""

    def __init__(self, path: str, syncing: Syncing) -> None:
        self.size = 0
        self._syncing = syncing
        self._descriptor = os.open(path, _FILE_FLAGS, _MODE)

    def write(self, data: bytes | memoryview) -> None:
        """Write all of this."""
        rest = memoryview(data)
        while rest:
            written = os.write(self._descriptor, rest)
            self.size += written
            rest = rest[written:]

    def copy(self, source: Source, start: int, end: int) -> None:
        """Copy what is between two positions of a file, within the system where that is possible.

        Raises Unreadable if the file shrinks meanwhile.
        """
        position = start if not source.is_direct else self._copied_by_system(source, start, end)
        while position < end:
            data = source.read_exactly(position, min(WINDOW_SIZE, end - position))
            self.write(data)
            position += len(data)

    def _copied_by_system(self, source: Source, position: int, end: int) -> int:
        """Copy within the system. Returns up to where: whatever is left is to be copied by reading."""
        if not hasattr(os, "copy_file_range"):  # not on macOS
            return position
        while position < end:
            try:
                copied = os.copy_file_range(source.fileno(), self._descriptor, min(end - position, _CLONED_AT_ONCE), position)
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                    raise
                return position  # not every pair of file systems can; the other way says what is wrong
            if not copied:
                return position
            position += copied
            self.size += copied
            if position < end:
                self._syncing.start(self._descriptor)
        return position

    def close(self) -> None:
        """Close, and have it synced. Raises OSError if a file before could not be."""
        self._syncing.close(self._descriptor, self.size)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _refuse(path: str, built: str, inputs: Sequence[str]) -> None:
    """Raises UsageError for a path where no new directory may be made."""
    if not path:
        raise UsageError("-o names a directory, and its name is empty")
    require_directory_name(path, "-o")
    for name in (path, built):
        if system.has_name(name):
            raise _exists(name)
    parent = os.path.dirname(path) or os.curdir
    nearest = os.path.dirname((_missing(parent) or [path])[0]) or os.curdir
    if not system.is_directory(nearest):
        raise UsageError(f"-o {path}: {nearest} is not a directory")
    place = os.path.join(os.path.realpath(parent), os.path.basename(path))
    for source in inputs:
        if os.path.commonpath([place, os.path.realpath(source)]) == os.path.realpath(source):
            raise UsageError(f"-o {path} lies inside {source}, which is only read", remedy="name a directory elsewhere")


def _missing(path: str) -> list[str]:
    """This directory, and those above it, as far as nothing has these names; the outermost first."""
    missing: list[str] = []
    while path and not system.has_name(path):
        missing.insert(0, path)
        path = os.path.dirname(path)
    return missing


def _exists(path: str) -> UsageError:
    if path.endswith(INCOMPLETE):
        return UsageError(
            f"{path} exists, perhaps from a run that was interrupted", remedy="remove it, or name another directory"
        )
    return UsageError(f"{path} exists; kdump does not overwrite anything", remedy="name another directory with -o")


def _sync_folder(path: str) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except PermissionError as error:
        raise Unreadable("file-permission", "the directory cannot be opened to sync it", path=path) from error
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # not every file system syncs folders
            raise
    finally:
        os.close(descriptor)
