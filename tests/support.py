"""What several tests share: files of given bytes, what is read from them, and random logs."""

import errno
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, NamedTuple
from unittest import mock

import pytest
from hypothesis import strategies as st

from kdump.binary.codecs import lz4_library, zstd, zstd_library
from kdump.binary.source import Source
from kdump.cli.main import main
from kdump.errors import CorruptData
from kdump.formats import records
from kdump.formats.log import Log
from kdump.formats.record import RecordChunk
from kdump.tables import Row

from .builders.compression import Codec
from .builders.records import TimestampType, batch, message, message_set, record, wrapper

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch
Values = dict[str, Any]  # a row: values of any column type by the column's name


def with_interrupts() -> None:
    """Let a new process be interrupted, though its parent may ignore signals, as in the background or under `nohup`."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def let_fail(monkeypatch: Patch, function: str, *paths: str | Path, error: int = errno.EIO) -> None:
    """Let a function of `os` fail for some paths."""
    whole, failing = getattr(os, function), set(map(str, paths))

    def called(path: Any = ".", *rest: Any, **options: Any) -> Any:
        if str(path) in failing:
            raise OSError(error, os.strerror(error), str(path))
        return whole(path, *rest, **options)

    monkeypatch.setattr(os, function, called)


@contextmanager
def forks_only_here() -> Iterator[None]:
    """A block in which no process that is started can start another."""
    fork, this = os.fork, os.getpid()

    def fork_here_only() -> int:
        if os.getpid() != this:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return fork()

    with mock.patch.object(os, "fork", fork_here_only):
        yield


def run_here(*arguments: str | bytes | Path) -> tuple[int, bytes, bytes]:
    """Exit code, stdout and stderr of a run of kdump in this process; neither is a terminal."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        status = _run_to(out, err, *arguments)
        out.seek(0)
        err.seek(0)
        printed = status, out.read(), err.read()
    assert b"Traceback" not in printed[2] and b"internal error" not in printed[2], printed[2]
    return printed


def run_without_reader(*arguments: str | Path, stderr_too: bool = False) -> tuple[int, bytes]:
    """Exit code and stderr of a run in this process whose stdout is a pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as pipe, tempfile.TemporaryFile() as err:
        status = _run_to(pipe, pipe if stderr_too else err, *arguments)
        err.seek(0)
        return status, err.read()


def _run_to(out: IO[bytes], err: IO[bytes], *arguments: str | bytes | Path) -> int:
    with mock.patch.object(sys, "argv", ["kdump", *map(os.fsdecode, arguments)]), _as(1, out), _as(2, err):
        return main()


@contextmanager
def _as(descriptor: int, file: IO[bytes]) -> Iterator[None]:
    """Stdout or stderr is this file for a while."""
    kept = os.dup(descriptor)
    try:
        os.dup2(file.fileno(), descriptor)
        stream = open(descriptor, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  # it closes nothing
        with stream, mock.patch.object(sys, {1: "stdout", 2: "stderr"}[descriptor], stream):
            yield
    finally:
        os.dup2(kept, descriptor)
        os.close(kept)


PACKAGES_OF_CODECS = {
    "lz4": ["lz4.block"],
    "zstandard": ["zstandard"],
    "zstd of Python": ["compression.zstd", "backports.zstd"],
    "cramjam": ["cramjam"],
}
"""What codecs are read with, by the modules that it is made of."""


@contextmanager
def without_modules(*names: str) -> Iterator[None]:
    """A block in which these modules cannot be imported. `mock.patch.dict` would also forget all that the block imports."""
    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            patch.setitem(sys.modules, name, None)
        yield


@contextmanager
def without_packages(*names: str) -> Iterator[None]:
    """A block in which these of `PACKAGES_OF_CODECS` are not installed."""
    caches = (lz4_library.library, zstd_library.library, zstd._shared_decompressor)
    for cached in caches:
        cached.cache_clear()
    try:
        with without_modules(*(module for name in names for module in PACKAGES_OF_CODECS[name])):
            yield
    finally:
        for cached in caches:
            cached.cache_clear()


def skip_if(missing: str | None) -> None:
    if missing:
        pytest.skip(missing)


HANG = 300.0
"""Seconds after which something that should have happened never will, on however busy a machine."""


def wait_until(condition: Callable[[], object]) -> None:
    """Wait until something is so; fails only where it never will be."""
    deadline = time.monotonic() + HANG
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)


@contextmanager
def opened(data: bytes) -> Iterator[Source]:
    """A file of these bytes, open for reading."""
    with tempfile.NamedTemporaryFile(suffix=".log") as file:
        Path(file.name).write_bytes(data)
        with Source(file.name) as source:
            yield source


@contextmanager
def bytes_read() -> Iterator[Callable[[], int]]:
    """How many bytes have been read from files since: work that is the same on every machine, however fast and busy."""
    total = 0

    def pread(descriptor: int, count: int, position: int) -> bytes:
        nonlocal total
        data = _PREAD(descriptor, count, position)
        total += len(data)
        return data

    def preadv(descriptor: int, buffers: Sequence[memoryview], position: int, *flags: int) -> int:
        nonlocal total
        count = _PREADV(descriptor, buffers, position, *flags)
        total += count
        return count

    with mock.patch.object(os, "pread", pread), mock.patch.object(os, "preadv", preadv):
        yield lambda: total


_PREAD, _PREADV = os.pread, os.preadv


def values_of(row: Row) -> Values:
    return {column.name: getattr(row, column.name) for column in row.schema}


class Walk(NamedTuple):
    """What a walk through a log found, and how it ended."""

    rows: list[Values]
    position: int
    trailing: str
    fault: CorruptData | None

    @property
    def code(self) -> str:
        """The code of the fault that ended the walk, empty if it came to the end of the log."""
        return self.fault.code if self.fault else ""


def walk(data: bytes, **options: Any) -> Walk:  # the options of Log, of several types
    with opened(data) as source:
        log = Log(source, **options)
        rows: list[Values] = []
        fault = None
        try:
            for chunk in log.chunks():
                rows += map(values_of, chunk.batches)
        except CorruptData as error:
            fault = error
        return Walk(rows, log.position, log.trailing, fault)


class Deep(NamedTuple):
    """The records of a log: one list a batch, and the fault that ended them."""

    batches: list[list[Values]]
    fault: CorruptData | None

    @property
    def rows(self) -> list[Values]:
        """All records, whatever batch they are in."""
        return [row for rows in self.batches for row in rows]

    @property
    def code(self) -> str:
        """The code of the fault that ended them, empty if there was none."""
        return self.fault.code if self.fault else ""


def read_records(
    data: bytes,
    *,
    with_data: bool = True,
    **options: Any,  # of Log, of several types
) -> Deep:
    """The records of a log, as they are yielded before its first fault."""

    batches: list[list[Values]] = []
    with opened(data) as source:
        try:
            for chunk in Log(source, **options).chunks():
                for part in records.read(source, chunk, with_data=with_data):
                    _gather(part, batches)
        except CorruptData as error:
            return Deep(batches, error)
    return Deep(batches, None)


def _gather(part: RecordChunk, batches: list[list[Values]]) -> None:
    assert len(part.counts) == len(part.batches)
    assert sum(part.counts) == len(part.records)
    shown = [values_of(row) for row in part.records]
    for number, faults in part.faults.items():
        # a field that could not be read stands there as the code of its fault
        assert all(shown[number][name] is None for name in faults)
        shown[number] |= {name: fault.code for name, fault in faults.items()}
    rows = iter(shown)
    for number, count in enumerate(part.counts):
        taken = [next(rows) for _ in range(count)]
        if number == 0 and part.continues:
            batches[-1] += taken
        else:
            batches.append(taken)


def fault_of(data: bytes) -> CorruptData:
    """The fault that reading the records of a log ends with."""
    fault = read_records(data).fault
    assert fault is not None
    return fault


TIMESTAMPS = st.integers(1_600_000_000_000, 1_800_000_000_000)
OPTIONAL_BYTES = st.none() | st.binary(max_size=12)
CODECS: st.SearchStrategy[Codec] = st.sampled_from(["none", "none", "gzip", "snappy", "lz4", "zstd"])
LEGACY_CODECS: st.SearchStrategy[Codec] = st.sampled_from(["gzip", "snappy", "lz4"])
TIMESTAMP_TYPES: st.SearchStrategy[TimestampType] = st.sampled_from(["CreateTime", "LogAppendTime"])
INT16 = st.integers(-(1 << 15), (1 << 15) - 1)
INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)

BATCHES = st.builds(
    batch,
    records=st.lists(
        st.builds(
            record,
            key=OPTIONAL_BYTES,
            value=OPTIONAL_BYTES,
            headers=st.lists(st.tuples(st.binary(max_size=4), OPTIONAL_BYTES), max_size=2),
            timestamp=TIMESTAMPS,
        ),
        max_size=4,
    ),
    base_offset=st.integers(0, 1 << 40),
    codec=CODECS,
    timestamp_type=TIMESTAMP_TYPES,
    is_transactional=st.booleans(),
    is_control=st.booleans(),
    delete_horizon_ms=st.none() | TIMESTAMPS,
    producer_id=st.integers(-1, 1000),
    producer_epoch=st.integers(-1, 100),
    base_sequence=st.integers(-1, 1000),
    partition_leader_epoch=st.integers(-1, 100),
)

_MESSAGES = st.lists(
    st.builds(message, key=OPTIONAL_BYTES, value=OPTIONAL_BYTES, magic=st.sampled_from([0, 1]), timestamp=TIMESTAMPS),
    min_size=1,
    max_size=3,
)
MESSAGE_SETS = st.builds(message_set, messages=_MESSAGES, base_offset=st.integers(0, 1 << 40))
WRAPPERS = st.builds(
    wrapper,
    messages=_MESSAGES,
    magic=st.sampled_from([0, 1]),
    codec=LEGACY_CODECS,
    base_offset=st.integers(1, 1 << 40),
    timestamp_type=TIMESTAMP_TYPES,
)

LOGS = st.lists(BATCHES | MESSAGE_SETS | WRAPPERS, max_size=5).map(b"".join)
"""Sound logs of all magics."""


@st.composite
def damaged(draw: st.DrawFn, logs: st.SearchStrategy[bytes]) -> bytes:
    """Logs with some bytes changed, cut off at the end, or with something after it."""
    data = bytearray(draw(logs))
    for _ in range(draw(st.integers(0, 4))):
        if data:
            data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    if draw(st.booleans()):
        del data[draw(st.integers(0, len(data))) :]
    return bytes(data) + draw(st.sampled_from([b"", b"", bytes(17), bytes(18), b"\xff" * 30]))


def flip_a_bit(path: Path, position: int = 100) -> None:
    """Change one bit of a file, in the byte at this position."""
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)


class PoolHere:
    """Stands for `kdump.workers.pool.Pool`: does all tasks in this process, where a test sees what is done."""

    def __init__(self, do: Callable[[Any, Any], object], _count: int) -> None:
        self._do = do

    def __enter__(self) -> "PoolHere":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def results(self, tasks: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        for task in tasks:
            sent: list[Any] = []
            self._do(task, SimpleNamespace(send=sent.append))
            for one in sent:
                yield task, one
