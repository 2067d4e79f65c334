"""Reads in a process of its own: what a native codec crashes at costs the rest of one file, and nothing else.

The process sends rows, and the report of each slice when all its rows are sent. So it is known of every row whether it counts,
whenever the process dies. A crash of a codec is the file's; whoever else ends the process, the task has failed.
"""

from __future__ import annotations

import os
import pickle
import signal
import struct
from itertools import chain, islice
from typing import TYPE_CHECKING

import pyarrow as pa

from kdump.errors import KdumpError, MissingPackage
from kdump.output.arrow.builder import bounded, is_small, joined
from kdump.pipeline.slice_report import CRASHED, Skipped, SliceReport
from kdump.workers.last_position import LastPosition
from kdump.workers.process import fork, how_it_ended, kill, write_all
from kdump.workers.slots import SharedSlots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from kdump.pipeline.options import Options
    from kdump.pipeline.planning import Piece
    from kdump.pipeline.slice_report import OnReport

    Part = tuple[dict[str, Any], int]  # columns, and how many rows they have
    ReadPiece = Callable[[Piece, Options, SliceReport], Iterator[Part]]
    Build = Callable[[dict[str, Any], int, Options], pa.RecordBatch]

_HEAD = struct.Struct(">iQ")  # of a batch or of reports: the slot where it lies, or what comes after this; its size in bytes
_BEHIND, _REPORTS = -1, -2
_SLOTS, _SLOT_SIZE = 4, 8 << 20  # what of them is not used takes no memory
_PATIENCE = 0.1  # seconds to wait for a slot, the first time: who takes batches may keep them all
_LAST_POSITION_SIZE = 64 << 10  # of the number of the piece that is read, and an error
_FAILED = 70
_MOST_HELD = 64  # pieces of few rows that wait to be sent
_SCHEMA_SIZE = 256 << 10  # what stands around a batch is less
_MAX_CRASHES = 1000  # of one task, which is given up then
_CRASHES = frozenset((signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE))
"""The signals that the bytes of a file may be to blame for. All others come from outside: SIGKILL where memory is short."""


class ReaderKilled(KdumpError):
    """The process that read files was ended from outside: what it read is to be read again."""


def read_apart(
    work: Sequence[Piece], options: Options, read_piece: ReadPiece, build: Build, on_report: OnReport
) -> Iterator[pa.RecordBatch]:
    """The rows of all pieces, read by another process; where that crashes, a new one goes on without the piece it was at.

    Raises what the other process raised, and ReaderKilled.
    """
    left = list(work)
    for _ in range(_MAX_CRASHES):
        if not left:
            return
        process = _Process(left, options, read_piece, build, on_report)
        try:
            yield from process.batches()
        finally:
            process.end()
        if process.error is not None:
            raise process.error
        if process.is_through:
            return
        at = max(0, process.at - process.reported)
        left = left[process.reported :]
        if not left:
            return
        if process.signal not in _CRASHES:
            raise ReaderKilled(
                f"the process that read files {process.how_it_ended}, as by a machine that is short of memory", path=left[at].path
            )
        if process.rows and at:
            raise ReaderKilled(f"the process that read files {process.how_it_ended} while it sent rows", path=left[at].path)
        yield from _crashed(left[at], process, options, build, on_report)
        left = left[:at] + left[at + 1 :]
    raise KdumpError(f"a task was given up after {_MAX_CRASHES} crashes")


def _crashed(piece: Piece, process: _Process, options: Options, build: Build, on_report: OnReport) -> Iterator[pa.RecordBatch]:
    """Report the piece at which a process crashed. The rows that had come are rows; what is behind them is left out."""
    from kdump.pipeline.logs import unread_row
    from kdump.pipeline.place import place_of

    message = f"the process that read it {process.how_it_ended}; what is behind the rows that had come is not read"
    if options.fails_fast or options.unreadable == options.FAIL:
        raise KdumpError(message, path=piece.path, remedy='unreadable="row" or "skip" goes on without it')
    report = SliceReport.of(piece)
    report.rows = process.rows
    skipped = Skipped(CRASHED, message, None, None, is_damage=False)
    report.skipped.append(skipped)
    for columns, count in unread_row(skipped, options):
        yield build({**place_of(piece.item), **columns}, count, options)
    on_report(report)


class _Process:
    """A fork that reads pieces, and what comes from it.

    `reported` counts the pieces of which all rows came, `rows` those that came since.
    """

    def __init__(self, work: list[Piece], options: Options, read_piece: ReadPiece, build: Build, on_report: OnReport) -> None:
        self._last_position = LastPosition(1, _LAST_POSITION_SIZE)
        self._slots = SharedSlots(_SLOTS, _SLOT_SIZE)
        self._memory = pa.py_buffer(self._slots.memory)
        reading, writing = os.pipe()
        self._process = fork()
        if self._process == 0:
            os.close(reading)
            self._slots.take_end_of_worker()
            _work(work, options, read_piece, build, self._last_position, _Outlet(self._slots, writing))
        os.close(writing)
        self._slots.take_end_of_reader()
        self._pipe = os.fdopen(reading, "rb", buffering=0)
        self._on_report = on_report
        self._has_ended = False
        self.reported = 0
        self.rows = 0
        self.is_through = False
        self.signal = 0
        self.how_it_ended = ""
        self.error: Exception | None = None

    @property
    def at(self) -> int:
        """The number of the piece that it is reading."""
        return self._last_position.numbers()[0]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All that comes, up to the end or to a crash."""
        while (head := self._bytes(_HEAD.size)) is not None:
            slot, size = _HEAD.unpack(head)
            data = self._bytes(size) if slot < 0 else self._in_slot(slot, size)
            if data is None:
                break  # it died in the middle of a batch
            if slot == _REPORTS:
                self._take(pickle.loads(data))
                continue
            batch = pa.ipc.open_stream(data).read_next_batch()
            self.rows += batch.num_rows
            yield batch
        self._has_ended = True

    def _take(self, reports: list[SliceReport]) -> None:
        self.reported += len(reports)
        self.rows = 0
        for report in reports:
            self._on_report(report)

    def _in_slot(self, slot: int, size: int) -> pa.Buffer:
        """What is in a slot, which is free again when nothing is left that was made of it."""
        held = _Held(self._memory, slot, self._slots)
        return pa.foreign_buffer(self._memory.address + slot * self._slots.size, size, held)

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
            kill(self._process)
        self._pipe.close()
        self._slots.close()
        _, status = os.waitpid(self._process, 0)
        self.is_through = status == 0
        self.signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        self.how_it_ended = how_it_ended(os.waitstatus_to_exitcode(status))
        error = self._last_position.text()
        if error:
            self.error = pickle.loads(error)
        elif os.waitstatus_to_exitcode(status) == _FAILED:
            self.error = KdumpError("a process that read files failed")


class _Held:
    """A slot while there is something that was made of its bytes; it keeps `memory`, and frees the slot when it ends."""

    def __init__(self, memory: pa.Buffer, slot: int, slots: SharedSlots) -> None:
        self._memory = memory
        self._slot = slot
        self._slots = slots

    def __del__(self) -> None:
        self._slots.free(self._slot)


class _Outlet:
    """Sends batches to the other process, which may be busy with those before: in slots of memory that both have.

    Those for which there is no room go through the pipe in which all are told of.
    """

    def __init__(self, slots: SharedSlots, writing: int) -> None:
        view = memoryview(slots.memory)
        self._shared = slots
        self._slots = [pa.py_buffer(view[start : start + slots.size]) for start in range(0, len(view), slots.size)]
        self._free = list(range(len(self._slots)))
        self._writing = writing
        self._patience = _PATIENCE

    def send(self, batch: pa.RecordBatch) -> None:
        """Send one; it is copied once where there is a slot."""
        fits = pa.ipc.get_record_batch_size(batch) + _SCHEMA_SIZE <= self._shared.size
        slot = self._free.pop() if fits and self._has_slot() else _BEHIND
        sink = pa.BufferOutputStream() if slot == _BEHIND else pa.FixedSizeBufferWriter(self._slots[slot])
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        write_all(self._writing, _HEAD.pack(slot, sink.tell()))
        if slot == _BEHIND:
            write_all(self._writing, memoryview(sink.getvalue()))

    def report(self, reports: list[SliceReport]) -> None:
        """Send the accounts of slices; all their rows were sent."""
        data = pickle.dumps(reports)
        write_all(self._writing, _HEAD.pack(_REPORTS, len(data)) + data)

    def _has_slot(self) -> bool:
        """Whether there is a free one, waiting for a while if there is not, and never again after a timeout."""
        if not self._free:
            if not self._shared.wait(self._patience):
                self._patience = 0
                return False
            self._free += self._shared.freed()
        return bool(self._free)


def _work(
    work: list[Piece], options: Options, read_piece: ReadPiece, build: Build, last_position: LastPosition, outlet: _Outlet
) -> None:
    """What the fork does, and all it does."""
    code = 0
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _send(work, options, read_piece, build, last_position, outlet)
    except BrokenPipeError:
        code = _FAILED  # nobody is interested any more
    except Exception as error:
        code = _FAILED
        last_position.put_text(pickle.dumps(_portable(error)))
        last_position.put(*last_position.numbers())
    finally:
        os._exit(code)


def _send(
    work: list[Piece], options: Options, read_piece: ReadPiece, build: Build, last_position: LastPosition, outlet: _Outlet
) -> None:
    """Read all pieces, and send their rows. Pieces of few rows wait until there are more, or one that has many."""
    held: list[Part] = []
    waiting: list[SliceReport] = []  # of the pieces whose rows are held

    def send(parts: Iterable[Part], reports: list[SliceReport]) -> None:
        batches = (build(columns, count, options) for columns, count in parts)
        for batch in bounded(batches, rows=options.batch_rows, size=options.batch_bytes):
            outlet.send(batch)
        if reports:
            outlet.report(reports)

    for number, piece in enumerate(work):
        last_position.put(number)
        report = SliceReport.of(piece)
        parts = read_piece(piece, options, report)
        first = list(islice(parts, 1))
        waits = all(is_small(*part) for part in first)
        if waits:
            first += islice(parts, 1)
            waits = len(first) < 2  # so all its rows are here
        if not waits or len(waiting) == _MOST_HELD:
            send(joined(held), waiting)
            held.clear()
            waiting = []
        if waits:
            held += first
            waiting.append(report)
        else:
            send(chain(first, parts), [report])
    send(joined(held), waiting)


def _portable(error: Exception) -> KdumpError:
    """An error that can be told to the other process, which has to know what kind of error it is."""
    if isinstance(error, KdumpError):
        kind = MissingPackage if isinstance(error, MissingPackage) else KdumpError
        return kind(error.message[:4096], path=error.path, position=error.position, remedy=error.remedy)
    return KdumpError(f"{type(error).__name__}: {error}"[:4096])
