"""A file as windows of bytes, opened only for reading: on this machine, or in a store."""

from __future__ import annotations

import os
import stat

from kdump.binary.system import calls, unreadable
from kdump.errors import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, ClassVar, Protocol, Self

    class Readable(Protocol):
        """What reads by position."""

        def read(self, position: int, count: int, /) -> bytes:
            """The bytes there, fewer than `count` at the end."""

    class SizedReadable(Readable, Protocol):
        """What reads by position, and knows where it ends."""

        @property
        def size(self) -> int: ...

    class _Reader(Protocol):
        def read_into(self, descriptor: Any, buffer: memoryview, position: int) -> int: ...


WINDOW_SIZE = 1 << 20
"""How many bytes are read at once."""

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class Source:
    """A regular file, or that of a URL, read by position: nothing is mapped, and its size is taken once.

    With `may_be_directory`, a directory opens too, and fails when it is read.

    Raises Unreadable with the codes `file-missing`, `file-permission`, `file-is-directory`, `file-not-regular` or
    `file-io-error`.
    """

    throttle: ClassVar[_Reader | None] = None
    """What reads all files of this process, if not the system at full speed; `kdump.binary.throttle` sets it."""

    def __init__(self, path: str, *, may_be_directory: bool = False) -> None:
        self.path = path
        self._calls = calls(path)
        try:
            self._descriptor = self._calls.open(path, _FLAGS)
        except OSError as error:
            raise unreadable(path, error) from error
        try:
            status: os.stat_result = self._calls.fstat(self._descriptor)
        except OSError as error:
            self.close()
            raise unreadable(path, error) from error
        if not stat.S_ISREG(status.st_mode) and not (may_be_directory and stat.S_ISDIR(status.st_mode)):
            self.close()
            if stat.S_ISDIR(status.st_mode):
                raise Unreadable("file-is-directory", "is a directory", path=path)
            raise Unreadable("file-not-regular", "is not a regular file", path=path)
        self.size = status.st_size

    def read(self, position: int, count: int) -> bytes:
        """The bytes at `position`, fewer than `count` only at the end of the file.

        Raises Unreadable (`file-io-error`) if they cannot be read, (`file-shrank`) if they are not there any more.
        """
        data = self._take(position, count)
        if len(data) < count and position + len(data) < self.size:
            raise self._ends_early(position + len(data))
        return data

    def read_into(self, buffer: memoryview, position: int) -> int:
        """Fill a buffer from `position` on, up to the end of the file. Returns how many bytes that are. Raises as `read`."""
        filled = self._fill(buffer, position)
        if filled < len(buffer) and position + filled < self.size:
            raise self._ends_early(position + filled)
        return filled

    def read_exactly(self, position: int, count: int) -> bytes:
        """The bytes at `position`. Raises Unreadable (`file-shrank`) if they are not there."""
        data = self.read(position, count)
        if len(data) < count:
            raise self._ends_early(position + len(data))
        return data

    def _take(self, position: int, count: int) -> bytes:
        """The bytes that the system gives now: it may give less than is asked for, and is asked until it gives nothing."""
        if self.throttle is not None:
            buffer = bytearray(max(0, min(count, self.size - position)))
            return bytes(buffer[: self._fill(memoryview(buffer), position)])
        try:
            data: bytes = self._calls.pread(self._descriptor, count, position)
            if len(data) == count or not data:
                return data
            parts = [data]
            while data:
                count -= len(data)
                position += len(data)
                data = self._calls.pread(self._descriptor, count, position)
                parts.append(data)
            return b"".join(parts)
        except OSError as error:
            raise unreadable(self.path, error, position) from error

    def _fill(self, buffer: memoryview, position: int) -> int:
        filled = 0
        try:
            while filled < len(buffer):
                if self.throttle is not None:
                    read = self.throttle.read_into(self._descriptor, buffer[filled:], position + filled)
                else:
                    read = self._calls.preadv(self._descriptor, [buffer[filled:]], position + filled)
                if not read:
                    break
                filled += read
        except OSError as error:
            raise unreadable(self.path, error, position) from error
        return filled

    def _ends_early(self, position: int) -> Unreadable:
        """The fault of a file that ends here now, before its size of when it was opened."""
        size = self.status().st_size
        if size < self.size:
            return Unreadable("file-shrank", f"was cut to {size:,} bytes while it was read", path=self.path, position=position)
        return Unreadable("file-io-error", f"gives no bytes here, though it has {size:,}", path=self.path, position=position)

    def status(self) -> os.stat_result:
        """The status of the open file now. Raises Unreadable."""
        try:
            found: os.stat_result = self._calls.fstat(self._descriptor)
            return found
        except OSError as error:
            raise unreadable(self.path, error) from error

    @property
    def is_direct(self) -> bool:
        """Whether code may read the descriptor itself: not while reading is throttled, and not where there is none."""
        return self.throttle is None and self._calls is os

    def fileno(self) -> int:
        """The descriptor, for code that calls pread itself where `is_direct`, or -1. Never write to it."""
        return self._descriptor if self._calls is os else -1

    def close(self) -> None:
        self._calls.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class NoSource(Source):
    """An empty file that does not exist."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.size = 0
        self._calls = os

    def read(self, position: int, count: int) -> bytes:
        return b""

    def fileno(self) -> int:
        return -1

    def close(self) -> None:
        pass
