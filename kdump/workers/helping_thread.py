"""A thread that helps with work which its starter can also do alone."""

from __future__ import annotations

import _thread

from kdump.binary import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


running: set[HelpingThread] = set()
"""The threads that work, or may still begin; `threading` does not count them."""


class HelpingThread:
    """A thread that does `work`, which handles its own errors. If memory is short, it may never begin, or end early.

    Nobody waits for its beginning: `threading.Thread.start` never returns if the new thread runs out of memory before that.

    Raises RuntimeError where no thread can be started, or could end.
    """

    def __init__(self, work: Callable[[], object]) -> None:
        if kernel.native is not None and not kernel.native.threads_can_end():
            raise RuntimeError("the end of a thread would end the process")
        self._work = work
        self._turn = _thread.allocate_lock()  # of the thread, or of `end`: whichever comes first
        self._end = _thread.allocate_lock()
        self._end.acquire()
        running.add(self)
        try:
            _thread.start_new_thread(self._run, ())
        except RuntimeError:
            running.discard(self)
            raise

    def _run(self) -> None:
        if self._turn.acquire(blocking=False):
            try:
                self._work()
            except MemoryError:
                pass  # the starter does what is left
            finally:
                running.discard(self)
                self._end.release()

    def end(self) -> None:
        """Wait until the work is done. If the thread has not begun, it never will."""
        if self._turn.acquire(blocking=False):
            running.discard(self)
        else:
            self._end.acquire()
