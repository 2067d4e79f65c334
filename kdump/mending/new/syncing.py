"""Syncs files in a thread, so that the disk writes them while the next ones are made."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import queue

    from kdump.workers.helping_thread import HelpingThread

_MOST_WAITING = 16  # descriptors that are open until they are synced
_MOST_HELD = 256  # small files that are synced together; with those that wait, at most a quarter of the descriptors
_SMALL = 1 << 20


class Syncing:
    """Files that are to be on the disk when `finish` returns. The thread starts with the first one.

    This thread syncs what the other one has not taken: where no thread can be started, all of it. Small files are held until
    there are many: a journal takes them all to the disk with the first one, but has to be written again for what is made later.
    """

    def __init__(self) -> None:
        self._held: list[int] = []
        self._most_held = min(_MOST_HELD, os.sysconf("SC_OPEN_MAX") // 4 - _MOST_WAITING)
        self._waiting: queue.SimpleQueue[int | None] | None = None
        self._thread: HelpingThread | None = None
        self._error: OSError | MemoryError | None = None

    def start(self, descriptor: int) -> None:
        """Let the disk write what is in a file so far. `close` must be called for it later."""
        try:
            self._add(os.dup(descriptor))  # each is closed when it is synced
        except OSError:  # no descriptor is left; `close` syncs all of it
            pass

    def close(self, descriptor: int, size: int) -> None:
        """Sync and close a file of this size, soon, or if it is small, later. Syncs others if too many are waiting.

        Raises OSError if an earlier one failed.
        """
        if size >= _SMALL:
            self._add(descriptor)
        else:
            self._held.append(descriptor)
            if len(self._held) > self._most_held:
                self._release()
        self._raise()

    def finish(self) -> None:
        """Wait until all files are synced and closed. Raises OSError for the first one that could not be."""
        self._release()
        if self._waiting is not None:
            while self._sync_next():
                pass
            self._waiting.put(None)
        if self._thread is not None:
            self._thread.end()
        self._waiting = self._thread = None
        self._raise()

    def _release(self) -> None:
        """Let the small files be synced."""
        while self._held:
            self._add(self._held.pop())

    def _raise(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _add(self, descriptor: int) -> None:
        if self._waiting is None:
            import queue

            self._waiting = queue.SimpleQueue()
        self._waiting.put(descriptor)
        if self._thread is None:
            self._start_thread(self._waiting)
        if self._waiting.qsize() > _MOST_WAITING:
            self._sync_next()

    def _start_thread(self, waiting: queue.SimpleQueue[int | None]) -> None:
        from kdump.workers.helping_thread import HelpingThread

        def work() -> None:
            while (descriptor := waiting.get()) is not None:
                self._sync(descriptor)

        try:
            self._thread = HelpingThread(work)
        except RuntimeError:  # the system allows no more threads
            pass

    def _sync_next(self) -> bool:
        """Sync the file that waits longest, in this thread. Returns whether there was one."""
        import queue

        assert self._waiting is not None
        try:
            descriptor = self._waiting.get_nowait()
        except queue.Empty:
            return False
        assert descriptor is not None
        self._sync(descriptor)
        return True

    def _sync(self, descriptor: int) -> None:
        """Sync and close. What fails is kept, also what only closing reports, such as a full disk of another machine."""
        try:
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except (OSError, MemoryError) as error:
            self._error = self._error or error
