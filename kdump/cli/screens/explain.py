"""The command `kdump explain`: describes a fault."""

from __future__ import annotations

import shutil

import click

from kdump.checks import catalogue
from kdump.cli.checking.request import suggestion
from kdump.errors import UsageError
from kdump.output.text import explain as explanation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_SIZE = (100, 24)  # of anything but a terminal


def explain_fault(words: Sequence[str]) -> int:
    """Explain a code, an exception or a line of a log; without arguments, list all codes. Raises UsageError."""
    width = shutil.get_terminal_size(_SIZE).columns
    text = " ".join(words)
    code = text.strip().lower()
    if not words:
        click.echo(explanation.contents(width), nl=False)
    elif code in catalogue.FAULTS:
        click.echo(explanation.explanation(code, width), nl=False)
    elif page := explanation.explanation_of_search(code, width):
        click.echo(page, nl=False)
    elif meaning := explanation.meaning(text, width):
        click.echo(meaning, nl=False)
    else:
        raise UsageError(f"there is no fault {text}", remedy=suggestion(text))
    return 0
