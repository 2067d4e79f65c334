"""Ends commands that mend while they write."""

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.support import with_interrupts

STATUSES = {signal.SIGKILL: -9, signal.SIGTERM: 143, signal.SIGINT: 130}


def kill_while_writing(arguments: Sequence[str], out: Path, endings: Sequence[signal.Signals], seconds: float) -> None:
    """Start a command for each signal, and send it so many seconds later than to the one before.

    There must be no new directory then; only SIGKILL leaves the incomplete one.
    """
    incomplete = out.with_name(f"{out.name}.incomplete")
    command = [sys.executable, "-m", "kdump", *arguments, "-o", str(out), "--rate", "20MB/s"]
    for number, ending in enumerate(endings):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=with_interrupts)
        while not incomplete.exists():
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(seconds * number)
        process.send_signal(ending)
        assert process.wait() == STATUSES[ending]
        assert not out.exists()
        assert incomplete.exists() == (ending == signal.SIGKILL)
        shutil.rmtree(incomplete, ignore_errors=True)
