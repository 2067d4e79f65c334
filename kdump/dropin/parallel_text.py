"""A log's lines made by several processes and written by one, in order: each takes a piece of the log at a time.

Where a piece begins is guessed: at the first batch, from some position on, whose checksum fits. The guess is proved by the walk
through the piece before, which has to end exactly there. If it does not, or a piece holds what ends a run, or a process dies, the
others are ended too, and who called goes on from where the proof had come.

The process that writes takes pieces as all others do. Those have memory in common with it, a few slots each: they put text there
and say so through a pipe, and get the slots back through another when it is written. Numbers of pieces come out of a third.
"""

from __future__ import annotations

import mmap
import os
import select
from struct import Struct, pack, unpack

from kdump.binary import kernel
from kdump.binary.batch_header import BATCH_HEADER_SIZE, HEADER_UP_TO_MAGIC, LENGTH_AT, LOG_OVERHEAD, MAGIC_AT, codec_id
from kdump.binary.codecs import GZIP, LZ4, NONE, SNAPPY, ZSTD
from kdump.errors import KdumpError
from kdump.formats.log import Log
from kdump.formats.record_batch import as_int64
from kdump.reading.search import NOWHERE, first_batch
from kdump.workers.process import fork, kill, write_all
from kdump.workers.slots import SharedSlots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn, Protocol

    from kdump.binary.source import Source
    from kdump.formats.log import Chunk, LogRules
    from kdump.output.blocks import Blocks
    from kdump.output.kafka.native_lines import Complain, KernelText

    class LogText(Protocol):
        """Writes the lines of a log, and complains of records whose offsets do not follow one another.

        `previous_offset` is that of the last record.
        """

        kernel: KernelText | None
        previous_offset: int

        def show(self, chunk: Chunk) -> None:
            """Write the lines of batches, those that the kernel in C has left."""


_BATCHES_ONLY = -1
_LEAST = {_BATCHES_ONLY: 64 << 20, NONE: 32 << 20, GZIP: 2 << 20, SNAPPY: 8 << 20, LZ4: 8 << 20, ZSTD: 4 << 20}
"""From which size on a log is worth several processes, by the codec of its records if they are shown.

Below these, what is gained is lost by starting them.
"""

_SLOWER = 8  # the kernel in Python, times: a log may be smaller by as much
_UNIT = 64 << 10  # pieces are so large, or several times as large
_MOST_UNITS = 4096  # of a log; then they are larger
_LEAST_UNITS = 4  # of a piece; the first that a process takes has no more
_LARGEST_PIECE = 64 << 20
_TEXT_SIZE = 4 << 20  # that a piece is to make: one may wait while the next is made
_SMALLER = 4  # times as small are pieces best for the kernel in Python
_SLOTS, _SLOT_SIZE = 8, 1 << 20  # of each process; with half of them, they wait for one another
_SLOTS_SIZE = 10 << 20  # of all others together, at most: the one that writes sees them all
_LEAST_SLOT_SIZE = 64 << 10
_MOST_HELD = 8 << 20  # characters of one chunk
_PAUSE = 16 << 20  # after a run had to stop, bytes that one process reads, or more if it had not come further than that
_READ_SIZE = 1 << 18

_NO_SLOT = -1
_BEFORE_FIRST = -(1 << 63) + 1  # stands for the offset before a piece: not -1, which means that there is none

_TICKET_SIZE = 4
_HEAD = Struct("=qqqqBqqII")
"""Of what is said of a piece: its first unit and how many it has, where it starts and how far the walk has come, what follows,
the first and the last offset of its records, and how many numbers about parts and about gaps stand after all this."""

_MORE, _END, _END_WITH_RECORDS, _BYE = range(4)


class ParallelText:
    """Shows a log by `jobs` processes. `text` makes what writes its lines, given where they go."""

    def __init__(
        self,
        source: Source,
        text: Callable[[Outlet], LogText],
        out: Blocks,
        complain: Complain,
        *,
        jobs: int,
        rules: LogRules,
        is_deep: bool,
        checks_first_offset: bool,
    ) -> None:
        self.source = source
        self.text = text
        self.out = out
        self.rules = rules
        self.jobs = jobs
        self._complain = complain
        self._is_deep = is_deep
        self._checks_first_offset = checks_first_offset
        self._next_try = 0
        self._pause = _PAUSE

    def is_worth_while(self, position: int, end: int) -> bool:
        """Whether there is enough to do from `position` on."""
        least = _LEAST[self._work_at(position)]
        return end - position >= (least if kernel.native is not None else least // _SLOWER)

    def show_log(self, text: LogText, position: int, end: int) -> int:
        """Write the lines from `position` on, but for a while after what was irregular; `text` shows what lies between.

        The answer is where in the log that ends.
        """
        if position < self._next_try:
            return position
        run = _Run(self, position, end, text.previous_offset)
        run.to_end()
        self._pause = 2 * self._pause if run.position - position < self._pause else _PAUSE
        self._next_try = end if run.is_lost else run.position + self._pause
        text.previous_offset = run.previous_offset
        return run.position

    def _work_at(self, position: int) -> int:
        header_bytes = self.source.read(position, BATCH_HEADER_SIZE)
        if not self._is_deep or len(header_bytes) < BATCH_HEADER_SIZE:
            return _BATCHES_ONLY
        codec = codec_id(header_bytes)
        return codec if codec in _LEAST else NONE

    def complain(self, previous: int, offset: int) -> None:
        """Complain of the first record of a piece, if it does not follow the last of those before."""
        if offset != as_int64(previous + 1) and (previous != -1 or self._checks_first_offset):
            self._complain(previous, offset)

    def complain_of(self, gaps: Sequence[int]) -> None:
        """Complain of pairs of offsets inside of a piece."""
        for previous, offset in zip(gaps[::2], gaps[1::2], strict=True):
            self._complain(previous, offset)


class _Piece:
    """What is known of a piece: its units, where it begins, text that waits for its turn, and, at its end, what goes with that.

    `parts` are text, and what is to be told of which slot when that is written, if anything. `reached` is where the walk through
    the piece ended, and `gaps` are pairs of offsets in it that do not follow one another.
    """

    __slots__ = ("first_offset", "gaps", "is_over", "last_offset", "parts", "reached", "start", "units")

    def __init__(self, units: int, start: int) -> None:
        self.units = units
        self.start = self.reached = start
        self.parts: list[tuple[memoryview, Callable[[int], None] | None, int]] = []
        self.is_over = False
        self.first_offset: int | None = None
        self.last_offset = 0
        self.gaps: Sequence[int] = ()


class _Run:
    """Processes on their way through a log, up to its end or to where they stop; `position` is how far the proof has come.

    `is_lost` if one of them died.
    """

    def __init__(self, parent: ParallelText, position: int, end: int, previous_offset: int) -> None:
        self.parent = parent
        self.source = parent.source
        self.position = position
        self.previous_offset = previous_offset
        self.end = end
        self._is_legacy = self.source.read(position, HEADER_UP_TO_MAGIC)[MAGIC_AT:] < b"\2"
        self.is_lost = False
        self._start = position
        self._unit = max(_UNIT, (end - position) // _MOST_UNITS + 1)
        self._unit_count = -(-(end - position) // self._unit)
        self._jobs = min(parent.jobs, self._unit_count)
        self._slot_size = min(_SLOT_SIZE, max(_SLOTS_SIZE // _SLOTS // max(self._jobs - 1, 1), _LEAST_SLOT_SIZE))
        self._text_size = min(_TEXT_SIZE if kernel.native is not None else _TEXT_SIZE // _SMALLER, _SLOTS * self._slot_size // 2)
        self._pieces: dict[int, _Piece] = {}  # by their first unit
        self._turn = 0  # the first unit of the piece whose lines are written now
        self._written = 0  # bytes of its text
        self._is_over = False
        self._children: list[_Child] = []
        self._tickets = -1
        self._taken = 0  # about so many units, the others' included

    def to_end(self) -> None:
        """Go on as far as can be."""
        try:
            if self._fork():
                self._work()
        finally:
            for child in self._children:
                child.end()
            if self._tickets >= 0:
                os.close(self._tickets)
        if self._written:  # by a process that did not live to the end of its piece: it comes once more
            self.parent.out.leave_out(self._written)

    def _fork(self) -> bool:
        """Whether there are others to share the work with."""
        try:
            self._tickets, writing = os.pipe()
            os.set_blocking(writing, False)
            tickets = pack(f">{self._unit_count}i", *range(self._unit_count))
            written = os.write(writing, tickets)
            os.close(writing)
            if written < len(tickets):
                raise OSError("a pipe holds less than usual")
            while len(self._children) < self._jobs - 1:
                self._children.append(_Child(self, self._slot_size))
        except OSError:  # no process, no memory or no descriptor is left
            self.is_lost = not self._children
        return bool(self._children)

    def _work(self) -> None:
        outlet = _OwnOutlet(self)
        worker = Worker(self, outlet)
        try:
            while not self._is_over and worker.take_piece():
                self.collect(waits=False)
            while not self._is_over:
                self.collect(waits=True)
        except _Over:
            pass
        finally:
            outlet.kernel = None  # text and outlet know each other, so that their memory would stay for long

    def next_units(self, text_ratio: float) -> tuple[int, int]:
        """The first unit of the next piece, and how many it has: none where there is none.

        There are so many as make enough text, if each byte makes so much; less towards the end, so that all are through then.
        """
        units = _LEAST_UNITS
        if text_ratio:
            units = int(min(self._text_size / text_ratio, _LARGEST_PIECE) / self._unit)
        units = max(min(units, (self._unit_count - self._taken) * 2 // (3 * self._jobs)), _LEAST_UNITS)
        tickets = os.read(self._tickets, units * _TICKET_SIZE)
        first, units = int.from_bytes(tickets[:_TICKET_SIZE], "big"), len(tickets) // _TICKET_SIZE
        self._taken = first + self._jobs * units  # until this process comes again, each of the others takes as much
        return first, units

    def start_of(self, unit: int) -> int:
        """Where a unit nominally begins."""
        return min(self._start + unit * self._unit, self.end)

    def find(self, start: int, end: int) -> int:
        """Where the first batch of a piece begins, or seems to."""
        if start == self._start:
            return start
        try:
            return first_batch(self.source, start, end, self._is_legacy)
        except KdumpError:  # who goes on before it meets it again, in good order
            return NOWHERE

    # What comes of the pieces

    def piece(self, first_unit: int, units: int, start: int) -> _Piece:
        """What is known of a piece."""
        if first_unit not in self._pieces:
            self._pieces[first_unit] = _Piece(units, start)
        return self._pieces[first_unit]

    def collect(self, *, waits: bool) -> None:
        """Take what the others have to say, and write what is due. Waits for the first word if nothing is there."""
        children = {child.descriptor: child for child in self._children if not child.is_over}
        if not children:
            self._is_over = self._is_over or waits  # nobody is left who could go on
            return
        words = select.poll()
        for descriptor in children:
            words.register(descriptor, select.POLLIN)
        for descriptor, _ in words.poll(None if waits else 0):
            self.is_lost = not children[descriptor].listen() or self.is_lost
        self.settle()
        self._is_over = self._is_over or self.is_lost

    def settle(self) -> None:
        """Write what is due."""
        while not self._is_over:
            piece = self._pieces.get(self._turn)
            if piece is None:
                return
            nominal_end = self.start_of(self._turn + piece.units)
            is_shown = self.position < nominal_end  # or else a batch of the piece before covers all of this one
            if is_shown and piece.start != self.position:
                self._is_over = True
                return
            parts, piece.parts = piece.parts, []
            for text, free, slot in parts:
                if is_shown:
                    self.parent.out.write_bytes(text)
                    self._written += len(text)
                if free is not None:
                    free(slot)
            if not piece.is_over:
                return
            if is_shown:
                self._take_over(piece)
            del self._pieces[self._turn]
            self._turn += piece.units
            self._is_over = self.position < nominal_end or self._turn == self._unit_count

    def _take_over(self, piece: _Piece) -> None:
        """What is proved lies after the piece now."""
        if piece.first_offset is not None:
            self.parent.complain(self.previous_offset, piece.first_offset)
            self.parent.complain_of(piece.gaps)
            self.previous_offset = piece.last_offset
        self.position, self._written = piece.reached, 0

    def check(self) -> None:
        """Raises _Over if there is no use in going on."""
        if self._is_over:
            raise _Over

    # In another process

    def become(self, outlet: _SharedOutlet) -> NoReturn:
        """Take pieces, tell what comes of them, and end this process, which is a copy of another one."""
        for child in self._children:
            child.close()
        worker = Worker(self, outlet)
        while worker.take_piece():
            pass
        outlet.say_goodbye()
        os._exit(0)


class _Over(Exception):
    """The walk through the piece before did not end where the next one begins, or there is nobody left to go on."""


class _TooMuch(KdumpError):
    """The text of a chunk is more than is held until the chunk is through."""


class Worker:
    """What takes one piece after the other, in whatever process."""

    def __init__(self, run: _Run, outlet: Outlet) -> None:
        self._run = run
        self._outlet = outlet
        self._gaps: list[int] = []
        self._text = run.parent.text(outlet)
        self._text_ratio = 0.0  # bytes of text that a byte makes, 0 if that is not known
        self._log = Log(run.source, rules=run.parent.rules)
        self._render_bulk = self._text.kernel.bulk_renderer(run.source) if self._text.kernel is not None else None
        outlet.kernel = self._text.kernel

    def take_piece(self) -> bool:
        """Take the next piece and show it. Returns whether there may be more."""
        first_unit, units = self._run.next_units(self._text_ratio)
        if not units:
            return False
        nominal_start, nominal_end = self._run.start_of(first_unit), self._run.start_of(first_unit + units)
        self._outlet.gaps = self._gaps = []
        self._text.previous_offset = _BEFORE_FIRST
        start = reached = self._run.find(nominal_start, nominal_end)
        self._outlet.begin(first_unit, units, start)
        if start != NOWHERE:
            reached = self._show(start, nominal_end)
            self._text_ratio = self._outlet.size / max(reached - start, 1)
        first_offset = self._first_offset()
        self._outlet.end(reached, first_offset, self._text.previous_offset)
        return reached >= nominal_end or start == NOWHERE  # as inside of a batch that is larger than a piece

    def _show(self, start: int, end: int) -> int:
        """Show the batches that begin in this range, up to what ends a run. The answer is where they end."""
        if self._render_bulk is not None:
            start = self._render_bulk(start, end, self._run.end)
            if start >= end:
                return start
        log = self._log
        log.go_to(start, end)
        try:
            self._go_through()
            if log.position < end:  # by then, but for damage, it is the last batch, which crosses the end
                header_bytes = self._run.source.read(log.position, LOG_OVERHEAD)
                size = LOG_OVERHEAD + int.from_bytes(header_bytes[LENGTH_AT:], "big")
                log.go_to(log.position, min(log.position + size, self._run.end))
                self._go_through()
        except KdumpError:  # who goes on from here meets it again
            self._outlet.drop()
        return log.position

    def _go_through(self) -> None:
        for chunk in self._log.chunks(self._text.kernel, self._render_bulk):
            gap_count = len(self._gaps)
            try:
                self._text.show(chunk)
            except KdumpError:
                del self._gaps[gap_count:]
                raise
            self._outlet.keep()

    def _first_offset(self) -> int | None:
        """The offset of the first record, None if there was none; the gap before it is taken out of the others.

        It is recognised by the place of a gap, not by numbers alone: any offset may occur.
        """
        if self._gaps and self._gaps[0] == _BEFORE_FIRST:
            first_offset = self._gaps[1]
            del self._gaps[:2]
            return first_offset
        has_records = self._gaps or self._text.previous_offset != _BEFORE_FIRST
        return _BEFORE_FIRST + 1 if has_records else None


class Outlet:
    """Where the text of a piece goes: into slots of memory, until it is written."""

    def __init__(self, memory: mmap.mmap, slot_size: int) -> None:
        self.gaps: list[int] = []
        self.kernel: KernelText | None = None
        self.size = 0  # of the text of the piece
        self._memory = memory
        view = memoryview(memory)
        self._slots = [view[start : start + slot_size] for start in range(0, len(view), slot_size)]
        self._slot_size = slot_size
        self._free = list(range(len(self._slots)))
        self._slot = _NO_SLOT  # the one that is filled now
        self._passed_on = self._used = 0  # bytes of it
        self._held: list[str] = []
        self._held_size = 0

    # As output

    def write(self, text: str) -> None:
        """Take the text of a chunk, to `keep` or to `drop` it when the chunk is through."""
        self._held.append(text)
        self._held_size += len(text)
        if self._held_size > _MOST_HELD:
            raise _TooMuch("the text of a chunk is too long")

    def write_bytes(self, text: memoryview) -> None:
        """Take text of the kernel in C, which may have written it where it stays."""
        if text.obj is self._memory:
            self._used += len(text)
            self.size += len(text)
        else:
            self._copy(text)
        self._make_room()

    def complain(self, previous: int, offset: int) -> None:
        """Take a pair of neighbouring offsets that do not follow one another."""
        self.gaps.append(previous)
        self.gaps.append(offset)

    def keep(self) -> None:
        """What was held is text of the piece."""
        if self._held:
            self._copy(memoryview("".join(self._held).encode("utf-8", "surrogateescape")))
            self.drop()
            self._make_room()

    def drop(self) -> None:
        """What was held is not."""
        self._held.clear()
        self._held_size = 0

    # Pieces

    def begin(self, first_unit: int, units: int, start: int) -> None:
        """What comes now is text of this piece."""
        self.size = 0
        if self._slot == _NO_SLOT:
            self._take_slot()
        self._make_room()

    def end(self, reached: int, first_offset: int | None, last_offset: int) -> None:
        """That was all of it, up to this position."""
        if self._used > self._passed_on:
            self._pass_on(is_last=False)

    def _copy(self, text: memoryview) -> None:
        self.size += len(text)
        while text:
            room = self._slots[self._slot][self._used :]
            size = min(len(room), len(text))
            room[:size] = text[:size]
            self._used += size
            text = text[size:]
            if self._used == self._slot_size:
                self._next_slot()

    def _make_room(self) -> None:
        """Give the kernel room to write in: half a slot or more."""
        if self._used > self._slot_size // 2:
            self._next_slot()
        if self.kernel is not None:
            self.kernel.out = self._slots[self._slot][self._used :]

    def _next_slot(self) -> None:
        self._pass_on(is_last=True)
        self._slot, self._passed_on, self._used = _NO_SLOT, 0, 0
        self._take_slot()

    def _take_slot(self) -> None:
        self._look_for_slots()
        while not self._free:
            self._wait_for_slot()
        self._slot = self._free.pop()  # the latest: it may be in the cache still

    def _pass_on(self, *, is_last: bool) -> None:
        """Pass on what is in the slot and was not passed on before; `is_last` if nothing else will be put into it."""
        raise NotImplementedError

    def _look_for_slots(self) -> None:
        """Take back those that are free again."""

    def _wait_for_slot(self) -> None:
        raise NotImplementedError


class _OwnOutlet(Outlet):
    """That of the process which writes."""

    def __init__(self, run: _Run) -> None:
        super().__init__(_private_memory(_SLOTS * _SLOT_SIZE), _SLOT_SIZE)
        self._run = run
        self._piece = _Piece(0, NOWHERE)

    def begin(self, first_unit: int, units: int, start: int) -> None:
        self._piece = self._run.piece(first_unit, units, start)
        super().begin(first_unit, units, start)

    def end(self, reached: int, first_offset: int | None, last_offset: int) -> None:
        super().end(reached, first_offset, last_offset)
        piece = self._piece
        piece.reached, piece.gaps, piece.is_over = reached, self.gaps, True
        piece.first_offset, piece.last_offset = first_offset, last_offset
        self._run.settle()

    def _pass_on(self, *, is_last: bool) -> None:
        text = self._slots[self._slot][self._passed_on : self._used]
        self._passed_on = self._used
        self._piece.parts.append((text, self._free.append if is_last else None, self._slot))
        self._run.settle()
        self._run.check()

    def _wait_for_slot(self) -> None:
        self._run.collect(waits=True)
        self._run.check()


def _private_memory(size: int) -> mmap.mmap:
    """Memory that costs little to get: what is not used is not touched, the rest comes by large pages where there are such."""
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    try:
        memory.madvise(mmap.MADV_HUGEPAGE)
    except (AttributeError, OSError):  # this system, or this machine, does not have them
        pass
    return memory


class _SharedOutlet(Outlet):
    """That of a process which has others write its text: what it says goes into one pipe, free slots come out of another."""

    def __init__(self, slots: SharedSlots, talking: int) -> None:
        super().__init__(slots.memory, slots.size)
        self._shared = slots
        self._talking = talking
        self._piece = 0, 0, NOWHERE
        self._parts: list[int] = []

    def begin(self, first_unit: int, units: int, start: int) -> None:
        self._piece = first_unit, units, start
        super().begin(first_unit, units, start)

    def end(self, reached: int, first_offset: int | None, last_offset: int) -> None:
        super().end(reached, first_offset, last_offset)
        self._say(_END if first_offset is None else _END_WITH_RECORDS, reached, first_offset or 0, last_offset)

    def say_goodbye(self) -> None:
        """This process takes no further piece."""
        self._say(_BYE)

    def _pass_on(self, *, is_last: bool) -> None:
        self._parts.extend((self._slot, self._passed_on, self._used, is_last))
        self._passed_on = self._used

    def _wait_for_slot(self) -> None:
        if self._parts:
            self._say(_MORE)
        self._shared.wait()
        self._look_for_slots()

    def _look_for_slots(self) -> None:
        try:
            self._free += self._shared.freed()
        except BrokenPipeError:
            os._exit(1)  # nobody is interested any more

    def _say(self, what: int, reached: int = NOWHERE, first_offset: int = 0, last_offset: int = 0) -> None:
        gaps = self.gaps if what in (_END, _END_WITH_RECORDS) else []
        counts = len(self._parts), len(gaps)
        head = _HEAD.pack(*self._piece, reached, what, first_offset, last_offset, *counts)
        write_all(self._talking, head + pack(f"={counts[0]}I{counts[1]}q", *self._parts, *gaps))
        self._parts = []


class _Child:
    """Another process, as the one that writes sees it. `descriptor` is where it is listened to."""

    def __init__(self, run: _Run, slot_size: int) -> None:
        self._run = run
        self.is_over = False
        self._said = bytearray()
        self._slots = SharedSlots(_SLOTS, slot_size)
        self._view = memoryview(self._slots.memory)
        descriptors: list[int] = []
        writer = os.getpid()
        try:
            descriptors += os.pipe()
            self.descriptor, talking = descriptors
            self._process = fork()
            if not self._process:
                os.close(self.descriptor)
                self._slots.take_end_of_worker()
                run.become(_SharedOutlet(self._slots, talking))
        except OSError:
            for descriptor in descriptors:
                os.close(descriptor)
            self._slots.close()
            raise
        finally:
            if os.getpid() != writer:
                os._exit(1)  # whatever happened: the copy must not go on as if it were the process that writes
        os.close(talking)
        self._slots.take_end_of_reader()

    def listen(self) -> bool:
        """Take what it has said since the last time. Returns whether it lives, or has ended in good order."""
        data = os.read(self.descriptor, _READ_SIZE)
        if not data:
            self.is_over = True
            return False
        said = self._said
        said += data
        start = 0
        while len(said) - start >= _HEAD.size:
            first_unit, units, piece_start, reached, what, first_offset, last_offset, *counts = _HEAD.unpack_from(said, start)
            numbers_at = start + _HEAD.size
            end = numbers_at + 4 * counts[0] + 8 * counts[1]
            if len(said) < end:
                break
            numbers = unpack(f"={counts[0]}I{counts[1]}q", said[numbers_at:end])
            parts, gaps = numbers[: counts[0]], numbers[counts[0] :]
            start = end
            if what == _BYE:
                self.is_over = True
                break
            piece = self._run.piece(first_unit, units, piece_start)
            for slot, text_start, text_end, is_last in zip(*(parts[field::4] for field in range(4)), strict=True):
                at = slot * self._slots.size
                piece.parts.append((self._view[at + text_start : at + text_end], self._slots.free if is_last else None, slot))
            if what != _MORE:
                piece.reached, piece.gaps, piece.is_over = reached, gaps, True
                piece.first_offset = first_offset if what == _END_WITH_RECORDS else None
                piece.last_offset = last_offset
        del said[:start]
        return True

    def end(self) -> None:
        """End it if it has not ended."""
        self.close()
        kill(self._process)
        os.waitpid(self._process, 0)

    def close(self) -> None:
        """Close what the writing process has of it."""
        os.close(self.descriptor)
        self._slots.close()
