"""The plain command lines of `kdump check` are read as Click reads them."""

from typing import Any

import click
from hypothesis import given
from hypothesis import strategies as st

from kdump.cli import commands
from kdump.cli.checking.options import CheckOptions
from kdump.cli.click_parser import Invocation
from kdump.cli.plain_command_line import read_plain
from kdump.cli.shared_options import FILE
from tests.loops import each

OPTIONS = [option for option in CheckOptions.OPTIONS.values() if option.names and option is not FILE]

WORDS = st.sampled_from(
    ["a.log", "b", "full", "quick", "warning", "compact", "ndjson", "7", "0", "-1", "1.5", "1e3", "-", "--", "-b", "x y", ""]
)
NAMES = st.sampled_from([name for option in OPTIONS for name in option.names] + ["--help", "--jobs=2", "-ondjson", "--lev"])


def _read_by_click(arguments: list[str]) -> dict[str, Any] | None:
    """What Click makes of a command line, None where it refuses it or shows a screen."""
    try:
        read = commands.parser().main(["check", *arguments], prog_name="kdump", standalone_mode=False)
    except click.UsageError:
        return None
    return vars(read.options) if isinstance(read, Invocation) else None


def _read_plain(arguments: list[str]) -> dict[str, Any] | None:
    values = read_plain(CheckOptions.OPTIONS, arguments)
    return None if values is None else vars(CheckOptions(**values))


@given(st.lists(WORDS | NAMES, max_size=8))
def test_what_is_read_without_click_is_what_click_reads(arguments: list[str]) -> None:
    plain = _read_plain(arguments)
    if plain is not None:
        assert plain == _read_by_click(arguments)


@each("option", OPTIONS, ids=lambda option: option.name)
def test_every_option_is_read_without_click(option: Any) -> None:
    value = {
        "choice": [choice for choice in option.choices if choice != option.default][:1],
        "integer": ("3",),
        "seconds": ("2",),
        "flag": (),
    }.get(option.kind, ("word",))
    for name in option.names:
        plain = _read_plain(["x", name, *value])
        assert plain is not None
        assert plain == _read_by_click(["x", name, *value])
        assert plain[option.name] != option.default


@each("line", ["", "--help", "x --level", "x --level all", "x --jobs -2", "-- x", "x -", "x --level=full"])
def test_what_is_not_plain_is_left_to_click(line: str) -> None:
    assert _read_plain(line.split()) is None
