"""An interrupt anywhere while output is made leaves nothing of it."""

import linecache
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from kdump.cli import output_file
from kdump.workers import temporary_folders


class _Interrupts:
    """Raises KeyboardInterrupt at the line of a module with this number, as they run, unless signals are blocked there."""

    def __init__(self, module: Any, number: int) -> None:
        self._file = module.__file__
        self._left = number
        self.has_come = False

    def __enter__(self) -> "_Interrupts":
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _trace(self, frame: FrameType, event: str, _argument: object) -> Any:
        if frame.f_code.co_filename != self._file:
            return None
        if linecache.getline(self._file, frame.f_lineno).strip() == "try:":
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


def test_an_interrupt_at_any_line_leaves_nothing_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "out"
    for number in range(200):
        interrupts = _Interrupts(output_file, number)
        try:
            with _stdout_kept(), interrupts, output_file.written_to(str(path)):
                print("text")
        except KeyboardInterrupt:
            pass
        assert [name for name in os.listdir(tmp_path) if "incomplete" in name] == [], number
        if path.exists():  # it came when all was done
            assert path.read_text() == "text\n"
            path.unlink()
        if not interrupts.has_come:
            break
    assert 20 < number < 199


def test_an_interrupt_at_any_line_leaves_nothing_of_a_table(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from kdump.output.arrow import files

    path, schema = tmp_path / "table", pa.schema([("number", pa.int64())])
    for number in range(300):
        interrupts = _Interrupts(files, number)
        try:
            with interrupts, files.TableFile(str(path), schema) as file:
                file.write(pa.RecordBatch.from_arrays([pa.array([1])], schema=schema))
        except KeyboardInterrupt:
            pass
        assert [name for name in os.listdir(tmp_path) if "incomplete" in name] == [], number
        path.unlink(missing_ok=True)  # it came when all was done
        if not interrupts.has_come:
            break
    assert 20 < number < 299


@pytest.mark.parametrize("ending", ["os._exit(0)", "sys.exit(0)"])
def test_a_folder_that_is_still_there_ends_with_the_process(ending: str, tmp_path: Path) -> None:
    code = f"""
import os, sys
from unittest import mock
from kdump.cli import main
from kdump.workers import temporary_folders
def left():
    temporary_folders.new_folder("left-", {str(tmp_path)!r})
    return 130
{'sys.modules["click"] = sys' if ending.startswith("sys") else ""}
with mock.patch.object(main, "main", left):
    main.run()
"""
    subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
    assert os.listdir(tmp_path) == []


def test_a_folder_is_removed_once(tmp_path: Path) -> None:
    folder = temporary_folders.new_folder("some-", str(tmp_path))
    assert temporary_folders.remove(folder)
    os.mkdir(folder)  # another's of the same name
    temporary_folders.remove_all()
    assert os.path.isdir(folder)
