"""The standard streams of this process where something is wrong with them."""

from __future__ import annotations

import os
import sys

from kdump.binary.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO


def say(message: str) -> None:
    """Write a line of ours to stderr, if there is a stderr that takes it."""
    if sys.stderr is None:
        return  # it is closed, and a file of ours may have its number
    try:
        sys.stderr.write(f"kdump: {message}\n")
        sys.stderr.flush()
    except OSError:
        _forget(2)


def out_of_memory(error: MemoryError) -> str:
    """What to say where memory is short: what was being read, if a file was."""
    path, trace = None, error.__traceback__
    while trace is not None:
        for value in trace.tb_frame.f_locals.values():
            path = value.path if isinstance(value, Source) else path
        trace = trace.tb_next
    return "out of memory" if path is None else f"out of memory while {path} was read"


def forget_stdout() -> None:
    """Keep the interpreter from trying to write to a stdout that has failed when it ends."""
    _forget(1)


def _forget(descriptor: int) -> None:
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
    except OSError:
        pass


def stderr_bytes() -> BinaryIO:
    """The bytes of stderr; nothing if it is closed, for then a file of ours may get its number."""
    if sys.stderr is None:
        return open(os.devnull, "wb", buffering=0)
    return open(2, "wb", buffering=0, closefd=False)
