"""Chooses the style of reports by the kind of stdout."""

from __future__ import annotations

import os

from kdump.cli.shared_options import ALWAYS, AUTO
from kdump.output.text.style import ReportStyle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_WIDTH = 100  # if there is no terminal


def report_style_of(*, is_terminal: bool, color: str, **others: Any) -> ReportStyle:  # fields of ReportStyle, of any type
    """The style for a terminal, or for a file; `color` is the value of --color."""
    width = _terminal_width() if is_terminal else _WIDTH
    return ReportStyle(width=width, has_colors=_has_colors(color, is_terminal=is_terminal), is_terminal=is_terminal, **others)


def style_of_rows(*, is_terminal: bool, color: str, escapes_formulas: bool = False) -> ReportStyle:
    """The style of tables, which have all the width they need if a terminal does not say how wide it is."""
    return ReportStyle(
        width=os.get_terminal_size(1).columns if is_terminal else 0,
        has_colors=_has_colors(color, is_terminal=is_terminal),
        is_terminal=is_terminal,
        escapes_formulas=escapes_formulas,
    )


def _has_colors(color: str, *, is_terminal: bool) -> bool:
    return color == ALWAYS or color == AUTO and is_terminal and not os.environ.get("NO_COLOR")


def _terminal_width() -> int:
    try:
        return os.get_terminal_size(1).columns or _WIDTH
    except OSError:
        return _WIDTH
