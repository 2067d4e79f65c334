"""The notation of the tables of this package."""

from __future__ import annotations

from typing import NamedTuple

BAD_BATCHES = ("crc-mismatch", "torn-tail", "zero-hole", "garbage-region", "batch-length-negative")
BAD_RECORDS = ("record-length-bad", "record-body-mismatch", "record-count-too-high", "record-count-too-low")
BAD_FRAMES = ("frame-bad-header", "frame-truncated", "frame-damaged", "frame-checksum-mismatch")


class Phrase(NamedTuple):
    """Words of a line, what they mean, and the faults that they come from, the likeliest first.

    `words` are compared without regard to case; `|` separates alternatives, `{}` stands for up to 400 characters of one line,
    `{n}` for a number. `meaning` follows "WORDS: ", in sentences of which the last has no full stop.
    A phrase that `is_general` names no cause, and is of no use beside one that does.
    """

    words: str
    meaning: str
    codes: tuple[str, ...] = ()
    is_general: bool = False
