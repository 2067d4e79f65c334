"""Handles standard streams that are closed or broken."""

from __future__ import annotations

import io
import os
import sys

from kdump.binary.java_strings import escaped
from kdump.binary.source import Source
from kdump.errors import OutOfMemory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO


def say(message: str) -> None:
    """Write a line of kdump to stderr, if stderr is open. Nothing in it drives a terminal."""
    if sys.stderr is None:
        return  # it is closed, and another file may have its number
    try:
        sys.stderr.write(f"kdump: {escaped(message)}\n")
        sys.stderr.flush()
    except OSError:
        _forget(2)


def out_of_memory(error: Exception) -> str:
    """The message for running out of memory: it says what was being done, or names the file being read, if any."""
    if isinstance(error, OutOfMemory):
        return f"out of memory {error}"
    doing, trace = "", error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        if frame.f_code.co_name == "_find_and_load" and frame.f_code.co_filename.startswith("<frozen importlib"):
            doing = f" while loading {frame.f_locals['name']}"
        for value in frame.f_locals.values():
            doing = f" while reading {value.path}" if isinstance(value, Source) else doing
        trace = trace.tb_next
    return f"out of memory{doing}"


def buffer_stdout() -> None:
    """Give stdout a buffer where Python was asked for none: without one it drops what a write does not take at once."""
    if sys.stdout is not None and isinstance(getattr(sys.stdout, "buffer", None), io.RawIOBase):
        sys.stdout = open(1, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors, closefd=False)  # noqa: SIM115


def forget_stdout() -> None:
    """Keep the interpreter from writing to a stdout that has failed, when it exits."""
    _forget(1)


def _forget(descriptor: int) -> None:
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
    except OSError:
        pass


def stderr_bytes() -> BinaryIO:
    """Stderr as bytes; a sink if it is closed, because another file may then have its descriptor."""
    if sys.stderr is None:
        return open(os.devnull, "wb", buffering=0)
    return open(2, "wb", buffering=0, closefd=False)
