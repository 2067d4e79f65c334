"""Worker processes: forks that do a part of this process's work. They get no interrupts; this process kills them."""

from __future__ import annotations

import os
import select
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
else:
    import _signal  # the module around it takes a third of our start


def can_fork() -> bool:
    """Whether this process may be forked: not with other threads, which a fork would lack."""
    threading = sys.modules.get("threading")
    return hasattr(os, "fork") and (threading is None or threading.active_count() == 1)


def fork() -> int:
    """As os.fork; the worker process gets no interrupts.

    Ctrl-C also reaches this process, which kills the worker. SIGINT is blocked during the fork: an interrupt in an at-fork hook
    would only be printed.
    """
    before = _signal.pthread_sigmask(_signal.SIG_BLOCK, (_signal.SIGINT,))
    process = -1
    try:
        process = os.fork()
    finally:
        if process:
            _signal.pthread_sigmask(_signal.SIG_SETMASK, before)
    return process


def wait_for(descriptor: int, seconds: float | None = None) -> bool:
    """Whether a pipe can be read, or has ended, within this time; None waits for ever."""
    news = select.poll()
    news.register(descriptor, select.POLLIN)
    return bool(news.poll(None if seconds is None else int(1000 * seconds)))


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Write all bytes into a pipe, in as many parts as it takes."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def kill(process: int) -> None:
    """End a worker process at once, whatever it is doing."""
    os.kill(process, _signal.SIGKILL)


def how_it_ended(code: int) -> str:
    """How a process with this exit code ended, negative for a signal: "was killed by SIGKILL", "ended with exit code 1"."""
    if code >= 0:
        return f"ended with exit code {code}"
    import signal

    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
