"""The signals that ask a command to end."""

import signal
import sys
import time
from collections.abc import Iterator
from unittest import mock

import pytest

from kdump.cli.signals import EndingSignals

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def _handlers_as_before() -> Iterator[None]:
    before = [signal.signal(number, signal.SIG_DFL) for number in NUMBERS[1:]]
    interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started the tests without
    hook = sys.unraisablehook
    yield
    sys.unraisablehook = hook
    for number, handler in zip(NUMBERS, (interrupt, *before), strict=True):
        signal.signal(number, handler)


def _caught() -> EndingSignals:
    signals = EndingSignals()
    signals.catch()
    return signals


@pytest.mark.parametrize(("number", "name", "exit_code"), [(signal.SIGTERM, "SIGTERM", 143), (signal.SIGHUP, "SIGHUP", 129)])
def test_a_signal_is_an_interrupt_with_a_name_and_an_exit_code(number: signal.Signals, name: str, exit_code: int) -> None:
    signals = _caught()
    assert signals.exit_code(130) == 130
    with pytest.raises(KeyboardInterrupt, match=f"^interrupted by {name}$"):
        signal.raise_signal(number)
    assert signals.exit_code(130) == exit_code


def test_signals_within_a_second_are_one_and_a_later_one_is_another() -> None:
    _caught()
    with mock.patch("time.monotonic", side_effect=[100.0, 100.9, 101.1]):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)


def test_a_signal_that_is_ignored_stays_so_and_none_disturbs_the_end() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signals = _caught()
    signal.raise_signal(signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signals = _caught()
    signals.ignore()
    for number in NUMBERS:
        signal.raise_signal(number)
    assert signals.exit_code(0) == 0


@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_that_python_drops_comes_again(number: signal.Signals) -> None:
    class Dropping:
        def __del__(self) -> None:
            signal.raise_signal(number)

    EndingSignals().catch()
    with pytest.raises(KeyboardInterrupt):
        Dropping()
        time.sleep(20)


def test_other_exceptions_that_python_drops_are_printed() -> None:
    class Failing:
        def __del__(self) -> None:
            raise ValueError("in a destructor")

    EndingSignals().catch()
    with mock.patch.object(sys, "__unraisablehook__") as printed:
        Failing()
    assert isinstance(printed.call_args.args[0].exc_value, ValueError)
