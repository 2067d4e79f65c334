"""Syncs files in a thread, so that the disk writes them while the next ones are made."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import queue
    import threading

_MOST_WAITING = 16  # descriptors that are open until they are synced


class Syncing:
    """Files that are to be on the disk when `finish` returns. The thread starts with the first one."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[tuple[int, bool] | None] | None = None
        self._thread: threading.Thread | None = None
        self._error: OSError | None = None

    def start(self, descriptor: int) -> None:
        """Let the disk write what is in a file so far. `close` must be called for it later."""
        self._add(descriptor, closes=False)

    def close(self, descriptor: int) -> None:
        """Sync and close a file, soon. Waits if too many are waiting. Raises OSError if an earlier one failed."""
        self._add(descriptor, closes=True)
        self._raise()

    def finish(self) -> None:
        """Wait until all files are synced and closed. Raises OSError for the first one that could not be."""
        if self._thread is not None and self._waiting is not None:
            self._waiting.put(None)
            self._thread.join()
            self._thread = None
        self._raise()

    def _raise(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _add(self, descriptor: int, *, closes: bool) -> None:
        import queue
        import threading

        if self._waiting is None:
            self._waiting = queue.Queue(_MOST_WAITING)
        if self._thread is None:
            thread = threading.Thread(target=self._run, args=(self._waiting,), name="kdump-sync", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system allows no more threads
                self._sync(descriptor, closes=closes)
                return
            self._thread = thread
        self._waiting.put((descriptor, closes))

    def _run(self, waiting: queue.Queue[tuple[int, bool] | None]) -> None:
        while (task := waiting.get()) is not None:
            descriptor, closes = task
            self._sync(descriptor, closes=closes)

    def _sync(self, descriptor: int, *, closes: bool) -> None:
        try:
            os.fsync(descriptor)
        except OSError as error:
            self._error = self._error or error
        finally:
            if closes:
                os.close(descriptor)
