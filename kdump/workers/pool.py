"""Worker processes that do tasks: nothing else forks, but the drop-in form.

Each worker has one task at a time. What it sends of it is passed on, where that is asked for in the order of the tasks. If the
worker dies, or something is raised, a `Died` ends its task; the caller may have the task, or what is left of it, done again.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from itertools import islice

from kdump.errors import KdumpError
from kdump.workers import messages
from kdump.workers.ending_signals import Uninterrupted
from kdump.workers.last_position import LastPosition
from kdump.workers.process import how_it_ended, kill, readable, start, wait_for, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType
    from typing import Any

    Do = Callable[[Any, "Outlet"], object]

_READ_BYTES = 1 << 18
_MAX_HELD_BYTES = 16 << 20  # of messages that wait for their turn; workers that have more to say wait, too
_TICK = 0.1  # seconds between two looks whether all workers live
_PATIENCE = 0.1  # seconds for a worker without a task to end
_POSITION_BYTES = 8192  # of three numbers and a path
_NUMBERS = 3


class NoWorker(KdumpError):
    """No worker can be started, and there is none. The first task that has not begun was to be `task`."""

    task: Any = None


class Died:
    """The end of a task whose worker died, or raised `error`, after what it had sent.

    `how` says which: "was killed by SIGKILL", "ended with exit code 1", "ValueError: ...". `code` is the exit code, negative for
    a signal, None if something was raised or the caller killed the worker. `numbers` and `text` are its last position.
    """

    def __init__(self, how: str, code: int | None, place: LastPosition) -> None:
        self.how = how
        self.code = code
        self.error: Exception | None = None
        self.numbers = place.numbers()
        self.text = place.text()

    def raised(self, last: _Raised) -> None:
        self.how, self.code, self.error = last.how, None, last.error


class Outlet:
    """What a worker has for its tasks: `send` passes a message on; `place` keeps its last position, three numbers and a text."""

    def __init__(self, descriptor: int, place: LastPosition) -> None:
        self._descriptor = descriptor
        self.place = place

    def send(self, message: object) -> None:
        messages.send(self._descriptor, message)

    def end_task(self) -> None:
        write_all(self._descriptor, messages.NOTHING)


class Pool:
    """Up to `count` worker processes, each of which calls `do` with one task after another, and an outlet for what comes of it.

    Tasks and messages are pickled. `on_wait` is called periodically with all workers, those that have ended among them.
    """

    def __init__(self, do: Do, count: int, *, on_wait: Callable[[list[Worker]], None] | None = None) -> None:
        self._do = do
        self._count = max(count, 1)
        self._on_wait = on_wait
        self._workers: list[Worker] = []
        self._ended: list[Worker] = []
        self._runs: list[_Run] = []  # tasks that were begun, in order, until all of them was passed on
        self._next: list[Any] = []  # the task that is next, if it is known
        self._held = 0  # bytes of messages that were received, but not passed on

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.end()

    def end(self) -> None:
        """Kill all workers; what they were doing is lost."""
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    def results(self, tasks: Iterable[Any], *, in_order: bool = False) -> Iterator[tuple[Any, Any]]:
        """Each task with each of its messages, and with `Died` after them if it could not be done to its end.

        Raises NoWorker if none can be started, when all tasks that were begun are done.
        """
        waiting = iter(tasks)
        while True:
            self._begin_some(waiting)
            if not self._runs:
                return
            self._receive_some()
            yield from self._news(in_order=in_order)

    def again(self, task: object) -> None:
        """Have this done in the place of the task that has just ended with `Died`, by another worker.

        Raises OSError if none can be started: what killed one is never done by this process.
        """
        self._runs.insert(0, _Run(task, self._idle_worker()))

    def _begin_some(self, waiting: Iterator[Any]) -> None:
        """Give tasks to workers that have none."""
        while sum(worker.run is not None for worker in self._workers) < self._count:
            self._next += islice(waiting, 0 if self._next else 1)
            if not self._next:
                return
            try:
                worker = self._idle_worker()
            except OSError as error:  # the machine has no process or no descriptor for another one
                if self._runs:
                    return
                missing = NoWorker(f"no worker process can be started: {error.strerror}", remedy="take fewer with --jobs")
                missing.task = self._next.pop()
                raise missing from error
            self._runs.append(_Run(self._next.pop(), worker))

    def _idle_worker(self) -> Worker:
        for worker in self._workers:
            if worker.run is None:
                return worker
        with Uninterrupted():  # the worker stays so; this process hears the signals, and kills it
            self._workers.append(Worker(self._do, self._workers))
        return self._workers[-1]

    def _receive_some(self) -> None:
        """Wait for a moment, and receive what workers have sent."""
        is_full = self._held >= _MAX_HELD_BYTES  # only where an order is asked for: else nothing is held
        busy = [worker for worker in self._workers if worker.run is not None]
        for worker in busy:
            worker.is_heard = not is_full or worker.run is self._runs[0]
        heard = {worker.descriptor: worker for worker in busy if worker.is_heard}
        ready = readable(heard, _TICK)
        for descriptor, worker in heard.items():
            if descriptor in ready or not worker.is_alive:
                self._held += worker.receive()
            if worker.has_ended:
                worker.end()
                worker.leave_task()
                self._workers.remove(worker)
                self._ended.append(worker)
        if self._on_wait is not None:
            self._on_wait([*self._ended, *self._workers])

    def _news(self, *, in_order: bool) -> Iterator[tuple[Any, Any]]:
        """What has come of tasks and can be passed on."""
        at = 0
        while at < len(self._runs):
            run = self._runs[at]
            while run.received:
                message = run.received.popleft()
                self._held -= len(message)
                said = messages.loaded(message)
                if isinstance(said, _Raised):
                    run.raised = said
                else:
                    yield run.task, said
            if run.is_over:
                self._runs.remove(run)
                if run.died is not None and run.raised is not None:
                    run.died.raised(run.raised)
                if run.died is not None:
                    yield run.task, run.died
            elif in_order:
                return
            else:
                at += 1


class _Run:
    """A task that was given to a worker, and what has come of it."""

    def __init__(self, task: object, worker: Worker) -> None:
        self.task = task
        self.received: deque[bytes] = deque()
        self.died: Died | None = None
        self.raised: _Raised | None = None
        self.is_over = False
        worker.begin(self)


class Worker:
    """A process that does one task after another.

    `place` is its last position, `run` its task, `is_heard` whether anybody receives from it now.
    """

    def __init__(self, do: Do, others: Iterable[Worker]) -> None:
        """Raises OSError where none can be started."""
        inherited = [descriptor for other in others for descriptor in (other.descriptor, other._giving)]
        pipes: list[int] = []
        self.place = LastPosition(_NUMBERS, _POSITION_BYTES)
        try:
            pipes += os.pipe()
            pipes += os.pipe()
            receiving, answering, taking, giving = pipes
            inherited += [receiving, giving]
            self._process = start(lambda: _serve(do, taking, Outlet(answering, self.place), inherited))
        except OSError:
            for descriptor in pipes:
                os.close(descriptor)
            raise
        os.close(answering)
        os.close(taking)
        os.set_blocking(receiving, False)
        self.descriptor: int = receiving
        self._giving: int = giving
        self._status: int | None = None  # of the process, once it has ended
        self._buffer = bytearray()
        self._reason = ""  # why it was killed by this process
        self.run: _Run | None = None
        self.is_heard = True
        self.has_ended = False

    @property
    def is_alive(self) -> bool:
        if self._status is None:
            process, status = os.waitpid(self._process, os.WNOHANG)
            self._status = status if process else None
        return self._status is None

    def begin(self, run: _Run) -> None:
        self.run = run
        try:
            messages.send(self._giving, run.task)
        except OSError:
            pass  # it died while idle, which shows when it is received from

    def receive(self) -> int:
        """Take what it has sent. Returns how many bytes of messages are new."""
        while not self.has_ended:
            try:
                data = os.read(self.descriptor, _READ_BYTES)
            except BlockingIOError:
                self.has_ended = self._status is not None
                break
            self._buffer += data
            self.has_ended = not data
            if self._status is None:
                break  # more comes the next time
        return sum(map(self._take, messages.taken_from(self._buffer)))

    def _take(self, message: bytes) -> int:
        assert self.run is not None
        if message:
            self.run.received.append(message)
            return len(message)
        self.run.is_over = True
        self.run = None
        return 0

    def kill(self, reason: str) -> None:
        """Kill the process, which then died in this way."""
        self._reason = reason
        kill(self._process)

    def end(self) -> None:
        """Let the process end, or kill it, if it has not ended or has a task."""
        os.close(self._giving)
        if self.run is None:
            wait_for(self.descriptor, _PATIENCE)  # without more tasks it ends by itself
        if self.is_alive:
            kill(self._process)
            _, self._status = os.waitpid(self._process, 0)
        os.close(self.descriptor)

    def leave_task(self) -> None:
        """End its task, if it has one, as it ended."""
        if self.run is None:
            return
        assert self._status is not None
        code = os.waitstatus_to_exitcode(self._status)
        self.run.died = Died(self._reason or how_it_ended(code), None if self._reason else code, self.place)
        self.run.is_over = True
        self.run = None


class _Raised:
    """The last message of a task in which something was raised."""

    def __init__(self, error: Exception) -> None:
        self.how = f"{type(error).__name__}: {error}"
        self.error = error if isinstance(error, (KdumpError, OSError, MemoryError)) else KdumpError(self.how)


def _serve(do: Do, taking: int, outlet: Outlet, inherited: list[int]) -> None:
    """Do tasks until the parent has no more, or something is raised."""
    for descriptor in inherited:
        os.close(descriptor)
    while True:
        try:
            task = messages.receive(taking)
        except EOFError:
            return
        try:
            do(task, outlet)
        except BrokenPipeError:
            raise  # the parent is gone
        except Exception as error:
            if "KDUMP_DEBUG" in os.environ:
                sys.excepthook(type(error), error, error.__traceback__)
            outlet.send(_Raised(error))
            raise
        outlet.end_task()
