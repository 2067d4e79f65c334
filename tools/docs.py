"""Generate the reference pages of docs/: all faults, and all commands with their options.

python -m tools.docs            writes docs/faults.md and docs/cli.md
python -m tools.docs --check    reports stale pages; the exit code is 1 if there are any
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click

from kdump.checks import catalogue
from kdump.cli import command_names, commands, completion
from kdump.releases import history
from kdump.releases.profile import profile_of

DOCS = Path(__file__).parents[1] / "docs"
COMMAND = "python -m tools.docs"

DROPIN_OPTIONS = {
    "--release R": f"Print what Kafka R printed: any release from {history.RELEASES[0]} to {history.RELEASES[-1]}, the default.",
    "--strict-stderr": "Print only Kafka's own words on stderr: leave out kdump's hint after an exception.",
    "--jobs N": "Read large logs with N processes; 0, the default, uses as many as suit the machine.",
    "--nice": "Run at the lowest CPU and I/O priority, and leave the page cache as it was.",
    "--rate RATE": "Read no faster than this, for example 50MB/s.",
}
"""The options that kdump adds to those of Kafka's tool."""


def faults_page() -> str:
    """The catalogue of faults, section by section."""
    lines = [
        *_heading("Faults"),
        f"`kdump check`, `kdump scan` and `kdump forecast` report {len(catalogue.FAULTS)} kinds of faults. Each has a code, "
        "which never changes its meaning. `kdump explain CODE` prints the same text as this page, and "
        "`kdump explain EXCEPTION` finds the faults that cause an exception.",
        "",
        "The severity is the usual one; a rule may report a milder or a graver one where it knows more. "
        "[Check](check.md) explains how to select, ignore and compare findings.",
        "",
    ]
    for title, faults in catalogue.SECTIONS.items():
        lines += [f"## {title}", "", "| code | severity | fault |", "| --- | --- | --- |"]
        lines += [f"| [`{fault.code}`](#{fault.code}) | {fault.severity} | {_cell(fault.title)} |" for fault in faults]
        lines.append("")
        for fault in faults:
            lines += _fault(fault)
    return "\n".join(lines)


def _fault(fault: catalogue.FaultKind) -> Iterator[str]:
    yield f"### {fault.code}"
    yield ""
    yield f"**{fault.severity}**: {_cell(fault.title)}"
    yield ""
    rows = [
        ("How it comes about", fault.cause),
        ("What Kafka does", fault.kafka),
        ("On a running broker", catalogue.RUNNING.get(fault.code, "")),
        ("At a restart", catalogue.FORECASTS[fault.forecast]),
        ("What is lost", fault.loss),
        ("What to do", fault.remedy),
    ]
    yield from (f"- **{label}:** {_cell(text)}" for label, text in rows if text)
    if fault.see:
        yield "- **See also:** " + ", ".join(f"[`{code}`](#{code})" for code in fault.see)
    yield ""


def commands_page() -> str:
    """The drop-in form and all commands, with their options."""
    lines = [
        *_heading("Command line"),
        "`kdump COMMAND --help` prints the same, and `kdump --files x --help` prints the help screen of Kafka's tool.",
        "",
        "- [`kdump --files`](#drop-in-form)",
        *(f"- [`kdump {name}`](#kdump-{name})" for name in command_names.COMMANDS),
        "",
        *_dropin(),
    ]
    for name in command_names.COMMANDS:
        lines += _command(name, commands.kdump.commands[name])
    return "\n".join(lines)


def _dropin() -> Iterator[str]:
    if tuple(name.split()[0] for name in DROPIN_OPTIONS) != completion.OWN_OPTIONS:
        raise ValueError(f"DROPIN_OPTIONS describes other options than the drop-in form has: {completion.OWN_OPTIONS}")
    newest = profile_of(history.RELEASES[-1])
    yield from ("## Drop-in form", "")
    yield from ("```text", "kdump --files FILE[,FILE...] [options of kafka-dump-log.sh]", "```", "")
    yield from ("Prints what `kafka-dump-log.sh` prints. See [Drop-in](drop-in.md).", "", "kdump adds these options:", "")
    yield from _table(("option", "what it does"), ((f"`{name}`", _cell(text)) for name, text in DROPIN_OPTIONS.items()))
    yield from (f"These are Kafka's, in the words of {history.RELEASES[-1]}:", "")
    yield from _table(
        ("option", "since", "what it does"),
        (
            (f"`--{option.name}`", next(iter(option.texts)), _cell(newest.description_of(option.name)))
            for option in history.OPTIONS
            if option.name in newest.options
        ),
    )


def _command(name: str, command: click.Command) -> Iterator[str]:
    arguments = [parameter for parameter in command.params if isinstance(parameter, click.Argument)]
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    usage = " ".join(["kdump", name, "[OPTIONS]", *(_metavar(argument) for argument in arguments)])
    yield from (f"## kdump {name}", "", "```text", usage, "```", "")
    yield from _paragraphs(command.help or "")
    yield from _table(("option", "default", "what it does"), (_option(option) for option in options))


def _option(option: click.Option) -> tuple[str, str, str]:
    names = [*option.opts, *option.secondary_opts]
    value = "" if option.is_flag else f" {_metavar(option)}"
    default = str(option.default) if option.show_default and not option.is_flag else ""
    if option.secondary_opts:
        default = (option.opts if option.default else option.secondary_opts)[0]
    what = _cell(option.help or "")
    if isinstance(option.type, click.Choice):
        what += " One of " + ", ".join(f"`{choice}`" for choice in option.type.choices) + "."
    return ", ".join(f"`{name}{value}`" for name in names), f"`{default}`" if default else "", what


def _metavar(parameter: click.Parameter) -> str:
    """The placeholder for a value."""
    if parameter.metavar:
        return parameter.metavar
    if isinstance(parameter.type, click.Choice):
        choices = "|".join(map(str, parameter.type.choices))
        return choices if isinstance(parameter, click.Argument) else parameter.opts[-1].lstrip("-").rpartition("-")[2].upper()
    if isinstance(parameter, click.Argument):
        return f"[{(parameter.name or '').upper()}]"
    return {"integer range": "N", "integer": "N", "float range": "N"}.get(parameter.type.name, parameter.type.name.upper())


def _paragraphs(help_text: str) -> Iterator[str]:
    r"""A help text of Click; a paragraph after `\b` keeps its lines."""
    for paragraph in re.split(r"\n\s*\n", help_text.strip()):
        lines = [line.strip() for line in paragraph.splitlines()]
        if lines[0] == "\b":
            yield from ("```text", *lines[1:], "```", "")
        else:
            yield from (_cell(" ".join(lines)), "")


def _heading(title: str) -> Iterator[str]:
    yield from (f"# {title}", "", f"<!-- Written by `{COMMAND}`: do not edit by hand. -->", "")


def _table(heads: Iterable[str], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    heads = list(heads)
    yield f"| {' | '.join(heads)} |"
    yield f"| {' | '.join('---' for _ in heads)} |"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""


def _cell(text: str) -> str:
    """A text as Markdown; only code in backticks is markup."""
    parts = text.split("`")
    plain = [re.sub(r"([\\*_<\[\]|])", r"\\\1", part) for part in parts[::2]]
    code = [f"`{part}`" for part in parts[1::2]]
    return "".join(part for pair in zip(plain, [*code, ""], strict=True) for part in pair)


PAGES: dict[str, Callable[[], str]] = {"faults.md": faults_page, "cli.md": commands_page}
"""The pages that this program writes."""


def stale_pages() -> list[str]:
    """The names of the pages in docs/ that are stale."""
    return [name for name, page in PAGES.items() if not (DOCS / name).exists() or (DOCS / name).read_text() != page()]


def run(arguments: list[str]) -> int:
    """Write the pages, or compare them. Returns the exit code."""
    parser = argparse.ArgumentParser(prog=COMMAND, description="Write the reference pages of docs/ that come from the program.")
    parser.add_argument("--check", action="store_true", help="say which pages are stale, and write none")
    stale = stale_pages()
    if parser.parse_args(arguments).check:
        for name in stale:
            print(f"docs/{name} is stale; write it again with: {COMMAND}")
        return 1 if stale else 0
    for name in stale:
        (DOCS / name).write_text(PAGES[name]())
        print(f"docs/{name} written")
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
