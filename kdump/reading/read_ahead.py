"""Summarizes a log stretch by stretch, several at once where cores are free."""

from __future__ import annotations

import os

from kdump.binary import kernel
from kdump.binary.batch_columns_reference import BATCH_COLUMNS
from kdump.binary.batch_header import BATCH_HEADER_SIZE
from kdump.binary.source import WINDOW_SIZE
from kdump.formats.log import STRICT_RULES, SummarizedChunk
from kdump.formats.summary import BatchSummary
from kdump.reading.search import first_batch
from kdump.reading.tuning import DEFAULT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

    from kdump.binary.source import Source
    from kdump.reading.tuning import ReadTuning
    from kdump.workers.helping_thread import HelpingThread

_UNITS_AHEAD = 2  # that may wait for the walk, beyond one for each thread
_LONGEST = 4  # times as long are stretches of which only headers are wanted, as long as all is well
_MAX_PAUSE_BYTES = 64 << 20


class ReadAhead:
    """Summaries of a log's stretches, for a walk that continues from the end of one stretch to the next.

    A stretch depends only on the bytes and on where it starts. With `threads`, stretches are summarized
    ahead: the start of the first one in a unit is a guess, which is proved when the walk arrives there. Bytes that cannot be
    read, or are not valid batches in order, are left to the walk. Needs the kernel in C, whose loops run without the GIL.

    Unless they were summarized ahead, chunks with `keeps_bytes` keep their bytes until the next one is asked for. With
    `fills_headers`, they have the columns of their headers; of old messages, which have no such columns, they keep the bytes.
    """

    def __init__(
        self,
        source: Source,
        start: int,
        threads: int = 0,
        tuning: ReadTuning = DEFAULT,
        *,
        keeps_bytes: bool = False,
        fills_headers: bool = False,
    ) -> None:
        self.next_try = start
        """Stretches that start before this position are probably of no use."""
        self._source = source
        self._tuning = tuning
        self._pause = tuning.pause_bytes
        self._stretch_bytes = tuning.stretch_bytes
        self._fills_headers = fills_headers
        self._keeps_bytes = keeps_bytes
        self._window = self._new_window(start)
        self._keeping: SummarizedChunk | None = None
        self._ahead: _Ahead | None = None
        if threads and source.size - start >= tuning.min_threads_bytes:
            self._ahead = _Ahead(source, threads, tuning)

    def at(self, position: int) -> SummarizedChunk | None:
        """The summary of the stretch that starts here, or None."""
        if self._keeping is not None:
            self._keeping.kept = None
            self._keeping = None
        ahead, is_kept = self._ahead, False
        found = ahead.take(position, self._window) if ahead is not None else None
        headers = None
        if found is None:
            found, is_kept, headers = self._summarize(position)
        if found is None:
            return None
        if ahead is not None:
            ahead.is_legacy = found.is_legacy
        chunk = SummarizedChunk.read_again(found, self._source, position)
        chunk.is_copied = self._source.copies_to >= 0
        chunk.header_columns = headers
        if is_kept and (self._keeps_bytes or self._fills_headers and found.is_legacy):
            chunk.kept = memoryview(self._window)[: found.end - position]
            self._keeping = chunk
        return chunk

    def _summarize(self, position: int) -> tuple[BatchSummary | None, bool, dict[str, bytes] | None]:
        """What `summarize_stretch` finds from here to the end of the stretch."""
        most = self._tuning.max_stretch_batches
        stop = (position // self._stretch_bytes + 1) * self._stretch_bytes
        found, is_kept, headers = summarize_stretch(self._source, position, stop, self._window, most, self._fills_headers)
        if found is not None and self._fills_headers:
            if found.is_legacy and not is_kept and not self._keeps_bytes:
                self._keeps_bytes = True
                self._window = self._new_window(position)
                return self._summarize(position)
            if not found.is_legacy:
                self._stretch_bytes = min(2 * self._stretch_bytes, _LONGEST * self._tuning.stretch_bytes)
        return found, is_kept, headers

    def _new_window(self, position: int) -> bytearray:
        """Memory for what is read from here on: for a stretch where bytes are kept."""
        room = self._tuning.stretch_bytes + 2 * WINDOW_SIZE if self._keeps_bytes else WINDOW_SIZE
        return bytearray(min(room, max(1, self._source.size - position)))

    def rest(self, position: int) -> None:
        """Do without stretches for a while: one was of no use here."""
        is_soon = position - self.next_try < self._pause
        self._pause = min(2 * self._pause, _MAX_PAUSE_BYTES) if is_soon else self._tuning.pause_bytes
        self.next_try = position + self._pause
        self._stretch_bytes = self._tuning.stretch_bytes

    def __enter__(self) -> ReadAhead:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._ahead is not None:
            self._ahead.close()


def summarize_stretch(
    source: Source, position: int, stop: int, window: bytearray, max_batches: int, fills_headers: bool = False
) -> tuple[BatchSummary | None, bool, dict[str, bytes] | None]:
    """The summary of the batches from here up to `stop`, or None if something else is there.

    Also whether `window`, which is overwritten, starts with the bytes of all of them; and with `fills_headers` the columns of
    BATCH_COLUMNS where they are of magic 2. Raises OSError if they cannot be copied to where the source says.
    """
    assert kernel.native is not None
    found = kernel.native.summarize_log(
        source.fileno(),
        position,
        stop,
        source.size,
        max_batches,
        STRICT_RULES.codec_count - 1,
        window,
        source.copies_to,
        fills_headers,
    )
    if found is None:
        return None, False, None
    numbers, runs, is_kept, filled, *columns = found
    headers = None if filled is None else dict(zip(BATCH_COLUMNS, filled, strict=True))

    def header_at(start: int) -> bytes:
        return source.read_exactly(start, min(BATCH_HEADER_SIZE, source.size - start))

    summary = BatchSummary((numbers, *columns), header_at, lambda: runs)
    is_whole = summary.end >= min(stop, source.size) or summary.count == max_batches
    return (summary, is_kept, headers) if is_whole else (None, False, None)


class _Ahead:
    """Threads that work ahead of a walk: each takes a unit at a time, and summarizes the stretches that seem to start there."""

    def __init__(self, source: Source, threads: int, tuning: ReadTuning) -> None:
        import threading

        from kdump.workers.helping_thread import HelpingThread

        self.is_legacy = False  # what the walk found last
        self._source = source
        self._unit_size = tuning.stretch_bytes
        self._max_batches = tuning.max_stretch_batches
        self._changed = threading.Condition()
        self._turn = -1  # the unit where the walk is
        self._next = 0  # the first unit that no thread has taken
        self._under_way: set[int] = set()
        self._summaries: dict[int, dict[int, BatchSummary]] = {}  # those of a unit, by where they start
        self._max_ahead = threads + _UNITS_AHEAD
        self._is_closed = False
        self._threads: list[HelpingThread] = []
        try:
            while len(self._threads) < threads:
                self._threads.append(HelpingThread(self._run))
        except RuntimeError:  # the system allows no more threads; the walk reads what none of them does
            pass

    def take(self, position: int, window: bytearray) -> BatchSummary | None:
        """The stretch that starts here, if it was summarized ahead. While a thread is at it, the caller works ahead, too."""
        unit = position // self._unit_size
        if unit != self._turn:
            with self._changed:
                for passed in [other for other in self._summaries if other < unit]:
                    del self._summaries[passed]
                self._turn = unit
                self._next = max(self._next, unit + 1)  # if no thread has taken this one, the walk does it
                self._changed.notify_all()
            while unit in self._under_way and not self._is_closed:
                if not self._work(window):
                    with self._changed:
                        if unit in self._under_way and not self._is_closed:
                            self._changed.wait()
        return self._summaries.get(unit, {}).pop(position, None)

    def _run(self) -> None:
        window = bytearray(WINDOW_SIZE)
        try:
            while not self._is_closed:
                if not self._work(window):
                    with self._changed:
                        if not self._is_closed and not self._has_work():
                            self._changed.wait()
        finally:
            with self._changed:
                self._is_closed = True  # whatever the reason: nothing may wait for this thread
                self._changed.notify_all()

    def _has_work(self) -> bool:
        """Whether there is a unit to summarize now."""
        return 0 <= self._turn >= self._next - self._max_ahead and self._next * self._unit_size < self._source.size

    def _work(self, window: bytearray) -> bool:
        """Summarize the next unit. Returns False if there is none now."""
        with self._changed:
            if self._is_closed or not self._has_work():
                return False
            unit = self._next
            self._next += 1
            self._under_way.add(unit)
        summaries = self._summaries_of(unit, window)
        with self._changed:
            self._summaries[unit] = summaries
            self._under_way.discard(unit)
            self._changed.notify_all()
        return True

    def _summaries_of(self, unit: int, window: bytearray) -> dict[int, BatchSummary]:
        """The stretches that seem to start in a unit, by where they start."""
        summaries: dict[int, BatchSummary] = {}
        stop = (unit + 1) * self._unit_size
        position = first_batch(self, stop - self._unit_size, stop, self.is_legacy)
        while 0 <= position < stop:
            try:
                found, *_ = summarize_stretch(self._source, position, stop, window, self._max_batches)
            except OSError:
                break  # the walk meets the same error
            if found is None:
                break
            summaries[position] = found
            position = found.end
        return summaries

    def read(self, position: int, count: int) -> bytes:
        """The bytes there, or none if they cannot be read. Only the walk may use the source itself."""
        try:
            return os.pread(self._source.fileno(), count, position)
        except OSError:
            return b""

    def close(self) -> None:
        """End the threads."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.end()
