"""Reads in a process of its own: what a native codec crashes at costs the rest of one file, and nothing else."""

from __future__ import annotations

import mmap
import os
import pickle
import signal
import struct
from itertools import chain, islice
from typing import TYPE_CHECKING

import pyarrow as pa

from kdump.binary import processes
from kdump.errors import KdumpError
from kdump.output.arrow.builder import is_few, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from kdump.pipeline.options import Options
    from kdump.pipeline.planning import Piece

    Part = tuple[dict[str, Any], int]  # columns, and how many rows they have
    ReadPiece = Callable[[Piece, Options], Iterator[Part]]
    Build = Callable[[dict[str, Any], int, Options], pa.RecordBatch]

_STATE = struct.Struct(">III")  # the number of the piece that is read, pieces whose rows are sent, bytes of the error behind it
_SIZE = struct.Struct(">Q")  # of a record batch, in front of it
_PAGE_SIZE = 64 << 10
_PIPE_SIZE = 1 << 20
_F_SETPIPE_SZ = 1031  # of Linux
_FAILED = 70
_MOST_HELD = 64  # pieces of few rows that wait to be sent
_MAX_CRASHES = 1000  # of one task, which is given up then


def read_apart(work: Sequence[Piece], options: Options, read_piece: ReadPiece, build: Build) -> Iterator[pa.RecordBatch]:
    """The rows of all pieces, read by another process; where that dies, a new one goes on without the piece it was at.

    Raises what the other process raised.
    """
    left = list(work)
    for _ in range(_MAX_CRASHES):
        if not left:
            return
        process = _Process(left, options, read_piece, build)
        try:
            yield from process.batches()
        finally:
            process.end()
        if process.error is not None:
            raise process.error
        if process.is_through:
            return
        if options.fails_fast:
            raise KdumpError("a process that read files ended; one of them is not fit to be read", path=left[process.at].path)
        left = left[process.sent : process.at] + left[process.at + 1 :]
    raise KdumpError(f"a task was given up after {_MAX_CRASHES} crashes")


class _Process:
    """A fork that reads pieces, and what comes from it."""

    def __init__(self, work: list[Piece], options: Options, read_piece: ReadPiece, build: Build) -> None:
        self._page = mmap.mmap(-1, _PAGE_SIZE)
        reading, writing = os.pipe()
        _widen(writing)
        self._process = processes.fork()
        if self._process == 0:
            os.close(reading)
            _work(work, options, read_piece, build, self._page, writing)
        os.close(writing)
        self._schema = options.schema
        self._pipe = os.fdopen(reading, "rb", buffering=0)
        self._has_ended = False
        self.is_through = False
        self.error: Exception | None = None

    @property
    def at(self) -> int:
        """The number of the piece that it is reading."""
        number: int = _STATE.unpack_from(self._page)[0]
        return number

    @property
    def sent(self) -> int:
        """How many pieces there are of which all rows were sent. Of those behind none were, but for the one it is reading."""
        count: int = _STATE.unpack_from(self._page)[1]
        return count

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All that comes, up to the end or to a crash."""
        while (head := self._bytes(_SIZE.size)) is not None:
            data = self._bytes(_SIZE.unpack(head)[0])
            if data is None:
                break  # it died amid a batch
            yield pa.ipc.read_record_batch(data, self._schema)
        self._has_ended = True

    def _bytes(self, size: int) -> pa.Buffer | None:
        """So many bytes as they come, None if fewer do. What is made of them keeps them, and copies nothing."""
        buffer = pa.allocate_buffer(size)
        with memoryview(buffer) as view:
            got = 0
            while got < size:
                count = self._pipe.readinto(view[got:])
                if not count:
                    return None
                got += count
        return buffer

    def end(self) -> None:
        """End the process if it has not, and take note of how it ended."""
        if not self._has_ended:
            processes.kill(self._process)
        self._pipe.close()
        _, status = os.waitpid(self._process, 0)
        self.is_through = status == 0
        size = _STATE.unpack_from(self._page)[2]
        if size:
            self.error = pickle.loads(self._page[_STATE.size : _STATE.size + size])
        elif os.waitstatus_to_exitcode(status) == _FAILED:
            self.error = KdumpError("a process that read files failed")


def _work(work: list[Piece], options: Options, read_piece: ReadPiece, build: Build, page: mmap.mmap, descriptor: int) -> None:
    """What the fork does, and all it does."""
    code = 0
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _send(work, options, read_piece, build, page, descriptor)
    except BrokenPipeError:
        code = _FAILED  # nobody is interested any more
    except Exception as error:
        code = _FAILED
        data = pickle.dumps(_portable(error))[: _PAGE_SIZE - _STATE.size]
        page[_STATE.size : _STATE.size + len(data)] = data
        _STATE.pack_into(page, 0, *_STATE.unpack_from(page)[:2], len(data))
    finally:
        os._exit(code)


def _send(work: list[Piece], options: Options, read_piece: ReadPiece, build: Build, page: mmap.mmap, descriptor: int) -> None:
    """Read all pieces, and write their rows. Pieces of few rows wait until there are more, or one that has many."""
    held: list[Part] = []

    def write(parts: Iterable[Part]) -> None:
        for columns, count in parts:
            data = build(columns, count, options).serialize()
            _write(descriptor, _SIZE.pack(data.size))
            _write(descriptor, data)

    sent = 0
    for number, piece in enumerate(work):
        _STATE.pack_into(page, 0, number, sent, 0)
        parts = read_piece(piece, options)
        first = list(islice(parts, 1))
        waits = all(is_few(*part) for part in first)
        if waits:
            first += islice(parts, 1)
            waits = len(first) < 2
        if not waits or len(held) == _MOST_HELD:
            write(joined(held))
            held.clear()
            sent = number
            _STATE.pack_into(page, 0, number, sent, 0)
        if waits:
            held += first
        else:
            write(chain(first, parts))
            sent = number + 1
    write(joined(held))
    _STATE.pack_into(page, 0, len(work), len(work), 0)


def _write(descriptor: int, data: bytes | pa.Buffer) -> None:
    with memoryview(data) as view:
        written = 0
        while written < len(view):
            written += os.write(descriptor, view[written:])


def _portable(error: Exception) -> KdumpError:
    """An error that can be told to the other process."""
    if isinstance(error, KdumpError):
        return KdumpError(error.message[:4096], path=error.path, position=error.position, remedy=error.remedy)
    return KdumpError(f"{type(error).__name__}: {error}"[:4096])


def _widen(descriptor: int) -> None:
    """Let more bytes wait in a pipe, where the system can: fewer switches between the two."""
    try:
        import fcntl

        fcntl.fcntl(descriptor, _F_SETPIPE_SZ, _PIPE_SIZE)
    except OSError:
        pass
