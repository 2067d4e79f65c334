"""Where kdump is known to print something else than the real tool, and why. The aim is an empty list.

A test fails when an entry no longer matches any difference.
"""

from typing import NamedTuple


class KnownDifference(NamedTuple):
    """Which runs differ: patterns as in file names; that of `arguments` is for the arguments joined by blanks."""

    release: str
    case: str
    arguments: str
    reason: str


KNOWN_DIFFERENCES: tuple[KnownDifference, ...] = ()
