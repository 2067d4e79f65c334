"""Help screens: a start page for 80 columns, `-h` with what is usual, `--help` with everything, in groups."""

import pytest

from kdump.cli import commands
from kdump.cli.commands import COMMANDS, HELP
from kdump.cli.help_groups import OWN, groups_of
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
def test_help_shows_every_option_once_in_a_group(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    screen = _screen(capsys, name, "--help")
    options = COMMANDS[name].options.OPTIONS.values()
    heads = [
        line[2:].partition("  ")[0].replace(",", "").replace("/", "").split()
        for line in screen.splitlines()
        if line.startswith("  -")
    ]
    for option in options:
        assert [sum(form in head for head in heads) for form in option.names] == [1] * len(option.names), option.names
    assert max(map(len, screen.splitlines())) <= 110
    assert [option for group in groups_of(options).values() for option in group].__len__() == sum(
        bool(one.names) for one in options
    )
    assert all(f"\n{title}:\n" in screen for title in groups_of(options))


@each("name", COMMANDS)
def test_short_help_leaves_out_what_is_rare_and_says_how_to_see_it(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    short, whole = _screen(capsys, name, "-h"), _screen(capsys, name, "--help")
    assert len(short.splitlines()) <= len(whole.splitlines())
    assert max(map(len, short.splitlines())) <= 80
    assert "--csv-formulas" not in short
    assert short.rstrip().splitlines()[-1].startswith(f"`kdump {name} --help` shows all options")
    examples = [line for line in whole.splitlines() if line.startswith("    kdump ")]
    assert all(line in short.splitlines() for line in examples)


def test_options_that_several_commands_share_are_in_the_same_group_of_each() -> None:
    groups: dict[str, set[str]] = {}
    for command in COMMANDS.values():
        for title, options in groups_of(command.options.OPTIONS.values()).items():
            for option in options:
                groups.setdefault(option.name, set()).add(title)
    assert all(len(titles) == 1 for titles in groups.values())
    assert groups["topics"] == {"What to read"} and groups["output"] == {"Output"} and groups["level"] == {OWN}


def test_one_name_of_an_option_has_one_kind_of_value_in_all_commands() -> None:
    kinds: dict[str, set[tuple[str, str]]] = {}
    for command in COMMANDS.values():
        for option in command.options.OPTIONS.values():
            for name in option.names:
                kinds.setdefault(name, set()).add((option.kind, option.name))
    several = {name: found for name, found in kinds.items() if len(found) > 1}
    assert several.keys() == {"-o"}, "a file or a new directory, as each help says"
