"""Makes Click's parser from the commands and their options."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

import click

from kdump.cli import completion
from kdump.cli.help_groups import groups_of
from kdump.cli.options import CHOICE, FLAG, INTEGER, SECONDS, TEXTS, Command, CommandOptions, Option
from kdump.cli.shared_options import FILE

_COLUMN = 26  # characters for the names of options; the text of longer ones is below

_LEAST = re.compile(r"  \[x>=[01]\]|; x>=[01](?=\])")
"""What Click says of numbers that may not be negative, or not zero, which nobody would ask for."""

_SETTINGS = {"help_option_names": ["--help"], "max_content_width": 110}


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


class _Command(click.Command):
    """A command whose options are in groups on its help screens: all of them with --help, the usual ones with -h."""

    command: Command

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self._format(ctx, formatter, is_long=True)

    def show_short_help(self, ctx: click.Context, _parameter: click.Parameter, is_asked_for: bool) -> None:
        """Show what -h asks for, and end."""
        if is_asked_for and not ctx.resilient_parsing:
            formatter = ctx.make_formatter()
            self._format(ctx, formatter, is_long=False)
            click.echo(formatter.getvalue().rstrip("\n"))
            ctx.exit()

    def _format(self, ctx: click.Context, formatter: click.HelpFormatter, *, is_long: bool) -> None:
        self.format_usage(ctx, formatter)
        text = inspect.cleandoc(self.help or "")
        paragraphs = text.split("\n\n")
        shown = paragraphs if is_long else [paragraphs[0], *(one for one in paragraphs if one.startswith("\b"))]
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text("\n\n".join(shown))
        parameters = {parameter.name: parameter for parameter in self.get_params(ctx)}
        for title, options in groups_of(self.command.options.OPTIONS.values(), is_long=is_long).items():
            records = filter(None, (parameters[option.name].get_help_record(ctx) for option in options))
            said = [(names.ljust(_COLUMN), _LEAST.sub("", text)) for names, text in records]
            rows = said if is_long else [(names, _first_sentence(text)) for names, text in said]
            with formatter.section(title):
                formatter.write_dl(rows, col_max=_COLUMN)
        formatter.write_paragraph()
        formatter.write_text(
            "-h shows this in short." if is_long else f"`{ctx.command_path} --help` shows all options, and says more."
        )


def _first_sentence(text: str) -> str:
    """The first sentence of the help of an option, and what Click says in brackets."""
    end = next((at for at in range(len(text) - 2) if text[at : at + 2] == ". " and text[at + 2].isupper()), None)
    _, bracket, said = text.rpartition("  [")
    return text if end is None else text[: end + 1] + (f"  [{said}" if bracket else "")


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
        context_settings={**_SETTINGS, "help_option_names": ["-h", "--help"]},
    )
    group.help_screen = help_screen
    for name, command in commands.items():
        group.add_command(_command(name, command))
    return group


def _command(name: str, command: Command) -> click.Command:
    def invocation(**values: Any) -> Invocation:
        return Invocation(command.run, command.options(**values))

    params = [_parameter(option) for option in command.options.OPTIONS.values()]
    made = _Command(name, callback=invocation, params=params, help=command.help, context_settings=_SETTINGS)
    made.command = command
    short = click.Option(["-h"], is_flag=True, is_eager=True, expose_value=False, callback=made.show_short_help)
    short.help = "Show the usual options and exit."
    made.params.append(short)
    return made


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
    return click.Option(
        [*option.names, option.name],
        help=option.help,
        default=None if option.kind == TEXTS or option is FILE else option.default,
        is_flag=option.kind == FLAG,
        multiple=option.kind == TEXTS or option is FILE,
        type=_type(option),
        metavar=None if isinstance(_type(option), click.Choice) else option.value_name or None,  # Click lists the choices
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
