"""Worker processes: forks that do a part of this process's work. They get no signal that asks to end; this process kills them."""

from __future__ import annotations

import os
import select
import sys

from kdump.workers import ending_signals
from kdump.workers.end_with_parent import end_with_parent

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Callable, Iterable
else:
    import _signal  # the module around it takes a third of our start

FAILED = 70
"""The exit code of a worker process in which something was raised."""

_LONGEST_WAIT_MS = 500


def can_fork() -> bool:
    """Whether this process may be forked: not with other threads, which a fork would lack."""
    threading, helping_thread = map(sys.modules.get, ("threading", "kdump.workers.helping_thread"))
    has_threads = threading is not None and threading.active_count() > 1 or helping_thread is not None and helping_thread.running
    return hasattr(os, "fork") and not has_threads


def start(work: Callable[[], object]) -> int:
    """Start a fork of this process that does `work` and ends: with exit code 0, or FAILED if something is raised.

    Returns the number of the worker process. In it, nothing is raised any further: whatever fails, even before `work`, it never
    goes on as the process that started it. It gets no signal that asks it to end, and ends when this process ends. Such signals
    are often sent to all processes of a terminal or a service: this process hears them, too, and kills the worker. They are
    blocked before the fork, for an interrupt in an at-fork hook would only be printed.

    Raises OSError where no process can be started.
    """
    parent = os.getpid()
    before = ending_signals.block()
    process = -1
    try:
        process = os.fork()
    finally:
        if process:
            ending_signals.unblock(before)
    if process:
        return process
    code = FAILED
    try:
        end_with_parent(parent)
        work()
        code = 0
    finally:
        os._exit(code)


def wait_for(descriptor: int, seconds: float | None = None) -> bool:
    """Whether a pipe can be read, or has ended, within this time; None waits for ever."""
    return bool(readable([descriptor], seconds))


def readable(descriptors: Iterable[int], seconds: float | None = None) -> list[int]:
    """The pipes that can be read, or have ended, as soon as there are any; none after this time. None waits for ever.

    Python hears a signal that comes just before a call only after it, so none of the calls here waits long.
    """
    news = select.poll()
    for descriptor in descriptors:
        news.register(descriptor, select.POLLIN)
    left = float("inf") if seconds is None else 1000 * seconds
    while not (found := news.poll(min(left, _LONGEST_WAIT_MS))) and left > _LONGEST_WAIT_MS:
        left -= _LONGEST_WAIT_MS
    return [descriptor for descriptor, _ in found]


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
    return f"ended with exit code {code}" if code >= 0 else f"was killed by {signal_name(-code)}"


def signal_name(number: int) -> str:
    """The name of a signal: "SIGKILL", "signal 99" where it has none."""
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
