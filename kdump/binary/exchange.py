"""Puts one directory in the place of another, at once where the system can."""

from __future__ import annotations

import os

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def exchange(path: str, other: str) -> None:
    """Let two directories change their names.

    Linux does it in one step. Elsewhere there is a moment at which `other` has no directory: it is then at `other` with the
    suffix `.earlier`. Raises OSError.
    """
    if not _exchanged(path, other):
        beside = f"{other}.earlier"
        os.rename(other, beside)
        try:
            os.rename(path, other)
        except OSError:
            os.rename(beside, other)
            raise
        os.rename(beside, path)


def _exchanged(path: str, other: str) -> bool:
    """Whether the system could do it in one step."""
    try:
        import ctypes

        library = ctypes.CDLL(None, use_errno=True)
        return bool(library.renameat2(_AT_FDCWD, os.fsencode(path), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0)
    except (ImportError, OSError, AttributeError):  # a Python without ctypes, a C library without renameat2
        return False
