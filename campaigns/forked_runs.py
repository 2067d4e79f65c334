"""A process that has loaded kdump and runs commands in forks of itself, which takes a twentieth of the time of a start.

    python -m campaigns.forked_runs < REQUESTS

A request is a line of JSON: a command line, the environment that is added, and the files for its output. The answer are two
lines: the process, which leads a session of its own, as soon as it runs, and its exit code, negative for a signal, once it has
ended. A request without files is for this process itself, so that it loads what the command needs.
"""

import ctypes
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

from kdump.cli import main


class Server:
    """Such a process, with a library that it has loaded before."""

    def __init__(self, library: Path, environment: Mapping[str, str]) -> None:
        self._process = Popen(
            [sys.executable, "-m", "campaigns.forked_runs"],
            stdin=PIPE,
            stdout=PIPE,
            env={**environment, "LD_PRELOAD": str(library)},
        )

        self.has_loaded = False

    def load(self, arguments: list[str]) -> int:
        """Have it load what a command needs, by running it. Returns its exit code."""
        self._ask({"arguments": arguments})
        self.has_loaded = True
        return self._answer()

    def start(
        self, arguments: list[str], environment: Mapping[str, str], stdout: Path, stderr: Path, stdin: str = os.devnull
    ) -> int:
        """Run a command in a fork. Returns its process, which leads a session."""
        streams = {"stdin": stdin, "stdout": str(stdout), "stderr": str(stderr)}
        self._ask({"arguments": arguments, "environment": dict(environment), **streams})
        return self._answer()

    def wait(self) -> int:
        """The exit code of the command, once it has ended; the caller ends it if it hangs."""
        return self._answer()

    @property
    def descriptor(self) -> int:
        """Can be read once the command has ended."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def _ask(self, request: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()

    def _answer(self) -> int:
        line = b""
        while not line.endswith(b"\n"):  # unbuffered: what waits for it looks at the descriptor
            line += os.read(self.descriptor, 1)
        return int(line)


def serve() -> None:
    """Answer requests until there are no more."""
    answers = os.dup(1)
    os.set_inheritable(answers, False)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    requests = open(os.dup(0), "rb")  # noqa: SIM115
    os.dup2(nowhere, 0)  # the stdin of commands that are loaded
    for line in requests:
        request = json.loads(line)
        sys.argv = ["kdump", *request["arguments"]]
        if "stdout" not in request:
            os.write(answers, b"%d\n" % main.main())
            continue
        process = os.fork()
        if not process:
            _become(request)
        os.write(answers, b"%d\n" % process)
        _, status = os.waitpid(process, 0)
        os.write(answers, b"%d\n" % os.waitstatus_to_exitcode(status))


def _become(request: Mapping[str, Any]) -> None:
    """Run the command of a request in this fork, and end."""
    code = 99
    try:
        os.setsid()
        for descriptor, path in enumerate((request["stdin"], request["stdout"], request["stderr"])):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), descriptor)
        os.environ |= request["environment"]
        tempfile.tempdir = None  # the environment says where temporary files go
        ctypes.CDLL(None).failing_begin()
        main.run()
    except SystemExit as end:
        code = int(end.code or 0)
        sys.stdout.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    serve()
