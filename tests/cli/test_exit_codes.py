"""With which exit code an invocation ends, whatever happens in it, and through which door it goes."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from kdump.cli import command_names, commands, main
from kdump.errors import UsageError
from tests.builders.records import batch, record
from tests.loops import each
from tests.support import Capture, Patch


def _raising(error: BaseException) -> Callable[..., NoReturn]:
    def fails(*_: object, **__: object) -> NoReturn:
        raise error

    return fails


def _fails_with(error: BaseException, monkeypatch: Patch) -> list[bool]:
    """Let `kdump index` fail with this error; what is filled when stdout is not to be written to again."""
    forgotten: list[bool] = []
    monkeypatch.setattr(sys, "argv", ["kdump", "index", "x.index"])
    monkeypatch.setattr(commands, "main", _raising(error))
    monkeypatch.setattr(main, "forget_stdout", lambda: forgotten.append(True))
    monkeypatch.delenv("KDUMP_DEBUG", raising=False)
    return forgotten


WHILE_LOADING = RuntimeError("Error calling __set_name__ on 'Option' instance 'paths' in 'LogOptions'")
WHILE_LOADING.__cause__ = KeyboardInterrupt("interrupted by SIGTERM")
REPORT = "please report it, with what KDUMP_DEBUG=1 shows"


@each(
    "what, error, status, words",
    [
        ("interrupt", KeyboardInterrupt(), 130, "interrupted"),
        ("named interrupt", KeyboardInterrupt("interrupted after 2 files"), 130, "interrupted after 2 files"),
        ("interrupt while modules are loaded", WHILE_LOADING, 130, "interrupted by SIGTERM"),
        ("usage", UsageError("no such kernel"), 2, "no such kernel"),
        ("full disk", OSError(28, "No space left on device"), 4, "cannot write the output: No space left on device"),
        ("odd", OSError("odd"), 4, "cannot write the output: odd"),
        ("unknown", ValueError("what nobody knows"), 3, f"internal error: ValueError: what nobody knows; {REPORT}"),
        ("memory", MemoryError(), 3, "out of memory"),
        ("pipe to a worker", BrokenPipeError("cut"), 3, "internal error: cut between processes; please report it"),
        ("what drives a terminal", UsageError("\x1b[2Jx"), 2, r"\x1b[2Jx"),
    ],
)
def test_exit_codes(what: str, error: BaseException, status: int, words: str, monkeypatch: Patch, capfd: Capture) -> None:
    _fails_with(error, monkeypatch)
    assert (main.main(), capfd.readouterr().err) == (status, f"kdump: {words}\n"), what


@each("error", [BrokenPipeError(), KeyboardInterrupt(), OSError("odd")], ids=repr)
def test_a_stdout_that_failed_is_not_written_to_again(error: BaseException, monkeypatch: Patch) -> None:
    forgotten = _fails_with(error, monkeypatch)
    main.main()
    assert forgotten == [True]


def test_an_internal_error_is_shown_whole_on_demand(monkeypatch: Patch) -> None:
    _fails_with(ValueError("odd"), monkeypatch)
    monkeypatch.setenv("KDUMP_DEBUG", "1")
    with pytest.raises(ValueError, match="odd"):
        main.main()


_WITHOUT_MEMORY = """
from unittest import mock
from kdump.cli.main import run
fails = mock.Mock(side_effect=MemoryError)
with mock.patch("kdump.cli.commands.main", fails), mock.patch("kdump.cli.main.say", fails):
    run()
"""


def test_memory_that_ends_while_a_message_is_made_has_an_exit_code() -> None:
    process = subprocess.run([sys.executable, "-c", _WITHOUT_MEMORY, "index"], capture_output=True, check=False)
    assert (process.returncode, process.stdout, process.stderr) == (3, b"", b"kdump: out of memory\n")


@each(
    "line, status",
    [
        *(("explain", 0), ("schema finding", 0), ("releases", 0), ("--files x.log", 0), ("check x.log", 3)),
        *(("forecast x", 3), ("log x.log", 3), ("index x.index", 3), ("scan x", 3)),
    ],
)
def test_a_broken_pipe_ends_screens_with_0_not_what_judges(line: str, status: int, monkeypatch: Patch, capfd: Capture) -> None:
    from kdump.cli import dropin
    from kdump.cli.checking import run
    from kdump.cli.listing import command
    from kdump.cli.scanning import run as scanning

    monkeypatch.setattr(sys, "argv", ["kdump", *line.split()])
    for owner in ((commands, "main"), (dropin, "main"), (run, "check_paths"), (command, "list_paths"), (scanning, "scan_paths")):
        monkeypatch.setattr(*owner, _raising(BrokenPipeError(32, "Broken pipe")))
    monkeypatch.setattr(main, "forget_stdout", lambda: None)
    assert main.main() == status
    words = "kdump: internal error: [Errno 32] Broken pipe between processes; please report it\n"
    assert capfd.readouterr().err == (words if status else "")


def test_options_of_kafkas_tool_go_through_its_door() -> None:
    of_dropin = ["--files x.log", "--deep-iteration", "x.log --deep-iteration", "nothing --files"]
    others = ["", "--help", "-h", "--version", "--help --files x", "log", "log --deep", "check --output json", "nothing"]
    assert [line for line in of_dropin + others if command_names.is_dropin(line.split())] == of_dropin


@each(
    "arguments, status",
    [
        *(([], 0), (["--help"], 0), (["log", "--help"], 0), (["log"], 2), (["log", "--limit", "0", "x"], 2)),
        *((["nothing"], 2), (["explain", "torn-tail"], 0), (["explain", "torn"], 2)),
        *((["explain", "IOException: nobody knows this"], 1), (["schema", "finding"], 0), (["schema", "nothing"], 2)),
    ],
    ids=str,
)
def test_screens_end_with_0_and_wrong_lines_with_2(arguments: list[str], status: int, capfd: Capture) -> None:
    assert commands.main(arguments) == status
    out, err = capfd.readouterr()
    assert (bool(out), err.startswith("kdump: ")) == (status < 2, status == 2)


def test_an_interrupt_while_the_bar_is_set_up_stays_an_interrupt(monkeypatch: Patch) -> None:
    from rich.live import Live

    from kdump.cli.checking.progress import CheckProgress

    monkeypatch.setattr(Live, "_enable_redirect_io", _raising(KeyboardInterrupt()))
    monkeypatch.setattr("kdump.cli.progress._PATIENCE", 0.0)
    bar = CheckProgress(shows=True)
    with pytest.raises(KeyboardInterrupt), bar:
        bar.draw(1, 2, files="", rate="", left="", findings="")


@pytest.mark.parametrize(("interval", "drawn"), [(0.0, [0.5, 1.0, 1.5, 2.0]), (3600.0, [0.5])])
def test_a_bar_shows_the_share_of_all_now_and_then(monkeypatch: Patch, interval: float, drawn: list[float]) -> None:
    from rich.progress import Progress

    from kdump.cli.scanning.progress import ScanProgress

    shown: list[float] = []
    monkeypatch.setattr("kdump.cli.progress._PATIENCE", 0.0)
    monkeypatch.setattr("kdump.cli.progress._INTERVAL", interval)
    monkeypatch.setattr(Progress, "update", lambda _bar, _task, *, completed, **_: shown.append(completed))
    with ScanProgress(2, shows=True) as bar:
        for table in ("batches", "records"):
            bar.show(table, 1, 2)
            bar.show(table, 2, 2)
    assert shown == drawn


def test_what_the_tool_throws_ends_with_1_though_the_reader_of_the_output_has_gone(tmp_path: Path) -> None:
    log = tmp_path / f"{0:020}.log"
    log.write_bytes(batch(records=[record()], batch_length=5))
    read_end, write_end = os.pipe()
    os.close(read_end)
    command = [sys.executable, "-m", "kdump", "--files", str(log)]
    run = subprocess.run(command, stdout=write_end, stderr=subprocess.PIPE, check=False)
    os.close(write_end)
    assert run.returncode == 1 and b"CorruptRecordException" in run.stderr
