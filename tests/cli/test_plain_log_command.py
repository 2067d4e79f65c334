"""The plain command lines of `kdump log`, `scan`, `recover` and `reindex` are read as Click reads them, and run without it."""

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
from kdump.cli.click_parser import Invocation
from kdump.cli.listing import logs
from kdump.cli.listing.command import list_paths
from kdump.cli.listing.options import LogOptions
from kdump.cli.mending.options import RecoverOptions, ReindexOptions
from kdump.cli.options import CommandOptions, Option
from kdump.cli.plain_command_line import read_plain
from kdump.cli.scanning.options import ScanOptions
from tests.builders.records import Record, batch
from tests.loops import each
from tests.support import HANG

OPTIONS = [option for option in LogOptions.OPTIONS.values() if option.names]
WORDS = st.sampled_from(
    ["a.log", "b", "ndjson", "kafka", "none", "consumer-offsets", "string", "7", "0", "10", "-1", "1.5", "-", "--", "2026-11-20"]
)
NAMES = st.sampled_from([name for option in OPTIONS for name in option.names] + ["--help", "--limit=2", "--fail-fast"])


def _read_by_click(arguments: list[str], command: str = "log") -> dict[str, Any] | None:
    """What Click makes of a command line, None where it refuses it or shows a screen."""
    try:
        read = commands.parser().main([command, *arguments], prog_name="kdump", standalone_mode=False)
    except click.UsageError:
        return None
    return vars(read.options) if isinstance(read, Invocation) else None


@given(st.lists(WORDS | NAMES, max_size=8))
def test_what_is_read_without_click_is_what_click_reads(arguments: list[str]) -> None:
    values = read_plain(LogOptions.OPTIONS, arguments)
    if values is not None:
        assert vars(LogOptions(**values)) == _read_by_click(arguments)


@each("option", OPTIONS, ids=lambda option: option.name)
def test_every_option_is_read_without_click(option: Any) -> None:
    value = {"choice": option.choices[:1], "integer": ("3",), "flag": ()}.get(option.kind, ("word",))
    for name in option.names:
        values = read_plain(LogOptions.OPTIONS, ["x", name, *value])
        assert values is not None
        assert vars(LogOptions(**values)) == _read_by_click(["x", name, *value])


@each("option", [option for option in ScanOptions.OPTIONS.values() if option.names], ids=lambda one: one.name)
def test_every_option_of_a_scan_is_read_without_click(option: Any) -> None:
    value = {"choice": option.choices[:1], "integer": ("3",), "flag": ()}.get(option.kind, ("word",))
    for name in option.names:
        values = read_plain(ScanOptions.OPTIONS, ["x", name, *value])
        assert values is not None
        assert vars(ScanOptions(**values)) == _read_by_click(["x", name, *value], "scan")


MENDING: list[tuple[str, type[CommandOptions]]] = [("recover", RecoverOptions), ("reindex", ReindexOptions)]
NAMES_OF_MENDING = [name for _, options in MENDING for option in options.OPTIONS.values() for name in option.names]


@each(
    ("command", "options", "option"),
    [(command, options, option) for command, options in MENDING for option in options.OPTIONS.values() if option.names],
)
def test_every_option_of_recover_and_reindex_is_read_without_click(
    command: str, options: type[CommandOptions], option: Option
) -> None:
    value = {"choice": option.choices[:1], "flag": ()}.get(option.kind, ("word",))
    for name in option.names:
        values = read_plain(options.OPTIONS, ["x", name, *value])
        assert values is not None
        assert vars(options(**values)) == _read_by_click(["x", name, *value], command)


@given(
    st.sampled_from(MENDING),
    st.lists(st.sampled_from(["x", "", "out", "json", "-", "--", "--rate=1", *NAMES_OF_MENDING]), max_size=8),
)
def test_recover_and_reindex_read_without_click_what_click_reads(
    command: tuple[str, type[CommandOptions]], arguments: list[str]
) -> None:
    name, options = command
    values = read_plain(options.OPTIONS, arguments)
    if values is not None:
        assert vars(options(**values)) == _read_by_click(arguments, name)


@pytest.mark.parametrize("line", ["", "x y", "-o out", "x y -o out"])
def test_a_command_of_one_path_leaves_other_numbers_of_them_to_click(line: str) -> None:
    assert read_plain(ReindexOptions.OPTIONS, line.split()) is None


@pytest.mark.parametrize("command", ["recover", "reindex"])
def test_recover_and_reindex_run_without_click(tmp_path: Path, command: str) -> None:
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / f"{0:020d}.log").write_bytes(batch(records=[Record(value=b"x")]))
    code = "import sys; from kdump.cli.main import main; status = main(); print('click' in sys.modules, status, file=sys.stderr)"
    line = [sys.executable, "-c", code, command, str(tmp_path / "t-0"), "--rate", "1GB/s", "-o"]
    done = subprocess.run([*line, str(tmp_path / "out")], capture_output=True, text=True, timeout=HANG, check=True)
    assert done.stderr == "False 0\n"
    done = subprocess.run([*line, str(tmp_path / "out")], capture_output=True, text=True, timeout=HANG, check=True)
    assert "out exists; kdump does not overwrite anything" in done.stderr
    assert done.stderr.endswith("False 2\n")


@pytest.mark.parametrize(("options", "loads_click"), [(["--deep", "--output", "ndjson"], False), (["--output=csv"], True)])
def test_a_plain_command_line_runs_without_click(tmp_path: Path, options: list[str], loads_click: bool) -> None:
    path = tmp_path / f"{0:020d}.log"
    path.write_bytes(batch(records=[Record(value=b"x")]))
    code = "import sys; from kdump.cli.main import main; status = main(); print('click' in sys.modules, status, file=sys.stderr)"
    command = [sys.executable, "-c", code, "log", *options, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG, check=True)
    assert done.stdout.count(str(path)) == 1
    assert done.stderr == f"{loads_click} 0\n"


def test_a_file_for_the_output_needs_no_click(tmp_path: Path) -> None:
    path = tmp_path / f"{0:020d}.log"
    path.write_bytes(batch(records=[Record(value=b"x")]))
    code = "import sys; from kdump.cli.main import main; status = main(); print('click' in sys.modules, status)"
    for form in ("kafka", "ndjson"):
        out = tmp_path / form
        command = [sys.executable, "-c", code, "log", "--output", form, "-o", str(out), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=HANG, check=True)
        assert (done.stdout, done.stderr) == ("False 0\n", "")
        assert out.read_text().count("offset") == 1 if form == "kafka" else str(path) in out.read_text()
        assert subprocess.run(command, capture_output=True, text=True, timeout=HANG, check=True).stdout == "False 2\n"


@pytest.mark.parametrize("line", ["x -o a -o b", "-o", "x -o -"])
def test_a_doubtful_file_is_left_to_click(line: str) -> None:
    assert read_plain(LogOptions.OPTIONS, line.split()) is None


def test_an_export_without_schemas_reads_each_log_once(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / f"{0:020d}.log"
    path.write_bytes(batch(records=[Record(value=b"x")]))
    read: list[str] = []
    real = logs.LogLister.list_all

    def list_all(lister: logs.LogLister) -> None:
        read.append(type(lister).__name__)
        real(lister)

    with mock.patch.object(logs.LogLister, "list_all", list_all):
        options = LogOptions(paths=(str(path),), is_deep=True, output="parquet", file=str(tmp_path / "out"))
        assert list_paths(".log", options) == 0
    assert read == ["_Exporter"]
