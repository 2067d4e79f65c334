"""Sizes at which a dump cuts its work into parts. They change no output; tests pass small ones, to reach every seam."""

from __future__ import annotations

from kdump.binary.source import WINDOW_SIZE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.dropin.parallel_text import ParallelTuning
    from kdump.output.kafka.native_lines import TextTuning


class Tuning:
    """The sizes of a dump: `window_bytes` of a file are read at once, a smaller log than `min_jobs_bytes` gets one process.

    `text` and `parallel` are defined next to the code that uses them; None means their defaults, and loads nothing.
    """

    __slots__ = ("min_jobs_bytes", "parallel", "text", "window_bytes")

    def __init__(
        self,
        *,
        window_bytes: int = WINDOW_SIZE,
        min_jobs_bytes: int = 1 << 20,
        text: TextTuning | None = None,
        parallel: ParallelTuning | None = None,
    ) -> None:
        self.window_bytes = window_bytes
        self.min_jobs_bytes = min_jobs_bytes
        self.text = text
        self.parallel = parallel
