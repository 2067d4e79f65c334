"""Reads plain command lines without Click, which takes longer to load than a small check."""

from __future__ import annotations

from kdump.cli.options import CHOICE, FLAG, INTEGER, SECONDS, TEXTS
from kdump.cli.shared_options import FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from kdump.cli.options import Option


def read_plain(options: Mapping[str, Option], arguments: Sequence[str]) -> dict[str, Any] | None:
    """The values that a command line gives to these options, and its words to the argument.

    None if it is not plain, or wrong: Click then parses it, or reports the error.
    """
    by_name = {name: option for option in options.values() for name in option.names}
    argument = next(option for option in options.values() if not option.names)
    values: dict[str, Any] = {}  # of the types that the options have
    words: list[str] = []
    rest = iter(arguments)
    for word in rest:
        if not word.startswith("-"):
            words.append(word)
            continue
        option = by_name.get(word)
        if option is None or option is FILE and option.name in values:
            return None
        value = True if option.kind == FLAG else _value_of(option, next(rest, "-"))
        if value is None:
            return None
        values[option.name] = (*values.get(option.name, ()), value) if option.kind == TEXTS else value
    if not words:
        return None if argument.is_required else values
    if argument.kind == TEXTS:
        return {argument.name: tuple(words), **values}
    value = _value_of(argument, words[0])
    return {argument.name: value, **values} if len(words) == 1 and value is not None else None


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
