"""How a report is to look."""

from __future__ import annotations


class ReportStyle:
    """How a report is to look.

    `width` is that of the terminal; `has_colors` says whether colours are wanted, `is_terminal` whether control characters would
    be obeyed. `shows_all` folds nothing, `fail_on` is the severity from which on findings fail, `has_baseline` whether there is
    something that findings are compared with, `proves_logs` whether a log without findings is sound.
    """

    __slots__ = ("fail_on", "has_baseline", "has_colors", "is_terminal", "proves_logs", "shows_all", "width")

    def __init__(
        self,
        *,
        width: int = 100,
        has_colors: bool = False,
        is_terminal: bool = False,
        shows_all: bool = False,
        fail_on: str = "error",
        has_baseline: bool = False,
        proves_logs: bool = True,
    ) -> None:
        self.proves_logs = proves_logs
        self.width = width
        self.has_colors = has_colors
        self.is_terminal = is_terminal
        self.shows_all = shows_all
        self.fail_on = fail_on
        self.has_baseline = has_baseline
