"""Reads files in a separate process: a crash of a native codec only costs the rest of one file.

The process sends rows, and the report of each slice after its last row. So every row is known to be valid or not,
whenever the process dies. A crash of a codec is blamed on the file; if the process ends otherwise, the task has failed.
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
from kdump.output.arrow.builder import SMALL_ROWS, SMALL_ROWS_OF_NUMBERS, bounded, is_small, joined
from kdump.pipeline.listed_source import Replaced
from kdump.pipeline.slice_report import CRASHED, Skipped, SliceReport
from kdump.workers.last_position import LastPosition
from kdump.workers.process import FAILED, how_it_ended, kill, start, write_all
from kdump.workers.slots import SharedSlots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from kdump.pipeline.options import Options
    from kdump.pipeline.planning import FileSlice
    from kdump.pipeline.slice_report import OnReport

    Part = tuple[dict[str, Any], int]  # columns, and how many rows they have
    ReadSlice = Callable[[FileSlice, Options, SliceReport], Iterator[Part]]
    Build = Callable[[dict[str, Any], int, Options], pa.RecordBatch]

_HEAD = struct.Struct(">iQ")  # of a batch or of reports: the slot where it lies, or what comes after this; its size in bytes
_INLINE, _REPORTS = -1, -2
_SLOTS, _SLOT_SIZE = 4, 8 << 20  # what of them is not used takes no memory
_PATIENCE = 0.1  # seconds to wait for a slot, the first time: the consumer may keep all batches
_LAST_POSITION_SIZE = 64 << 10  # of the number of the slice that is read, and an error
_MAX_WAITING_SLICES = 64  # slices of few rows that wait to be sent
_SCHEMA_SIZE = 256 << 10  # what surrounds a batch is smaller
_MAX_CRASHES = 1000  # of one task, after which it is given up
_PORTABLE = (MissingPackage, Replaced)  # what somebody above tells apart
_CRASHES = frozenset((signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE))
"""Signals that the bytes of a file may cause. All others come from outside: SIGKILL when memory runs out."""


class ReaderKilled(KdumpError):
    """The process that read files was killed from outside; its slices have to be read again."""


def read_in_process(
    slices: Sequence[FileSlice], options: Options, read_slice: ReadSlice, build: Build, on_report: OnReport
) -> Iterator[pa.RecordBatch]:
    """The rows of all slices, read by another process. If it crashes, a new one continues without the slice it was at.

    Raises what the other process raised, and ReaderKilled.
    """
    left = list(slices)
    for _ in range(_MAX_CRASHES):
        if not left:
            return
        process = _Process(left, options, read_slice, build, on_report)
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
                f"the process that read files {process.how_it_ended}, perhaps because the machine ran out of memory",
                path=left[at].path,
            )
        if process.rows and at:
            raise ReaderKilled(f"the process that read files {process.how_it_ended} while it sent rows", path=left[at].path)
        yield from _crashed(left[at], process, options, build, on_report)
        left = left[:at] + left[at + 1 :]
    raise KdumpError(f"a task was given up after {_MAX_CRASHES} crashes")


def _crashed(
    file_slice: FileSlice, process: _Process, options: Options, build: Build, on_report: OnReport
) -> Iterator[pa.RecordBatch]:
    """Report the slice at which a process crashed. The rows received so far count; the rest is left out."""
    from kdump.pipeline.logs import unread_row
    from kdump.pipeline.place import place_of

    message = f"the process that read it {process.how_it_ended}; the rows that it had not yet sent are missing"
    if options.fails_fast or options.unreadable == options.FAIL:
        raise KdumpError(message, path=file_slice.path, remedy='unreadable="row" or "skip" continues without it')
    report = SliceReport(file_slice.path)
    report.rows = process.rows
    skipped = Skipped(CRASHED, message, None, None, is_damage=False)
    report.skipped.append(skipped)
    for columns, count in unread_row(skipped, options):
        yield build({**place_of(file_slice.item), **columns}, count, options)
    on_report(report)


class _Process:
    """A fork that reads slices, as the parent sees it.

    `reported` counts the slices whose rows all arrived, `rows` the rows that arrived since.
    """

    def __init__(
        self, slices: list[FileSlice], options: Options, read_slice: ReadSlice, build: Build, on_report: OnReport
    ) -> None:
        self._last_position = LastPosition(1, _LAST_POSITION_SIZE)
        self._slots = SharedSlots(_SLOTS, _SLOT_SIZE)
        self._memory = pa.py_buffer(self._slots.memory)
        reading, writing = os.pipe()

        def work() -> None:
            os.close(reading)
            _work(slices, options, read_slice, build, self._last_position, self._slots, writing)

        try:
            self._process = start(work)
        except OSError as error:
            os.close(reading)
            raise KdumpError(
                f"no process that reads can be started: {error.strerror}", remedy="take fewer with --jobs"
            ) from error
        finally:
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
        """The number of the slice that the process is reading."""
        return self._last_position.numbers()[0]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All batches that arrive, up to the end or a crash."""
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
        """The contents of a slot, which is freed when the last buffer made of it is gone."""
        held = _Held(self._memory, slot, self._slots)
        return pa.foreign_buffer(self._memory.address + slot * self._slots.size, size, held)

    def _bytes(self, size: int) -> pa.Buffer | None:
        """The next `size` bytes of the pipe, or None at its end. Buffers made of them copy nothing."""
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
        """Kill the process if it still runs, and record how it ended."""
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
        elif os.waitstatus_to_exitcode(status) == FAILED:
            self.error = KdumpError("a process that read files failed")


class _Held:
    """Keeps a slot and its memory while Arrow buffers use its bytes, and frees the slot afterwards."""

    def __init__(self, memory: pa.Buffer, slot: int, slots: SharedSlots) -> None:
        self._memory = memory
        self._slot = slot
        self._slots = slots

    def __del__(self) -> None:
        self._slots.free(self._slot)


class _Outlet:
    """Sends batches to the parent in slots of shared memory, while the parent may still be busy with earlier ones.

    Batches without a free slot go through the pipe that announces all batches.
    """

    def __init__(self, slots: SharedSlots, writing: int) -> None:
        view = memoryview(slots.memory)
        self._shared = slots
        self._slots = [pa.py_buffer(view[start : start + slots.size]) for start in range(0, len(view), slots.size)]
        self._free = list(range(len(self._slots)))
        self._writing = writing
        self._patience = _PATIENCE

    def send(self, batch: pa.RecordBatch) -> None:
        """Send a batch; if a slot is free, it is copied only once."""
        fits = pa.ipc.get_record_batch_size(batch) + _SCHEMA_SIZE <= self._shared.size
        slot = self._free.pop() if fits and self._has_slot() else _INLINE
        sink = pa.BufferOutputStream() if slot == _INLINE else pa.FixedSizeBufferWriter(self._slots[slot])
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        write_all(self._writing, _HEAD.pack(slot, sink.tell()))
        if slot == _INLINE:
            write_all(self._writing, memoryview(sink.getvalue()))

    def report(self, reports: list[SliceReport]) -> None:
        """Send the reports of slices whose rows were all sent."""
        data = pickle.dumps(reports)
        write_all(self._writing, _HEAD.pack(_REPORTS, len(data)) + data)

    def _has_slot(self) -> bool:
        """Whether a slot is free. Waits once; after a timeout, never again."""
        if not self._free:
            if not self._shared.wait(self._patience):
                self._patience = 0
                return False
            self._free += self._shared.freed()
        return bool(self._free)


def _work(
    slices: list[FileSlice],
    options: Options,
    read_slice: ReadSlice,
    build: Build,
    last_position: LastPosition,
    slots: SharedSlots,
    writing: int,
) -> None:
    """Run the fork: read and send. What is raised ends it, and is left with the last position."""
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        slots.take_end_of_worker()
        _send(slices, options, read_slice, build, last_position, _Outlet(slots, writing))
    except BrokenPipeError:
        raise  # the parent is gone
    except Exception as error:
        last_position.put_text(pickle.dumps(_portable(error)))
        last_position.put(*last_position.numbers())
        raise


def _send(
    slices: list[FileSlice], options: Options, read_slice: ReadSlice, build: Build, last_position: LastPosition, outlet: _Outlet
) -> None:
    """Read all slices and send their rows. Slices with few rows are held until there are more."""
    held: list[Part] = []
    waiting: list[SliceReport] = []  # of the slices whose rows are held

    few = SMALL_ROWS if options.table == "records" else SMALL_ROWS_OF_NUMBERS

    def send(parts: Iterable[Part], reports: list[SliceReport]) -> None:
        together = joined(parts, rows=options.batch_rows, small_rows=few)
        batches = (build(columns, count, options) for columns, count in together)
        for batch in bounded(batches, rows=options.batch_rows, size=options.batch_bytes):
            outlet.send(batch)
        if reports:
            outlet.report(reports)

    for number, file_slice in enumerate(slices):
        last_position.put(number)
        report = SliceReport(file_slice.path)
        parts = read_slice(file_slice, options, report)
        first = list(islice(parts, 1))
        waits = all(is_small(*part) for part in first)
        if waits:
            first += islice(parts, 1)
            waits = len(first) < 2  # so all its rows are here
        if not waits or len(waiting) == _MAX_WAITING_SLICES:
            send(held, waiting)
            held.clear()
            waiting = []
        if waits:
            held += first
            waiting.append(report)
        else:
            send(chain(first, parts), [report])
    send(held, waiting)


def _portable(error: Exception) -> KdumpError:
    """An error that the parent can unpickle: one of the known kinds."""
    if isinstance(error, KdumpError):
        kind = next((kind for kind in _PORTABLE if isinstance(error, kind)), KdumpError)
        return kind(error.message[:4096], path=error.path, position=error.position, remedy=error.remedy)
    return KdumpError(f"{type(error).__name__}: {error}"[:4096])
