"""Reads the windows of a log in a thread of its own, before they are asked for."""

from __future__ import annotations

import os
import threading
from collections import deque

from kdump.binary import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

    from kdump.binary.source import Source

_DEPTH = 2  # windows that wait to be asked for


class ReadAhead:
    """The windows of `size` bytes that a walk through a log asks for.

    The next one is guessed to begin where the regular batches of the last one end; where another is asked for, the thread goes on
    from there. What it cannot read in full is left to the source, which knows what that means. Needs the kernel in C.
    """

    def __init__(self, source: Source, size: int) -> None:
        self._source = source
        self._size = size
        self._changed = threading.Condition()
        self._ready: deque[tuple[int, bytes]] = deque()
        self._next: int | None = None  # where the thread is to read, or reads
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def read(self, position: int, count: int) -> bytes:
        """The bytes at `position`, as the source reads them."""
        if count != min(self._size, self._source.size - position):
            return self._source.read(position, count)
        with self._changed:
            if not (self._ready[0][0] == position if self._ready else self._next == position):
                self._ready.clear()
                self._next = position
                self._changed.notify_all()
            while not self._ready and not self._is_closed:
                self._changed.wait()
            window = self._ready.popleft()[1] if self._ready else b""
            self._changed.notify_all()
        return window or self._source.read(position, count)

    def _run(self) -> None:
        try:
            self._read_on()
        finally:
            with self._changed:
                self._is_closed = True  # whatever the reason: nobody is to wait for this thread
                self._changed.notify_all()

    def _read_on(self) -> None:
        while True:
            with self._changed:
                while not self._is_closed and (self._next is None or len(self._ready) == _DEPTH):
                    self._changed.wait()
                if self._is_closed:
                    return
                position = self._next
            assert position is not None
            window, end = self._window(position)
            with self._changed:
                if self._next == position:
                    self._ready.append((position, window))
                    self._next = end
                    self._changed.notify_all()

    def _window(self, position: int) -> tuple[bytes, int | None]:
        """What stands there, nothing if it cannot be read; and where the next window begins, None where that cannot be told."""
        count = min(self._size, self._source.size - position)
        try:
            window = os.pread(self._source.fileno(), count, position)
        except OSError:
            return b"", None
        if not window or len(window) < count:
            return b"", None
        assert kernel.native is not None
        end = kernel.native.walk_end(window)
        return window, position + end if end and position + end < self._source.size else None

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self._thread.join()

    def __enter__(self) -> ReadAhead:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
