"""Runs of messages of magic 0 or 1 and of batches of magic 2 that alternate, summarized together."""

from __future__ import annotations

from array import array

from kdump.binary import kernel
from kdump.binary.batch_header import BATCH_HEADER_SIZE, LOG_OVERHEAD, MAGIC_AT, batch_length, batch_offset
from kdump.formats.summary import BatchSummary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.binary.summary_reference import Summarized


class MixedSummary(BatchSummary):
    """The summary of such runs, all valid and in order.

    What messages lack (leader epochs, counts, producers) is that of the batches of magic 2; all else is of both. Times are
    largest timestamps but for -1, which is none.
    """

    runs: int
    first_magic: int
    last_magic: int
    upgrades: int  # how often the magic goes up, and where the first and the last batch after that start
    first_upgrade: int
    last_upgrade: int
    downgrades: int
    first_downgrade: int
    last_downgrade: int
    timed: int  # batches with a time
    first_time: int
    last_time: int
    lowest_time: int
    highest_time: int
    times_back: int
    create_times: int  # batches of magic 1 and 2 by the type of their timestamps
    append_times: int
    untimed: int  # of the latter, those without a time
    last_offset_of_batches: int  # of magic 2
    smallest_of_magic_1: int  # the size of the smallest message of magic 1; 0 if there is none

    def __init__(self, found: tuple[Summarized, tuple[int, ...], bytes], window: bytes, window_position: int) -> None:
        """`found` is what the kernel's summarize_mixed says of a window that begins at this position of the file."""

        def header_at(position: int) -> bytes:
            at = position - window_position
            return window[at : at + BATCH_HEADER_SIZE]

        summarized, mixed, rows = found
        assert kernel.native is not None
        super().__init__(summarized, header_at, lambda: None)
        self.is_legacy = False
        self.__dict__.update(zip(kernel.native.MIXED, mixed, strict=True))
        self.starts = array("q", rows)
        self.window_position = window_position

    def extent_at(self, position: int) -> tuple[int, int, int]:
        data = self._header_at(position)
        if data[MAGIC_AT] >= 2:
            return super().extent_at(position)
        offset = batch_offset(data)
        return offset, offset, position + LOG_OVERHEAD + batch_length(data)

    def each_run(self) -> Iterator[tuple[int, int, bool]]:
        for number, (start, end) in enumerate(zip(self.starts, [*self.starts[1:], self.count], strict=True)):
            yield start, end, self.is_of_messages(number)

    def is_of_messages(self, number: int) -> bool:
        """Whether the run with this number is of messages."""
        return (self.first_magic < 2) == (number % 2 == 0)


def of_window(window: bytes, start: int, position: int, max_codec: int) -> MixedSummary | None:
    """The summary of such runs in a window from `start` on; None if there are too few.

    The window begins at this position of the file.
    """
    assert kernel.native is not None
    found = kernel.native.summarize_mixed(window, start, position, max_codec)
    return None if found is None else MixedSummary(found, window, position)
