"""Makes Click's parser from the commands and their options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from kdump.cli import completion
from kdump.cli.options import CHOICE, FLAG, INTEGER, SECONDS, TEXTS, Command, CommandOptions, Option
from kdump.cli.shared_options import FILE

_HELP_NAMES = {"help_option_names": ["-h", "--help"]}


class Invocation:
    """What a command line says: the function of the command, and the values of its options."""

    def __init__(self, run: Callable[[Any], int], options: CommandOptions) -> None:  # each takes its own options
        self.run = run
        self.options = options


class _Group(click.Group):
    """The group of all commands; its help screen is written by hand."""

    help_screen = ""

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(self.help_screen)


def parser_of(program: Command, commands: Mapping[str, Command], *, help_screen: str) -> click.Group:
    """A parser that returns an Invocation, or shows a screen; `program` is run where no command is named."""

    @click.pass_context
    def run(context: click.Context, /, **values: Any) -> None:
        if context.invoked_subcommand is None:
            context.exit(program.run(program.options(**values)))

    group = _Group(
        callback=run,
        params=[_parameter(option) for option in program.options.OPTIONS.values()],
        help=program.help,
        invoke_without_command=True,
        context_settings=_HELP_NAMES,
    )
    group.help_screen = help_screen
    for name, command in commands.items():
        group.add_command(_command(name, command))
    return group


def _command(name: str, command: Command) -> click.Command:
    def invocation(**values: Any) -> Invocation:
        return Invocation(command.run, command.options(**values))

    params = [_parameter(option) for option in command.options.OPTIONS.values()]
    return click.Command(name, callback=invocation, params=params, help=command.help)


def _parameter(option: Option) -> click.Parameter:
    completer = completion.completer_of(option)
    if not option.names:
        return click.Argument(
            [option.name],
            nargs=-1 if option.kind == TEXTS else 1,
            required=option.is_required,
            type=_type(option),
            metavar=option.metavar,
            shell_complete=completer,
        )
    names = "/".join([*option.names, option.off_name]) if option.off_name else " ".join(option.names)
    return click.Option(
        [*names.split(), option.name],
        help=option.help,
        default=None if option.kind == TEXTS or option is FILE else option.default,
        is_flag=option.kind == FLAG,
        multiple=option.kind == TEXTS or option is FILE,
        type=_type(option),
        metavar=None if isinstance(_type(option), click.Choice) else option.metavar,  # Click lists the choices
        show_default=option.shows_default,
        callback=_one_file if option is FILE else _spelled(option),
        shell_complete=completer,
    )


def _type(option: Option) -> click.ParamType[Any] | type | None:
    if option.kind == CHOICE and option.spelling is None:
        return click.Choice(option.choices)
    if option.kind == INTEGER:
        return int if option.minimum is None else click.IntRange(min=option.minimum)
    return click.FloatRange(min=option.minimum) if option.kind == SECONDS else None


def _spelled(option: Option) -> Callable[[click.Context, click.Parameter, str | None], str | None] | None:
    """A callback for choices that may be spelled in other ways, None for all other options."""
    spelling = option.spelling
    if spelling is None:
        return None

    def choose(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
        chosen = None if value is None else spelling(value)
        if chosen is not None and chosen not in option.choices:
            raise click.BadParameter(f"'{value}' is not one of {', '.join(option.choices)}.")
        return chosen

    return choose


def _one_file(context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> str | None:
    """The file for the output."""
    if len(values) > 1:
        raise click.UsageError(f"there can be one output file, not {len(values)}: {', '.join(values)}", context)
    return values[0] if values else None
