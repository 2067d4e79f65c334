"""Threads that help, and may never begin."""

import _thread
import subprocess
import sys
import threading
from contextlib import suppress
from types import SimpleNamespace

import pytest

from kdump.binary import kernel
from kdump.workers import process
from kdump.workers.helping_thread import HelpingThread, running
from tests.support import HANG, wait_until


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


@pytest.mark.skipif(not kernel.native, reason="only the C kernel asks the C library")
def test_it_does_not_begin_where_its_end_would_end_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "native", SimpleNamespace(threads_can_end=lambda: False))
    with pytest.raises(RuntimeError, match="end of a thread"):
        HelpingThread(lambda: None)
    assert not running


@pytest.mark.skipif(sys.platform != "linux" or not kernel.native, reason="the limits of Linux, the C kernel")
def test_threads_end_where_no_descriptor_is_left() -> None:
    """glibc would load libgcc_s then, and abort."""
    program = (
        "import os, resource\n"
        "from kdump.workers.helping_thread import HelpingThread\n"
        "from kdump.binary import kernel\n"
        "def take_all():\n"
        "    resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))\n"
        "    try:\n"
        "        while True: os.dup(2)\n"
        "    except OSError: pass\n"
        "thread = HelpingThread(take_all)\n"
        "thread.end()\n"
        "import time; time.sleep(0.2)\n"  # until the C library has ended it, which nothing shows
        "print(kernel.name)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=HANG)
    assert (done.returncode, done.stdout, done.stderr) == (0, "c\n", "")
