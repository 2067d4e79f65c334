"""A log's lines written by several threads, in order: each takes a piece of the log and waits for its turn to write.

Where a piece begins is guessed: at the first batch, from some position on, whose checksum fits. The guess is proved by the walk
through the piece before, which has to end exactly there. If it does not, or anything is irregular, the threads stop, and who
called them goes on from where the walk had come.
"""

from __future__ import annotations

import os
from threading import Condition, Thread

from kdump.binary import kernel
from kdump.formats.record_batch import as_int64
from kdump.output import kernel_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.binary.source import Source
    from kdump.output.kernel_text import Complain, KernelText, Write

OUT_SIZE = 4 << 20
"""A thread holds so much text until it is its turn."""

_PIECE_SIZE = 1 << 20
_LARGEST_PIECE = 2 << 20
_OVERLAP = 128 << 10  # where the begin of the next piece is looked for, at first
_PAUSE = 16 << 20  # after the threads had to stop, so much is read without them
_NOWHERE = -1
_UNKNOWN = -(1 << 63) + 1  # no offset, and in front of none: the first record of a piece is noted as not following it


def jobs_here() -> int:
    """How many threads suit this machine now: its cores, or one where they are busy."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores if os.getloadavg()[0] <= cores else 1


class Buffers:
    """What threads read into and write into, kept from one log to the next: given back to the system, it would not be whole."""

    def __init__(self) -> None:
        self._windows: list[bytearray] = []
        self._outs: list[bytearray] = []

    def window(self) -> bytearray:
        """One to read into, large enough for a piece and its overlap."""
        return self._windows.pop() if self._windows else bytearray(_LARGEST_PIECE + _OVERLAP)

    def out(self) -> bytearray:
        """One to write text into."""
        return self._outs.pop() if self._outs else bytearray(OUT_SIZE)

    def take_back(self, window: bytearray, out: bytearray) -> None:
        """Keep both for the next."""
        if len(window) <= _LARGEST_PIECE + _OVERLAP and len(out) <= OUT_SIZE:
            self._windows.append(window)
            self._outs.append(out)


class ParallelText:
    """Shows a log by `jobs` threads. `text` makes what writes its lines; `write` and `complain` are called in order."""

    def __init__(
        self,
        source: Source,
        text: Callable[[Write, Complain, bytearray], KernelText],
        write: Write,
        complain: Complain,
        *,
        jobs: int,
        checks_first_offset: bool,
        buffers: Buffers,
    ) -> None:
        self._buffers = buffers
        self._source = source
        self._text = text
        self._write = write
        self._complain = complain
        self._jobs = jobs
        self._checks_first_offset = checks_first_offset
        self._next_try = 0

    def render_log(self, text: KernelText, position: int, end: int) -> int:
        """Write the lines of what is regular from `position` on, if that is worth while; `text` shows what lies between.

        The answer is where in the log that ends.
        """
        if position < self._next_try or end - position < kernel_text.WORTH_THREADS:
            return position
        run = _Run(self, position, end, text.previous_offset)
        run.to_end()
        self._next_try = run.position + _PAUSE
        text.previous_offset = run.previous_offset
        return run.position


class _Run:
    """Threads on their way through a log, up to its end or to something irregular. `position` is how far the proof has come."""

    def __init__(self, parent: ParallelText, position: int, end: int, previous_offset: int) -> None:
        assert kernel.native is not None
        self._parent = parent
        self._source = parent._source
        self._find = kernel.native.find
        self.position = position
        self.previous_offset = previous_offset
        self._start = position
        self._end = end
        self._is_legacy = self._source.read(position, 17)[16:] < b"\2"
        self._piece_size = _PIECE_SIZE
        self._next_start = position  # of a piece that nobody has taken yet
        self._next_turn = 0  # and its number
        self._turn = 0  # the number of the piece whose lines are written now
        self._is_over = False
        self._failure: BaseException | None = None
        self._changed = Condition()

    def to_end(self) -> None:
        threads = [Thread(target=self._work, daemon=True) for _ in range(self._parent._jobs)]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except BaseException:
            self._stop()
            raise
        if self._failure is not None:
            raise self._failure

    def _work(self) -> None:
        worker: _Worker | None = None
        try:
            worker = _Worker(self)
            while worker.take_piece():
                pass
        except BaseException as failure:
            with self._changed:
                self._failure = self._failure or failure
            self._stop()
        finally:
            if worker is not None:
                worker.drop()

    def next_piece(self) -> tuple[int, int, int] | None:
        """The number of the next piece, and between which positions it nominally lies; None if there is none."""
        with self._changed:
            if self._is_over or self._next_start >= self._end:
                return None
            turn, start = self._next_turn, self._next_start
            end = min(start + self._piece_size, self._end)
            self._next_turn, self._next_start = turn + 1, end
            return turn, start, end

    def wait_for(self, turn: int, start: int) -> bool:
        """Wait until it is this piece's turn. Returns whether it really begins at `start`."""
        with self._changed:
            while self._turn != turn and not self._is_over:
                self._changed.wait()
            if self._turn != turn or self._is_over:
                return False
            if start != self.position:
                self._is_over = True
                self._changed.notify_all()
                return False
            return True

    def hand_on(self, position: int, previous_offset: int, text_size: int, *, goes_on: bool) -> None:
        """The piece is written, up to `position`; the next is allowed to, if it `goes_on`."""
        with self._changed:
            size = position - self.position
            self.position, self.previous_offset = position, previous_offset
            self._turn += 1
            self._is_over = self._is_over or not goes_on
            if size and text_size * _LARGEST_PIECE < size * OUT_SIZE // 2:  # so large a piece makes half of what can be held
                self._piece_size = _LARGEST_PIECE
            self._changed.notify_all()

    def _stop(self) -> None:
        with self._changed:
            self._is_over = True
            self._changed.notify_all()


class _Worker:
    """What a thread has of its own: its window, its text."""

    def __init__(self, run: _Run) -> None:
        self._run = run
        self._parent = run._parent
        self._source = run._source
        self._text = self._parent._text(self._write, self._complain, self._parent._buffers.out())
        self._window = self._parent._buffers.window()
        self._turn = self._piece_start = self._written = 0
        self._has_turn = False

    def drop(self) -> None:
        """Give back its memory: text and worker know each other, so that it would stay for long."""
        self._parent._buffers.take_back(self._window, self._text.out)
        del self._text, self._window

    def take_piece(self) -> bool:
        """Take the next piece and show it. Returns whether there may be more."""
        run = self._run
        piece = run.next_piece()
        if piece is None:
            return False
        self._turn, nominal_start, nominal_end = piece
        self._has_turn, self._written = False, 0
        bounds = self._read(nominal_start, nominal_end)
        if bounds is None:  # nothing was found to begin here: when the proof has come so far, who called goes on
            run.wait_for(self._turn, _NOWHERE)
            return False
        start, end = bounds
        self._piece_start = nominal_start + start
        self._text.previous_offset = _UNKNOWN
        try:
            with memoryview(self._window) as view:
                reached = self._text.fill(view[start:end], 0, self._piece_start) + start
            self._text.flush()
            self._take_turn()
        except _NotHere:
            return False
        previous = self._text.previous_offset
        if previous == _UNKNOWN:
            previous = run.previous_offset
        run.hand_on(nominal_start + reached, previous, self._written, goes_on=reached == end)
        return reached == end

    def _read(self, start: int, end: int) -> tuple[int, int] | None:
        """Fill the window from `start` on; from where to where in it the batches lie that begin in this piece."""
        run = self._run
        overlap = _OVERLAP
        while True:
            size = min(end + overlap, run._end) - start
            if len(self._window) < size:
                self._window = bytearray(size)
            with memoryview(self._window) as view:
                filled = self._source.read_into(view[:size], start)
                if filled < size:
                    return None
                first = 0 if start == run._start else run._find(view[:filled], 0, run._is_legacy)
                if end == run._end:
                    return (first, filled) if first >= 0 else None
                behind = run._find(view[:filled], end - start, run._is_legacy)
            if 0 <= first < behind:
                return first, behind
            if size == run._end - start or overlap >= _LARGEST_PIECE:
                return None
            overlap *= 8

    def _take_turn(self) -> None:
        if not self._has_turn:
            if not self._run.wait_for(self._turn, self._piece_start):
                self._text.forget()
                raise _NotHere
            self._has_turn = True

    def _write(self, text: memoryview) -> None:
        self._take_turn()
        self._written += len(text)
        self._parent._write(text)

    def _complain(self, previous: int, offset: int) -> None:
        self._take_turn()
        if previous == _UNKNOWN:
            previous = self._run.previous_offset
            if offset == as_int64(previous + 1) or previous == -1 and not self._parent._checks_first_offset:
                return
        self._parent._complain(previous, offset)


class _NotHere(Exception):
    """The walk through the piece before did not end where this one begins, or was stopped."""
