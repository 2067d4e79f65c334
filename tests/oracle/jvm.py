"""A JVM that answers requests through its pipes, with a limit on each wait."""

import contextlib
import os
import select
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

_PIECE = 1 << 20
_SECONDS_TO_END = 5


class NoAnswer(Exception):
    """The JVM ended, or did not answer in time."""


class Jvm(contextlib.AbstractContextManager["Jvm"]):
    """A running JVM. It is killed at the end of the block."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        folder: Path | None = None,
        errors: int | None = subprocess.DEVNULL,
    ) -> None:
        """Start `command`. What the JVM writes to stderr goes to `errors`; None stands for the stderr of this process."""
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            bufsize=0,
            start_new_session=True,
        )
        assert self._process.stdin is not None  # opened as pipes
        assert self._process.stdout is not None
        self._requests, self._answers = self._process.stdin, self._process.stdout
        self._unread = bytearray()

    def __exit__(self, *exception: object) -> None:
        self.kill()

    def send(self, request: bytes) -> None:
        """Write a request. Raises NoAnswer if the JVM has ended."""
        rest = memoryview(request)
        try:
            while rest:
                rest = rest[self._requests.write(rest) :]
        except BrokenPipeError as error:
            raise NoAnswer("the JVM has ended") from error

    def read(self, size: int, seconds: float) -> bytes:
        """The next bytes, waiting `seconds` at most for each piece of them. Raises NoAnswer."""
        while len(self._unread) < size:
            self._read_piece(seconds)
        wanted = bytes(self._unread[:size])
        del self._unread[:size]
        return wanted

    def read_line(self, seconds: float) -> str:
        """The next line without its end, waiting `seconds` at most for each piece of it. Raises NoAnswer."""
        while (end := self._unread.find(b"\n")) < 0:
            self._read_piece(seconds)
        return self.read(end + 1, seconds)[:-1].decode()

    def end(self) -> None:
        """End in order if it waits for a request, at once if not."""
        with contextlib.suppress(BrokenPipeError):
            self._requests.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_SECONDS_TO_END)
        self.kill()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._requests.close()
        self._answers.close()

    def _read_piece(self, seconds: float) -> None:
        if not select.select([self._answers], [], [], seconds)[0]:
            raise NoAnswer(f"the JVM did not answer within {seconds} s")
        piece = os.read(self._answers.fileno(), _PIECE)
        if not piece:
            raise NoAnswer("the JVM has ended")
        self._unread += piece
