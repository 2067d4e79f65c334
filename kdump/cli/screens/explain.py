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
    width, code = _SIZE[0], text.strip().lower()
    if code in catalogue.FAULTS:
        return explanation.explanation(code, width)
    page = explanation.explanation_of_search(code, width)
    if page:
        return page
    page, is_known = explanation.of_lines(text, width)
    name = None if is_known else matching.class_named(text)
    if name is not None:
        return explanation.of_class(name, width) or None
    if not is_known and not matching.is_line(text):
        raise UsageError(f"there is no fault {text}", remedy=suggestion(text))
    return page if is_known else None


def explain_fault(words: Sequence[str]) -> int:
    """Explain a code, an exception or lines of a log; without arguments, list all codes. Raises UsageError.

    The result is 1 if kdump does not know the lines, and for an exception that means nothing without its message.
    """
    width = shutil.get_terminal_size(_SIZE).columns
    text = " ".join(words)
    code = text.strip().lower()
    if not words:
        print(explanation.contents(width), end="")
    elif code in catalogue.FAULTS:
        print(explanation.explanation(code, width), end="")
    elif page := explanation.explanation_of_search(code, width):
        print(page, end="")
    else:
        return _explain_lines(_of_stdin() if text == "-" else text, width)
    return CLEAN


def _explain_lines(text: str, width: int) -> int:
    page, is_known = explanation.of_lines(text, width)
    name = None if is_known else matching.class_named(text)
    if not is_known and os.path.isfile(text):
        raise UsageError(f"{text} is a file, whose lines stdin takes", remedy=f"tail -n 50 {quote(text)} | kdump explain -")
    if name is not None:
        page = explanation.of_class(name, width)
        print(page or f"{name} means nothing by itself: give the message that follows it, too.\n", end="")
        return CLEAN if page else FINDINGS
    if not is_known and not matching.is_line(text):
        raise UsageError(f"there is no fault {text}", remedy=suggestion(text))
    print(page, end="")
    return CLEAN if is_known else FINDINGS


def _of_stdin() -> str:
    text = sys.stdin.buffer.read(_MOST_BYTES).decode(errors="replace")
    if not text.strip():
        raise UsageError("stdin is empty", remedy="tail -n 50 server.log | kdump explain -")
    return text
