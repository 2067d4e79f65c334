"""Files that an object store or HDFS holds, by calls that are named as those of `os`, and fail as those do.

Files are read in parts: one where a read jumps, more and more in one request where reading goes on, with the next request sent
ahead. An open file is one version of it. As soon as there is another, reading fails with ESTALE: no bytes of two versions mix.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat as modes
import threading
import time
from collections import OrderedDict

from kdump.binary import paths, store_client
from kdump.binary.store_client import CHANGED, DENIED, DIRECTORY, MISSING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, Self

PART_BYTES = 1 << 20
MAX_RUN = 8
"""How many parts are asked for at once."""

MAX_PARTS = 3 * MAX_RUN
"""How many parts of an open file are kept."""

_MAX_FAILURES = 4
"""How many requests for a file may fail in a row, each after several attempts."""

_FRESH_SECONDS = 10.0  # for which a store is not asked again what is in a directory
_BLOCK = 512  # bytes; st_blocks counts them


class ListedEntry:
    """An entry of a directory, as os.DirEntry has it."""

    __slots__ = ("_is_directory", "name", "path")

    def __init__(self, directory: str, name: str, kind: str) -> None:
        self.name = name
        self.path = os.path.join(directory, name)
        self._is_directory = kind == DIRECTORY

    def is_symlink(self) -> bool:
        return False

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self._is_directory


class _Listing:
    """The entries of a directory; used in a `with` block, as os.scandir."""

    def __init__(self, entries: list[ListedEntry]) -> None:
        self._entries = entries

    def __iter__(self) -> Iterator[ListedEntry]:
        return iter(self._entries)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class _OpenDirectory:
    """A directory that was opened like a file: it has a status, and fails when it is read."""

    def __init__(self, url: str) -> None:
        self._url = url

    def read(self, position: int, count: int) -> bytes:
        raise _error(errno.EISDIR)

    def status(self) -> os.stat_result:
        return _status({"kind": DIRECTORY}, self._url)

    def close(self) -> None:
        pass


class _OpenFile:
    """One version of a file, open for reading by position."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._info = _ask("open", url)[0]
        self._size: int = self._info["size"]
        self._version: str = self._info["version"]
        self._parts: OrderedDict[int, memoryview] = OrderedDict()
        self._run = 0  # the parts of the last request
        self._next = -1  # the part after them
        self._ahead: range | None = None  # the parts of the last request, while nobody has waited for them
        self._arrived: list[tuple[int, bytes]] = []  # what came while another file was read
        self._failures: dict[int, OSError] = {}  # by the part that could not be read
        self._failed_in_a_row = 0
        self._lock = threading.Lock()

    def read(self, position: int, count: int) -> bytes:
        stop = min(position + count, self._size)
        if position >= stop:
            return b""
        with self._lock:
            found = [
                self._part(part)[max(0, position - part * PART_BYTES) : stop - part * PART_BYTES]
                for part in range(position // PART_BYTES, (stop - 1) // PART_BYTES + 1)
            ]
        return b"".join(found)

    def status(self) -> os.stat_result:
        return _status(self._info, self._url, self._version)

    def close(self) -> None:
        self._parts.clear()
        self._size = 0

    def arrived(self, start: int, data: bytes) -> None:
        """Take the bytes of a request that was sent ahead; they are sorted in when this file is read again."""
        if self._size:
            self._arrived.append((start, data))

    def _part(self, part: int) -> memoryview:
        found = self._parts.get(part)
        if found is not None:
            self._parts.move_to_end(part)
            return found
        if self._ahead is not None and part in self._ahead:
            store_client.take_ahead()
        self._sort_in()
        if part not in self._parts:
            self._run = min(2 * self._run, MAX_RUN) if part == self._next else 1
            self._fetch(part)
        if self._run > 1 and self._ahead is None and self._next * PART_BYTES < self._size:
            self._run = min(2 * self._run, MAX_RUN)
            wanted = self._wanted(self._next)
            self._ahead = range(self._next - self._run, self._next)
            store_client.ask_ahead(self, wanted[1], "read", *wanted)
        return self._parts[part]

    def _fetch(self, part: int) -> None:
        """Read a run of parts. What has failed is not asked for again, nor anything more after failures in a row."""
        if part in self._failures or self._failed_in_a_row >= _MAX_FAILURES:
            raise self._failures.get(part) or next(reversed(self._failures.values()))
        wanted = self._wanted(part)
        try:
            _, data = _ask("read", *wanted)
        except OSError as error:
            self._next = -1
            self._failures[part] = error
            self._failed_in_a_row = _MAX_FAILURES if error.errno == errno.ESTALE else self._failed_in_a_row + 1
            raise
        self._failed_in_a_row = 0
        self._arrived.append((wanted[1], data))
        self._sort_in()

    def _wanted(self, first: int) -> tuple[str, int, int, str]:
        """The next request, which starts with this part."""
        self._ahead = None
        self._next = first + self._run
        return self._url, first * PART_BYTES, min(self._next * PART_BYTES, self._size), self._version

    def _sort_in(self) -> None:
        while self._arrived:
            start, data = self._arrived.pop(0)
            for at in range(0, len(data), PART_BYTES):
                self._parts[(start + at) // PART_BYTES] = memoryview(data)[at : at + PART_BYTES]
            if self._ahead is not None and start == self._ahead.start * PART_BYTES:
                self._ahead = None
        while len(self._parts) > MAX_PARTS:
            self._parts.popitem(last=False)


class _Directories:
    """What a store said a moment ago of files and directories."""

    def __init__(self) -> None:
        self._said_by: object = None
        self._listed: dict[str, tuple[float, dict[str, dict[str, Any]] | None]] = {}
        self._asked: dict[str, tuple[float, dict[str, Any]]] = {}
        self._asked_in: set[str] = set()

    def info(self, url: str) -> dict[str, Any]:
        """What is known of a URL. A second question about the same directory lists it, if it can be listed.

        What an earlier list does not have is asked for: it may be new.
        """
        self._forget_others()
        url = paths.absolute(url)
        above = paths.parent(url)
        known = self._asked.get(url)
        if known is not None and _is_fresh(known):
            return known[1]
        if above != url and (above in self._asked_in or above in self._listed):
            earlier = self._listed.get(above)
            entries = self._entries(above)
            name = os.path.basename(url)
            if entries is not None and (name in entries or self._listed[above] is not earlier):
                return entries.get(name, {"kind": MISSING})
        found, _ = _ask("info", url)
        self._asked[url] = time.monotonic(), found
        self._asked_in.add(above)
        return found

    def entries(self, url: str) -> dict[str, dict[str, Any]]:
        """What is known of all that a directory lists, by name. Raises OSError."""
        self._forget_others()
        url = paths.absolute(url)
        known = self._listed.get(url)
        if known is not None and known[1] is not None and _is_fresh(known):
            return known[1]
        found = dict(_ask("names", url)[0]["entries"])
        self._listed[url] = time.monotonic(), found
        return found

    def _entries(self, url: str) -> dict[str, dict[str, Any]] | None:
        """The same; None where nobody may list it."""
        known = self._listed.get(url)
        if known is not None and _is_fresh(known):
            return known[1]
        try:
            return self.entries(url)
        except FileNotFoundError:
            entries: dict[str, dict[str, Any]] | None = {}
        except PermissionError:
            entries = None
        self._listed[url] = time.monotonic(), entries
        return entries

    def _forget_others(self) -> None:
        """Forget what another process said: endpoints and credentials may have changed."""
        if self._said_by is not store_client.identity():
            self._said_by = store_client.identity()
            self._listed.clear()
            self._asked.clear()
            self._asked_in.clear()


def _is_fresh(known: tuple[float, object]) -> bool:
    return time.monotonic() - known[0] < _FRESH_SECONDS


_directories = _Directories()


def stat(url: str) -> os.stat_result:
    """As os.stat. Files have no owner, and may be read by everybody."""
    info = _directories.info(url)
    if info["kind"] == MISSING:
        raise _error(errno.ENOENT)
    return _status(info, url)


lstat = stat


def scandir(url: str) -> _Listing:
    """As os.scandir."""
    return _Listing([ListedEntry(url, name, info["kind"]) for name, info in _directories.entries(url).items()])


def listdir(url: str) -> list[str]:
    """As os.listdir."""
    return list(_directories.entries(url))


def readlink(url: str) -> str:
    """As os.readlink of what is no link."""
    raise _error(errno.EINVAL)


def open(url: str, flags: int) -> _OpenFile | _OpenDirectory:
    """As os.open, for reading; other calls take what it returns for a descriptor."""
    try:
        return _OpenFile(url)
    except IsADirectoryError:
        return _OpenDirectory(url)


def fstat(file: _OpenFile | _OpenDirectory) -> os.stat_result:
    """As os.fstat, of the version that is open."""
    return file.status()


def pread(file: _OpenFile | _OpenDirectory, count: int, position: int) -> bytes:
    """As os.pread."""
    return file.read(position, count)


def preadv(file: _OpenFile | _OpenDirectory, buffers: Sequence[memoryview], position: int) -> int:
    """As os.preadv."""
    size = 0
    for buffer in buffers:
        data = file.read(position + size, len(buffer))
        buffer[: len(data)] = data
        size += len(data)
    return size


def close(file: _OpenFile | _OpenDirectory) -> None:
    """As os.close."""
    file.close()


def _ask(name: str, url: str, *arguments: Any) -> tuple[dict[str, Any], bytes]:
    """What a store answers. Raises OSError where it refuses, with what it says."""
    answer, data = store_client.ask(name, url, *arguments)
    failed = answer.get("failed")
    if failed is None:
        return answer, data
    if failed == DENIED:
        raise PermissionError(errno.EACCES, f"the store denies it: {answer['message']}")
    if failed == CHANGED:
        raise OSError(errno.ESTALE, "was replaced or removed while it was read")
    raise _error(_NUMBERS[failed]) if failed in _NUMBERS else OSError(errno.EIO, answer["message"])


_NUMBERS = {MISSING: errno.ENOENT, DIRECTORY: errno.EISDIR}


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def _status(info: dict[str, Any], url: str, version: str = "") -> os.stat_result:
    """A status. Files have different inodes, and so have the versions of an open file; only these are known."""
    size, modified = info.get("size", 0), info.get("modified_ns", 0)
    seconds = modified // 10**9
    inode = int.from_bytes(hashlib.blake2b(f"{url} {version}".encode("utf-8", "surrogateescape"), digest_size=7).digest())
    mode = modes.S_IFDIR | 0o755 if info["kind"] == DIRECTORY else modes.S_IFREG | 0o644
    numbers = (mode, inode, 0, 1, 0, 0, size, seconds, seconds, seconds)
    exact = {"st_mtime": modified / 1e9, "st_mtime_ns": modified, "st_blocks": -(-size // _BLOCK)}
    return os.stat_result(numbers, exact)
