"""Width, colours and other choices for what is printed."""

from __future__ import annotations


class ReportStyle:
    """Width, colours and other choices for what is printed.

    `width` is that of the terminal, 0 if it does not say. `has_colors` says whether colours are wanted, `is_terminal` whether
    control characters would be interpreted, `escapes_formulas` whether CSV is for spreadsheets. Of a check: `shows_all` folds
    nothing; `fail_on` is the least severity that fails; `has_baseline` says whether findings are compared with a baseline,
    `proves_logs` whether a log without findings is sound.
    """

    __slots__ = ("escapes_formulas", "fail_on", "has_baseline", "has_colors", "is_terminal", "proves_logs", "shows_all", "width")

    def __init__(
        self,
        *,
        width: int = 100,
        has_colors: bool = False,
        is_terminal: bool = False,
        escapes_formulas: bool = False,
        shows_all: bool = False,
        fail_on: str = "error",
        has_baseline: bool = False,
        proves_logs: bool = True,
    ) -> None:
        self.proves_logs = proves_logs
        self.width = width
        self.has_colors = has_colors
        self.is_terminal = is_terminal
        self.escapes_formulas = escapes_formulas
        self.shows_all = shows_all
        self.fail_on = fail_on
        self.has_baseline = has_baseline
