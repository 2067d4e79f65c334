"""What worker processes share with the process that started them."""

import os
import select
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from unittest import mock

import pytest

from kdump.workers import messages, process
from kdump.workers.last_position import LastPosition
from kdump.workers.process import FAILED, start
from kdump.workers.slots import SharedSlots
from tests.loops import each
from tests.support import HANG


def _ended(work: Callable[[], None]) -> int:
    """The exit code of a worker process that does this; negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(start(work), 0)[1])


def test_a_worker_process_never_goes_on_as_the_one_that_started_it() -> None:
    def fails(*_: object) -> None:
        raise MemoryError

    def exits() -> None:
        raise SystemExit(3)

    assert _ended(fails) == FAILED == 70
    assert _ended(exits) == FAILED
    with mock.patch.object(process, "end_with_parent", fails):
        assert _ended(lambda: None) == FAILED


def test_the_end_of_a_process_has_the_words_of_its_exit_code() -> None:
    words = {0: "ended with exit code 0", -9: "was killed by SIGKILL", -99: "was killed by signal 99"}
    assert {code: process.how_it_ended(code) for code in words} == words


def test_a_message_is_received_as_it_was_sent_or_not_at_all() -> None:
    reading, writing = os.pipe()
    large = {"row": list(range(100_000))}

    def work() -> None:
        with mock.patch.object(os, "write", lambda descriptor, data, write=os.write: write(descriptor, data[:50_000])):
            messages.send(writing, large)
        messages.send(writing, None)
        os.write(writing, (1000).to_bytes(8, "big") + b"the first of them")

    worker = start(work)
    os.close(writing)
    assert messages.receive(reading) == large
    assert messages.receive(reading) is None
    with pytest.raises(EOFError):
        messages.receive(reading)
    os.close(reading)
    assert os.waitpid(worker, 0)[1] == 0


@pytest.mark.parametrize("is_killed_by_linux", [True, False])
def test_a_worker_ends_when_its_parent_is_killed(is_killed_by_linux: bool) -> None:
    reading, writing = os.pipe()
    parent = os.fork()
    if not parent:
        with ExitStack() as stack:
            stack.callback(os._exit, 99)
            if not is_killed_by_linux:
                stack.enter_context(mock.patch("kdump.workers.end_with_parent._is_killed_by_linux", return_value=False))

            def work() -> None:
                os.write(writing, b"worker")
                while True:
                    time.sleep(HANG)

            start(work)
            os.close(writing)
            while True:
                time.sleep(HANG)
    os.close(writing)
    assert os.read(reading, 10) == b"worker"
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    assert os.read(reading, 10) == b""  # the end of the pipe: nobody is left who could write
    os.close(reading)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_worker_gets_no_signal_that_asks_it_to_end(number: signal.Signals) -> None:
    assert _ended(lambda: os.kill(os.getpid(), number)) == 0


def test_a_worker_that_was_killed_leaves_its_last_position() -> None:
    last = LastPosition(2, 64)

    def work() -> None:
        last.put_text(b"a.log")
        last.put(7, 1 << 40)
        os.kill(os.getpid(), signal.SIGKILL)

    assert (last.numbers(), last.text()) == ((0, 0), b"")
    assert _ended(work) == -signal.SIGKILL
    assert (last.numbers(), last.text()) == ((7, 1 << 40), b"a.log")


def test_a_text_counts_with_the_numbers_that_are_put_after_it() -> None:
    last = LastPosition(1, 64)
    last.put_text(b"first")
    assert last.text() == b""
    last.put(1)
    last.put_text(b"")
    assert last.text() == b"first"
    last.put(2)
    assert (last.numbers(), last.text()) == ((2,), b"")
    last = LastPosition(1, 20)  # 8 bytes for the number, 4 for the length of the text
    last.put_text(b"0123456789")
    last.put(5)
    assert (last.numbers(), last.text()) == ((5,), b"01234567")


def test_what_a_worker_puts_into_a_slot_is_there_for_the_reader() -> None:
    slots = SharedSlots(3, 4)

    def work() -> None:
        slots.take_end_of_worker()
        slots.memory[4:8] = b"text"

    assert _ended(work) == 0
    slots.take_end_of_reader()
    assert slots.memory[:] == b"\0\0\0\0text\0\0\0\0"
    slots.close()


def test_a_worker_hears_of_freed_slots_and_of_nothing_before() -> None:
    slots = SharedSlots(3, 4)
    assert slots.freed() == b""
    assert not slots.wait(0)

    def work() -> None:
        slots.take_end_of_worker()
        found = b""
        while len(found) < 2 and slots.wait(HANG):
            found += slots.freed()
        os._exit(found[0] * 10 + found[1])

    slots.free(2)
    slots.free(1)
    assert _ended(work) == 21
    slots.close()


def test_a_worker_whose_reader_has_ended_meets_a_broken_pipe() -> None:
    slots = SharedSlots(3, 4)
    slots.take_end_of_worker()
    assert slots.wait(HANG)
    with pytest.raises(BrokenPipeError):
        slots.freed()
    slots.close()


def test_a_slot_that_is_freed_late_disturbs_nobody() -> None:
    slots = SharedSlots(3, 4)
    slots.close()
    reading, writing = os.pipe()  # very likely the same descriptors again
    os.set_blocking(reading, False)
    slots.free(1)
    slots.close()
    with pytest.raises(BlockingIOError):
        os.read(reading, 1)
    os.close(reading)
    os.close(writing)


def test_each_process_keeps_its_own_end_only() -> None:
    before = len(os.listdir("/dev/fd"))
    for take_end in (SharedSlots.take_end_of_reader, SharedSlots.take_end_of_worker):
        slots = SharedSlots(3, 4)
        take_end(slots)
        assert len(os.listdir("/dev/fd")) == before + 1
        slots.close()
        assert len(os.listdir("/dev/fd")) == before


def test_a_message_is_waited_for_in_a_way_that_hears_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python hears a signal that comes just before a read only after it."""
    reading, writing = os.pipe()
    waits: list[int] = []
    monkeypatch.setattr(messages, "wait_for", waits.append)
    messages.send(writing, "text")
    assert messages.receive(reading) == "text"
    assert waits == [reading, reading]  # for its size, for the rest
    os.close(reading)
    os.close(writing)


class _Pipes:
    """Stands for what polls pipes: notes how long it is asked to wait, and says at the end that one can be read."""

    def __init__(self, empty: int) -> None:
        self.empty = empty
        self.waits: list[float] = []

    def register(self, descriptor: int, events: int) -> None:
        self.descriptor = descriptor

    def poll(self, milliseconds: float) -> list[tuple[int, int]]:
        self.waits.append(milliseconds)
        return [] if len(self.waits) <= self.empty else [(self.descriptor, select.POLLIN)]


@each(
    "seconds, empty, waits, found",
    [
        *((None, 3, [500, 500, 500, 500], [7]), (1.2, 9, [500, 500, 200], []), (1.2, 1, [500, 500], [7])),
        *((0.5, 9, [500], []), (0, 9, [0], [])),
    ],
    ids=str,
)
def test_no_call_waits_so_long_that_a_signal_is_not_heard(
    seconds: float | None, empty: int, waits: list[float], found: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    pipes = _Pipes(empty)
    monkeypatch.setattr(select, "poll", lambda: pipes)
    assert process.readable([7], seconds) == found
    assert pipes.waits == pytest.approx(waits)
