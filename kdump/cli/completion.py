"""Completions in bash, zsh and fish: those of Click, with the values of options, and of the drop-in form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ShellComplete, ZshComplete, add_completion_class

from kdump.cli.command_names import is_dropin
from kdump.cli.options import CODES, DIRECTORIES, FILES, FLAG, RELEASES, ROWS, TABLES
from kdump.releases import known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kdump.cli.options import Option

    Items = list[CompletionItem[str]]
    Completer = Callable[[click.Context, click.Parameter, str], Items]  # as Click calls it

VARIABLE = "_KDUMP_COMPLETE"
"""The variable by which a shell asks for completions, as Click names it."""

SHELLS: Mapping[str, type[ShellComplete]]


# --- What values can be


def _file_names(incomplete: str) -> Items:
    """Names of files and directories, which the shell completes itself."""
    return [CompletionItem(incomplete, type="file")]


def _directories(incomplete: str) -> Items:
    """Names of directories."""
    return [CompletionItem(incomplete, type="dir")]


def _codes(incomplete: str) -> Items:
    """The codes of faults, each with its title."""
    from kdump.checks import catalogue

    return _beginning(incomplete, ((code, fault.title) for code, fault in catalogue.FAULTS.items()))


def _releases(incomplete: str) -> Items:
    """Releases of Kafka, the newest first."""
    return _beginning(incomplete, ((release, "") for release in reversed(known.RELEASES)))


def _tables(incomplete: str) -> Items:
    """Tables of a scan that are not named yet, after a comma."""
    from kdump.output.arrow.rows import TABLES

    before, comma, _ = incomplete.rpartition(",")
    given = before.split(",")
    return _beginning(incomplete, ((before + comma + table, "") for table in TABLES if table not in given))


def _kinds_of_rows(incomplete: str) -> Items:
    """The kinds of rows that have a schema."""
    from kdump.output import schemas

    return _beginning(incomplete, ((kind, "") for kind in schemas.ROWS))


_VALUES: Mapping[str, Callable[[str], Items]] = {
    FILES: _file_names,
    DIRECTORIES: _directories,
    CODES: _codes,
    RELEASES: _releases,
    TABLES: _tables,
    ROWS: _kinds_of_rows,
}


def completer_of(option: Option) -> Completer | None:
    """The function that completes the values of an option in Click; None if there is none."""
    return (lambda _context, _parameter, incomplete: _values(option, incomplete)) if option.completes else None


def _values(option: Option, incomplete: str) -> Items:
    """The values of an option that begin like this."""
    known = option.completes
    return _VALUES[known](incomplete) if isinstance(known, str) else _beginning(incomplete, ((word, "") for word in known))


def _beginning(incomplete: str, values: Iterable[tuple[str, str]]) -> Items:
    return [CompletionItem(value, help=help or None) for value, help in values if value.startswith(incomplete)]


# --- Shells


class _WithKafkasTool(ShellComplete):
    """Also completes the drop-in form, which Click does not know, and file names in place of a command."""

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
    """Make Click use these classes for the shells."""
    for name, shell in SHELLS.items():
        add_completion_class(shell, name)


def script(commands: click.Command, shell: str) -> str:
    """The script that a shell must read."""
    return SHELLS[shell](commands, {}, "kdump", VARIABLE).source()


def _of_dropin(args: list[str], incomplete: str) -> Items:
    """Options of the drop-in form, as the chosen release has them, and their values."""
    from kdump.cli.dropin import all_options
    from kdump.releases.profile import profile_of

    given = [args[at + 1] for at, word in enumerate(args[:-1]) if word == "--release"]
    options = all_options(profile_of(given[-1] if given and given[-1] in known.RELEASES else known.RELEASES[-1]))
    before = next((option for option in options if args and args[-1] in option.names), None)
    takes_file = before is None or before.kind == FLAG or before.completes == FILES
    if before is not None and not takes_file:
        return _values(before, incomplete)
    if incomplete.startswith("-"):
        return _beginning(incomplete, ((option.names[0], option.help) for option in options))
    return _file_names(incomplete)
