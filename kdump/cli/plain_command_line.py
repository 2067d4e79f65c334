"""Reads plain command lines without Click, which takes longer to load than a small check."""

from __future__ import annotations

from kdump.cli.options import CHOICE, FLAG, INTEGER, SECONDS, TEXTS
from kdump.cli.shared_options import FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from kdump.cli.options import Option


def read_plain(options: Mapping[str, Option], arguments: Sequence[str], *, takes_file: bool = False) -> dict[str, Any] | None:
    """The values that a command line gives to these options, and its `paths`, or its `path` where there can be only one.

    None if it is not plain, or wrong: Click then parses it, or reports the error. Unless the command `takes_file`, so is the
    FILE of `-o`.
    """
    by_name = {name: option for option in options.values() if takes_file or option is not FILE for name in option.names}
    values: dict[str, Any] = {}  # of the types that the options have
    paths: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if not argument.startswith("-"):
            paths.append(argument)
            continue
        option = by_name.get(argument)
        if option is None:
            return None
        value = True if option.kind == FLAG else _value_of(option, next(rest, "-"))
        if value is None or option is FILE and (option.name in values or value in _forms(options)):
            return None
        values[option.name] = (*values.get(option.name, ()), value) if option.kind == TEXTS else value
    if "path" in options:
        return {"path": paths[0], **values} if len(paths) == 1 else None
    return {"paths": tuple(paths), **values} if paths else None


def _forms(options: Mapping[str, Option]) -> Sequence[str]:
    """What `-o` meant once: no file of such a name is plain, nor one without a name."""
    return ("", *(choice for option in options.values() if option.name == "output" for choice in option.choices))


def _value_of(option: Option, text: str) -> object | None:
    """The value after an option; None if it is not valid."""
    if text.startswith("-"):
        return None
    if option.kind == CHOICE:
        return text if text in option.choices else None
    if option.kind in (INTEGER, SECONDS):
        is_number = text.isascii() and text.isdecimal() and len(text) < 10 and int(text) >= (option.minimum or 0)
        return None if not is_number else int(text) if option.kind == INTEGER else float(text)
    return text
