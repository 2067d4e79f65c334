"""Shows one log with several processes: each takes a stretch of it at a time, and one of them writes all lines in order.

Where a stretch starts is a guess: at the first batch after some position whose checksum fits. The guess is proved when the walk
through the stretch before ends exactly there. If it does not, or a stretch contains something to report, or a process
dies, all workers are ended, and the caller continues from the last proved position.

The writing process takes stretches as the workers do. Each worker shares a few slots of memory with it: it puts text there, says
so through a pipe, and gets the slots back through another pipe once they are written. Numbers of units come from a third pipe.
"""

from __future__ import annotations

import mmap
import os
from struct import Struct, pack, unpack

from kdump.binary import kernel
from kdump.binary.arithmetic import as_int64
from kdump.binary.batch_header import BATCH_HEADER_SIZE, HEADER_UP_TO_MAGIC, LENGTH_AT, LOG_OVERHEAD, MAGIC_AT, codec_id
from kdump.binary.codecs import GZIP, LZ4, NONE, SNAPPY, ZSTD
from kdump.errors import KdumpError
from kdump.formats.log import Log
from kdump.reading.search import FIRST_WINDOW, NOWHERE, first_batch
from kdump.tables import Declared
from kdump.workers.process import kill, readable, start, write_all
from kdump.workers.slots import SharedSlots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Protocol

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
_MIN_PARALLEL_BYTES = {_BATCHES_ONLY: 64 << 20, NONE: 32 << 20, GZIP: 2 << 20, SNAPPY: 8 << 20, LZ4: 8 << 20, ZSTD: 4 << 20}
"""The size from which a log is worth several processes, by the codec of its records if they are shown.

Smaller logs lose more by starting the processes than they gain.
"""

_PYTHON_SLOWDOWN = 8  # the kernel in Python is this much slower, so logs this much smaller are worth several processes
_PYTHON_TEXT_DIVISOR = 4  # its best stretches are this much smaller
_MAX_UNITS = 4096  # in a log; a larger log has larger units
_MAX_STRETCH_BYTES = 64 << 20
_SLOT_COUNT = 8  # of each worker; with half of them, processes wait for one another
_MAX_SHARED_BYTES = 10 << 20  # slots of all workers together: the writing process maps them all
_MIN_SLOT_BYTES = 64 << 10
_MAX_HELD_CHARACTERS = 8 << 20  # of one chunk
_READ_BYTES = 1 << 18


class ParallelTuning(Declared):
    """Sizes at which a log is divided between processes.

    A log of `min_bytes` or more (by codec) is worth several. Stretches are multiples of `unit_bytes`: `min_units` at first, then
    as many as make `text_bytes` of text, so that one text can wait while the next is made. A worker's slot has `slot_bytes`.
    After a stop, one process reads `pause_bytes`, twice as much each time. `search_bytes` are searched first for a start.
    """

    min_bytes: Mapping[int, int] = _MIN_PARALLEL_BYTES
    unit_bytes: int = 64 << 10
    min_units: int = 4
    text_bytes: int = 4 << 20
    slot_bytes: int = 1 << 20
    pause_bytes: int = 16 << 20
    search_bytes: int = FIRST_WINDOW


_NO_SLOT = -1
_BEFORE_FIRST = -(1 << 63) + 1  # stands for the offset before a stretch: not -1, which means that there is none

_TICKET_SIZE = 4
_HEAD = Struct("=qqqqBqqII")
"""The head of a message about a stretch: its first unit, the number of its units, where it starts, how far the walk has come, the
kind of message, the first and last offset of its records, and the counts of the numbers about parts and gaps that follow."""

_MORE, _END, _END_WITH_RECORDS, _BYE = range(4)


class ParallelLog:
    """Dumps a log as Kafka's tool does, with `jobs` processes. `text` makes the writer of its lines, given an outlet."""

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
        max_window_size: int,
        tuning: ParallelTuning | None,
    ) -> None:
        self.source = source
        self.tuning = tuning or ParallelTuning()
        self.out = out
        self.jobs = jobs
        self.max_window_size = max_window_size
        self.text = text
        self.rules = rules
        self._is_deep = is_deep
        self._next_try = 0
        self._pause = self.tuning.pause_bytes
        self._complain = complain
        self._checks_first_offset = checks_first_offset
        self._previous_offset = -1

    def is_worth_while(self, position: int, end: int) -> bool:
        """Whether the rest of the log from `position` on is large enough for several processes."""
        least = self.tuning.min_bytes[self._work_at(position)]
        return end - position >= (least if kernel.native is not None else least // _PYTHON_SLOWDOWN)

    def show_log(self, text: LogText, position: int, end: int) -> int:
        """Write the text from `position` on, except just after an irregularity, which the caller shows.

        Returns where in the log it ends. `text` shows what comes before and after.
        """
        if position < self._next_try:
            return position
        self._previous_offset = text.previous_offset
        dump = SharedDump(self, position, end)
        dump.to_end()
        text.previous_offset = self._previous_offset
        is_soon = dump.position - position < self._pause
        self._pause = 2 * self._pause if is_soon else self.tuning.pause_bytes
        self._next_try = end if dump.is_lost else dump.position + self._pause
        return dump.position

    def take_over(self, stretch: Stretch) -> None:
        """Report records of a stretch whose offsets do not follow one another: its text was written, and its place is proved."""
        if stretch.first_offset is None:
            return
        previous, offset = self._previous_offset, stretch.first_offset
        if offset != as_int64(previous + 1) and (previous != -1 or self._checks_first_offset):
            self._complain(previous, offset)
        for previous, offset in zip(stretch.gaps[::2], stretch.gaps[1::2], strict=True):
            self._complain(previous, offset)
        self._previous_offset = stretch.last_offset

    def _work_at(self, position: int) -> int:
        header_bytes = self.source.read(position, BATCH_HEADER_SIZE)
        if not self._is_deep or len(header_bytes) < BATCH_HEADER_SIZE:
            return _BATCHES_ONLY
        codec = codec_id(header_bytes)
        return codec if codec in self.tuning.min_bytes else NONE


class Stretch:
    """The state of a stretch: its units, where it starts, text that waits for its turn, and where it ended.

    Each of `parts` is a text, a function to call once it is written (if any), and the slot to pass to it. `reached` is where the
    walk through the stretch ended, and `gaps` are pairs of offsets in it that do not follow one another.
    """

    def __init__(self, units: int, start: int) -> None:
        self.units = units
        self.start = self.reached = start
        self.parts: list[tuple[memoryview, Callable[[int], None] | None, int]] = []
        self.is_over = False
        self.first_offset: int | None = None
        self.last_offset = 0
        self.gaps: Sequence[int] = ()


class SharedDump:
    """A log that several processes show together, to its end or to where they stop.

    `position` is the end of what is proved. `is_lost` says that one of the processes died.
    """

    def __init__(self, parent: ParallelLog, position: int, end: int) -> None:
        self.parent = parent
        self.source = parent.source
        self.position = position
        self.end = end
        self._is_legacy = self.source.read(position, HEADER_UP_TO_MAGIC)[MAGIC_AT:] < b"\2"
        self.is_lost = False
        self._start = position
        self._tuning = tuning = parent.tuning
        self._unit = max(tuning.unit_bytes, (end - position) // _MAX_UNITS + 1)
        self._unit_count = -(-(end - position) // self._unit)
        self._jobs = min(parent.jobs, self._unit_count)
        most_shared = _MAX_SHARED_BYTES // _SLOT_COUNT // max(self._jobs - 1, 1)
        self._slot_size = min(tuning.slot_bytes, max(most_shared, _MIN_SLOT_BYTES))
        text_bytes = tuning.text_bytes if kernel.native is not None else tuning.text_bytes // _PYTHON_TEXT_DIVISOR
        self._text_size = min(text_bytes, _SLOT_COUNT * self._slot_size // 2)
        self._stretches: dict[int, Stretch] = {}  # by their first unit
        self._turn = 0  # the first unit of the stretch whose lines are written now
        self._written = 0  # bytes of its text
        self._is_over = False
        self._children: list[_Child] = []
        self._tickets = -1
        self._taken = 0  # an estimate of the units taken by all processes

    def to_end(self) -> None:
        """Dump the log until it ends or the processes must stop."""
        try:
            if self._fork():
                self._work()
        finally:
            for child in self._children:
                child.end()
            if self._tickets >= 0:
                os.close(self._tickets)
        if self._written:  # by a process that died before the end of its stretch, which will be dumped again
            self.parent.out.leave_out(self._written)

    def _fork(self) -> bool:
        """Start the workers. Returns whether there are any."""
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
        worker = Worker(self, outlet, self.parent)
        try:
            while not self._is_over and worker.take_stretch():
                self.collect(waits=False)
            while not self._is_over:
                self.collect(waits=True)
        except Over:
            pass
        finally:
            outlet.kernel = None  # text and outlet know each other, so that their memory would stay for long

    def next_units(self, text_ratio: float) -> tuple[int, int]:
        """The first unit of the next stretch and the number of its units, which is 0 at the end of the log.

        A stretch is large enough for `text_bytes` if each byte makes `text_ratio` bytes of text. Stretches get smaller towards
        the end, so that all processes finish at about the same time.
        """
        units = self._tuning.min_units
        if text_ratio:
            units = int(min(self._text_size / text_ratio, _MAX_STRETCH_BYTES) / self._unit)
        units = max(min(units, (self._unit_count - self._taken) * 2 // (3 * self._jobs)), self._tuning.min_units)
        tickets = os.read(self._tickets, units * _TICKET_SIZE)
        first, units = int.from_bytes(tickets[:_TICKET_SIZE], "big"), len(tickets) // _TICKET_SIZE
        self._taken = first + self._jobs * units  # until it is this process's turn again, each of the others takes as much
        return first, units

    def start_of(self, unit: int) -> int:
        """Where a unit starts, wherever its first batch does."""
        return min(self._start + unit * self._unit, self.end)

    def find(self, start: int, end: int) -> int:
        """Where the first batch of a stretch starts, by a guess."""
        if start == self._start:
            return start
        try:
            return first_batch(self.source, start, end, self._is_legacy, self._tuning.search_bytes)
        except KdumpError:  # the process before will find it again, in order
            return NOWHERE

    # Results

    def stretch(self, first_unit: int, units: int, start: int) -> Stretch:
        """The state of a stretch."""
        if first_unit not in self._stretches:
            self._stretches[first_unit] = Stretch(units, start)
        return self._stretches[first_unit]

    def collect(self, *, waits: bool) -> None:
        """Receive messages from the workers, and write what is due. With `waits`, blocks until there is a message."""
        children = {child.descriptor: child for child in self._children if not child.is_over}
        if not children:
            self._is_over = self._is_over or waits  # no worker is left
            return
        for descriptor in readable(children, None if waits else 0):
            self.is_lost = not children[descriptor].listen() or self.is_lost
        self.settle()
        self._is_over = self._is_over or self.is_lost

    def settle(self) -> None:
        """Write what is due."""
        while not self._is_over:
            stretch = self._stretches.get(self._turn)
            if stretch is None:
                return
            nominal_end = self.start_of(self._turn + stretch.units)
            is_shown = self.position < nominal_end  # or else a batch of the stretch before covers all of this one
            if is_shown and stretch.start != self.position:
                self._is_over = True
                return
            parts, stretch.parts = stretch.parts, []
            for text, free, slot in parts:
                if is_shown:
                    self.parent.out.write_bytes(text)
                    self._written += len(text)
                if free is not None:
                    free(slot)
            if not stretch.is_over:
                return
            if is_shown:
                self.parent.take_over(stretch)
                self.position, self._written = stretch.reached, 0
            del self._stretches[self._turn]
            self._turn += stretch.units
            self._is_over = self.position < nominal_end or self._turn == self._unit_count

    def check(self) -> None:
        """Raises Over if the dump must stop."""
        if self._is_over:
            raise Over

    # In another process

    def serve(self, outlet: _SharedOutlet) -> None:
        """Be a worker: take stretches, and send their text."""
        for child in self._children:
            child.close()
        worker = Worker(self, outlet, self.parent)
        while worker.take_stretch():
            pass
        outlet.say_goodbye()


class Over(Exception):
    """A stretch did not end where the next one starts, no process is left, or one cannot say how far its text goes."""


class _TooMuch(KdumpError):
    """The text of a chunk is longer than may be held until the chunk ends."""


class Worker:
    """Takes one stretch after another, in the writing process or another one."""

    def __init__(self, dump: SharedDump, outlet: Outlet, parent: ParallelLog) -> None:
        self._text = parent.text(outlet)
        self._log = Log(dump.source, rules=parent.rules, max_window_size=parent.max_window_size)
        self._render_bulk = self._text.kernel.bulk_renderer(dump.source) if self._text.kernel is not None else None
        self._dump = dump
        self._outlet = outlet
        self._gaps: list[int] = []
        self._text_ratio = 0.0  # bytes of text per byte of the log, 0 if not known yet
        outlet.kernel = self._text.kernel

    def take_stretch(self) -> bool:
        """Take the next stretch and show it. Returns whether there may be more."""
        first_unit, units = self._dump.next_units(self._text_ratio)
        if not units:
            return False
        nominal_start, nominal_end = self._dump.start_of(first_unit), self._dump.start_of(first_unit + units)
        self._outlet.gaps = self._gaps = []
        self._text.previous_offset = _BEFORE_FIRST
        start = reached = self._dump.find(nominal_start, nominal_end)
        self._outlet.begin(first_unit, units, start)
        if start != NOWHERE:
            reached = self._show(start, nominal_end)
            self._text_ratio = self._outlet.size / max(reached - start, 1)
        first_offset = self._first_offset()
        self._outlet.end(reached, first_offset, self._text.previous_offset)
        return reached >= nominal_end or start == NOWHERE  # no start: inside a batch that is larger than the stretch

    def _show(self, start: int, end: int) -> int:
        """Write the batches that start in this range, up to what stops the dump. Returns where they end."""
        if self._render_bulk is not None:
            start = self._render_bulk(start, end, self._dump.end)
            if start >= end:
                return start
        log = self._log
        log.go_to(start, end)
        try:
            self._go_through()
            if log.position < end:  # without damage, this is the last batch, which crosses the end
                header_bytes = self._dump.source.read(log.position, LOG_OVERHEAD)
                size = LOG_OVERHEAD + int.from_bytes(header_bytes[LENGTH_AT:], "big")
                log.go_to(log.position, min(log.position + size, self._dump.end))
                self._go_through()
        except KdumpError:  # the process that continues from here will find it again
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
    """Collects the text of a stretch in slots of memory until it is written."""

    def __init__(self, memory: mmap.mmap, slot_size: int) -> None:
        self.gaps: list[int] = []
        self.kernel: KernelText | None = None
        self.size = 0  # of the text of the stretch
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
        """Hold the text of a chunk until `keep` or `drop` is called."""
        self._held.append(text)
        self._held_size += len(text)
        if self._held_size > _MAX_HELD_CHARACTERS:
            raise _TooMuch("the text of a chunk is too long")

    def write_bytes(self, text: memoryview) -> None:
        """Take text of the kernel in C, which may have written it into the slot already."""
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
        """Add the held text to the stretch."""
        if self._held:
            self._copy(memoryview("".join(self._held).encode("utf-8", "surrogateescape")))
            self.drop()
            self._make_room()

    def drop(self) -> None:
        """Discard the held text."""
        self._held.clear()
        self._held_size = 0

    # Stretches

    def begin(self, first_unit: int, units: int, start: int) -> None:
        """Start a stretch: the next text belongs to it."""
        self.size = 0
        if self._slot == _NO_SLOT:
            self._take_slot()
        self._make_room()

    def end(self, reached: int, first_offset: int | None, last_offset: int) -> None:
        """End the stretch, which was dumped up to `reached`."""
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
        """Give the kernel at least half a slot to write into."""
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
        """Pass on the new text in the slot; `is_last` if the slot gets no more."""
        raise NotImplementedError

    def _look_for_slots(self) -> None:
        """Take back the slots that were freed."""

    def _wait_for_slot(self) -> None:
        raise NotImplementedError


class _OwnOutlet(Outlet):
    """The outlet of the writing process."""

    def __init__(self, dump: SharedDump) -> None:
        slot_bytes = dump.parent.tuning.slot_bytes
        super().__init__(_private_memory(_SLOT_COUNT * slot_bytes), slot_bytes)
        self._dump = dump
        self._stretch = Stretch(0, NOWHERE)

    def begin(self, first_unit: int, units: int, start: int) -> None:
        self._stretch = self._dump.stretch(first_unit, units, start)
        super().begin(first_unit, units, start)

    def end(self, reached: int, first_offset: int | None, last_offset: int) -> None:
        super().end(reached, first_offset, last_offset)
        stretch = self._stretch
        stretch.reached, stretch.gaps, stretch.is_over = reached, self.gaps, True
        stretch.first_offset, stretch.last_offset = first_offset, last_offset
        self._dump.settle()

    def _pass_on(self, *, is_last: bool) -> None:
        text = self._slots[self._slot][self._passed_on : self._used]
        self._passed_on = self._used
        self._stretch.parts.append((text, self._free.append if is_last else None, self._slot))
        self._dump.settle()
        self._dump.check()

    def _wait_for_slot(self) -> None:
        self._dump.collect(waits=True)
        self._dump.check()


def _private_memory(size: int) -> mmap.mmap:
    """Private memory: unused pages cost nothing, the others are huge pages if the system has them."""
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    try:
        memory.madvise(mmap.MADV_HUGEPAGE)
    except (AttributeError, OSError):  # this system, or this machine, does not have them
        pass
    return memory


class _SharedOutlet(Outlet):
    """The outlet of a worker: messages go into one pipe, free slots come from another."""

    def __init__(self, slots: SharedSlots, talking: int) -> None:
        super().__init__(slots.memory, slots.size)
        self._shared = slots
        self._talking = talking
        self._stretch = 0, 0, NOWHERE
        self._parts: list[int] = []

    def begin(self, first_unit: int, units: int, start: int) -> None:
        self._stretch = first_unit, units, start
        super().begin(first_unit, units, start)

    def end(self, reached: int, first_offset: int | None, last_offset: int) -> None:
        super().end(reached, first_offset, last_offset)
        self._say(_END if first_offset is None else _END_WITH_RECORDS, reached, first_offset or 0, last_offset)

    def say_goodbye(self) -> None:
        """Say that this process takes no more stretches."""
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
            os._exit(1)  # the writing process is gone

    def _say(self, what: int, reached: int = NOWHERE, first_offset: int = 0, last_offset: int = 0) -> None:
        gaps = self.gaps if what in (_END, _END_WITH_RECORDS) else []
        counts = len(self._parts), len(gaps)
        head = _HEAD.pack(*self._stretch, reached, what, first_offset, last_offset, *counts)
        write_all(self._talking, head + pack(f"={counts[0]}I{counts[1]}q", *self._parts, *gaps))
        self._parts = []


class _Child:
    """A worker, as the writing process sees it; its messages arrive at `descriptor`."""

    def __init__(self, dump: SharedDump, slot_size: int) -> None:
        self._dump = dump
        self.is_over = False
        self._said = bytearray()
        self._slots = SharedSlots(_SLOT_COUNT, slot_size)
        self._view = memoryview(self._slots.memory)
        descriptors: list[int] = []
        try:
            descriptors += os.pipe()
            self.descriptor, talking = descriptors
            self._process = start(lambda: self._serve(talking))
        except OSError:
            for descriptor in descriptors:
                os.close(descriptor)
            self._slots.close()
            raise
        os.close(talking)
        self._slots.take_end_of_reader()

    def _serve(self, talking: int) -> None:
        """In the worker process: do its work."""
        os.close(self.descriptor)
        self._slots.take_end_of_worker()
        self._dump.serve(_SharedOutlet(self._slots, talking))

    def listen(self) -> bool:
        """Read its new messages. Returns False if it died."""
        data = os.read(self.descriptor, _READ_BYTES)
        if not data:
            self.is_over = True
            return False
        said = self._said
        said += data
        start = 0
        while len(said) - start >= _HEAD.size:
            first_unit, units, stretch_start, reached, what, first_offset, last_offset, *counts = _HEAD.unpack_from(said, start)
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
            stretch = self._dump.stretch(first_unit, units, stretch_start)
            for slot, text_start, text_end, is_last in zip(*(parts[field::4] for field in range(4)), strict=True):
                at = slot * self._slots.size
                stretch.parts.append((self._view[at + text_start : at + text_end], self._slots.free if is_last else None, slot))
            if what != _MORE:
                stretch.reached, stretch.gaps, stretch.is_over = reached, gaps, True
                stretch.first_offset = first_offset if what == _END_WITH_RECORDS else None
                stretch.last_offset = last_offset
        del said[:start]
        return True

    def end(self) -> None:
        """Kill the process if it still runs."""
        self.close()
        kill(self._process)
        os.waitpid(self._process, 0)

    def close(self) -> None:
        """Close the pipes and the memory of the worker."""
        os.close(self.descriptor)
        self._slots.close()
