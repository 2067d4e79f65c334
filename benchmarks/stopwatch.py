"""Runs a command and prints its cost as JSON, in a separate process so small that its memory does not count.

python -I -S stopwatch.py SECONDS COPIES OUTPUT COMMAND...

Until it executes another program, the memory of the process that forked it counts as its own.
"""

import os
import signal
import sys
from time import perf_counter


def main(arguments: list[str]) -> int:
    """Run `copies` of the command at once, and stop them after `seconds`. Returns the exit code."""
    seconds, copies, output, *command = arguments
    children: list[int] = []
    is_late = False

    def end(*_: object) -> None:
        nonlocal is_late
        is_late = True
        for child in children:
            os.kill(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, end)
    started = perf_counter()
    for _ in range(int(copies)):
        child = os.fork()
        if not child:
            _become(command, output)
        children.append(child)
    signal.setitimer(signal.ITIMER_REAL, float(seconds))
    exit_code = memory = 0
    cpu = 0.0
    while children:
        child, status, usage = os.wait4(children[0], 0)
        children.remove(child)
        exit_code = exit_code or os.waitstatus_to_exitcode(status)
        memory = max(memory, usage.ru_maxrss)
        cpu += usage.ru_utime + usage.ru_stime
    elapsed = perf_counter() - started
    signal.setitimer(signal.ITIMER_REAL, 0)
    unit = 1 if sys.platform == "darwin" else 1024
    print(
        f'{{"seconds": {elapsed}, "cpu": {cpu}, "memory": {memory * unit}, "exit_code": {exit_code}, "is_late": {int(is_late)}}}'
    )
    return 0


def _become(command: list[str], output: str) -> None:
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.execvp(command[0], command)
    finally:
        os._exit(127)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
