"""Python objects that processes of this program send to one another through pipes."""

from __future__ import annotations

import os

from kdump.workers.process import wait_for, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    import pickle as _pickle
    from collections.abc import Iterator
    from typing import Any
else:
    import _pickle  # the module around it is slow to load

_PROTOCOL = 5  # of pickle, the newest
_SIZE_BYTES = 8
_READ_BYTES = 1 << 16  # of a pipe, which holds no more at once

NOTHING = bytes(_SIZE_BYTES)
"""A message without an object."""


def send(descriptor: int, message: object) -> None:
    """Write an object into a pipe. Raises BrokenPipeError if nobody reads it any more."""
    data = _pickle.dumps(message, _PROTOCOL)
    write_all(descriptor, len(data).to_bytes(_SIZE_BYTES, "big"))
    write_all(descriptor, data)


def receive(descriptor: int) -> Any:
    """The next object in a pipe, as soon as it is there as a whole. Raises EOFError if its writer has ended before."""
    size = int.from_bytes(_exactly(descriptor, _SIZE_BYTES), "big")
    return loaded(_exactly(descriptor, size))


def loaded(message: bytes | bytearray) -> Any:
    """The object that a pickled message is."""
    return _pickle.loads(message)


def taken_from(buffer: bytearray) -> Iterator[bytes]:
    """The pickled objects that are at the start of a buffer as a whole, which they leave; empty for `NOTHING`."""
    start = 0
    with memoryview(buffer) as view:
        while len(view) - start >= _SIZE_BYTES:
            end = start + _SIZE_BYTES + int.from_bytes(view[start : start + _SIZE_BYTES], "big")
            if end > len(view):
                break
            yield bytes(view[start + _SIZE_BYTES : end])
            start = end
    del buffer[:start]


def _exactly(descriptor: int, size: int) -> bytearray:
    data = bytearray()
    while len(data) < size:
        wait_for(descriptor)
        part = os.read(descriptor, min(_READ_BYTES, size - len(data)))
        if not part:
            raise EOFError("the process that writes into the pipe has ended")
        data += part
    return data
