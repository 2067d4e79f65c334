"""Chooses the style of reports by the kind of stdout."""

from __future__ import annotations

import os

from kdump.cli.shared_options import ALWAYS, AUTO
from kdump.output.text.style import ReportStyle

_WIDTH = 100  # if there is no terminal


def report_style_of(
    *,
    is_terminal: bool,
    color: str,
    escapes_formulas: bool = False,
    shows_all: bool = False,
    fail_on: str = "error",
    has_baseline: bool = False,
    proves_logs: bool = True,
) -> ReportStyle:
    """The style for a terminal, or for a file; `color` is the value of --color. See ReportStyle for the rest."""
    return ReportStyle(
        width=_terminal_width() if is_terminal else _WIDTH,
        has_colors=_has_colors(color, is_terminal=is_terminal),
        is_terminal=is_terminal,
        escapes_formulas=escapes_formulas,
        shows_all=shows_all,
        fail_on=fail_on,
        has_baseline=has_baseline,
        proves_logs=proves_logs,
    )


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
