"""The way of Kafka's tool to read a command line: that of joptsimple 5."""

from __future__ import annotations

from kdump.errors import CorruptData, Fault
from kdump.formats.file_name import parse_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kdump.releases.history import Option
    from kdump.releases.profile import Profile


class Arguments:
    """A command line taken apart: which options were given, and what followed them."""

    def __init__(self, profile: Profile, words: list[str]) -> None:
        self._profile = profile
        self._given: dict[str, list[str]] = {}
        self._words = words
        self._parse(profile.options)

    def has(self, name: str) -> bool:
        return name in self._given

    def text(self, name: str) -> str:
        """The value of an option, its default where it was not given or came without one.

        Raises Fault (`option-repeated`) where it was given several.
        """
        values = self._given.get(name, [])
        if len(values) > 1:
            raise Fault("option-repeated", f"--{name} was given {len(values)} times", option=name)
        return values[0] if values else self._profile.default_of(name)

    def number(self, name: str) -> int:
        """The value of an option as a number. Raises Fault as `text`, and with `option-number-malformed`."""
        text = self.text(name)
        try:
            return parse_number(text, 32)
        except CorruptData as error:
            message = f"--{name} takes a number, not '{text}'"
            raise Fault("option-number-malformed", message, option=name, argument=text) from error

    def _parse(self, options: Mapping[str, Option]) -> None:
        words = iter(self._words)
        pending: str | None = None
        while True:
            word = pending if pending is not None else next(words, None)
            pending = None
            if word is None or word == "--":
                return
            if not word.startswith("-") or word == "-":
                continue  # the tool takes no notice of words that belong to no option
            is_long = word.startswith("--")
            name, equals, value = word.removeprefix("--" if is_long else "-").partition("=")
            name = self._recognised(name, is_long, options)
            argument = options[name].argument
            values = self._given.setdefault(name, [])
            if not argument:
                continue
            if value or equals and not self._profile.drops_empty_values:
                values.append(value)
                continue
            following = next(words, None)
            if argument == "required":
                if following is None:
                    raise Fault("option-argument-missing", f"--{name} takes a value", option=name)
                values.append(following)
            elif following is not None and (not following.startswith("-") or following == "-"):
                values.append(following)
            else:
                pending = following

    def _recognised(self, name: str, is_long: bool, options: Mapping[str, Option]) -> str:
        if name in options:
            return name
        if self._profile.accepts_abbreviations and name:
            starting = [option for option in options if option.startswith(name)]
            if len(starting) == 1:
                return starting[0]
        unknown = name if is_long else name[:1]
        raise Fault("option-unknown", f"there is no option --{unknown}", option=unknown)
