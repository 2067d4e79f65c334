"""The known differences between kdump and the real tool, with reasons. The goal is an empty list.

A test fails if an entry no longer matches any difference.
"""

from typing import NamedTuple


class KnownDifference(NamedTuple):
    """The runs that differ: glob patterns; `arguments` matches the arguments joined by spaces."""

    release: str
    case: str
    arguments: str
    reason: str


KNOWN_DIFFERENCES: tuple[KnownDifference, ...] = ()
