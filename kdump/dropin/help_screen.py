"""The help screen of Kafka's tool, laid out as joptsimple does."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.releases.history import Option
    from kdump.releases.profile import Profile

_WIDTH = 80
_INDENT = 2


def help_screen(profile: Profile) -> str:
    """The options of a release with their descriptions, in two columns."""
    min_left_width, gap, max_right_width = profile.help_columns
    left = [f"--{option.name} {_hint(profile, option)}".rstrip() for option in profile.options.values()]
    right = [profile.description_of(name) for name in profile.options]
    left_width = max(min_left_width, *map(len, left))
    right_width = min(_WIDTH - gap - left_width, max_right_width)
    lines = [("Option", "Description"), ("------", "-----------")]
    for name, text in zip(left, right, strict=True):
        first, *others = _wrapped(text, right_width)
        lines.append((name, first))
        lines += [("", " " * _INDENT + line) for line in others]
    widths = left_width, max(len(text) for _, text in lines)
    return "\n".join(f"{name:{widths[0]}}{'':{gap}}{text:{widths[1]}}" for name, text in lines) + "\n"


def _hint(profile: Profile, option: Option) -> str:
    return option.hint if profile.help_names_strings else option.hint.replace("String: ", "").removeprefix("[String]")


def _wrapped(text: str, width: int) -> list[str]:
    """The text in lines, all but the first indented. It breaks after blanks and hyphens, and after dots inside words."""
    pieces = [""]
    for character, following in zip(text, text[1:] + " ", strict=True):
        pieces[-1] += character
        if character == " " or character in "-." and following != " ":
            pieces.append("")
    lines = [""]
    for piece in pieces:
        room = width - (_INDENT if len(lines) > 1 else 0)
        if lines[-1] and len(lines[-1] + piece) > room:  # a trailing blank counts, too
            lines.append("")
        lines[-1] += piece
    return [line.rstrip() for line in lines]
