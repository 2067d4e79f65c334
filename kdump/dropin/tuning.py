"""Sizes at which a dump cuts its work into parts. They change no output; tests pass small ones, to reach every seam."""

from __future__ import annotations

from kdump.binary.source import WINDOW_SIZE
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.dropin.parallel_text import ParallelTuning
    from kdump.output.kafka.native_lines import TextTuning


class Tuning(Declared):
    """The sizes of a dump: `window_bytes` of a file are read at once, a smaller log than `min_jobs_bytes` gets one process.

    `text` and `parallel` are defined next to the code that uses them; None means their defaults, and loads nothing.
    """

    window_bytes: int = WINDOW_SIZE
    min_jobs_bytes: int = 1 << 20
    text: TextTuning | None = None
    parallel: ParallelTuning | None = None
