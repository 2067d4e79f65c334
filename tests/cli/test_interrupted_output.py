"""Signals that ask a command to end, and that an interrupt anywhere while output is made leaves nothing of it."""

import errno
import itertools
import linecache
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

import pytest

from kdump.cli import output_file
from kdump.cli.signals import EndingSignals
from kdump.errors import UsageError
from kdump.mending.new import new_directory
from kdump.mending.new.new_directory import NewDirectory
from kdump.workers import unfinished


class _Interrupts:
    """Raises KeyboardInterrupt at the line of these modules with this number, as they run, unless signals are blocked there."""

    def __init__(self, number: int, *modules: Any) -> None:
        self._files = {module.__file__ for module in modules}
        self._left = number
        self.has_come = False

    def __enter__(self) -> "_Interrupts":
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _trace(self, frame: FrameType, event: str, _argument: object) -> Any:
        if frame.f_code.co_filename not in self._files:
            return None
        if linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip() == "try:":
            return self._trace  # Python looks for no signal there
        if event == "line" and not self.has_come and signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, []):
            self._left -= 1
            if self._left < 0:
                self.has_come = True
                raise KeyboardInterrupt
        return self._trace


@contextmanager
def _stdout_kept() -> Iterator[None]:
    """An interrupted process ends without giving its stdout back."""
    stream, kept = sys.stdout, os.dup(1)
    try:
        yield
    finally:
        sys.stdout = stream
        os.dup2(kept, 1)
        os.close(kept)


def _each_interrupt(folder: Path, *modules: Any) -> Iterator[_Interrupts]:
    """Interrupts at one line after the other, until none comes. At the end of the process, nothing incomplete is left."""
    for number in itertools.count():
        interrupts = _Interrupts(number, *modules, unfinished)
        yield interrupts
        if not interrupts.has_come:
            assert unfinished._paths == set()
            break
        unfinished.remove_all()
        assert [name for name in os.listdir(folder) if "incomplete" in name] == [], number
    assert number > 20


def test_an_interrupt_at_any_line_leaves_nothing_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "out"
    for interrupts in _each_interrupt(tmp_path, output_file):
        with suppress(KeyboardInterrupt), _stdout_kept(), interrupts, output_file.written_to(str(path)):
            print("text")
        assert not path.exists() or path.read_text() == "text\n"  # it came when all was done
        path.unlink(missing_ok=True)


def test_an_interrupt_at_any_line_leaves_nothing_of_a_table(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    from kdump.output.arrow import files

    path, schema = tmp_path / "table", pa.schema([("number", pa.int64())])
    for interrupts in _each_interrupt(tmp_path, files):
        with suppress(KeyboardInterrupt), interrupts, files.TableFile(str(path), schema) as file:
            file.write(pa.RecordBatch.from_arrays([pa.array([1])], schema=schema))
        assert not path.exists() or pq.read_metadata(path).num_rows == 1  # it came when all was done
        path.unlink(missing_ok=True)


def test_an_interrupt_at_any_line_leaves_nothing_of_a_directory(tmp_path: Path) -> None:
    path = tmp_path / "new"
    for interrupts in _each_interrupt(tmp_path, new_directory):
        with suppress(KeyboardInterrupt), interrupts, NewDirectory(str(path), []) as made:
            made.write("file", b"contents")
            made.sync()
            made.place()
        assert not path.exists() or (path / "file").read_bytes() == b"contents"
        shutil.rmtree(path, ignore_errors=True)


@pytest.mark.parametrize("ending", ["os._exit(0)", "sys.exit(0)"])
def test_a_folder_that_is_still_there_ends_with_the_process(ending: str, tmp_path: Path) -> None:
    code = f"""
import os, sys
from unittest import mock
from kdump.cli import main
from kdump.workers import unfinished
def left():
    unfinished.new_folder("left-", {str(tmp_path)!r})
    return 130
{'sys.modules["click"] = sys' if ending.startswith("sys") else ""}
with mock.patch.object(main, "main", left):
    main.run()
"""
    subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
    assert os.listdir(tmp_path) == []


def test_what_another_made_stays(tmp_path: Path) -> None:
    folder = unfinished.new_folder("some-", str(tmp_path))
    assert unfinished.remove(folder)
    os.mkdir(folder)  # another's of the same name
    incomplete = tmp_path / f"out.incomplete-{os.getpid()}"
    incomplete.write_text("another's")
    with pytest.raises(UsageError), output_file.written_to(str(tmp_path / "out")):
        print("text")
    unfinished.remove_all()
    assert os.path.isdir(folder) and incomplete.read_text() == "another's"


def test_an_incomplete_file_that_cannot_be_removed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out"

    def fails(_path: str) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "unlink", fails)
    words = r"complete, but .*out.incomplete-\d+ beside it cannot be removed"
    with pytest.raises(OSError, match=words), output_file.written_to(str(path)):
        print("text")
    monkeypatch.undo()
    assert path.read_text() == "text\n"
    unfinished.remove_all()
    assert os.listdir(tmp_path) == ["out"]


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
