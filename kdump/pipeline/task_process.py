"""A process that does tasks of a scan, so that a crash costs one attempt of one task."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

from kdump.checks.rules import import_ordinary
from kdump.errors import KdumpError
from kdump.pipeline import reading, tasks
from kdump.workers import messages
from kdump.workers.ending_signals import Uninterrupted
from kdump.workers.process import how_it_ended, kill, start, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kdump.pipeline.tasks import ScanTask, TaskReport


_OF_MOST_TASKS = ("kdump.pipeline.reader_process", "kdump.reading.read_ahead")
"""Modules that are otherwise imported when they are first needed, in each process again."""


def import_for_tasks() -> None:
    """Import once what most tasks would import again in a process that ends with them."""
    import_ordinary()
    for module in _OF_MOST_TASKS:
        import_module(module)
    with suppress(ImportError):  # some builds of Python lack it
        import_module("ctypes")


def attempt_apart(task: ScanTask) -> TaskReport:
    """Do a task; where something may crash, in a process of its own, so that this one survives it.

    If that process dies, the task is done again with what may crash in separate processes, to find what to blame. Raises what
    the task raises.
    """
    if not reading.may_crash(task.options):
        return tasks.attempt(task)
    import_for_tasks()
    with Uninterrupted():
        process = TaskProcess(())
    try:
        process.start(task._replace(is_at_risk=True))
        return process.result(None)
    except Died:
        return tasks.attempt(task)
    finally:
        process.kill()


class Died(Exception):
    """A process died during its task; the message says how."""


class TaskProcess:
    """A process that does one task after another and reports the result of each, which arrives at `descriptor`."""

    def __init__(self, others: Iterable[TaskProcess]) -> None:
        inherited = [descriptor for other in others for descriptor in other._pipes]
        pipes: list[int] = []
        try:
            pipes += os.pipe()
            pipes += os.pipe()
            self.descriptor, answering, taking, self._giving = pipes
            inherited += [self.descriptor, self._giving]
            self._process = start(lambda: _serve(taking, answering, inherited))
        except OSError as error:
            for descriptor in pipes:
                os.close(descriptor)
            raise KdumpError(f"no worker process can be started: {error.strerror}", remedy="take fewer with --jobs") from error
        os.close(answering)
        os.close(taking)
        self._pipes: list[int] = [self.descriptor, self._giving]
        self._status: int | None = None  # of the process, once it has ended
        self._task: ScanTask | None = None

    @property
    def task(self) -> ScanTask:
        assert self._task is not None
        return self._task

    @property
    def is_busy(self) -> bool:
        return self._task is not None

    @property
    def is_alive(self) -> bool:
        if self._status is None:
            process, status = os.waitpid(self._process, os.WNOHANG)
            self._status = status if process else None
        return self._status is None

    def start(self, task: ScanTask) -> None:
        self._task = task
        try:
            messages.send(self._giving, task)
        except OSError:
            pass  # it died while idle, which shows when its result is requested

    def result(self, seconds: float | None = 0) -> TaskReport:
        """The report of its task, if it comes within this time; None waits for ever. Raises what the task raised, and Died."""
        self._task = None
        answer: TaskReport | Exception
        try:
            if not wait_for(self.descriptor, seconds):
                raise EOFError
            answer = messages.receive(self.descriptor)
        except (EOFError, OSError):
            raise Died(f"the process that read it {how_it_ended(self.kill())}") from None
        except MemoryError:
            self.kill()  # it may have more to say, which nobody would understand
            raise
        if isinstance(answer, Exception):
            raise answer
        return answer

    def kill(self) -> int:
        """Kill the process, if it has not ended. Returns its exit code, negative for a signal."""
        if self.is_alive:
            kill(self._process)
            _, self._status = os.waitpid(self._process, 0)
        while self._pipes:
            os.close(self._pipes.pop())
        assert self._status is not None
        return os.waitstatus_to_exitcode(self._status)


def _serve(taking: int, answering: int, inherited: list[int]) -> None:
    """Do tasks until the parent has no more."""
    for descriptor in inherited:
        os.close(descriptor)
    while True:
        try:
            task = messages.receive(taking)
        except EOFError:
            break
        answer: TaskReport | Exception
        try:
            answer = tasks.attempt(task)
        except (KdumpError, OSError, MemoryError) as error:
            answer = error
        except Exception as error:
            if "KDUMP_DEBUG" in os.environ:
                sys.excepthook(type(error), error, error.__traceback__)
            answer = KdumpError(f"{type(error).__name__}: {error}")
        messages.send(answering, answer)
