"""One declaration of an option is what every reader of command lines, and every page, goes by."""

from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import ShellComplete

from kdump.binary import throttle
from kdump.binary.source import Source
from kdump.checks.settings import Settings
from kdump.cli.checking.options import CheckOptions
from kdump.cli.checking.request import CheckRequest
from kdump.cli.click_parser import Invocation, parser_of
from kdump.cli.commands import main
from kdump.cli.dropin import DropinOptions, all_options, read_dropin
from kdump.cli.options import FILES, Command, CommandOptions, arguments, choice, flag, integer, text
from kdump.cli.plain_command_line import read_plain
from kdump.exit_codes import USAGE
from kdump.releases.profile import profile_of
from tools import docs


class _Base(CommandOptions):
    paths: tuple[str, ...] = arguments("PATH...", is_required=True, completes=FILES)
    colour: str = choice("--colour", ("red", "green"), "The colour of the pencil.", default="red")


class _PencilOptions(_Base):
    colour: str = choice("--colour", ("red", "blue"), "Another colour.", default="blue")
    depth: int = integer("--depth", "How deep to write.", minimum=1, default=8, shows_default=True)
    is_sharp: bool = flag("--sharp --pointed", "Sharpen it first.")
    erases: bool = flag("--erase", "Erase what was written.")
    brand: str | None = text("--brand", "Who made it.", metavar="NAME", completes=("acme", "best"))


def _write(_options: _PencilOptions) -> int:
    """Write with a pencil."""
    return 0


def _nothing(_options: CommandOptions) -> int:
    """Nothing."""
    return 0


PENCIL = Command(_PencilOptions, _write)
PARSER = parser_of(Command(CommandOptions, _nothing), {"write": PENCIL}, help_screen="")


def _read(line: str) -> dict[str, Any]:
    read = PARSER.main(["write", *line.split()], standalone_mode=False)
    assert isinstance(read, Invocation)
    return vars(read.options)


def test_options_are_read_with_click_and_without_it_and_have_their_defaults() -> None:
    defaults = {"paths": ("x",), "colour": "blue", "depth": 8, "is_sharp": False, "erases": False, "brand": None}
    assert vars(_PencilOptions(paths=("x",))) == _read("x") == defaults
    line = "x --depth 3 --pointed --brand acme y --colour red"
    wanted = {"paths": ("x", "y"), "colour": "red", "depth": 3, "is_sharp": True, "brand": "acme"}
    assert read_plain(_PencilOptions.OPTIONS, line.split()) == wanted
    assert _read(line) == {**wanted, "erases": False}
    assert _read("x --erase")["erases"] is True


def test_a_class_has_its_own_options_then_those_of_its_base_and_may_declare_one_again() -> None:
    assert list(_Base.OPTIONS) == ["paths", "colour"]
    assert list(_PencilOptions.OPTIONS) == ["colour", "depth", "is_sharp", "erases", "brand", "paths"]
    with pytest.raises(TypeError, match="colours"):  # which does not exist
        _PencilOptions(colours="red")


def test_the_help_screen_and_the_page_say_what_the_declaration_says(capsys: pytest.CaptureFixture[str]) -> None:
    PARSER.main(["write", "--help"], standalone_mode=False)
    screen = capsys.readouterr().out
    assert all(words in screen for words in ("Write with a pencil.", "--depth N", "How deep to write.  [default: 8]"))
    page = list(docs._command("write", PENCIL))
    for line in (
        "kdump write [OPTIONS] PATH...",
        "| `--colour COLOUR` | `blue` | Another colour. One of `red`, `blue`. |",
        "| `--sharp`, `--pointed` |  | Sharpen it first. |",
        "| `--erase` |  | Erase what was written. |",
        "| `--brand NAME` |  | Who made it. |",
    ):
        assert line in page


def test_shells_complete_what_is_declared() -> None:
    shell = ShellComplete(PARSER, {}, "pencil", "_PENCIL")
    offered = {"write --brand b": ["best"], "write --colour ": ["red", "blue"], "write --shar": ["--sharp"]}
    for words, values in offered.items():
        *given, incomplete = words.split(" ")
        assert [item.value for item in shell.get_completions(given, incomplete)] == values


# --- the commands of kdump


def test_the_drop_in_form_has_no_option_that_kafkas_tool_has() -> None:
    names = [name for option in all_options(profile_of("4.3.1")) for name in option.names]
    assert len(names) == len(set(names)) == 22


def test_options_of_the_drop_in_form_are_distinguished_from_values_of_kafkas() -> None:
    options, kafkas = read_dropin(["--files", "--nice", "--rate=5MB/s", "--jobs", "2", "--deep-iteration", "--", "--nice"])
    assert vars(options) == {"release": "4.4.0", "is_strict": False, "jobs": 2, "is_nice": False, "rate": "5MB/s"}
    assert kafkas == ["--files", "--nice", "--deep-iteration", "--", "--nice"]
    assert vars(DropinOptions()) == {"release": "4.4.0", "is_strict": False, "jobs": 0, "is_nice": False, "rate": ""}


def test_an_option_of_a_check_that_is_named_as_a_setting_sets_it() -> None:
    shared = {name for name in CheckOptions.OPTIONS if name in Settings.field_names}
    given = {"level": "deep", "cleanup_policy": "compact", "is_pedantic": True, "max_findings": 3, "max_message_bytes": 4}
    given |= {"time_limit": 5.0, "follows_links": True, "file_type": "log"}
    assert shared == given.keys()
    settings = CheckRequest(CheckOptions(paths=(), **given)).settings
    assert {name: getattr(settings, name) for name in given} == given


def test_a_command_reads_as_slowly_as_it_is_asked_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(b"")
    for command in ("log", "check"):
        lowered: list[bool] = []
        monkeypatch.setattr(throttle, "lower_priority", lambda lowered=lowered: lowered.append(True))
        monkeypatch.setattr(Source, "throttle", None)
        assert main([command, str(path), "--rate", "5MB/s", "--nice"]) == 0
        assert isinstance(Source.throttle, throttle.Throttle)
        assert (Source.throttle._rate, lowered) == (5_000_000, [True])
        assert main([command, str(path), "--rate", "fast"]) == USAGE
