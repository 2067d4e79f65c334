"""The command `kdump explain`: describes a fault."""

from __future__ import annotations

import os
import shutil
import sys
from shlex import quote

from kdump.checks import catalogue
from kdump.checks.catalogue.lines import matching
from kdump.cli.checking.request import suggestion
from kdump.errors import UsageError
from kdump.exit_codes import CLEAN, FINDINGS
from kdump.output.text import explain as explanation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_SIZE = (100, 24)  # of anything but a terminal
_MOST_BYTES = 4 << 20  # of stdin


def explain(text: str) -> str | None:
    """What `kdump explain` prints about a fault, an exception or lines of a log; None if it knows nothing of them.

    Raises UsageError for what is neither.
    """
    page, is_known = _page_of(text, _SIZE[0])
    return page if is_known else None


def explain_fault(words: Sequence[str]) -> int:
    """Explain a code, an exception or lines of a log; without arguments, list all codes. Raises UsageError.

    The result is 1 if kdump does not know the lines, and for an exception that means nothing without its message.
    """
    width = shutil.get_terminal_size(_SIZE).columns
    text = " ".join(words)
    page, is_known = _page_of(_of_stdin() if text == "-" else text, width) if words else (explanation.contents(width), True)
    print(page, end="")
    return CLEAN if is_known else FINDINGS


def _page_of(text: str, width: int) -> tuple[str, bool]:
    """The page about a fault, an exception or lines of a log, and whether kdump knows it. Raises UsageError."""
    code = text.strip().lower()
    if code in catalogue.FAULTS:
        return explanation.explanation(code, width), True
    if page := explanation.explanation_of_search(code, width):
        return page, True
    page, is_known = explanation.of_lines(text, width)
    name = None if is_known else matching.class_named(text)
    if not is_known and os.path.isfile(text):
        raise UsageError(f"{text} is a file, whose lines stdin takes", remedy=f"tail -n 50 {quote(text)} | kdump explain -")
    if name is not None:
        page = explanation.of_class(name, width)
        return page or f"{name} means nothing by itself: give the message that follows it, too.\n", bool(page)
    if not is_known and not matching.is_line(text):
        raise UsageError(f"there is no fault {text}", remedy=suggestion(text))
    return page, is_known


def _of_stdin() -> str:
    text = sys.stdin.buffer.read(_MOST_BYTES).decode(errors="replace")
    if not text.strip():
        raise UsageError("stdin is empty", remedy="tail -n 50 server.log | kdump explain -")
    return text
