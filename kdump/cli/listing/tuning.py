"""Sizes at which a listing is cut into parts. They change no output; tests pass small ones, to reach every seam."""

from __future__ import annotations

from kdump.binary.source import WINDOW_SIZE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.dropin.parallel_text import ParallelTuning
    from kdump.output.kafka.native_lines import TextTuning


class ListTuning:
    """The sizes of a listing.

    `window_bytes` are read at once where records are compressed; `text` is that of the kernel in C, `parallel` that of several
    processes, None for their defaults. Files of less than `min_jobs_bytes` are listed by one process.
    """

    __slots__ = ("min_jobs_bytes", "parallel", "text", "window_bytes")

    def __init__(
        self,
        *,
        window_bytes: int = WINDOW_SIZE,
        min_jobs_bytes: int = 2 << 20,
        text: TextTuning | None = None,
        parallel: ParallelTuning | None = None,
    ) -> None:
        self.window_bytes = window_bytes
        self.min_jobs_bytes = min_jobs_bytes
        self.text = text
        self.parallel = parallel
