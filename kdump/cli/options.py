"""The notation of options: what a command takes is a class, and each option an attribute of it.

    class CheckOptions(CommandOptions):
        level: str = choice("--level", LEVELS, "How deep to check.", default=FULL)

`CheckOptions.OPTIONS["level"]` is the option, and `CheckOptions(level="quick").level` its value. The parsers, help screens,
completions, man pages and docs/cli.md are all made from these classes.
Where start-up time counts, a command line is read without Click.
"""

from __future__ import annotations

from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, ClassVar

FLAG, TEXT, TEXTS, CHOICE, INTEGER, SECONDS = "flag", "text", "texts", "choice", "integer", "seconds"
"""Kinds of values: on or off, any text, several texts, one of some words, a whole number, a number."""

FILES, DIRECTORIES, CODES, RELEASES, TABLES, ROWS = "files", "directories", "codes", "releases", "tables", "rows"
"""What shells complete values with; `kdump.cli.completion` knows how."""


class Option(Declared):
    """An option, or without `names` an argument.

    `metavar` is what help screens call its value. `completes` says what shells offer as a value: one of the words above, or
    the values themselves. `spelling` brings what was typed into the form in which `choices` are written.
    """

    spelled: str
    help: str
    kind: str
    default: object = None
    choices: Sequence[str] = ()
    spelling: Callable[[str], str] | None = None
    minimum: int | None = None
    metavar: str | None = None
    shows_default: bool = False
    completes: str | Sequence[str] = ()
    is_required: bool = False
    name: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """How it may be spelled, such as `-o` and `--output`."""
        return tuple(self.spelled.split())

    def __set_name__(self, _owner: type, name: str) -> None:
        self.name = name

    @property
    def value_name(self) -> str:
        """What pages call the value: empty for a flag."""
        if self.kind == FLAG:
            return ""
        last_word = self.names[-1].lstrip("-").rpartition("-")[2].upper() if self.names else self.name.upper()
        return self.metavar or {CHOICE: last_word, INTEGER: "N", SECONDS: "SECONDS"}.get(self.kind, "TEXT")


class CommandOptions:
    """What one command line asks for: a value for each option, its default where it was not given."""

    OPTIONS: ClassVar[dict[str, Option]] = {}
    """The options by the names of their attributes, in the order of the help screen: those that a class inherits come last."""

    def __init_subclass__(cls) -> None:
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Option)}
        cls.OPTIONS = {**own, **cls.OPTIONS, **own}

    def __init__(self, **values: Any) -> None:  # of the types that the attributes are annotated with
        if values.keys() - self.OPTIONS:
            raise TypeError(f"there are no options {', '.join(values.keys() - self.OPTIONS)}")
        vars(self).update({name: values.get(name, option.default) for name, option in self.OPTIONS.items()})


class Command:
    """A command: the class of its options, or the name of it, and the function that runs it, whose docstring is the help text."""

    __slots__ = ("_options", "run")

    def __init__(self, options: type[CommandOptions] | str, run: Callable[[Any], int]) -> None:  # each takes its own options
        self._options = options
        self.run = run

    @property
    def options(self) -> type[CommandOptions]:
        """The class of its options, which is loaded when it is asked for."""
        if not isinstance(self._options, str):
            return self._options
        from importlib import import_module

        module, _, name = self._options.rpartition(".")
        options: type[CommandOptions] = getattr(import_module(module), name)
        return options

    @property
    def help(self) -> str:
        return self.run.__doc__ or ""


# The functions below return an Option where the attribute is annotated with the type of its value, hence Any; and so are `more`,
# further fields, whose names Option checks.


def flag(names: str, help: str) -> Any:
    """On or off, and off by default."""
    return Option(names, help, FLAG, default=False)


def text(names: str, help: str, **more: Any) -> Any:
    """Any text."""
    return Option(names, help, TEXT, **more)


def texts(names: str, help: str, *, metavar: str, **more: Any) -> Any:
    """A tuple of texts: the option may be given several times."""
    return Option(names, help, TEXTS, default=(), metavar=metavar, **more)


def choice(names: str, choices: Sequence[str], help: str, *, default: str | None = None, **more: Any) -> Any:
    """One of `choices`; the help screen shows the default if there is one."""
    shows_default = default is not None
    return Option(names, help, CHOICE, default, choices, shows_default=shows_default, completes=choices, **more)


def integer(names: str, help: str, **more: Any) -> Any:
    """A whole number."""
    return Option(names, help, INTEGER, **more)


def seconds(names: str, help: str) -> Any:
    """A length of time, as a number."""
    return Option(names, help, SECONDS, minimum=0, metavar="SECONDS")


def argument(metavar: str, *, is_required: bool = False, choices: Sequence[str] = (), completes: str | Sequence[str] = ()) -> Any:
    """A text that follows the command without an option."""
    kind = CHOICE if choices else TEXT
    return Option("", "", kind, metavar=metavar, is_required=is_required, choices=choices, completes=completes or choices)


def arguments(metavar: str, *, is_required: bool = False, completes: str | Sequence[str] = ()) -> Any:
    """A tuple of all texts that follow the command without an option."""
    return Option("", "", TEXTS, default=(), metavar=metavar, is_required=is_required, completes=completes)
