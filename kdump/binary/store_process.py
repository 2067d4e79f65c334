"""A process that reads object stores and HDFS with PyArrow, and answers to the kdump processes that are connected to it.

The libraries under PyArrow have threads, locks and connections that survive no fork, and some do not end with the process. So
they are kept out of all processes that read Kafka's files: `kdump.binary.store_client` starts this one, which ends as soon as
nobody holds the other end of its standard input. It only reads: nothing here writes to a store.

A connection is a pair of sockets, one of which comes over standard input. It carries one request after the other: a line of JSON.
The answer is a line of JSON, and as many bytes after it as its `bytes` says.
"""

from __future__ import annotations

import json
import os
import re
import socket
import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from kdump.binary.installing import how_to_install
from kdump.binary.loading import loading
from kdump.binary.store_client import CHANGED, DENIED, DIRECTORY, FAILED, FILE, MISSING
from kdump.errors import OutOfMemory, Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable

OPTIONS = "KDUMP_STORES"
"""The environment variable with options of stores: URLs with a query each, such as `s3://backups?region=eu-central-1`."""

CONNECT_SECONDS, REQUEST_SECONDS = 10, 30
ATTEMPTS_OF_LIBRARY, ATTEMPTS = 3, 2
_PAUSE_SECONDS = 0.2  # before another attempt
_MAX_OPEN = 256  # files that are kept open
_MAX_MESSAGE = 300  # characters of what a store says
_BUCKETS = ("s3", "s3a", "gs", "gcs", "abfs", "abfss")  # whose roots exist or not
_NO_LIBHDFS = re.compile(r"Unable to load lib(jvm|hdfs)|attempt to load libhdfs failed")
_LIBHDFS = (
    "hdfs:// needs Java and Hadoop's libhdfs, which PyArrow does not find: set JAVA_HOME, HADOOP_HOME, and CLASSPATH to the"
    " output of `hadoop classpath --glob`"
)
_DENIALS = re.compile(
    r"ACCESS_DENIED|INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH|EXPIRED_?TOKEN|INVALID_TOKEN|TOKEN_REFRESH_REQUIRED"
    r"|PERMISSION_DENIED|UNAUTHENTICATED|AuthenticationFailed|AuthorizationFailure|HTTP[^.]* 40[13]\b|\b40[13] \w",
    re.IGNORECASE,
)
_VERSIONS = ("etag", "generation", "versionid")  # the metadata that change with the contents, in lower case


class Refused(Exception):
    """A request that fails, by its kind, and what the store says."""

    def __init__(self, kind: str, message: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class _Place(NamedTuple):
    files: Any  # pyarrow.fs.FileSystem: PyArrow has no types
    root: str
    path: str


class _OpenFile(NamedTuple):
    file: Any  # pyarrow.NativeFile
    size: int
    modified_ns: int
    version: str


class Stores:
    """The stores by the roots of their URLs, and the files that were read last."""

    def __init__(self, options: str) -> None:
        self._options = {_without_query(url): url for url in options.split()}
        self._file_systems: dict[str, tuple[Any, str]] = {}
        self._open: OrderedDict[tuple[str, str], _OpenFile] = OrderedDict()
        self._existing: set[str] = set()
        self._lock = threading.Lock()

    def info(self, url: str) -> dict[str, Any]:
        """What has this name: its kind, size and time of modification."""
        place = self._place(url)
        found = _asked(place.files.get_file_info, place.path)
        answer = _described(found)
        if answer["kind"] == MISSING:
            self._require_root(place, url)
        return answer

    def names(self, url: str) -> dict[str, Any]:
        """What a directory lists: a name, and what `info` says, of each."""
        from pyarrow.fs import FileSelector

        place = self._place(url)
        lists_no_folders = place.files.type_name == "gcs"  # PyArrow knows only those that have an object of their own
        try:
            found = _asked(place.files.get_file_info, FileSelector(place.path, recursive=lists_no_folders))
        except Refused as refused:
            if refused.kind == MISSING or "NO_SUCH_BUCKET" in refused.message:
                self._require_root(place, url)
            raise
        if lists_no_folders:
            return {"entries": _directly_in(place.path, found)}
        return {"entries": [[one.base_name, _described(one)] for one in found if one.base_name]}

    def opened(self, url: str) -> dict[str, Any]:
        """Open a file: its size, its time of modification, and the version that is read from now on."""
        place = self._place(url)
        try:
            file = self._opened_now(place)
        except Refused as refused:
            if refused.kind == MISSING:
                if _described(_asked(place.files.get_file_info, place.path))["kind"] == DIRECTORY:
                    raise Refused(DIRECTORY)
                self._require_root(place, url)
            raise
        self._keep(url, file)
        return {"kind": FILE, "size": file.size, "modified_ns": file.modified_ns, "version": file.version}

    def read(self, url: str, start: int, stop: int, version: str) -> bytes:
        """The bytes of a version of a file. It is compared after reading: no answer has bytes of another version."""
        place = self._place(url)
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(_PAUSE_SECONDS)
            failure = f"gives no more than a part of bytes {start} to {stop}"
            data = b""
            try:
                data = _asked(self._of_version(place, url, version).file.read_at, stop - start, start)
            except Refused as refused:
                if refused.kind == CHANGED:
                    raise
                failure, kind = refused.message, refused.kind
                if kind == DENIED:
                    raise
            now = self._version_now(place)
            if now != version:
                raise Refused(CHANGED)
            if len(data) == stop - start:
                return data
        raise Refused(FAILED, failure)

    def _version_now(self, place: _Place) -> str:
        try:
            return self._opened_now(place).version
        except Refused as refused:
            if refused.kind == MISSING:
                raise Refused(CHANGED)
            raise

    def _of_version(self, place: _Place, url: str, version: str) -> _OpenFile:
        with self._lock:
            found = self._open.get((url, version))
            if found is not None:
                self._open.move_to_end((url, version))
                return found
        try:
            file = self._opened_now(place)
        except Refused as refused:
            raise Refused(CHANGED) if refused.kind == MISSING else refused
        if file.version != version:
            raise Refused(CHANGED)
        self._keep(url, file)
        return file

    def _opened_now(self, place: _Place) -> _OpenFile:
        file = _asked(place.files.open_input_file, place.path)
        metadata = {_text(name).lower(): _text(value) for name, value in (file.metadata() or {}).items()}
        versions = [f"{name} {metadata[name]}" for name in _VERSIONS if metadata.get(name)]
        modified = _nanoseconds(metadata.get("last-modified", ""))
        if not versions or modified is None:
            info = _described(_asked(place.files.get_file_info, place.path))
            modified = info["modified_ns"]
            versions = versions or [f"of {modified}"]
        size = file.size()
        return _OpenFile(file, size, modified or 0, f"{size} bytes, {', '.join(versions)}")

    def _keep(self, url: str, file: _OpenFile) -> None:
        with self._lock:
            self._open[url, file.version] = file
            while len(self._open) > _MAX_OPEN:
                self._open.popitem(last=False)

    def _require_root(self, place: _Place, url: str) -> None:
        """Raise if there is no such bucket at all: nothing can be said about what is in it."""
        if url.partition("://")[0] not in _BUCKETS or place.root in self._existing:
            return
        try:
            is_there = _described(_asked(place.files.get_file_info, place.root))["kind"] != MISSING
        except Refused:
            is_there = True  # those who may read only some of its files may not ask that
        if not is_there:
            raise Refused(FAILED, f"there is no bucket {place.root!r}")
        self._existing.add(place.root)

    def _place(self, url: str) -> _Place:
        scheme, mark, rest = url.partition("://")
        authority, _, key = rest.partition("/")
        store = scheme + mark + authority
        key = key.strip("/")
        with self._lock:
            found = self._file_systems.get(store)
            if found is None:
                found = self._file_systems[store] = _file_system(self._options.get(store, store))
        files, root = found
        return _Place(files, root, f"{root.rstrip('/')}/{key}" if key and root else key or root)


def _file_system(url: str) -> tuple[Any, str]:
    """The file system of a URL with options, and the path of its root there."""
    try:
        with loading("pyarrow"):
            from pyarrow import fs
    except ImportError:
        raise Refused(FAILED, f'reading it needs the package "pyarrow": {how_to_install("pyarrow", "elsewhere")}')
    except OutOfMemory as error:
        raise Refused(FAILED, f"out of memory {error}") from error
    except Unreadable as error:
        raise Refused(FAILED, error.message) from error
    parts = urlsplit(url)
    try:
        if parts.scheme in ("s3", "s3a"):
            return _s3(fs, parts.netloc, dict(parse_qsl(parts.query))), parts.netloc
        if parts.scheme in ("abfs", "abfss"):
            return _azure(fs, parts.netloc, dict(parse_qsl(parts.query)))
        if parts.scheme in ("gs", "gcs") and "retry_limit_seconds" not in parts.query:
            url += f"{'&' if parts.query else '?'}retry_limit_seconds={REQUEST_SECONDS}"  # it would try for 15 minutes
        found, root = fs.FileSystem.from_uri(url)
        return found, root
    except Refused:
        raise
    except Exception as error:  # of PyArrow, which may also lack support for a store
        raise _refused(error) from error


def _s3(fs: Any, bucket: str, options: dict[str, str]) -> Any:
    """The S3 file system of a bucket. Credentials and endpoint are those of the environment if no option says otherwise."""
    given: dict[str, Any] = dict(options)
    for name in ("connect_timeout", "request_timeout"):
        if name in given:
            given[name] = float(given[name])
    for name in ("anonymous", "force_virtual_addressing", "check_directory_existence_before_creation"):
        if name in given:
            given[name] = given[name].lower() in ("true", "1")
    given.setdefault("connect_timeout", CONNECT_SECONDS)
    given.setdefault("request_timeout", REQUEST_SECONDS)
    endpoint = given.get("endpoint_override") or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if endpoint:
        scheme, mark, host = endpoint.rpartition("://")
        given["endpoint_override"] = host.rstrip("/")
        given |= {"scheme": scheme} if mark else {}
    region = given.get("region") or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if not region and not endpoint:
        try:
            region = fs.resolve_s3_region(bucket)
        except OSError:
            region = None  # the request that needs it says why
    if region:
        given["region"] = region
    return fs.S3FileSystem(retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS_OF_LIBRARY), **given)


def _azure(fs: Any, authority: str, options: dict[str, str]) -> tuple[Any, str]:
    """The file system of an Azure container, and its name. Without a key or token, Azure's library looks for credentials."""
    container, _, host = authority.rpartition("@")
    given: dict[str, Any] = dict(options)
    account = os.environ.get("AZURE_STORAGE_ACCOUNT")
    if container:
        account = host.partition(".")[0]
    given.setdefault("account_name", account)
    if not given["account_name"]:
        raise Refused(FAILED, "the URL names no account: abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH")
    for name, variable in (("account_key", "AZURE_STORAGE_KEY"), ("sas_token", "AZURE_STORAGE_SAS_TOKEN")):
        if variable in os.environ and not {"account_key", "sas_token"} & given.keys():
            given[name] = os.environ[variable]
    return fs.AzureFileSystem(**given), container or host


def _asked(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except Exception as error:  # whatever a store makes PyArrow raise
        raise _refused(error) from error


def _refused(error: Exception) -> Refused:
    """The refusal that an exception of PyArrow is."""
    text = _told(str(error))
    if _NO_LIBHDFS.search(text):
        return Refused(FAILED, _LIBHDFS)
    if _DENIALS.search(text) or isinstance(error, PermissionError):
        return Refused(DENIED, text)
    if isinstance(error, FileNotFoundError | NotADirectoryError) or text.startswith("No such file or directory"):
        return Refused(MISSING, text)
    if isinstance(error, IsADirectoryError):
        return Refused(DIRECTORY, text)
    return Refused(FAILED, text or type(error).__name__)


def _told(text: str) -> str:
    """What a store says, in one line, without what differs from one request to the next."""
    text = re.sub(r"\s*\((?:Request ID|Request id|request id)[^)]*\)", "", " ".join(text.split()))
    text = re.sub(r"\. Detail: \[errno \d+\].*", "", text)
    return text[:_MAX_MESSAGE].rstrip(". ")


def _directly_in(path: str, found: list[Any]) -> list[tuple[str, dict[str, Any]]]:
    """The files and folders that are directly in one, given all that are below it."""
    entries: dict[str, dict[str, Any]] = {}
    for one in found:
        name, slash, _ = one.path.removeprefix(path.rstrip("/") + "/").rstrip("/").partition("/")
        if slash:
            entries[name] = {"kind": DIRECTORY, "size": 0, "modified_ns": 0}
        elif name:
            entries.setdefault(name, _described(one))
    return list(entries.items())


def _described(info: Any) -> dict[str, Any]:
    from pyarrow.fs import FileType

    kinds = {FileType.File: FILE, FileType.Directory: DIRECTORY, FileType.NotFound: MISSING}
    return {"kind": kinds.get(info.type, FILE), "size": info.size or 0, "modified_ns": info.mtime_ns or 0}


def _nanoseconds(text: str) -> int | None:
    """The time of a `Last-Modified` as PyArrow writes it, since 1970; None if there is none."""
    from datetime import datetime

    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return int(found.timestamp()) * 10**9 + found.microsecond * 1000


def _text(value: bytes | str) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _without_query(url: str) -> str:
    """The root that options are for; so is `anonymous@` before the bucket of a Google store."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.removeprefix('anonymous@')}"


def _serve(stores: Stores, connection: socket.socket) -> None:
    """Answer the requests of one connection until it is closed."""
    calls = {"info": stores.info, "names": stores.names, "open": stores.opened}
    with connection, connection.makefile("rb") as requests:
        for line in requests:
            name, *arguments = json.loads(line)
            answer: dict[str, Any] = {}
            body = b""
            try:
                if name == "read":
                    body = stores.read(*arguments)
                else:
                    answer = calls[name](*arguments)
            except Refused as refused:
                answer = {"failed": refused.kind, "message": refused.message}
            answer["bytes"] = len(body)
            try:
                connection.sendall(json.dumps(answer).encode() + b"\n")
                connection.sendall(body)
            except OSError:
                return  # nobody waits for it any more


def main() -> None:
    """Serve the connections that arrive over standard input, until it ends."""
    control = socket.socket(fileno=0)
    stores = Stores(os.environ.get(OPTIONS, ""))
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not data:
            os._exit(0)  # without waiting for requests, or for threads of a library
        for descriptor in descriptors:
            connection = socket.socket(fileno=descriptor)
            threading.Thread(target=_serve, args=(stores, connection), daemon=True).start()


if __name__ == "__main__":
    main()
