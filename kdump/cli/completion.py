"""Completions in bash, zsh and fish: those of Click, which learn codes, releases and decoders here, and keep file names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ShellComplete, ZshComplete, add_completion_class

from kdump.cli.command_names import is_dropin
from kdump.releases import history

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Items = list[CompletionItem[str]]
    Completer = Callable[[click.Context, click.Parameter, str], Items]

VARIABLE = "_KDUMP_COMPLETE"
"""The variable by which a shell asks for completions, as Click names it."""

SHELLS: Mapping[str, type[ShellComplete]]

OWN_OPTIONS = ("--release", "--strict-stderr", "--jobs", "--nice", "--rate")
"""What kdump adds to the options of Kafka's tool in the drop-in form."""


# --- What values can be


def file_names(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """Names of files and directories; the shell knows them."""
    return [CompletionItem(incomplete, type="file")]


def directories(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """Names of directories."""
    return [CompletionItem(incomplete, type="dir")]


def codes(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """The codes of faults, each with its title."""
    from kdump.checks import catalogue

    return _beginning(incomplete, ((code, fault.title) for code, fault in catalogue.FAULTS.items()))


def releases(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """Releases of Kafka, the newest first."""
    return _beginning(incomplete, ((release, "") for release in reversed(history.RELEASES)))


def words(*known: str) -> Completer:
    """One of these."""
    return lambda _context, _parameter, incomplete: _beginning(incomplete, ((word, "") for word in known))


def tables(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """Tables of a scan that are not given yet, after those that are and a comma."""
    from kdump.output.arrow.rows import TABLES

    before, comma, _ = incomplete.rpartition(",")
    given = before.split(",")
    return _beginning(incomplete, ((before + comma + table, "") for table in TABLES if table not in given))


def kinds_of_rows(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """What there is a schema of."""
    from kdump.output import schemas

    return _beginning(incomplete, ((kind, "") for kind in schemas.ROWS))


def _beginning(incomplete: str, values: Iterable[tuple[str, str]]) -> Items:
    return [CompletionItem(value, help=help or None) for value, help in values if value.startswith(incomplete)]


# --- Shells


class _WithKafkasTool(ShellComplete):
    """Completes the drop-in form, too, which Click does not know; and names of files where a command may come."""

    def get_completions(self, args: list[str], incomplete: str) -> Items:
        args = [word for word in args if word != "="]  # bash takes --name=value for three words
        name, equals, value = incomplete.partition("=")
        if not equals or not name.startswith("--"):
            return self._completions(args, "" if incomplete == "=" else incomplete)
        found = self._completions([*args, name], value)
        for item in found:
            item.value = f"{name}={item.value}" if item.type == "plain" else item.value
        return found

    def _completions(self, args: list[str], incomplete: str) -> Items:
        if args and is_dropin(args):
            return _of_dropin(args, incomplete)
        found = super().get_completions(args, incomplete)
        if args or not incomplete:
            return found
        if incomplete.startswith("-"):
            return found + _of_dropin(args, incomplete)
        # bash forgets what came before a file
        return [CompletionItem(incomplete, type="file"), *found]


class _Bash(_WithKafkasTool, BashComplete):
    pass


class _Zsh(_WithKafkasTool, ZshComplete):
    pass


class _Fish(_WithKafkasTool, FishComplete):
    pass


SHELLS = {"bash": _Bash, "zsh": _Zsh, "fish": _Fish}


def register() -> None:
    """Let Click answer shells by these classes."""
    for name, shell in SHELLS.items():
        add_completion_class(shell, name)


def script(commands: click.Command, shell: str) -> str:
    """What a shell is to read so that it completes."""
    return SHELLS[shell](commands, {}, "kdump", VARIABLE).source()


def _of_dropin(args: list[str], incomplete: str) -> Items:
    """Options of Kafka's tool, as the release has them that is given, and their values."""
    from kdump.releases.profile import profile_of

    given = [args[at + 1] for at, word in enumerate(args[:-1]) if word == "--release"]
    profile = profile_of(given[-1] if given and given[-1] in history.RELEASES else history.RELEASES[-1])
    option = args[-1] if args else ""
    if option == "--release":
        return _beginning(incomplete, ((release, "") for release in reversed(history.RELEASES)))
    if option.endswith("-decoder-class"):
        return _beginning(incomplete, ((name, "") for name in profile.decoder_classes))
    if incomplete.startswith("-"):
        kafkas = ((f"--{name}", profile.description_of(name)) for name in profile.options)
        return _beginning(incomplete, [*kafkas, *((name, "") for name in OWN_OPTIONS)])
    if option in ("--jobs", "--rate", "--max-message-size", "--max-bytes"):
        return []
    return [CompletionItem(incomplete, type="file")]
