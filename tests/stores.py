"""An object store on this machine, and a proxy before it that counts requests, and makes some of them fail."""

import ast
import http.client
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pyarrow.fs as pafs

from kdump.binary import store_client
from tests.support import HANG

BUCKET = "backups"

_SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port(), flush=True)
sys.stdin.read()
"""
_KEYS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


class Store:
    """A server of S3 with one bucket."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self._files = pafs.S3FileSystem(
            access_key="test",
            secret_key="test",
            region="us-east-1",
            endpoint_override=endpoint,
            scheme="http",
            allow_bucket_creation=True,
        )
        self._files.create_dir(BUCKET)

    def put(self, key: str, data: bytes) -> str:
        """Store an object. Returns its URL."""
        with self._files.open_output_stream(f"{BUCKET}/{key}") as stream:
            stream.write(data)
        return f"s3://{BUCKET}/{key}"

    def replace(self, key: str, data: bytes) -> None:
        """Store an object in the place of another."""
        self.put(key, data)

    def remove(self, key: str) -> None:
        self._files.delete_file(f"{BUCKET}/{key}")

    def upload(self, folder: Path, prefix: str) -> str:
        """Store the regular files below a folder. Returns the URL of the folder."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.put(f"{prefix}/{path.relative_to(folder).as_posix()}", path.read_bytes())
        return f"s3://{BUCKET}/{prefix}"


@contextmanager
def running_store() -> Iterator[Store]:
    """A store for a block, in which it is that of the environment."""
    with subprocess.Popen(
        [sys.executable, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        try:
            assert server.stdout is not None
            host, port = ast.literal_eval(server.stdout.readline().decode())
            store = Store(f"{host}:{port}")
            with of_environment(store.endpoint):
                yield store
        finally:
            server.kill()


@contextmanager
def of_environment(endpoint: str, **variables: str) -> Iterator[None]:
    with mock.patch.dict(os.environ, {**_KEYS, "AWS_ENDPOINT_URL": f"http://{endpoint}", **variables}):
        for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_S3", "KDUMP_STORES"):
            if name not in variables:
                os.environ.pop(name, None)
        try:
            yield
        finally:
            store_client.end()


class Request(NamedTuple):
    """A request of a client, and how many like it there were earlier."""

    method: str
    path: str
    range: str
    earlier: int


class Answer(NamedTuple):
    """What a proxy answers in place of the store. `cut` bytes are missing at the end; None hangs up at once."""

    status: int
    body: bytes = b""
    cut: int = 0


Decide = Callable[[Request], "Answer | int | None"]
"""What becomes of a request: an answer, the number of bytes to cut off from the answer of the store, or None for all of it."""


class Proxy:
    """A proxy before a store."""

    def __init__(self, store: Store) -> None:
        self.requests: list[Request] = []
        self.decide: Decide = lambda request: None
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                proxy._serve(self, store.endpoint)

            def do_HEAD(self) -> None:
                proxy._serve(self, store.endpoint)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.endpoint = f"127.0.0.1:{self._server.server_address[1]}"

    def _serve(self, handler: BaseHTTPRequestHandler, endpoint: str) -> None:
        like = [one for one in self.requests if (one.method, one.path, one.range) == self._key(handler)]
        request = Request(*self._key(handler), len(like))
        self.requests.append(request)
        decided = self.decide(request)
        if isinstance(decided, Answer):
            self._send(handler, decided.status, {}, decided.body, 0)
            return
        connection = http.client.HTTPConnection(endpoint, timeout=HANG)
        connection.request(request.method, request.path, headers=dict(handler.headers))
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        self._send(handler, answer.status, dict(answer.getheaders()), body, decided or 0)

    @staticmethod
    def _key(handler: BaseHTTPRequestHandler) -> tuple[str, str, str]:
        return handler.command, handler.path, handler.headers.get("Range", "")

    @staticmethod
    def _send(handler: BaseHTTPRequestHandler, status: int, headers: Mapping[str, str], body: bytes, cut: int) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            if name.lower() not in ("connection", "date", "server", "transfer-encoding") and (
                body == b"" or name.lower() != "content-length"
            ):
                handler.send_header(name, value)
        if body or "Content-Length" not in headers:
            handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body[: len(body) - cut])
        handler.wfile.flush()
        if cut:
            handler.close_connection = True
            handler.connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> "Proxy":
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def hanging(seconds: float) -> Decide:
    """Answer nothing for a time."""

    def decide(request: Request) -> None:
        time.sleep(seconds)

    return decide
