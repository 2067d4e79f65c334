"""Writes the output to the file that `-o` names; it appears there only when it is complete."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING

from kdump.binary.paths import require_local
from kdump.binary.placing import place, require_written
from kdump.errors import UsageError
from kdump.workers import unfinished

if TYPE_CHECKING:
    from collections.abc import Iterator

_STDOUT = "-"


@contextmanager
def output_of(path: str | None, *, is_quiet: bool) -> Iterator[None]:
    """The output of a command that judges: in the file of `-o`, if there is one, or nowhere. Raises what `written_to` raises."""
    if not is_quiet:
        with written_to(path):
            yield
        return
    if path is not None:
        raise UsageError("with -q, there is nothing to write", remedy="leave out -q or -o")
    with open(os.devnull, "wb", buffering=0) as nowhere:
        if sys.stderr is not None:
            sys.stderr.flush()
        kept = os.dup(2)
        os.dup2(nowhere.fileno(), 2)
        try:
            with _as_stdout(nowhere.fileno()):
                yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


@contextmanager
def written_to(path: str | None) -> Iterator[None]:
    """Write what goes to stdout within the block to this file instead; None and `-` change nothing.

    The file is moved into place at the end of the block, if all went well. Raises UsageError if the path already exists:
    no file is overwritten. Raises OSError where it cannot be made or written. A device or a named pipe is written to as it is.
    """
    if path is None or path == _STDOUT:
        yield
        return
    if not path:
        raise UsageError("-o names a file, and its name is empty")
    require_local(path, "the output")
    there = _status(path)
    is_special = there is not None and not stat.S_ISREG(there.st_mode) and not stat.S_ISDIR(there.st_mode)
    if _has_name(path) and not is_special:
        raise UsageError(f"{path} exists; kdump does not overwrite files", remedy="name another file with -o, or remove this one")
    if is_special:
        with _closed_after(_open(path, os.O_WRONLY, path)) as descriptor, _as_stdout(descriptor):
            yield
        return
    temporary = f"{path}.incomplete-{os.getpid()}"
    with unfinished.Making(temporary):
        descriptor = _open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, path)
    try:
        with _closed_after(descriptor):
            with _as_stdout(descriptor):
                yield
            require_written(descriptor)
            _place(temporary, path)
        unfinished.require_removed(temporary)
    finally:
        unfinished.remove(temporary)


def _open(name: str, flags: int, path: str) -> int:
    try:
        return os.open(name, flags, 0o666)
    except (FileNotFoundError, NotADirectoryError, FileExistsError) as error:
        raise UsageError(f"-o {path}: {error.strerror or error}") from error


@contextmanager
def _closed_after(descriptor: int) -> Iterator[int]:
    """This descriptor, which is closed after the block."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _as_stdout(descriptor: int) -> Iterator[None]:
    """Redirect the descriptor of stdout, and Python's stream for it."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(descriptor, 1)
    try:
        with open(1, "w", encoding="utf-8", closefd=False) as text, redirect_stdout(text):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _place(temporary: str, path: str) -> None:
    """Move a file to its place. Raises UsageError if another file has appeared there meanwhile."""
    try:
        place(temporary, path)
    except FileExistsError as error:
        raise UsageError(f"{path} exists by now; kdump does not overwrite files") from error


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _has_name(path: str) -> bool:
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    return True
