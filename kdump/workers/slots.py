"""Slots of shared memory that a worker fills and its parent reads; the parent frees each slot with a byte in a pipe."""

import mmap
import os

from kdump.workers.process import wait_for

_CLOSED = -1


class SharedSlots:
    """`count` slots of `size` bytes, at most 256. Made before the fork; then each process takes its end.

    The worker knows which slots are free: all at first, then those that `freed` returns.
    """

    def __init__(self, count: int, size: int) -> None:
        self._count = count
        self.size = size
        self.memory = mmap.mmap(-1, count * size)  # unused pages take no memory
        self._freed, self._freeing = os.pipe()
        os.set_blocking(self._freed, False)

    def take_end_of_worker(self) -> None:
        """Become the worker's side."""
        self._freeing = _close(self._freeing)

    def take_end_of_reader(self) -> None:
        """Become the parent's side."""
        self._freed = _close(self._freed)

    def freed(self) -> bytes:
        """The numbers of the slots freed since the last call. Raises BrokenPipeError if the reader has ended."""
        try:
            numbers = os.read(self._freed, self._count)
        except BlockingIOError:
            return b""
        if not numbers:
            raise BrokenPipeError("the process that reads the slots has ended")
        return numbers

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until a slot is freed or the reader has ended; None waits for ever. Returns False after a timeout."""
        return wait_for(self._freed, seconds)

    def free(self, slot: int) -> None:
        """Let the worker fill a slot again. Does nothing if the worker has ended, or this end is closed."""
        try:
            os.write(self._freeing, bytes((slot,)))
        except OSError:
            pass

    def close(self) -> None:
        """Close the ends of the pipe that are open here. The memory lives as long as it is in use."""
        self._freed = _close(self._freed)
        self._freeing = _close(self._freeing)


def _close(descriptor: int) -> int:
    if descriptor != _CLOSED:
        os.close(descriptor)
    return _CLOSED
