"""The plain command lines of `kdump log`, `check`, `scan`, `recover` and `reindex` are read as Click does, and run without it."""

import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdump.cli import commands
from kdump.cli.checking.options import CheckOptions
from kdump.cli.click_parser import Invocation
from kdump.cli.listing import logs
from kdump.cli.listing.command import list_paths
from kdump.cli.listing.options import LogOptions
from kdump.cli.mending.options import RecoverOptions, ReindexOptions
from kdump.cli.options import CommandOptions, Option
from kdump.cli.plain_command_line import read_plain
from kdump.cli.scanning.options import ScanOptions
from tests.builders.records import Record, batch
from tests.loops import each, examples
from tests.support import HANG

COMMANDS: dict[str, type[CommandOptions]] = {
    "log": LogOptions,
    "check": CheckOptions,
    "scan": ScanOptions,
    "recover": RecoverOptions,
    "reindex": ReindexOptions,
}
WORDS = ["a.log", "b", "x y", "ndjson", "json", "kafka", "none", "consumer-offsets", "string", "full", "warning", "compact"]
WORDS += ["7", "0", "10", "-1", "1.5", "1e3", "2026-11-20"]
ODD_WORDS = ["", "-", "--", "-b", "--help", "--limit=2", "--rate=1", "--fail-fast", "--jobs=2", "-ondjson", "--lev"]


def _read_by_click(arguments: list[str], command: str) -> dict[str, Any] | None:
    """What Click makes of a command line, None where it refuses it or shows a screen."""
    try:
        read = commands.parser().main([command, *arguments], prog_name="kdump", standalone_mode=False)
    except click.UsageError:
        return None
    return vars(read.options) if isinstance(read, Invocation) else None


def _lines(command: str) -> st.SearchStrategy[tuple[str, list[str]]]:
    """Command lines of some words and options."""
    names = [name for option in COMMANDS[command].OPTIONS.values() for name in option.names]
    return st.tuples(st.just(command), st.lists(st.sampled_from(WORDS + ODD_WORDS) | st.sampled_from(names), max_size=8))


@examples(300)
@given(st.one_of(*map(_lines, COMMANDS)))
def test_what_is_read_without_click_is_what_click_reads(line: tuple[str, list[str]]) -> None:
    command, arguments = line
    values = read_plain(COMMANDS[command].OPTIONS, arguments)
    if values is not None:
        assert vars(COMMANDS[command](**values)) == _read_by_click(arguments, command)


@each(
    "command, option",
    [(command, option) for command, options in COMMANDS.items() for option in options.OPTIONS.values() if option.names],
    ids=lambda one: one if isinstance(one, str) else one.name,
)
def test_every_option_is_read_without_click(command: str, option: Option) -> None:
    other = [choice for choice in option.choices if choice != option.default][:1]
    value = {"choice": other, "integer": ("3",), "seconds": ("2",), "flag": ()}.get(option.kind, ("word",))
    for name in option.names:
        values = read_plain(COMMANDS[command].OPTIONS, ["x", name, *value])
        assert values is not None and values[option.name] != option.default
        assert vars(COMMANDS[command](**values)) == _read_by_click(["x", name, *value], command)
        if option.kind == "integer":  # which may have to be 1 or more
            values = read_plain(COMMANDS[command].OPTIONS, ["x", name, "0"])
            assert (values and vars(COMMANDS[command](**values))) == _read_by_click(["x", name, "0"], command)


def test_a_command_of_one_path_leaves_other_numbers_of_them_and_doubtful_files_to_click() -> None:
    for line in ("", "x y", "-o out", "x y -o out"):
        assert read_plain(ReindexOptions.OPTIONS, line.split()) is None, line
    for line in ("x -o a -o b", "-o", "x -o -"):
        assert read_plain(LogOptions.OPTIONS, line.split()) is None, line
    for line in ("", "--help", "x --level", "x --level all", "x --jobs -2", "-- x", "x -", "x --level=full"):
        assert read_plain(CheckOptions.OPTIONS, line.split()) is None, line


_PROGRAM = """
import sys
from kdump.cli.main import main
status = main()
print(f"\\n{'click' in sys.modules} {status}", file=sys.stderr)
"""


def _run(*arguments: str) -> tuple[str, str, str]:
    """Stdout and stderr of a run, and whether it loaded Click, with its exit code."""
    command = [sys.executable, "-c", _PROGRAM, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG, check=True)
    err, _, end = done.stderr.removesuffix("\n").rpartition("\n")
    return done.stdout, err, end


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "t-0" / f"{0:020d}.log"
    path.parent.mkdir()
    path.write_bytes(batch(records=[Record(value=b"x")]))
    return path


@pytest.mark.parametrize("command", ["recover", "reindex"])
def test_recover_and_reindex_run_without_click(tmp_path: Path, log: Path, command: str) -> None:
    line = [command, str(log.parent), "--rate", "1GB/s", "-o", str(tmp_path / "out")]
    assert _run(*line)[1:] == ("", "False 0")
    _, err, end = _run(*line)
    assert "out exists; kdump does not overwrite anything" in err and end == "False 2"


def test_a_plain_command_line_runs_without_click(log: Path) -> None:
    for options, loads_click in (("--deep --output ndjson", False), ("--output=csv", True)):
        out, err, end = _run("log", *options.split(), str(log))
        assert (out.count(str(log)), err, end) == (1, "", f"{loads_click} 0")


def test_a_file_for_the_output_needs_no_click(tmp_path: Path, log: Path) -> None:
    for form in ("kafka", "ndjson"):
        out = tmp_path / form
        command = ["log", "--output", form, "-o", str(out), str(log)]
        assert _run(*command) == ("", "", "False 0")
        assert out.read_text().count("offset") == 1 if form == "kafka" else str(log) in out.read_text()
        assert _run(*command)[::2] == ("", "False 2")


def test_an_export_without_schemas_reads_each_log_once(tmp_path: Path, log: Path) -> None:
    pytest.importorskip("pyarrow")
    read: list[str] = []
    real = logs.LogLister.list_all

    def list_all(lister: logs.LogLister) -> None:
        read.append(type(lister).__name__)
        real(lister)

    with mock.patch.object(logs.LogLister, "list_all", list_all):
        options = LogOptions(paths=(str(log),), is_deep=True, output="parquet", file=str(tmp_path / "out"))
        assert list_paths(".log", options) == 0
    assert read == ["_Exporter"]
