"""Width, colours and other choices for what is printed."""

from __future__ import annotations

from kdump.tables import Declared


class ReportStyle(Declared):
    """Width, colours and other choices for what is printed.

    `width` is that of the terminal, 0 if it does not say. `has_colors` says whether colours are wanted, `is_terminal` whether
    control characters would be interpreted, `escapes_formulas` whether CSV is for spreadsheets. Of a check: `shows_all` folds
    nothing; `fail_on` is the least severity that fails; `has_baseline` says whether findings are compared with a baseline,
    `proves_logs` whether a log without findings is sound.
    """

    width: int = 100
    has_colors: bool = False
    is_terminal: bool = False
    escapes_formulas: bool = False
    shows_all: bool = False
    fail_on: str = "error"
    has_baseline: bool = False
    proves_logs: bool = True
