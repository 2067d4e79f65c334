"""Summaries a log a piece at a time, several of them at once where cores are to spare."""

from __future__ import annotations

import os

from kdump.binary import kernel
from kdump.binary.batch_header import BATCH_HEADER_SIZE
from kdump.binary.source import WINDOW_SIZE
from kdump.formats.log import STRICT_RULES, SummarizedChunk
from kdump.formats.summary import BatchSummary
from kdump.reading.search import first_batch

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    from types import TracebackType

    from kdump.binary.source import Source

_UNIT = 4 << 20
"""Where a piece ends: after the last batch that starts before a multiple of this."""

_MOST_BATCHES = 1 << 14  # of a piece: their columns take a few MiB when all are asked for
_WORTH_THREADS = 16 << 20  # bytes
_AHEAD = 2  # units that wait for the walk, more than there are threads
_PAUSE = 1 << 20  # after a piece was of no use, bytes that are walked without it; twice as much if the next is not either
_LONGEST_PAUSE = 64 << 20


class ReadAhead:
    """The pieces of a log, for a walk that goes on from the end of one to the next: what their batches have in common.

    What a piece is depends on the bytes and on where it starts, and on nothing else. With `threads`, pieces are made ahead: where
    the first of a unit starts is guessed, and the guess is proved when the walk comes there. Needs the kernel in C, whose loops
    run beside each other. Bytes that cannot be read, or are no sound batches in order, are left to the walk.
    """

    def __init__(self, source: Source, start: int, threads: int = 0) -> None:
        self.next_try = start
        """Up to there pieces are of no use, as far as can be told."""
        self._source = source
        self._pause = _PAUSE
        self._window = bytearray(WINDOW_SIZE)
        self._ahead: _Ahead | None = None
        if threads and source.size - start >= _WORTH_THREADS:
            self._ahead = _Ahead(source, threads)

    def at(self, position: int) -> SummarizedChunk | None:
        """The piece that starts here, None where there is none."""
        ahead = self._ahead
        found = ahead.take(position, self._window) if ahead is not None else None
        if found is None:
            found = summarize_piece(self._source, position, (position // _UNIT + 1) * _UNIT, self._window)
        if found is None:
            return None
        if ahead is not None:
            ahead.is_legacy = found.is_legacy
        return SummarizedChunk.read_again(found, self._source, position)

    def rest(self, position: int) -> None:
        """A piece was of no use here: do without for a while."""
        is_soon = position - self.next_try < self._pause
        self._pause = min(2 * self._pause, _LONGEST_PAUSE) if is_soon else _PAUSE
        self.next_try = position + self._pause

    def __enter__(self) -> ReadAhead:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._ahead is not None:
            self._ahead.close()


def summarize_piece(source: Source, position: int, stop: int, window: bytearray) -> BatchSummary | None:
    """The summary of the batches from here up to `stop`, None if something else is there. `window` is to be read into."""
    assert kernel.native is not None
    found = kernel.native.summarize_log(
        source.fileno(), position, stop, source.size, _MOST_BATCHES, STRICT_RULES.codec_count - 1, window
    )
    if found is None:
        return None
    numbers, runs, *columns = found

    def header_at(start: int) -> bytes:
        return source.read_exactly(start, min(BATCH_HEADER_SIZE, source.size - start))

    summary = BatchSummary((numbers, *columns), header_at, lambda: runs)
    is_whole = summary.end >= min(stop, source.size) or summary.count == _MOST_BATCHES
    return summary if is_whole else None


class _Ahead:
    """Threads that take the units before a walk, one at a time, and summary what seems to start there."""

    def __init__(self, source: Source, threads: int) -> None:
        import threading

        self.is_legacy = False  # what the walk met last
        self._source = source
        self._changed = threading.Condition()
        self._turn = -1  # the unit where the walk is
        self._next = 0  # the first unit that nobody has taken
        self._under_way: set[int] = set()
        self._pieces: dict[int, dict[int, BatchSummary]] = {}  # those of a unit, by where they start
        self._most_ahead = threads + _AHEAD
        self._is_closed = False
        self._threads: list[threading.Thread] = []
        for _ in range(threads):
            thread = threading.Thread(target=self._run, daemon=True)
            thread.start()
            self._threads.append(thread)

    def take(self, position: int, window: bytearray) -> BatchSummary | None:
        """The piece that starts here, if it was made ahead. While it is under way, the caller works ahead, too."""
        unit = position // _UNIT
        if unit != self._turn:
            with self._changed:
                for passed in [other for other in self._pieces if other < unit]:
                    del self._pieces[passed]
                self._turn = unit
                self._next = max(self._next, unit + 1)  # this one is the walk's own if nobody has taken it
                self._changed.notify_all()
            while unit in self._under_way and not self._is_closed:
                if not self._work(window):
                    with self._changed:
                        if unit in self._under_way and not self._is_closed:
                            self._changed.wait()
        return self._pieces.get(unit, {}).pop(position, None)

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
                self._is_closed = True  # whatever the reason: nobody is to wait for this thread
                self._changed.notify_all()

    def _has_work(self) -> bool:
        """Whether there is a unit that is to be worked at now."""
        return 0 <= self._turn >= self._next - self._most_ahead and self._next * _UNIT < self._source.size

    def _work(self, window: bytearray) -> bool:
        """Work at the next unit. False if there is none now."""
        with self._changed:
            if self._is_closed or not self._has_work():
                return False
            unit = self._next
            self._next += 1
            self._under_way.add(unit)
        pieces = self._pieces_of(unit, window)
        with self._changed:
            self._pieces[unit] = pieces
            self._under_way.discard(unit)
            self._changed.notify_all()
        return True

    def _pieces_of(self, unit: int, window: bytearray) -> dict[int, BatchSummary]:
        """All that seem to start in a unit, by where they start."""
        pieces: dict[int, BatchSummary] = {}
        stop = (unit + 1) * _UNIT
        position = first_batch(self, unit * _UNIT, stop, self.is_legacy)
        while 0 <= position < stop:
            found = summarize_piece(self._source, position, stop, window)
            if found is None:
                break
            pieces[position] = found
            position = found.end
        return pieces

    def read(self, position: int, count: int) -> bytes:
        """What the file has there, nothing where it cannot be read. The source itself is the walk's."""
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
            thread.join()
