"""Reads files in a separate process: a crash of a native codec only costs the rest of one file.

The process sends rows, and the report of each slice after its last row. So every row is known to be valid or not,
whenever the process dies. A crash of a codec is blamed on the file; if the process ends otherwise, the task has failed.
"""

from __future__ import annotations

import signal
from itertools import chain, islice
from typing import TYPE_CHECKING

from kdump.errors import KdumpError
from kdump.output.arrow.builder import bounded, is_small
from kdump.pipeline.slice_report import CRASHED, Skipped, SliceReport
from kdump.workers.pool import Died, Pool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    import pyarrow as pa

    from kdump.pipeline.options import Options
    from kdump.pipeline.planning import FileSlice
    from kdump.pipeline.slice_report import OnReport
    from kdump.workers.pool import Outlet

    Part = tuple[dict[str, Any], int]  # columns, and how many rows they have
    ReadSlice = Callable[[FileSlice, Options, SliceReport], Iterator[Part]]
    Build = Callable[[dict[str, Any], int, Options], pa.RecordBatch]

_MAX_WAITING_SLICES = 64  # slices of few rows that wait to be sent
_MAX_CRASHES = 1000  # of one task, after which it is given up
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
    crashes = rows = 0  # rows that came since the last report

    def work(left: Sequence[FileSlice], outlet: Outlet) -> None:
        _send(left, options, read_slice, build, outlet)

    with Pool(work, 1) as pool:
        for given, message in pool.results([list(slices)] if slices else []):
            left: list[FileSlice] = given
            if isinstance(message, list):
                for report in message:
                    on_report(report)
                del left[: len(message)]
                rows = 0
            elif not isinstance(message, Died):
                rows += message.num_rows
                yield message
            elif message.error is not None:
                raise message.error
            elif left:
                _refuse_what_is_no_crash(left, message, rows)
                crashes += 1
                if crashes == _MAX_CRASHES:
                    raise KdumpError(f"a task was given up after {_MAX_CRASHES} crashes")
                file_slice = _slice_at(left, message)
                yield from _crashed(file_slice, rows, message, options, build, on_report)
                left.remove(file_slice)
                rows = 0
                if left:
                    pool.again(left)


def _slice_at(left: Sequence[FileSlice], died: Died) -> FileSlice:
    """The slice that the process was reading, among those that it has not reported."""
    return left[-min(died.numbers[0], len(left))]


def _refuse_what_is_no_crash(left: Sequence[FileSlice], died: Died, rows: int) -> None:
    """Raise ReaderKilled unless the process crashed, and it is known of which slice the last rows were."""
    file_slice = _slice_at(left, died)
    if -(died.code or 0) not in _CRASHES:
        raise ReaderKilled(
            f"the process that read files {died.how}, perhaps because the machine ran out of memory", path=file_slice.path
        )
    if rows and file_slice is not left[0]:
        raise ReaderKilled(f"the process that read files {died.how} while it sent rows", path=file_slice.path)


def _crashed(
    file_slice: FileSlice, rows: int, died: Died, options: Options, build: Build, on_report: OnReport
) -> Iterator[pa.RecordBatch]:
    """Report the slice at which a process crashed. The rows received so far count; the rest is left out."""
    from kdump.pipeline.logs import unread_row
    from kdump.pipeline.place import place_of

    message = f"the process that read it {died.how}; the rows that it had not yet sent are missing"
    if options.fails_fast or options.unreadable == options.FAIL:
        raise KdumpError(message, path=file_slice.path, remedy='unreadable="row" or "skip" continues without it')
    report = SliceReport(file_slice.path)
    report.rows = rows
    skipped = Skipped(CRASHED, message, None, None, is_damage=False)
    report.skipped.append(skipped)
    for columns, count in unread_row(skipped, options):
        yield build({**place_of(file_slice.item), **columns}, count, options)
    on_report(report)


def _send(slices: Sequence[FileSlice], options: Options, read_slice: ReadSlice, build: Build, outlet: Outlet) -> None:
    """Read all slices and send their rows, and the reports of slices whose rows were all sent.

    Slices with few rows are held until there are more. The last position is how many slices are left, with the one being read.
    """
    held: list[pa.RecordBatch] = []
    waiting: list[SliceReport] = []  # of the slices whose rows are held

    def batches_of(parts: Iterable[Part]) -> Iterator[pa.RecordBatch]:
        made = (build(columns, count, options) for columns, count in parts)
        return bounded(made, rows=options.batch_rows, size=options.batch_bytes)

    def send(batches: Iterable[pa.RecordBatch], reports: list[SliceReport]) -> None:
        for batch in batches:
            outlet.send(batch)
        if reports:
            outlet.send(reports)

    def send_held() -> None:
        send(bounded(held, rows=options.batch_rows, size=options.batch_bytes), list(waiting))
        held.clear()
        waiting.clear()

    for number, file_slice in enumerate(slices):
        outlet.place.put(len(slices) - number, 0, 0)
        report = SliceReport(file_slice.path)
        batches = batches_of(read_slice(file_slice, options, report))
        first = list(islice(batches, 1))
        waits = all(is_small(batch.num_rows, batch.nbytes, options.batch_rows, options.batch_bytes) for batch in first)
        if waits:
            first += islice(batches, 1)
            waits = len(first) < 2  # so all its rows are here
        if not waits or len(waiting) == _MAX_WAITING_SLICES:
            send_held()
        if waits:
            held += first
            waiting.append(report)
        else:
            send(chain(first, batches), [report])
    send_held()
