"""Reads a command line as Kafka's tool does: in the manner of joptsimple 5."""

from __future__ import annotations

from kdump.errors import CorruptData, Fault
from kdump.formats.file_name import parse_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.releases.profile import Profile


class Arguments:
    """A parsed command line: the options that were given, and their values."""

    def __init__(self, profile: Profile, words: list[str]) -> None:
        self._profile = profile
        self._given: dict[str, list[str]] = {}
        self._remaining = words[::-1]  # the next comes last
        self._parse()

    def has(self, name: str) -> bool:
        return name in self._given

    def text(self, name: str) -> str:
        """The value of an option; its default if it was not given or has no value.

        Raises Fault (`option-repeated`) where it was given several.
        """
        values = self._given.get(name, [])
        if len(values) > 1:
            raise Fault("option-repeated", f"--{name} was given {len(values)} times", option=name)
        return values[0] if values else self._profile.default_of(name)

    def number(self, name: str) -> int:
        """The value of an option as a number. Raises Fault as `text`, and with `option-number-malformed`."""
        for text in self._given.get(name, []):
            _number(name, text)  # all are checked before the limit of one
        return _number(name, self.text(name))

    def _parse(self) -> None:
        while self._remaining:
            word = self._remaining.pop()
            if word == "--":
                return
            if not word.startswith("-") or word == "-":
                continue  # the tool takes no notice of words that belong to no option
            is_long = word.startswith("--")
            text = word.removeprefix("--" if is_long else "-")
            written, equals, value = text.partition("=")
            name = self._recognised(written)
            if name:
                self._give(name, value if value or equals and self._profile.takes_empty_values else None)
            elif is_long:
                raise _unknown(written)
            else:
                self._give_letters(text)

    def _give_letters(self, text: str) -> None:
        """Take each letter for a separate option: `-dfa.log` is `-d -f a.log`, where a letter is an abbreviation."""
        given: list[tuple[str, str | None]] = []
        for place, letter in enumerate(text):
            name = self._recognised(letter)
            if not name:
                raise _unknown(letter)
            takes_argument = bool(self._profile.options[name].argument)
            given.append((name, takes_argument and text[place + 1 :] or None))
            if takes_argument:
                break
        for name, value in given:
            self._give(name, value)

    def _give(self, name: str, value: str | None) -> None:
        """Note an option with its value, which may be the next word."""
        argument = self._profile.options[name].argument
        values = self._given.setdefault(name, [])
        if not argument:
            return
        if value is not None:
            values.append(value)
        elif argument == "required":
            if not self._remaining:
                raise Fault("option-argument-missing", f"--{name} takes a value", option=name)
            values.append(self._remaining.pop())
        elif self._remaining and (not self._remaining[-1].startswith("-") or self._remaining[-1] == "-"):
            values.append(self._remaining.pop())

    def _recognised(self, name: str) -> str | None:
        """The option that a name means, or the start of a name."""
        options = self._profile.options
        if name in options:
            return name
        if self._profile.accepts_abbreviations and name:
            starting = [option for option in options if option.startswith(name)]
            if len(starting) == 1:
                return starting[0]
        return None


def _unknown(name: str) -> Fault:
    return Fault("option-unknown", f"there is no option --{name}", option=name)


def _number(name: str, text: str) -> int:
    try:
        return parse_number(text, 32)
    except CorruptData as error:
        message = f"--{name} takes a number, not '{text}'"
        raise Fault("option-number-malformed", message, option=name, argument=text) from error
