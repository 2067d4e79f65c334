"""Lists large logs by several processes, where nothing is damaged: each lists stretches, one of them writes all rows.

A stretch is listed as one process would list it. Where a worker finds something to report, or cannot say whether a batch is
intact, its text ends there; the walk of the process that writes comes upon the same, and goes on alone for a while.
"""

from __future__ import annotations

from bisect import bisect_left

from kdump.binary.batch_header import BATCH_HEADER_SIZE
from kdump.binary.source import WINDOW_SIZE
from kdump.cli.listing.intact import intact_text
from kdump.cli.listing.logs import LogLister
from kdump.cli.listing.run import Run
from kdump.dropin.parallel_text import Over, ParallelText, ParallelTuning, Worker
from kdump.errors import KdumpError
from kdump.formats.log import SummarizedChunk
from kdump.output.rows.listing import ListedBatch, ListedRecord
from kdump.reading.items import Section, Shown
from kdump.reading.read_ahead import summarize_stretch
from kdump.reading.trust import Order, extent_of
from kdump.reading.tuning import DEFAULT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.binary.tolerant_source import TolerantSource
    from kdump.dropin.parallel_text import Outlet, SharedDump, Stretch
    from kdump.formats.log import Chunk
    from kdump.formats.summary import BatchSummary
    from kdump.output.blocks import Blocks
    from kdump.reading.trust import Extent

_LESS_GAIN = 4  # a log is worth several processes if it is this much larger than for a dump: they have more to load
_NO_EPOCH = -(1 << 63)  # of formats without leader epochs


class ParallelListing(ParallelText):
    """Lists one log with `jobs` processes, as `lister` does with one."""

    def __init__(self, run: Run, source: TolerantSource, lister: LogLister, jobs: int) -> None:
        out: Blocks = run.out  # type: ignore[assignment]  # that of the process that writes
        tuning = run.tuning.parallel
        if tuning is None:
            tuning = ParallelTuning()
            gain = 1 if run.request.jobs else _LESS_GAIN
            tuning.min_bytes = {codec: gain * size for codec, size in tuning.min_bytes.items()}
        super().__init__(source, out, jobs=jobs, is_deep=run.request.is_deep, tuning=tuning)
        self._run = run
        self._lister = lister
        self._source = source
        self._first_offset: int | None = None
        self._last: Extent = (0, 0, None)
        self._has_rows = False

    def shows(self, position: int) -> Shown | None:
        """List intact batches from here on. Returns how far they go; None if there are none, or if it does not pay."""
        end = self._source.size
        if self._lister.holds_damage or not self.is_worth_while(position, end):
            return None
        self._first_offset, self._has_rows = None, False
        self._run.write_few()
        reached = self.show(position, end)
        if self._first_offset is None:
            return None
        self._lister.note_listed(position, self._first_offset, self._last[1], has_rows=self._has_rows)
        return Shown(reached, self._last)

    def worker(self, dump: SharedDump, outlet: Outlet) -> Worker:
        return _ListingWorker(dump, outlet, self._run, self._source)

    def take_over(self, stretch: Stretch) -> None:
        """Take note of the offsets that were listed."""
        if stretch.first_offset is None:
            return
        if self._first_offset is None:
            self._first_offset = stretch.first_offset
        first_of_last, epoch, has_rows, _ = stretch.gaps
        self._last = first_of_last, stretch.last_offset, None if epoch == _NO_EPOCH else epoch
        self._has_rows = self._has_rows or bool(has_rows)


class _Odd(Exception):
    """Something is to be reported; nothing is listed from this position on."""

    def __init__(self, position: int) -> None:
        self.position = position


class _Reported(Exception):
    """Something is to be reported."""


class _RowsOut:
    """The output of a worker: its text goes into the outlet, in the order in which it comes."""

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet

    def write(self, text: str) -> None:
        self._outlet.write(text)

    def write_bytes(self, text: memoryview) -> None:
        self._outlet.write_bytes(text)

    def flush(self) -> None:
        self._outlet.keep()


class _WorkerRun(Run):
    """The run of a worker. It says nothing: what is to be said ends its stretch."""

    is_ready = False

    def find(self, path: str | None, message: str, *values: object) -> None:
        self.say(message)

    def say(self, message: str) -> None:
        if self.is_ready:
            raise _Reported

    def count(self, rows: int) -> None:
        self.has_listed = True

    has_listed = False


class _StretchLister(LogLister):
    """Lists batches of a stretch, so that it is known where its text ends if one of them is not listed."""

    outlet: Outlet

    def list_batches(self, chunk: Chunk, statuses: list[str]) -> None:
        try:
            super().list_batches(chunk, statuses)
        except (_Reported, KdumpError):
            self.outlet.drop()
            raise _Odd(chunk.batches["position"][0])
        self.outlet.keep()


class _ListingWorker(Worker):
    """Lists stretches of a log."""

    def __init__(self, dump: SharedDump, outlet: Outlet, run: Run, source: TolerantSource) -> None:
        self._source = source
        self._window = bytearray(WINDOW_SIZE)
        self._run = _WorkerRun(
            run.request, _RowsOut(outlet), _RowsOut(outlet), is_terminal=False, is_error_terminal=False, tuning=run.tuning
        )
        self._run.start(ListedRecord if run.request.is_deep else ListedBatch)
        outlet.drop()  # the heading of rows, which is written
        self._lister = _StretchLister(self._run, source)
        self._lister.outlet = outlet
        text = intact_text(self._run, source, self._lister.decoding)
        assert text is not None  # the caller has one for the same
        self._lister.intact_text = text
        self._run.is_ready = True
        self._first_offset: int | None = None
        self._last_offset = 0
        super().__init__(dump, outlet, text.text)

    def _begin(self) -> None:
        self._first_offset = None
        self._run.has_listed = False

    def _show(self, start: int, end: int) -> int:
        order = Order(self._source, None, None)
        position = start
        while position < end:
            stop = min(end, position + DEFAULT.stretch_bytes)
            summary, *_ = summarize_stretch(self._source, position, stop, self._window, DEFAULT.max_stretch_batches)
            if summary is None or not self._lister.may_list_at_once(summary) or not order.takes(summary):
                break
            chunk = SummarizedChunk.read_again(summary, self._source, position)
            try:
                self._lister.list_section(Section(chunk, None))
            except _Odd as odd:
                position = odd.position
                self._take_note(summary, bisect_left(summary.positions, position))
                break
            except (_Reported, KdumpError) as error:
                raise Over from error  # nobody knows how far the text goes
            position = summary.end
            self._take_note(summary, summary.count)
        if self._source.bad_ranges:
            raise Over
        return position

    def _take_note(self, summary: BatchSummary, count: int) -> None:
        """Take note of the first batches of a summary."""
        if not count:
            return
        if self._first_offset is None:
            self._first_offset = summary.first_offsets[0]
        first, self._last_offset, epoch = self._extent_of(summary.positions[count - 1])
        self._gaps[:] = [first, _NO_EPOCH if epoch is None else epoch, self._run.has_listed, 0]

    def _extent_of(self, position: int) -> Extent:
        return extent_of(self._source.read_exactly(position, min(BATCH_HEADER_SIZE, self._source.size - position)))

    def _offsets(self) -> tuple[int | None, int]:
        return self._first_offset, self._last_offset
