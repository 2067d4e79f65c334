"""Threads that help, and may never begin."""

import _thread
import threading
from contextlib import suppress

import pytest

from kdump.workers import process
from kdump.workers.helping_thread import HelpingThread
from tests.support import wait_until


def test_its_end_is_that_of_its_work() -> None:
    may_go_on, done = threading.Event(), []
    thread = HelpingThread(lambda: done.append(may_go_on.wait()))
    may_go_on.set()
    wait_until(lambda: done)
    thread.end()
    assert done == [True]


def test_nobody_waits_for_a_thread_that_has_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    begins = []
    monkeypatch.setattr(_thread, "start_new_thread", lambda run, _: begins.append(run))
    done: list[int] = []
    thread = HelpingThread(lambda: done.append(1))
    thread.end()
    begins[0]()  # too late
    assert not done


def test_a_lack_of_memory_ends_it(capfd: pytest.CaptureFixture[str]) -> None:
    begun = threading.Event()

    def work() -> None:
        begun.set()
        raise MemoryError

    thread = HelpingThread(work)
    begun.wait()
    thread.end()
    assert capfd.readouterr().err == ""


def test_a_process_with_such_a_thread_is_not_forked() -> None:
    may_go_on, begun = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        may_go_on.wait()

    thread = HelpingThread(work)
    begun.wait()
    assert not process.can_fork()
    may_go_on.set()
    thread.end()
    assert process.can_fork()


@pytest.mark.parametrize("is_refused", [False, True])
def test_a_process_whose_thread_never_begins_is_forked(is_refused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_run: object, _arguments: object) -> int:
        if is_refused:
            raise RuntimeError("can't start new thread")
        return 0

    monkeypatch.setattr(_thread, "start_new_thread", start)
    with suppress(RuntimeError):
        HelpingThread(lambda: None).end()
    assert process.can_fork()
