"""Help screens: a start page for 80 columns, `-h` with what is usual, `--help` with everything, in groups."""

import pytest

from kdump.cli import commands
from kdump.cli.commands import COMMANDS, HELP
from tests.loops import each


def _screen(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert commands.main([*words]) == 0
    return capsys.readouterr().out


def test_the_start_page_fits_a_terminal_and_names_each_command_once() -> None:
    assert max(map(len, HELP.splitlines())) <= 80
    assert len(HELP.splitlines()) <= 24
    lines = HELP.partition("Check ")[2].partition("\n\n")[0].replace(",", "").splitlines()
    listed = ["check", *(word for line in lines for word in line.split())]
    assert [name for name in COMMANDS if name not in listed] == []
    examples = HELP.partition("Examples\n")[2].partition("\n\n")[0].splitlines()
    assert len(examples) == 6


@each("name", COMMANDS)
def test_short_help_leaves_out_the_rare(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    short, whole = _screen(capsys, name, "-h"), _screen(capsys, name, "--help")
    assert len(short.splitlines()) <= len(whole.splitlines())
    assert max(map(len, short.splitlines())) <= 80
    assert "--csv-formulas" not in short
    assert short.rstrip().splitlines()[-1].startswith(f"`kdump {name} --help` shows all options")
    examples = [line for line in whole.splitlines() if line.startswith("    kdump ")]
    assert all(line in short.splitlines() for line in examples)
