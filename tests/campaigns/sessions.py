"""Commands that run in a session of their own, so that whatever process they leave behind can be found."""

import os
import signal
from pathlib import Path

_ZOMBIE = "Z"


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


def end_session(session: int) -> None:
    """End whatever is left of a session that a campaign started."""
    for process in processes_of(session):
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass
