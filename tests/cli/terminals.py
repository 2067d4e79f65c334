"""Runs of kdump on a terminal."""

import os
import pty
import subprocess
import sys
from pathlib import Path

from tests.support import HANG

ROOT = Path(__file__).parent.parent.parent


def on_terminal(*arguments: str | Path) -> bytes:
    """What a run of kdump shows on a terminal, on stdout and stderr."""
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "kdump", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "200"},
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    shown = b""
    while True:
        try:
            piece = os.read(controller, 1 << 16)
        except OSError:  # Linux: nobody has the terminal open any more
            break
        if not piece:
            break
        shown += piece
    os.close(controller)
    process.wait(HANG)
    assert b"Traceback" not in shown and b"internal error" not in shown
    return shown
