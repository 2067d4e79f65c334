"""Chooses the style of reports by the kind of stdout."""

from __future__ import annotations

import os

from kdump.output.text.style import ReportStyle

_WIDTH = 100  # if there is no terminal


def report_style_of(
    *,
    is_terminal: bool,
    escapes_formulas: bool = False,
    shows_all: bool = False,
    fail_on: str = "error",
    has_baseline: bool = False,
    proves_logs: bool = True,
) -> ReportStyle:
    """The style for a terminal, or for a file, without colours. See ReportStyle for the rest."""
    return ReportStyle(
        width=_terminal_width() if is_terminal else _WIDTH,
        has_colors=is_terminal and "NO_COLOR" not in os.environ,
        is_terminal=is_terminal,
        escapes_formulas=escapes_formulas,
        shows_all=shows_all,
        fail_on=fail_on,
        has_baseline=has_baseline,
        proves_logs=proves_logs,
    )


def style_of_rows(*, is_terminal: bool, escapes_formulas: bool = False) -> ReportStyle:
    """The style of tables, which have all the width they need if a terminal does not say how wide it is."""
    return ReportStyle(
        width=os.get_terminal_size(1).columns if is_terminal else 0,
        has_colors=is_terminal and "NO_COLOR" not in os.environ,
        is_terminal=is_terminal,
        escapes_formulas=escapes_formulas,
    )


def _terminal_width() -> int:
    try:
        return os.get_terminal_size(1).columns or _WIDTH
    except OSError:
        return _WIDTH
