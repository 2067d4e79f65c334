"""Loads Arrow, also where `ulimit -v` leaves few addresses."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from kdump.binary.installing import how_to_install
from kdump.binary.loading import loading
from kdump.errors import UsageError

_ARROW_ADDRESSES = 192 << 20  # its libraries take 130 MiB, and each thread has a stack
_MEMORY_POOL = "ARROW_DEFAULT_MEMORY_POOL"  # read when Arrow is loaded
_M_ARENA_MAX = -8  # of mallopt


def require_arrow(what: str) -> None:
    """Load Arrow for a command line that asks for these files. Raises UsageError if it is not installed; else as `load_arrow`."""
    os.environ.setdefault(_MEMORY_POOL, "system")  # its own keeps some 30 MiB more
    try:
        load_arrow()
    except ImportError as missing:
        raise UsageError(f'{what} need the package "pyarrow"', remedy=how_to_install("pyarrow", "arrow")) from missing


def load_arrow() -> None:
    """Load Arrow and what reads and writes Parquet.

    Raises ModuleNotFoundError if it is not installed, OutOfMemory if memory or addresses are too few for it, and Unreadable if it
    cannot be loaded.
    """
    limits_addresses = _limits_addresses()
    with loading("pyarrow"):
        if limits_addresses and "pyarrow" not in sys.modules:
            _save_addresses()
            _require_addresses()
        import pyarrow
        import pyarrow.parquet
    if limits_addresses:  # Arrow fails when there are none for a thread
        pyarrow.set_cpu_count(1)
        pyarrow.set_io_thread_count(1)


def _limits_addresses() -> bool:
    """Whether `ulimit -v` limits the addresses of this process."""
    try:
        import resource
    except ImportError:  # no such limits on this system
        return False
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def _save_addresses() -> None:
    """Let Arrow and all threads share the memory of the C library. By default each reserves addresses, up to 128 MiB."""
    import ctypes

    os.environ.setdefault(_MEMORY_POOL, "system")
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def _require_addresses() -> None:
    """Raises OSError if there are fewer addresses than Arrow takes: it, or the C library, ends the process where they run out."""
    import mmap

    mmap.mmap(-1, _ARROW_ADDRESSES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ).close()
