"""How many processes to use."""

import os
import time

_LOAD = "/proc/loadavg"  # of Linux
_LOOKS = 3  # at who is running: some only run for a moment
_BETWEEN_LOOKS = 0.001  # seconds


def jobs_here() -> int:
    """The number of processes to use: the cores, minus other busy processes beyond the first."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(min(cores, cores + 1 - _running_here()), 1)  # one may only run for a moment, or shares its core


def _running_here() -> int:
    """The number of other processes that were running in the last minute and, where the system reports it, still are."""
    running = 0
    try:
        running = round(os.getloadavg()[0])  # what has ended just now counts, too
        for _ in range(_LOOKS):
            with open(_LOAD, "rb", buffering=0) as file:
                running = min(running, int(file.read(100).split()[3].partition(b"/")[0]) - 1)  # without this one
            if not running:
                break
            time.sleep(_BETWEEN_LOOKS)
    except (OSError, ValueError, IndexError):
        pass
    return running
