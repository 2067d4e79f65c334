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


_LOST_FRAMES = "Kafka's tool begins anew with each read behind the first zstd frame, and loses what the frame still held"
_SHORT_JUNK = "fewer than five bytes behind a zstd frame are not met"

KNOWN_DIFFERENCES: tuple[KnownDifference, ...] = (
    KnownDifference("2.[12].*", "magic2-zstd-several-frames", "*", _LOST_FRAMES),
    KnownDifference("2.[3-8].*", "magic2-zstd-several-frames", "*", _SHORT_JUNK),
    KnownDifference("3.[0-4].*", "magic2-zstd-several-frames", "*", _SHORT_JUNK),
)
