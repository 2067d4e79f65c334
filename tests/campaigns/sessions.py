"""Commands that run in a session of their own, so that whatever process they leave behind can be found."""

import os
import signal
import time
from pathlib import Path

_ZOMBIE = "Z"

MOMENT = 5.0
"""Seconds after which a process that was told to end will never do so."""


def processes_of(session: int) -> set[int]:
    """The processes of a session that have not ended."""
    found = set()
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has just ended
                continue
            if int(fields[3]) == session and fields[0] != _ZOMBIE:
                found.add(int(entry))
    return found


def left_of(session: int) -> set[int]:
    """The processes that have not ended a while after the one that started them; a killed one may need a moment."""
    deadline = time.monotonic() + MOMENT
    while (left := processes_of(session)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return left


def end_session(session: int) -> None:
    """End whatever is left of a session that a campaign started."""
    for process in processes_of(session):
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass
