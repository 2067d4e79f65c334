"""Generate the reference pages of docs/: all faults, and all commands with their options; and its pictures.

python -m tools.docs            writes docs/faults.md, docs/cli.md and docs/pictures/
python -m tools.docs --check    reports what is stale; the exit code is 1 if anything is
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from kdump.checks import catalogue
from kdump.cli import dropin
from kdump.cli.commands import COMMANDS
from kdump.cli.options import CHOICE, FLAG, Command, Option
from kdump.releases import history, known
from kdump.releases.profile import profile_of

DOCS = Path(__file__).parents[1] / "docs"
COMMAND = "python -m tools.docs"


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
        ("At a restart", fault.at_restart),
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
        *(f"- [`kdump {name}`](#kdump-{name})" for name in COMMANDS),
        "",
        *_dropin(),
    ]
    for name, command in COMMANDS.items():
        lines += _command(name, command)
    return "\n".join(lines)


def _dropin() -> Iterator[str]:
    newest = profile_of(known.RELEASES[-1])
    since = {f"--{option.name}": next(iter(option.texts)) for option in history.OPTIONS}
    yield from ("## Drop-in form", "")
    yield from ("```text", "kdump --files FILE[,FILE...] [options of kafka-dump-log.sh]", "```", "")
    yield from ("Prints what `kafka-dump-log.sh` prints. See [Drop-in](drop-in.md).", "", "kdump adds these options:", "")
    yield from _options(dropin.DropinOptions.OPTIONS.values())
    yield from (f"These are Kafka's, in the words of {known.RELEASES[-1]}:", "")
    yield from _table(
        ("option", "since", "what it does"),
        (
            (f"`{option.names[0]}`", since[option.names[0]], _cell(option.help))
            for option in sorted(dropin.kafkas_options(newest), key=lambda option: option.names)
        ),
    )


def _command(name: str, command: Command) -> Iterator[str]:
    options = command.options.OPTIONS.values()
    usage = " ".join(["kdump", name, "[OPTIONS]", *(option.value_name for option in options if not option.names)])
    yield from (f"## kdump {name}", "", "```text", usage, "```", "")
    yield from _paragraphs(command.help)
    yield from _options(option for option in options if option.names)


def _options(options: Iterable[Option]) -> Iterator[str]:
    yield from _table(("option", "default", "what it does"), (_option(option) for option in options))


def _option(option: Option) -> tuple[str, str, str]:
    default = default_of(option)
    names = ", ".join(f"`{name}`" for name in names_of(option))
    return names, f"`{default}`" if default else "", " ".join([_cell(option.help), choices_of(option, "`")]).rstrip()


def names_of(option: Option) -> list[str]:
    """The names of an option, each with the name of its value."""
    return [f"{name} {option.value_name}".rstrip() for name in option.names]


def default_of(option: Option) -> str:
    """The default of an option, empty if the option explains it in words or there is none."""
    return (option.names[0] if option.kind == FLAG else str(option.default)) if option.shows_default else ""


def choices_of(option: Option, mark: str = "") -> str:
    """A sentence that lists the values an option can have, each between two marks; empty if its help text names them."""
    if option.kind != CHOICE or option.spelling is not None:
        return ""
    return "One of " + ", ".join(f"{mark}{choice}{mark}" for choice in option.choices) + "."


def _paragraphs(help_text: str) -> Iterator[str]:
    for lines in paragraphs(help_text):
        yield from ("```text", *lines, "```", "") if isinstance(lines, list) else (_cell(lines), "")


def paragraphs(help_text: str) -> Iterator[str | list[str]]:
    r"""The paragraphs of a help text of Click; of one after `\b`, which keeps its lines, the list of these."""
    for paragraph in re.split(r"\n\s*\n", help_text.strip()):
        lines = [line.strip() for line in paragraph.splitlines()]
        yield lines[1:] if lines[0] == "\b" else " ".join(lines)


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


def pages() -> dict[str, str]:
    """The pages and pictures that this program writes, by their names in docs/."""
    from tools.pictures import pictures  # which needs the tests; a wheel is built without them

    drawn = {f"pictures/{name}": picture for name, picture in pictures().items()}
    return {"faults.md": faults_page(), "cli.md": commands_page(), **drawn}


def stale_pages() -> dict[str, str]:
    """Those of them that are stale."""
    return {name: page for name, page in pages().items() if not (DOCS / name).exists() or (DOCS / name).read_text() != page}


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
        (DOCS / name).parent.mkdir(exist_ok=True)
        (DOCS / name).write_text(stale[name])
        print(f"docs/{name} written")
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
