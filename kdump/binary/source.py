"""A file as windows of bytes, opened only for reading."""

from __future__ import annotations

import errno
import os
import stat

from kdump.errors import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import ClassVar, Protocol

    class Readable(Protocol):
        """What reads by position."""

        def read(self, position: int, count: int, /) -> bytes:
            """The bytes there, fewer than `count` at the end."""

    class SizedReadable(Readable, Protocol):
        """What reads by position, and knows where it ends."""

        @property
        def size(self) -> int: ...

    class _Reader(Protocol):
        def read_into(self, descriptor: int, buffer: memoryview, position: int) -> int: ...


WINDOW_SIZE = 1 << 20
"""How many bytes are read at once."""

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class Source:
    """A regular file, read by position: nothing is mapped, and its size is taken once.

    With `may_be_directory`, a directory opens too, and fails when it is read.

    Raises Unreadable with the codes `file-missing`, `file-permission`, `file-is-directory`, `file-not-regular` or
    `file-io-error`.
    """

    throttle: ClassVar[_Reader | None] = None
    """What reads all files of this process, if not the system at full speed; `kdump.binary.throttle` sets it."""

    __slots__ = ("_descriptor", "path", "size")

    def __init__(self, path: str, *, may_be_directory: bool = False) -> None:
        self.path = path
        try:
            self._descriptor = os.open(path, _FLAGS)
        except OSError as error:
            raise _unreadable(path, error) from error
        try:
            status = os.fstat(self._descriptor)
        except OSError as error:
            self.close()
            raise _unreadable(path, error) from error
        if not stat.S_ISREG(status.st_mode) and not (may_be_directory and stat.S_ISDIR(status.st_mode)):
            self.close()
            if stat.S_ISDIR(status.st_mode):
                raise Unreadable("file-is-directory", "is a directory", path=path)
            raise Unreadable("file-not-regular", "is not a regular file", path=path)
        self.size = status.st_size

    def read(self, position: int, count: int) -> bytes:
        """The bytes at `position`, fewer than `count` only at the end of the file."""
        if self.throttle is not None:
            buffer = bytearray(max(0, min(count, self.size - position)))
            return bytes(buffer[: self.read_into(memoryview(buffer), position)])
        try:
            piece = os.pread(self._descriptor, count, position)
            if len(piece) == count or not piece:
                return piece
            pieces = [piece]
            while piece:
                count -= len(piece)
                position += len(piece)
                piece = os.pread(self._descriptor, count, position)
                pieces.append(piece)
            return b"".join(pieces)
        except OSError as error:
            raise _unreadable(self.path, error, position) from error

    def read_into(self, buffer: memoryview, position: int) -> int:
        """Fill a buffer from `position` on. Returns the number of bytes read, which is less at the end of the file."""
        filled = 0
        try:
            while filled < len(buffer):
                if self.throttle is not None:
                    read = self.throttle.read_into(self._descriptor, buffer[filled:], position + filled)
                else:
                    read = os.preadv(self._descriptor, [buffer[filled:]], position + filled)
                if not read:
                    break
                filled += read
        except OSError as error:
            raise _unreadable(self.path, error, position) from error
        return filled

    def read_exactly(self, position: int, count: int) -> bytes:
        """The bytes at `position`. Raises Unreadable (`file-io-error`) if the file has become shorter."""
        data = self.read(position, count)
        if len(data) < count:
            raise Unreadable("file-io-error", "was cut off while it was read", path=self.path, position=position)
        return data

    def fileno(self) -> int:
        """The descriptor, for code that calls pread itself. Never write to it."""
        return self._descriptor

    def close(self) -> None:
        os.close(self._descriptor)

    def __enter__(self) -> Source:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class NoSource(Source):
    """An empty file that does not exist."""

    __slots__ = ()

    def __init__(self, path: str) -> None:
        self.path = path
        self.size = 0

    def read(self, position: int, count: int) -> bytes:
        return b""

    def fileno(self) -> int:
        return -1

    def close(self) -> None:
        pass


def status(path: str) -> os.stat_result | None:
    """The stat result of a path, or None if it leads nowhere.

    Raises Unreadable as Source where the system cannot say: that is no reason to believe that nothing is there.
    """
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            return None
        raise _unreadable(path, error) from error


def _unreadable(path: str, error: OSError, position: int | None = None) -> Unreadable:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return Unreadable("file-missing", "no such file", path=path)
    if isinstance(error, IsADirectoryError):
        return Unreadable("file-is-directory", "is a directory", path=path)
    if isinstance(error, PermissionError):
        return Unreadable("file-permission", "permission denied", path=path)
    return Unreadable("file-io-error", error.strerror or str(error), path=path, position=position)
