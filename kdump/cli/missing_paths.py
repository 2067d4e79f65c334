"""Answers command lines whose paths are not there: in one line, with the name that may have been meant."""

from __future__ import annotations

import os

from kdump.binary import system
from kdump.cli.shared_options import STDIN
from kdump.cli.streams import say
from kdump.errors import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def require_there(given: Sequence[str]) -> None:
    """Raise Unreadable (`file-missing`) if none of these paths is there. Beside others, their command reports them."""
    if not given or not all(map(_leads_nowhere, given)):
        return
    *others, last = map(_missing, given)
    for other in others:
        say(str(other))
    raise last


def _leads_nowhere(path: str) -> bool:
    is_local = path != STDIN and ":" not in path.partition("/")[0]  # or the scheme of a URL
    return is_local and not system.has_magic(path) and not system.has_name(path)


def _missing(path: str) -> Unreadable:
    near = _near(path)
    return Unreadable("file-missing", "no such file or directory" + (f"; did you mean {near}?" if near else ""), path=path)


def _near(path: str) -> str:
    """A name in the same directory that is like the one that is not there; empty if there is none."""
    from difflib import get_close_matches

    folder, name = os.path.split(path.rstrip(os.sep))
    try:
        names = system.names(folder or os.curdir)
    except Unreadable:
        return ""
    near = get_close_matches(name, names, n=1, cutoff=0.7) or get_close_matches(name.lower(), names, n=1, cutoff=0.7)
    return os.path.join(folder, near[0]) if near else ""
