"""Prints reports on stdout, in the style for the kind of it."""

from __future__ import annotations

import os
from contextlib import contextmanager

from kdump.cli.shared_options import ALWAYS, AUTO, ESCAPE
from kdump.output.blocks import Blocks
from kdump.output.text.style import ReportStyle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from kdump.cli.shared_options import PrintingOptions

_WIDTH = 100  # if there is no terminal


@contextmanager
def printed(options: PrintingOptions, **more: Any) -> Iterator[tuple[Blocks, ReportStyle]]:  # fields of ReportStyle, of any type
    """Where the report of a command goes within the block, whether or not anybody reads it, and its style."""
    with open(1, "wb", buffering=0, closefd=False) as stdout:
        is_terminal = stdout.isatty()
        style = ReportStyle(
            width=_terminal_width() if is_terminal else _WIDTH,
            has_colors=_has_colors(options.color, is_terminal=is_terminal),
            is_terminal=is_terminal,
            escapes_formulas=options.csv_formulas == ESCAPE,
            **more,
        )
        out = Blocks(stdout, needs_reader=False)
        yield out, style
        out.flush()


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
