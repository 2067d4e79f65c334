"""Asks the process that reads stores, which the first request starts."""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
import threading
from contextlib import contextmanager

from kdump.binary.installing import is_self_contained

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from typing import Any, Protocol

    class Asker(Protocol):
        """What waits for the bytes of a request that was sent ahead."""

        def arrived(self, start: int, data: bytes, /) -> None: ...


FILE, DIRECTORY, MISSING = "file", "directory", "missing"
"""The kinds of what has a name in a store. A request may fail because there is a directory, or nothing."""

DENIED, CHANGED, FAILED = "denied", "changed", "failed"
"""The other kinds of failures: no permission, another version of the file, and everything else."""

OF_FROZEN = "--the-process-that-reads-stores"
"""What a self-contained build, which is its own Python, is started with to be that process (`tools/frozen.py`)."""

_PATIENCE_SECONDS = 300.0  # beyond all limits of the store's library
_SETTINGS = ("AWS_", "AZURE_", "CLOUDSDK_", "GOOGLE_", "HADOOP_", "KDUMP_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_")
_END_SECONDS = 1.0  # more than it takes to end
_ENDED = "the process that reads from stores has ended"


class _Link:
    """One connection, of one thread of one process. At most one request is under way.

    Raises EOFError, BrokenPipeError or ConnectionResetError if the other process has ended.
    """

    def __init__(self, own: socket.socket) -> None:
        self._socket = own
        own.settimeout(_PATIENCE_SECONDS)
        self._answers = own.makefile("rb", buffering=1 << 16)
        self.ahead: tuple[Asker, int] | None = None
        """Who waits for the bytes that were asked for last, if they were not taken yet, and where they start."""

    def send(self, request: tuple[Any, ...]) -> None:
        self._socket.sendall(json.dumps(request).encode() + b"\n")

    def receive(self) -> tuple[dict[str, Any], bytes]:
        line = self._answers.readline()
        if not line.endswith(b"\n"):
            raise EOFError
        answer = json.loads(line)
        body = self._answers.read(answer["bytes"])
        if len(body) < answer["bytes"]:
            raise EOFError
        return answer, body

    def close(self) -> None:
        self._answers.close()
        self._socket.close()

    __del__ = close  # of a thread that has ended


class _Process:
    """The process that reads stores, and the connections of this process to it.

    Forks of this process use it as well: each makes connections of its own. Where settings in the environment have changed,
    another process is needed.
    """

    def __init__(self) -> None:
        import subprocess

        self.settings = _settings()
        self._control, other = socket.socketpair()
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        module = [OF_FROZEN] if is_self_contained() else ["-P", "-m", "kdump.binary.store_process"]
        command = [sys.executable, *module]
        with other:
            null = subprocess.DEVNULL
            try:
                self._started: subprocess.Popen[bytes] = subprocess.Popen(
                    command,
                    stdin=other.fileno(),
                    stdout=null,
                    stderr=None if "KDUMP_DEBUG" in os.environ else null,
                    env=environment,
                    start_new_session=True,
                )
            except OSError as error:
                self._control.close()
                raise OSError(errno.EIO, f"no process can be started that reads from stores: {error.strerror}") from error
        self._owner = os.getpid()
        self._links = threading.local()

    def link(self) -> _Link:
        """The connection of this thread."""
        found: tuple[int, _Link] | None = getattr(self._links, "link", None)
        if found is not None and found[0] == os.getpid():
            return found[1]
        own, other = socket.socketpair()
        with other:
            try:
                socket.send_fds(self._control, [b"."], [other.fileno()])
            except OSError:
                own.close()
                raise
        link = _Link(own)
        self._links.link = os.getpid(), link
        return link

    def drop_link(self) -> None:
        """Close the connection of this thread, which is out of step."""
        found: tuple[int, _Link] | None = getattr(self._links, "link", None)
        self._links.link = None
        if found is not None:
            found[1].close()

    def end(self) -> None:
        """Let the process end, if no fork of this one uses it any more."""
        import subprocess

        self.drop_link()
        self._control.close()
        if self._owner == os.getpid():
            try:
                self._started.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:  # a fork uses it
                _outliving.append(self._started)


_process: _Process | None = None
_outliving: list[object] = []
"""Processes that forks of this one use, kept since Python complains of running ones that nobody refers to."""


def ask(*request: Any) -> tuple[dict[str, Any], bytes]:
    """The answer to a request, and the bytes that come with it. Raises OSError where there is none."""
    process = _current()
    try:
        link = process.link()
        _take_ahead(link)
        link.send(request)
        return link.receive()
    except BaseException as error:
        process.drop_link()
        if isinstance(error, TimeoutError):
            raise OSError(errno.ETIMEDOUT, f"the store has not answered for {_PATIENCE_SECONDS:g} s") from error
        if isinstance(error, BrokenPipeError | ConnectionResetError | EOFError):
            end()  # so that the next request starts another process
            raise OSError(errno.EIO, _ENDED) from error
        raise


def ask_ahead(asker: Asker, start: int, *request: Any) -> None:
    """Send a request for bytes without waiting for them. `asker` gets them when this thread asks for something else."""
    with _told_later(_current()) as link:
        _take_ahead(link)
        link.send(request)
        link.ahead = asker, start


def take_ahead() -> None:
    """Hand over the bytes that this thread has asked for ahead, if there are any."""
    with _told_later(_current()) as link:
        _take_ahead(link)


@contextmanager
def _told_later(process: _Process) -> Iterator[_Link]:
    """The connection of this thread. Where it fails, it is closed, and the request that needs the bytes says why."""
    try:
        yield process.link()
    except (OSError, EOFError):
        process.drop_link()
    except BaseException:
        process.drop_link()
        raise


def _take_ahead(link: _Link) -> None:
    if link.ahead is None:
        return
    asker, start = link.ahead
    link.ahead = None
    answer, data = link.receive()
    if "failed" not in answer:  # or whoever needs these bytes asks for them again, and hears why not
        asker.arrived(start, data)


def _settings() -> dict[str, str]:
    """The endpoints, credentials and options of stores in the environment."""
    return {name: value for name, value in os.environ.items() if name.upper().startswith(_SETTINGS)}


def _current() -> _Process:
    """The process that was started with the settings of now."""
    global _process
    if _process is None or _process.settings != _settings():
        end()
        _process = _Process()
    return _process


def end() -> None:
    """End the process that reads stores, if there is one; the next request starts another."""
    global _process
    process, _process = _process, None
    if process is not None:
        process.end()


def identity() -> object:
    """What is another object when answers may have changed, because another process gives them."""
    return _current()
