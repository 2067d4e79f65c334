"""A plugin of pytest for deliberate errors: it notes which tests failed, and ends those that an error keeps from ending."""

import os
import resource
import signal
from collections.abc import Generator
from pathlib import Path

import pytest

VARIABLE = "KDUMP_FAILED_TESTS"
"""Names the file to which the identifiers of failed tests are added, one a line."""

TEST_SECONDS, MOST_ENDED = 120, 3
DATA_BYTES = 8 << 30

_ended: list[str] = []


def pytest_configure() -> None:
    """Give tests less memory than a machine has: an error may ask for all of it."""
    resource.setrlimit(resource.RLIMIT_DATA, (DATA_BYTES, DATA_BYTES))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """End a test that takes too long, and the run where several do."""

    def end(*_: object) -> None:
        _ended.append(item.nodeid)
        raise TimeoutError(f"takes more than {TEST_SECONDS} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(TEST_SECONDS)
    try:
        done = yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    if len(_ended) >= MOST_ENDED:
        pytest.exit("tests do not end", returncode=pytest.ExitCode.INTERRUPTED)
    return done


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note a test that failed."""
    _note(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Note a module that cannot be imported."""
    _note(report)


def _note(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        with Path(os.environ[VARIABLE]).open("a", encoding="utf-8") as file:
            file.write(f"{report.nodeid}\n")
