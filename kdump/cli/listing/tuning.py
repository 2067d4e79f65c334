"""Sizes at which a listing is cut into parts. They change no output; tests pass small ones, to reach every seam."""

from __future__ import annotations

from kdump.binary.source import WINDOW_SIZE
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.output.kafka.native_lines import TextTuning


class ListTuning(Declared):
    """The sizes of a listing: `window_bytes` are read at once where records are compressed; `text` is that of the kernel in C.

    None stands for the default of the kernel.
    """

    window_bytes: int = WINDOW_SIZE
    text: TextTuning | None = None
