"""Writes the lines of a report: wrapped, labelled, coloured, and escaped for terminals."""

from __future__ import annotations

import re

from kdump.binary.java_strings import escaped
from kdump.output.rows.columns import width_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kdump.output.text.style import ReportStyle

_WORD = re.compile(r"\s*\S+")
_MIN_WIDTH = 40
_MIN_TEXT_WIDTH = 20
_LABEL_WIDTH = 9
_LABEL_INDENT = 2


class ReportWriter:
    """Writes the lines of a report in a style. No line has blanks at its end."""

    def __init__(self, write: Callable[[str], None], style: ReportStyle) -> None:
        self._write = write
        self._has_colors = style.has_colors
        self.width = max(style.width, _MIN_WIDTH)
        self.is_terminal = style.is_terminal

    def line(self, text: str = "") -> None:
        """A line as it is, however long: a command stays on one line, to be copied."""
        self._write(text.rstrip() + "\n")

    def wrapped(self, text: str, indent: int = 0) -> None:
        """A text in as many lines as it takes."""
        for line in wrapped(text, self.width - indent):
            self.line(" " * indent + line)

    def labelled(self, label: str, text: str) -> None:
        """A text in as many lines as it takes, to the right of a label."""
        for number, line in enumerate(wrapped(text, self.width - _LABEL_WIDTH - _LABEL_INDENT)):
            self.line(f"{' ' * _LABEL_INDENT}{'' if number else label:{_LABEL_WIDTH}}{line}")

    def colored(self, text: str, color: str) -> str:
        """The text in a colour of ANSI, where colours are wanted."""
        return f"\x1b[{color}m{text}\x1b[0m" if self._has_colors else text

    def shown(self, text: str) -> str:
        """The text on one line, without anything that a terminal would obey: a report in a pipe may come to one later."""
        return escaped(text)


def wrapped(text: str, width: int) -> Sequence[str]:
    """Lines that break between words, never in one, so no number, name or path is ever broken; `width` is in cells."""
    width = max(width, _MIN_TEXT_WIDTH)
    lines: list[str] = []
    line = ""
    for word in _WORD.findall(text):
        if line and width_of(line + word) > width:
            lines.append(line)
            line = word.lstrip()
        else:
            line += word
    return [*lines, line] if line else lines
