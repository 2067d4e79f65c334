"""One declaration of an option is what every reader of command lines, and every page, goes by."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import ShellComplete

from kdump.binary import throttle
from kdump.binary.source import Source
from kdump.checks.settings import Settings
from kdump.cli import commands
from kdump.cli.checking.options import CheckOptions
from kdump.cli.checking.request import CheckRequest
from kdump.cli.click_parser import Invocation, parser_of
from kdump.cli.commands import main
from kdump.cli.dropin import DropinOptions, all_options, read_dropin
from kdump.cli.options import FILES, Command, CommandOptions, arguments, choice, flag, integer, text
from kdump.cli.plain_command_line import read_plain
from kdump.errors import Unreadable, UsageError
from kdump.exit_codes import USAGE
from kdump.output.times import bounds
from kdump.releases.profile import profile_of
from tests.builders.files import write_partition
from tests.builders.records import Record, batch
from tests.loops import each
from tests.support import Capture, Patch
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


def test_the_help_screen_and_the_page_say_what_the_declaration_says(capsys: Capture) -> None:
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


def test_a_command_reads_as_slowly_as_it_is_asked_to(tmp_path: Path, monkeypatch: Patch) -> None:
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


DAY = 86_400_000


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    return write_partition(tmp_path, segments={0: [batch(records=[Record(key=b"k", value=b"needle")])]}, topic="orders")


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    path = write_partition(
        tmp_path / "bad", segments={0: [batch(records=[Record(value=b"x")], base_offset=at) for at in (0, 1)]}, topic="orders"
    )
    log = path / "00000000000000000000.log"
    data = bytearray(log.read_bytes())
    data[65] ^= 1
    log.write_bytes(data)
    return path


@each(
    "line, sound_code, damaged_code",
    [
        *(("check -q", 0, 1), ("check --quiet --output json", 0, 1), ("forecast -q", 0, 1), ("grep -q needle", 0, 3)),
        *(("grep -q nothing-of-it", 1, 3), ("where -q orders-0@0", 0, 1)),
    ],
)
def test_quiet_shows_nothing(line: str, sound_code: int, damaged_code: int, sound: Path, damaged: Path, capfd: Capture) -> None:
    assert [commands.main([*line.split(), str(path)]) for path in (sound, damaged)] == [sound_code, damaged_code]
    assert capfd.readouterr() == ("", "")


def test_quiet_and_a_file_for_the_output_do_not_go_together(sound: Path, tmp_path: Path) -> None:
    assert commands.main(["check", "-q", "-o", str(tmp_path / "report"), str(sound)]) == 2
    assert not (tmp_path / "report").exists()


def test_times_may_be_words_and_lengths_of_time_before_now() -> None:
    now = time.time_ns() // 1_000_000
    for words, length in (("now", 0), ("90s", 90_000), ("5m", 300_000), ("2h", 7_200_000), ("3d", 3 * DAY), ("1w", 7 * DAY)):
        first, last = bounds(words, None)[0], bounds(None, words)[1]
        assert first is not None and last is not None
        assert 0 <= first - (now - length) < 60_000 and 0 <= last - (now - length) < 60_000
    yesterday, today = bounds("yesterday", "yesterday"), bounds("today", "today")
    assert yesterday[0] is not None and yesterday[1] == yesterday[0] + DAY - 1 and yesterday[0] % DAY == 0
    assert today[0] == yesterday[1] + 1
    assert bounds("2026-11-20", "2026-11-20T13:45") == (1_795_132_800_000, 1_795_182_300_000)


def test_what_is_no_time_is_refused() -> None:
    for words in ("2030", "h", "2y", "-2h", "1.5h", "tomorrow", ""):
        with pytest.raises(UsageError, match="is not a time"):
            bounds(words, None)


@each(
    "options, said",
    [
        ("--from-time 2026-11-21 --to-time 2026-11-20", "the range of times ends before it begins"),
        ("--from-time 1h --to-time 2h", "the range of times ends before it begins"),
        ("--from-offset 5 --to-offset 4", "the range of offsets ends before it begins: 5 to 4"),
        *(("--from-offset -1", "-1"), ("--to-offset -1", "-1")),
    ],
)
def test_bad_ranges_are_refused(options: str, said: str, sound: Path, capsys: Capture, tmp_path: Path) -> None:
    for command in (["log"], ["grep", "x"], ["slice", "-o", str(tmp_path / "new")]):
        assert commands.main([*command, *options.split(), str(sound)]) == 2
        assert said in capsys.readouterr().err


@each(
    "line",
    ["check", "forecast", "scan", "log", "index", "grep x", "where orders-0@0", "where --key k"]
    + [f"{command} -o new" for command in ("recover", "reindex", "slice", "redact")],
)
def test_a_path_that_is_gone_is_one_line_with_what_was_meant(line: str, sound: Path, monkeypatch: Patch, capfd: Capture) -> None:
    monkeypatch.chdir(sound.parent)
    for path, meant in (("orders-O", "; did you mean orders-0?"), ("zebra", "")):
        with pytest.raises(Unreadable) as error:
            commands.main([*line.split(), path])
        assert str(error.value) == f"{path}: no such file or directory{meant}"
    assert capfd.readouterr().out == ""


def test_a_missing_path_beside_others_is_reported_by_the_command(sound: Path, capfd: Capture) -> None:
    assert commands.main(["check", "--output", "ndjson", str(sound), str(sound.parent / "gone")]) == 3
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [row["code"] for row in rows if row["kind"] == "finding"] == ["file-vanished"]
    with pytest.raises(Unreadable, match="yak: no such file"):
        commands.main(["check", "zebra", "yak"])
    assert capfd.readouterr().err == "kdump: zebra: no such file or directory\n"
    assert commands.main(["check", "--output", "json", str(sound.parent / "gone")]) == 3
    assert json.loads(capfd.readouterr().out)["findings"][0]["code"] == "file-vanished"


def test_a_scan_is_gentle_without_spark(sound: Path, capfd: Capture, monkeypatch: Patch) -> None:
    monkeypatch.setattr(Source, "throttle", None)  # which the command sets for its process
    pytest.importorskip("pyarrow", reason="tables need the package pyarrow")
    for words in (["--rate", "5MB/s", "--engine", "spark"], ["--rate", "fast"]):
        assert commands.main(["scan", *words, str(sound)]) == 2
    assert "--rate" in capfd.readouterr().err
    assert commands.main(["scan", "--rate", "500MB/s", "--jobs", "3", "--output", "json", str(sound)]) == 0
