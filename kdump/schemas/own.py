"""Decoders of one's own: functions of installed packages, and commands that answer a line for each line."""

from __future__ import annotations

import errno
import json
import os
import select
import shlex
import subprocess
import time

from kdump.errors import CorruptData, Unreadable, UsageError
from kdump.schemas import json_values
from kdump.schemas.avro import base64_text
from kdump.schemas.bounds import MAX_JSON
from kdump.schemas.decoding import PartDecoded
from kdump.schemas.shapes import JSON, NotedShapes, Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kdump.binary.kernel import Headers

    Decode = Callable[[bytes, str, str, list[tuple[str, bytes | None]]], Any]

GROUP = "kdump.decoders"
"""The entry points of packages that decode keys or values."""

COMMAND = "cmd"
"""The decoder that asks the command of `--decoder-cmd`."""

FAILED = "decoder-failed"

PATIENCE = 10.0
"""Seconds that a command may take to answer."""

_READ_SIZE = 64 << 10
_LACKS = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)  # what a machine says that has no process or descriptor left


def names() -> list[str]:
    """The names of the installed decoders."""
    from importlib.metadata import entry_points  # slow to load

    return sorted({point.name for point in entry_points(group=GROUP)})


def function_of(name: str) -> Decode:
    """The function of an installed decoder: it takes bytes, part, topic and headers, and returns a value for JSON.

    Raises UsageError if it is not installed or cannot be loaded.
    """
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP, name=name):
        try:
            function: Decode = point.load()
            return function
        except Exception as error:  # whatever a foreign module raises
            raise UsageError(f"the decoder {name} cannot be loaded: {type(error).__name__}: {error}") from error
    raise UsageError(f"no installed package has a decoder {name}")


class OwnPart:
    """Decodes keys, or values, with a decoder of one's own."""

    def __init__(self, part: str, topic: str, decode: Decode) -> None:
        self._part = part
        self._topic = topic
        self._decode = decode

        self.noted_shapes = NotedShapes([Shape(JSON)])
        """JSON: nobody knows what it returns."""

    def note_shape(self, data: bytes | None, headers: Headers | None) -> None:
        """Nothing: there is one shape."""

    def decode(self, data: bytes | None, headers: Headers | None) -> PartDecoded:
        """A key or value decoded; whatever the decoder raises is the reason why it was not."""
        if data is None:
            return PartDecoded()
        named = [(bytes(key).decode("utf-8", "replace"), value) for key, value in headers or ()]
        try:
            value = self._decode(bytes(data), self._part, self._topic, named)
            return PartDecoded(json.loads(json_values.encode(value)), has_value=True)
        except CorruptData as fault:
            reason = fault.message
        except (MemoryError, Unreadable):  # of this process, not of what it decodes
            raise
        except Exception as error:  # whatever a foreign function raises
            reason = f"{type(error).__name__}: {error}"[:500]
        return PartDecoded(fault=CorruptData(FAILED, f"the {self._part} was not decoded: {reason}"))


class Command:
    """A command that gets an object as a line of JSON for each key or value, and answers with a line of JSON.

    The line has `part`, `topic`, `data` (Base64) and `headers`; the answer is `{"value": ...}` or `{"error": "..."}`. If the
    command ends, answers too late, or writes what nobody asked for, it is asked no more, and all else is not decoded.
    """

    def __init__(self, command: str, *, patience: float = PATIENCE) -> None:
        try:
            self._arguments = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"--decoder-cmd cannot be read: {error}")
        if not self._arguments:
            raise UsageError("--decoder-cmd is empty")
        self._patience = patience
        self._process: subprocess.Popen[bytes] | None = None
        self._broken = ""
        self._read = b""

    def __call__(self, data: bytes, part: str, topic: str, headers: list[tuple[str, bytes | None]]) -> Any:
        """The answer of the command. Raises CorruptData (`decoder-failed`), and Unreadable if the machine cannot start it."""
        if self._broken:
            raise CorruptData(FAILED, self._broken)
        question = {
            "part": part,
            "topic": topic,
            "data": base64_text(data),
            "headers": [[key, None if value is None else base64_text(value)] for key, value in headers],
        }
        line = self._answer(json.dumps(question).encode() + b"\n")
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        if isinstance(answer, dict) and "value" in answer:
            return answer["value"]
        if isinstance(answer, dict) and "error" in answer:
            raise CorruptData(FAILED, str(answer["error"])[:500])
        raise CorruptData(FAILED, "the decoder's answer is no JSON object with value or error")

    def close(self) -> None:
        """End the command: it reads the end of its input, and is killed if it does not care."""
        process, self._process = self._process, None
        if process is None:
            return
        self._broken = self._broken or "the decoder was ended"
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
        try:
            process.wait(1)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _answer(self, question: bytes) -> bytes:
        if self._process is None:
            self._start()
        try:
            return self._exchange(question)
        except _Broken as error:
            self._broken = f"the decoder {error}"
            if self._process is not None:
                self._process.kill()
            self.close()
            raise CorruptData(FAILED, self._broken)
        except OSError as error:  # of this process: the command may be well
            raise Unreadable("decoder-not-started", f"the decoder cannot be asked: {error.strerror or error}") from error

    def _start(self) -> None:
        try:
            self._process = subprocess.Popen(self._arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        except OSError as error:
            message = f"the decoder {self._arguments[0]} cannot be started: {error.strerror}"
            if error.errno in _LACKS:
                raise Unreadable("decoder-not-started", message) from error
            self._broken = message
            raise CorruptData(FAILED, self._broken)
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)

    def _exchange(self, question: bytes) -> bytes:
        """Write a line and read one, whichever is possible, so that neither process waits for the other."""
        assert self._process is not None and self._process.stdin is not None and self._process.stdout is not None
        to_child, from_child = self._process.stdin.fileno(), self._process.stdout.fileno()
        if not self._read and select.select([from_child], [], [], 0)[0]:
            self._take(from_child)
        if self._read:
            raise _Broken("wrote a line that nobody asked for")
        deadline = time.monotonic() + self._patience
        left = memoryview(question)
        while b"\n" not in self._read:
            wait = deadline - time.monotonic()
            readable, writable, _ = select.select([from_child], [to_child] if left else [], [], max(wait, 0))
            if not readable and not writable:
                raise _Broken(f"did not answer within {self._patience:g} seconds")
            if writable:
                left = left[self._give(to_child, left) :]
            if readable:
                self._take(from_child)
        line, _, self._read = self._read.partition(b"\n")
        return line

    def _give(self, descriptor: int, data: memoryview) -> int:
        try:
            return os.write(descriptor, data[:_READ_SIZE])
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            raise _Broken(self._end())

    def _take(self, descriptor: int) -> None:
        data = os.read(descriptor, _READ_SIZE)
        if not data:
            raise _Broken(self._end())
        self._read += data
        if len(self._read) > MAX_JSON:
            raise _Broken(f"wrote a line of more than {MAX_JSON >> 20} MiB")

    def _end(self) -> str:
        assert self._process is not None
        try:
            return f"ended with exit code {self._process.wait(1)}"
        except subprocess.TimeoutExpired:
            return "closed its input or output"


class _Broken(Exception):
    """A command that cannot be asked any more; the message says why."""
