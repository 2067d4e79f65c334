"""Worker processes that do tasks: what arrives of each, in which order, and what a death costs."""

import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

import kdump
from kdump.errors import KdumpError
from kdump.workers import pool as pools
from kdump.workers.pool import Died, NoWorker, Outlet, Pool
from tests.support import HANG, wait_until

PACKAGE = Path(kdump.__file__).parent


def _squares(number: int, outlet: Outlet) -> None:
    outlet.send(number)
    outlet.send(number**2)


def test_all_messages_of_all_tasks_arrive_in_order() -> None:
    def slow_at_first(number: int, outlet: Outlet) -> None:
        if number in (0, 5):
            time.sleep(0.2)
        _squares(number, outlet)

    for count in (0, 1, 3):
        with Pool(slow_at_first, count) as pool:
            results = list(pool.results(range(12), in_order=True))
            workers = list(pool._workers)
        assert results == [(number, message) for number in range(12) for message in (number, number**2)]
        assert workers and {worker._status for worker in workers} == {0}  # each ended by itself


def test_what_is_done_first_arrives_first_where_no_order_is_asked_for(tmp_path: Path) -> None:
    def wait_for_the_second(number: int, outlet: Outlet) -> None:
        if number == 0:
            wait_until(lambda: (tmp_path / "1").exists())
        outlet.send(number)

    with Pool(wait_for_the_second, 2) as pool:
        results = []
        for task, _ in pool.results(range(2)):
            results.append(task)
            (tmp_path / str(task)).touch()
    assert results == [1, 0]


def test_a_task_is_taken_only_when_a_worker_is_free_for_it() -> None:
    busy: list[int] = []  # workers when a task is taken

    def tasks() -> Iterator[int]:
        for number in range(10):
            busy.append(sum(worker.run is not None for worker in pool._workers))
            yield number

    with Pool(_squares, 2) as pool:
        assert len(list(pool.results(tasks(), in_order=True))) == 20
    assert len(busy) == 10 and max(busy) < 2


def test_what_a_task_raises_comes_after_what_it_sent_and_ends_no_other() -> None:
    errors: dict[int, Exception] = {1: KdumpError("damaged", path="a.log", position=7), 2: ValueError("odd"), 3: MemoryError()}

    def work(number: int, outlet: Outlet) -> None:
        outlet.send("sent")
        if number in errors:
            raise errors[number]

    with Pool(work, 2) as pool:
        results = list(pool.results(range(5), in_order=True))
    assert [task for task, message in results if message == "sent"] == list(range(5))
    died = {task: message for task, message in results if isinstance(message, Died)}
    assert [(task, one.how, one.code) for task, one in died.items()] == [
        (1, "KdumpError: a.log, byte 7: damaged", None),
        (2, "ValueError: odd", None),
        (3, "MemoryError: ", None),
    ]
    assert (str(died[1].error), type(died[3].error)) == ("a.log, byte 7: damaged", MemoryError)
    assert isinstance(died[2].error, KdumpError)


def test_a_worker_whose_task_is_not_next_waits_when_much_is_held() -> None:
    """And the one whose task is next is heard all the same, also a new one in place of one that died."""
    sent = 40

    def work(task: str, outlet: Outlet) -> None:
        if task == "first":
            time.sleep(0.5)
            os.kill(os.getpid(), signal.SIGKILL)
        for _ in range(sent):
            outlet.send(bytes(10_000))

    most = 0
    count: dict[str, int] = {}
    with mock.patch.object(pools, "_MAX_HELD_BYTES", 100_000), Pool(work, 3) as pool:
        for task, message in pool.results(["first", "second", "third", "fourth"], in_order=True):
            most = max(most, pool._held)
            if isinstance(message, Died):
                pool.again("first again")
            else:
                count[task] = count.get(task, 0) + 1
    assert list(count.items()) == [(task, sent) for task in ("first again", "second", "third", "fourth")]
    assert 100_000 <= most < 100_000 + 4 * pools._READ_BYTES


def test_a_worker_that_its_owner_kills_says_why() -> None:
    def kill(workers: list[pools.Worker]) -> None:
        for worker in workers:
            if worker.run is not None and worker.place.numbers()[0] == 1:
                worker.kill("it took too long")

    def sleep(task: int, outlet: Outlet) -> None:
        outlet.place.put(task, 0, 0)
        time.sleep(HANG if task else 0)

    with Pool(sleep, 1, on_wait=kill) as pool:
        ((task, died),) = pool.results([0, 1, 0])
    assert (task, died.how, died.code, died.error) == (1, "it took too long", None, None)


@pytest.mark.parametrize("possible", [0, 1, 2])
def test_fewer_workers_do_all_and_none_say_so(possible: int) -> None:
    fork, started = os.fork, 0

    def few() -> int:
        nonlocal started
        started += 1
        if started > possible:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return fork()

    tasks = iter(range(6))
    with mock.patch.object(os, "fork", few), Pool(_squares, 3) as pool:
        if possible:
            assert len(list(pool.results(tasks))) == 12
            return
        with pytest.raises(NoWorker) as raised:
            list(pool.results(tasks))
    assert str(raised.value) == "no worker process can be started: Resource temporarily unavailable; take fewer with --jobs"
    assert (raised.value.task, list(tasks)) == (0, [1, 2, 3, 4, 5])


def test_no_worker_and_no_descriptor_is_left_when_the_caller_stops() -> None:
    before = len(os.listdir("/dev/fd"))

    def work(number: int, outlet: Outlet) -> None:
        outlet.send(os.getpid())
        time.sleep(HANG if number else 0)

    with Pool(work, 3) as pool:
        results = pool.results(range(3), in_order=True)
        next(results)
        wait_until(lambda: len(pool._workers) == 3)
        processes = [worker._process for worker in pool._workers]
    for process in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
    assert len(os.listdir("/dev/fd")) == before


def test_nothing_forks_but_the_pool_and_the_drop_in_form() -> None:
    forking = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if re.search(r"os\.fork\(|import .*\bmultiprocessing|from kdump.workers.process import .*\bstart\b", path.read_text())
    }
    assert forking == {"dropin/parallel_text.py", "workers/pool.py", "workers/process.py"}
