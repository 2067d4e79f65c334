"""Python objects that processes of this program send to one another through pipes."""

from __future__ import annotations

import os
import pickle

from kdump.workers.process import wait_for, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SIZE_BYTES = 8
_READ_BYTES = 1 << 16  # of a pipe, which holds no more at once


def send(descriptor: int, message: object) -> None:
    """Write an object into a pipe. Raises BrokenPipeError if nobody reads it any more."""
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    write_all(descriptor, len(data).to_bytes(_SIZE_BYTES, "big"))
    write_all(descriptor, data)


def receive(descriptor: int) -> Any:
    """The next object in a pipe, as soon as it is there as a whole. Raises EOFError if its writer has ended before."""
    size = int.from_bytes(_exactly(descriptor, _SIZE_BYTES), "big")
    return pickle.loads(_exactly(descriptor, size))


def _exactly(descriptor: int, size: int) -> bytearray:
    data = bytearray()
    while len(data) < size:
        wait_for(descriptor)
        part = os.read(descriptor, min(_READ_BYTES, size - len(data)))
        if not part:
            raise EOFError("the process that writes into the pipe has ended")
        data += part
    return data
