"""Commands that run in a session of their own, so that whatever process they leave behind can be found."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

MOMENT = 5.0
"""Seconds that a process may outlive the command that started it, even if it sleeps."""

HANG = 60.0
"""Seconds after which a process that does not sleep is left, too: a loaded machine may keep an ending one from running."""

WORK = 1.0
"""CPU seconds that a process may use after the command has ended."""

_LOOK = 0.01
_ZOMBIE, _SLEEPS = "Z", "S"
_IS_EXITING = 0x4  # PF_EXITING, of the flags of a process
_KILL = 1 << signal.SIGKILL - 1


class _Process(NamedTuple):
    """A process that has not ended: whether it waits for something that nothing ends, and the CPU seconds that it has used."""

    number: int
    sleeps: bool
    cpu_seconds: float


def processes_of(session: int) -> set[int]:
    """The processes of a session that have not ended."""
    return {process.number for process in _processes(session)}


def left_of(session: int, moment: float = MOMENT) -> set[int]:
    """The processes that are left of a session whose command has ended: they outlive it visibly.

    A process that is about to end may take its time on a loaded machine, so it is waited for. It is left if all that remain
    sleep a moment after the command ended, if it has worked since, or if it is still there much later.
    """
    ended = time.monotonic()
    before = {process.number: process.cpu_seconds for process in _processes(session)}
    while found := list(_processes(session)):
        seconds = time.monotonic() - ended
        work = max(process.cpu_seconds - before.get(process.number, 0.0) for process in found)
        if work > WORK or seconds > HANG or seconds > moment and all(process.sleeps for process in found):
            break
        time.sleep(_LOOK)
    return {process.number for process in found}


def end_session(session: int) -> None:
    """End whatever is left of a session that a campaign started."""
    for process in processes_of(session):
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass


def _processes(session: int) -> Iterator[_Process]:
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                state, *numbers = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
                if int(numbers[2]) != session or state == _ZOMBIE:
                    continue
                status = Path("/proc", entry, "status").read_text()
            except OSError:  # it has just ended
                continue
            is_ending = int(numbers[5]) & _IS_EXITING or any(
                int(line.split()[1], 16) & _KILL for line in status.splitlines() if line.startswith(("SigPnd:", "ShdPnd:"))
            )
            ticks = int(numbers[10]) + int(numbers[11])
            yield _Process(int(entry), state == _SLEEPS and not is_ending, ticks / os.sysconf("SC_CLK_TCK"))
