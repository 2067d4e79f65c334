"""The options of `kdump check`, as data, and a reader of plain command lines: Click takes longer to load than a small check."""

from __future__ import annotations

from kdump.checks.finding import ERROR, SEVERITIES
from kdump.checks.settings import CLEANUP_POLICIES, FILE_TYPES, FULL, LEVELS, MAX_FINDINGS, UNKNOWN
from kdump.output.check import FORMATS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

FLAG, TEXT, TEXTS, CHOICE, COUNT, SECONDS = "flag", "text", "texts", "choice", "count", "seconds"
"""Kinds of values: none, any, several by several options, one of some, a whole number, a number."""


class Option:
    """An option of the command line: its `names`, what the value is called, what it can be and is if it is not given."""

    __slots__ = ("choices", "default", "help", "kind", "metavar", "minimum", "name", "names", "shows_default")

    def __init__(
        self,
        names: str,
        name: str,
        help: str,
        *,
        kind: str = TEXT,
        default: object = None,
        choices: Sequence[str] = (),
        minimum: int = 0,
        metavar: str | None = None,
        shows_default: bool = False,
    ) -> None:
        self.names = names.split()
        self.name = name
        self.help = help
        self.kind = kind
        self.default = {FLAG: False, TEXTS: ()}.get(kind, default)
        self.choices = choices
        self.minimum = minimum
        self.metavar = metavar
        self.shows_default = shows_default


OPTIONS = (
    Option(
        "--level",
        "level",
        "quick: headers, lengths, bounds of indexes. full: also CRCs, indexes against logs, neighbours. deep: also every record.",
        kind=CHOICE,
        choices=LEVELS,
        default=FULL,
        shows_default=True,
    ),
    Option(
        "--fail-on",
        "fail_on",
        "Exit with code 1 for findings of this severity or worse.",
        kind=CHOICE,
        choices=SEVERITIES,
        default=ERROR,
        shows_default=True,
    ),
    Option(
        "--as",
        "file_type",
        "Check files named on the command line as this type, whatever they are called.",
        kind=CHOICE,
        choices=FILE_TYPES,
    ),
    Option("--ignore", "ignore", "Leave out these fault codes; globs allowed, such as 'index-*'.", kind=TEXTS, metavar="CODE"),
    Option("--select", "select", "Report only these fault codes; globs allowed.", kind=TEXTS, metavar="CODE"),
    Option("--pedantic", "is_pedantic", "Also report what is valid and mostly not worth knowing.", kind=FLAG),
    Option(
        "--cleanup-policy",
        "cleanup_policy",
        "The topic's policy: in a compacted topic offsets may be missing.",
        kind=CHOICE,
        choices=CLEANUP_POLICIES,
        default=UNKNOWN,
        shows_default=True,
    ),
    Option("--baseline", "baseline", "Do not count the findings in this file, the NDJSON of an earlier run.", metavar="FILE"),
    Option(
        "--max-findings",
        "max_findings",
        "Report at most N findings of one code in one file, and count the rest.",
        kind=COUNT,
        minimum=1,
        default=MAX_FINDINGS,
        shows_default=True,
    ),
    Option(
        "--max-message-bytes",
        "max_message_bytes",
        "The largest plausible batch, in bytes.",
        kind=COUNT,
        minimum=1,
        default=100 << 20,
        shows_default=True,
    ),
    Option("--time-limit", "time_limit", "Stop checking a file after this time.", kind=SECONDS, metavar="SECONDS"),
    Option("--follow-links", "follows_links", "Follow symbolic links that lead out of the tree under check.", kind=FLAG),
    Option("--jobs", "jobs", "Processes and threads to use; 0, the default: as many as suit the machine.", kind=COUNT, default=0),
    Option("--nice", "is_nice", "Run at a low priority, and do not fill the page cache.", kind=FLAG),
    Option("--rate", "rate", "Read no faster than this, for example 50MB/s, with one process.", default=""),
    Option(
        "--output",
        "output",
        "Text for people; lines or documents for programs.",
        kind=CHOICE,
        choices=FORMATS,
        default=FORMATS[0],
        shows_default=True,
    ),
    Option("--all", "shows_all", "Show every finding; do not fold similar ones.", kind=FLAG),
)


def read_plain(arguments: Sequence[str]) -> dict[str, Any] | None:
    """What a command line asks for, by the names of options and `paths`.

    None for one that is not plain, or is wrong: Click knows what it means, or what is to be said of it.
    """
    values = {option.name: option.default for option in OPTIONS}
    paths: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if not argument.startswith("-"):
            paths.append(argument)
            continue
        option = next((option for option in OPTIONS if argument in option.names), None)
        if option is None:
            return None
        value = True if option.kind == FLAG else _value_of(option, next(rest, "-"))
        if value is None:
            return None
        values[option.name] = (*values[option.name], value) if option.kind == TEXTS else value  # type: ignore[misc]  # a tuple
    return {"paths": tuple(paths), **values} if paths else None


def _value_of(option: Option, text: str) -> object | None:
    """What stands after an option, None where it is not as it has to be."""
    if text.startswith("-"):
        return None
    if option.kind == CHOICE:
        return text if text in option.choices else None
    if option.kind in (COUNT, SECONDS):
        is_number = text.isascii() and text.isdecimal() and len(text) < 10 and int(text) >= option.minimum
        return None if not is_number else int(text) if option.kind == COUNT else float(text)
    return text


def decorators(
    option: Callable[..., Any], choice: Any, count: Any, seconds: Any, completers: Mapping[str, Any]
) -> list[Callable[[Any], Any]]:
    """The options as Click has them; it is given, not imported. `completers` say what values shells offer, by name."""
    kinds: dict[str, Callable[[Option], dict[str, object]]] = {
        FLAG: lambda one: {"is_flag": True},
        TEXT: lambda one: {"default": one.default},
        TEXTS: lambda one: {"multiple": True},
        CHOICE: lambda one: {"default": one.default, "type": choice(one.choices)},
        COUNT: lambda one: {"default": one.default, "type": count(min=one.minimum)},
        SECONDS: lambda one: {"type": seconds(min=one.minimum)},
    }
    return [
        option(
            *one.names,
            one.name,
            help=one.help,
            metavar=one.metavar,
            show_default=one.shows_default,
            shell_complete=completers.get(one.name),
            is_eager=one.name == "output",  # the option -o asks for it
            **kinds[one.kind](one),
        )
        for one in OPTIONS
    ]
