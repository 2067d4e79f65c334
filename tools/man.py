"""Write the man pages of kdump and of each of its commands: python -m tools.man DIR, then `man -l DIR/kdump-check.1`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from kdump import __version__
from kdump.cli.commands import COMMANDS, HELP
from kdump.cli.dropin import DropinOptions, kafkas_options
from kdump.cli.options import Command, Option
from kdump.releases import known
from kdump.releases.profile import profile_of
from tools.docs import choices_of, default_of, names_of, paragraphs

COMMAND = "python -m tools.man"

_SUMMARY = "read Apache Kafka's files on disk"
_EXIT_CODES = {
    "0": "Everything was read, and nothing is wrong.",
    "1": "Something is damaged, or is lost at the next start.",
    "2": "The command line asks for something that does not exist.",
    "3": "Something could not be examined, or kdump itself failed.",
    "4": "The output could not be written.",
    "130": "Interrupted.",
}


def pages() -> dict[str, str]:
    """The pages by the names of their files."""
    return {"kdump.1": program_page()} | {f"kdump-{name}.1": command_page(name, command) for name, command in COMMANDS.items()}


def program_page() -> str:
    """The page of kdump: the commands, and the options of the drop-in form."""
    usage, description, _, examples, _ = HELP.split("\n\n")
    newest = known.RELEASES[-1]
    lines = [
        *_heading("kdump", _SUMMARY),
        *_section("SYNOPSIS", _verbatim(line.removeprefix("Usage:").strip() for line in usage.splitlines())),
        *_section("DESCRIPTION", [_text(description)]),
        *_section("COMMANDS", _commands()),
        *_section("OPTIONS OF THE DROP-IN FORM", _options(DropinOptions.OPTIONS.values())),
        *_section(f"OPTIONS OF KAFKA'S TOOL, {newest}", _options(kafkas_options(profile_of(newest)))),
        *_section("EXAMPLES", _verbatim(line.strip() for line in examples.splitlines()[1:])),
        *_section("EXIT STATUS", _exit_codes()),
        *_section("SEE ALSO", [", ".join(f"\\fBkdump\\-{name}\\fR(1)" for name in COMMANDS)]),
    ]
    return "\n".join(lines) + "\n"


def command_page(name: str, command: Command) -> str:
    """The page of a command."""
    summary, *further = paragraphs(command.help)
    assert isinstance(summary, str)
    options = command.options.OPTIONS.values()
    values = " ".join(option.value_name for option in options if not option.names)
    lines = [
        *_heading(f"kdump-{name}", summary[0].lower() + summary[1:].partition(". ")[0].rstrip(".")),
        *_section("SYNOPSIS", [_text(f"kdump {name} [OPTIONS] {values}")]),
        *_section("DESCRIPTION", [_text(summary)]),
        *(line for paragraph in further for line in _paragraph(paragraph)),
        *_section("OPTIONS", _options(option for option in options if option.names)),
        *_section("SEE ALSO", ["\\fBkdump\\fR(1)"]),
    ]
    return "\n".join(lines) + "\n"


def _heading(name: str, summary: str) -> Iterator[str]:
    yield f'.TH "{_text(name.upper())}" "1" "" "kdump {_text(__version__)}" "kdump"'
    yield from _section("NAME", [f"{_text(name)} \\- {_text(summary)}"])


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield f'.SH "{_text(title)}"'
    yield from lines


def _commands() -> Iterator[str]:
    for name, command in COMMANDS.items():
        summary = next(paragraphs(command.help))
        yield from _item(f"kdump {name}", str(summary))


def _options(options: Iterable[Option]) -> Iterator[str]:
    for option in options:
        default = default_of(option)
        said = [option.help, choices_of(option), f"The default is {default}." if default else ""]
        yield from _item(", ".join(names_of(option)), " ".join(part for part in said if part))


def _exit_codes() -> Iterator[str]:
    for code, meaning in _EXIT_CODES.items():
        yield from _item(code, meaning)
    yield ".PP"
    yield _text("With --files, the exit codes are those of Kafka's tool.")


def _item(term: str, text: str) -> Iterator[str]:
    yield from (".TP", f"\\fB{_text(term)}\\fR", _text(text))


def _paragraph(paragraph: str | list[str]) -> Iterator[str]:
    yield from (".PP", *_verbatim(paragraph)) if isinstance(paragraph, list) else (".PP", _text(paragraph))


def _verbatim(lines: Iterable[str]) -> Iterator[str]:
    yield from (".nf", *map(_text, lines), ".fi")


def _text(text: str) -> str:
    """A text as roff: no character of it is an instruction."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga").replace('"', "\\(dq")
    return "\\&" + escaped if escaped.startswith(".") else escaped


def run(arguments: list[str]) -> int:
    """Write the pages into a directory. Returns the exit code."""
    parser = argparse.ArgumentParser(prog=COMMAND, description="Write the man pages of kdump and of each of its commands.")
    parser.add_argument("directory", type=Path, metavar="DIR")
    directory: Path = parser.parse_args(arguments).directory
    directory.mkdir(parents=True, exist_ok=True)
    for name, page in pages().items():
        (directory / name).write_text(page)
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
