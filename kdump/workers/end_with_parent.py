"""Ends a worker process when the process that started it has ended, by whatever signal."""

from __future__ import annotations

import os
import sys

from kdump.binary import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
else:
    import _signal  # the module around it takes a third of our start

_PR_SET_PDEATHSIG = 1  # of Linux: prctl(2)
_SECONDS = 1.0  # between two looks


def end_with_parent(parent: int) -> None:
    """Have this process, a fork of `parent`, end when that ends."""
    if not _is_killed_by_linux():
        _look_for(parent)
    if os.getppid() != parent:  # it ended before
        os._exit(1)


def _is_killed_by_linux() -> bool:
    """Ask Linux to kill this process when the thread that forked it ends. Returns whether it will."""
    if sys.platform != "linux":
        return False
    if kernel.native is not None and kernel.native.end_with_parent():
        return True
    try:
        import ctypes  # takes longer than all else that a worker does before its work

        return bool(ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _signal.SIGKILL) == 0)
    except (ImportError, OSError, AttributeError):  # a Python without ctypes, a C library without prctl
        return False


def _look_for(parent: int) -> None:
    """Look every second whether the parent is still there, for as long as this process lives."""

    def look(_number: int, _frame: object) -> None:
        if os.getppid() != parent:
            os._exit(1)

    _signal.signal(_signal.SIGALRM, look)
    _signal.setitimer(_signal.ITIMER_REAL, _SECONDS, _SECONDS)
