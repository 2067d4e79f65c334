"""Reading beside a busy broker: slowly, at low priority, without evicting its pages from the page cache."""

from __future__ import annotations

import os
import time

from kdump.binary.source import Source
from kdump.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30}
_RATE_FORM = "a rate, such as 50MB/s"
_SLICE = 1 << 20  # no more than this is read before the next pause

# ioprio_set(IOPRIO_WHO_PROCESS, this one, class idle): neither Python nor the C library has a function for it
_IOPRIO_SET = {"x86_64": 251, "aarch64": 30}
_IOPRIO_WHO_PROCESS = 1
_IOPRIO_IDLE = 3 << 13


class Throttle:
    """Limits reading to `rate` bytes a second, and drops the pages that were not cached before."""

    def __init__(self, rate: int | None, *, drops_pages: bool) -> None:
        self._rate = rate
        self._drops_pages = drops_pages and hasattr(os, "posix_fadvise")
        self._is_free_at = time.monotonic()

    def read_into(self, descriptor: Any, buffer: memoryview, position: int) -> int:
        """As os.preadv with one buffer, but throttled: it may return fewer bytes than there are."""
        buffer = buffer[:_SLICE]
        self._wait_for(len(buffer))
        if not isinstance(descriptor, int):  # a file in a store
            from kdump.binary import elsewhere

            return elsewhere.preadv(descriptor, [buffer], position)
        if not self._drops_pages:
            return os.preadv(descriptor, [buffer], position)
        cached = 0
        try:
            cached = os.preadv(descriptor, [buffer], position, os.RWF_NOWAIT)
        except (OSError, AttributeError):  # nothing of it is cached, or it cannot be asked
            pass
        if cached:
            return cached
        read = os.preadv(descriptor, [buffer], position)
        os.posix_fadvise(descriptor, position, read, os.POSIX_FADV_DONTNEED)
        return read

    def _wait_for(self, size: int) -> None:
        if self._rate is None:
            return
        now = time.monotonic()
        if now < self._is_free_at:
            time.sleep(self._is_free_at - now)
        self._is_free_at = max(now, self._is_free_at) + size / self._rate


def throttle(rate: str, *, is_nice: bool) -> None:
    """Throttle all reads of this process and of the workers it forks from now on. Raises UsageError for a bad rate.

    This is a setting of the process, not an argument of each Source: files are opened in some forty places on nearly all floors,
    none of which may be forgotten.
    """
    Source.throttle = Throttle(rate_of(rate) if rate else None, drops_pages=is_nice)
    if is_nice:
        lower_priority()


def rate_of(text: str) -> int:
    """The rate in bytes a second of `50MB/s`, `50M`, `1.5GiB/s` or a number. Raises UsageError."""
    number = text.strip().lower().removesuffix("/s").removesuffix("b").strip()
    unit = number.lstrip("0123456789.").strip()
    digits = number[: len(number) - len(number.lstrip("0123456789."))]
    try:
        rate = int(float(digits) * _UNITS[unit])
    except (KeyError, ValueError):
        raise UsageError(f"--rate takes {_RATE_FORM}, not {text!r}")
    if rate < 1:
        raise UsageError(f"--rate takes {_RATE_FORM}, not {text!r}")
    return rate


def lower_priority() -> None:
    """Give this process the lowest CPU priority, and idle I/O priority where the system has it."""
    try:
        os.nice(19)
    except OSError:
        pass
    number = _IOPRIO_SET.get(os.uname().machine)
    if os.uname().sysname == "Linux" and number is not None:
        import ctypes

        ctypes.CDLL(None, use_errno=True).syscall(number, _IOPRIO_WHO_PROCESS, 0, _IOPRIO_IDLE)
