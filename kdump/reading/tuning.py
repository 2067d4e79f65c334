"""Sizes at which a log is read, searched and summarized. They change no result; tests pass small ones, to reach every seam."""

from __future__ import annotations

from kdump.binary.source import WINDOW_SIZE
from kdump.tables import Declared


class ReadTuning(Declared):
    """How much of a log is read at once, and how much work goes into what is damaged.

    `window_bytes` are read at once, `near_bytes` first where what is looked for may be close. A stretch that is summarized ahead
    ends after the last batch that starts before a multiple of `stretch_bytes`, and has at most `max_stretch_batches`. After a
    stretch that was of no use, `pause_bytes` are walked without.

    A search may feed `free_crc_bytes` to checksums and look at `free_tries` headers, however small the log is.
    """

    window_bytes: int = WINDOW_SIZE
    near_bytes: int = 16 << 10
    stretch_bytes: int = 4 << 20
    max_stretch_batches: int = 1 << 14  # their columns take a few MiB when all are asked for
    pause_bytes: int = 1 << 20
    free_crc_bytes: int = 64 << 20
    free_tries: int = 1 << 18


DEFAULT = ReadTuning()
