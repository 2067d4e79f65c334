"""Summary statistics of consecutive valid batches, so that most rules need not visit each one."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from operator import sub

from kdump.binary import kernel, producer_streak, summary_reference
from kdump.binary.batch_header import (
    BASE_OFFSET,
    BASE_TIMESTAMP,
    BATCH_HEADER,
    BATCH_HEADER_SIZE,
    LAST_OFFSET_DELTA,
    LENGTH,
    LOG_OVERHEAD,
    MAGIC_AT,
    MAX_TIMESTAMP,
    MESSAGE_HEADER,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kdump.binary.checksums import Checksum
    from kdump.binary.summary_reference import Summarized


class BatchSummary:
    """A summary of consecutive batches of magic 2, or messages of magic 0 and 1, that are valid and have ascending offsets.

    A column of RecordBatch has its lowest and highest value, or its first and last. `..._back` counts values lower than the one
    before; `first_...` and `last_...` of a count say where in the file those batches start. Fields that messages lack are 0,
    and so is the position of something that does not occur.
    """

    count: int
    end: int
    last_position: int  # where the last batch starts
    highest_size: int
    lowest_magic: int
    highest_magic: int
    any_attributes: int  # the bits that some have, and those that all have
    all_attributes: int
    codecs: int  # a bit for each id that occurs
    first_offset: int
    last_offset: int
    gaps: int  # where offsets are missing between two batches, and how many offsets that are
    missing: int
    before_first_gap: int  # where the batches around the first and the last gap start
    after_first_gap: int
    before_last_gap: int
    after_last_gap: int
    first_timestamp: int
    last_timestamp: int
    lowest_timestamp: int
    highest_timestamp: int
    timestamps_back: int
    first_leader_epoch: int
    last_leader_epoch: int
    lowest_leader_epoch: int
    highest_leader_epoch: int
    leader_epochs_back: int
    lowest_count: int  # of records
    empty: int  # batches that say they have no records
    first_empty: int
    last_empty: int
    hollow: int  # batches that say they have no records, or fewer, but bytes follow their header
    bare: int  # batches with records, but nothing follows their header
    sparse: int  # batches with some records, but fewer than offsets
    first_sparse: int
    last_sparse: int
    overfull: int  # batches with more records than offsets
    horizons: int  # batches with a delete horizon, and those whose horizon lies before their timestamp
    lowest_horizon: int
    highest_horizon: int
    early_horizons: int
    lowest_producer_id: int
    highest_producer_id: int
    lowest_producer_epoch: int
    highest_producer_epoch: int
    highest_base_sequence: int
    orphans: int  # transactional batches of data without producer
    records: int  # that the headers of batches claim; messages do not

    def __init__(self, summarized: Summarized, header_at: Callable[[int], bytes], streaks: Callable[[], bytes | None]) -> None:
        """`header_at` reads the header of a batch at a position of the file; `streaks` reads what producers wrote."""
        numbers, positions, first_offsets, last_offsets, timestamps = summarized
        self.__dict__.update(zip(summary_reference.SUMMARY, numbers, strict=True))
        self.is_legacy = self.lowest_magic < 2
        self._header_at = header_at
        self._streaks = streaks
        self.positions = array("q", positions)
        self.first_offsets = array("q", first_offsets)
        self.last_offsets = array("q", last_offsets)
        self.timestamps = array("q", timestamps)

    def with_first_offsets(self, first_offsets: Sequence[int]) -> BatchSummary:
        """The same with these first offsets, one a batch, and the gaps between these: headers of wrappers do not say them."""
        summary = BatchSummary.__new__(type(self))
        summary.__dict__.update(self.__dict__)
        summary.first_offsets = array("q", first_offsets)
        summary.first_offset = first_offsets[0]
        missing = list(map(sub, first_offsets[1:], map((1).__add__, self.last_offsets)))
        rows = [row for row, count in enumerate(missing) if count > 0]
        summary.gaps, summary.missing = len(rows), sum(missing[row] for row in rows)
        first, last = (rows[0], rows[-1]) if rows else (0, 0)
        summary.before_first_gap, summary.before_last_gap = (self.positions[row] if rows else 0 for row in (first, last))
        summary.after_first_gap, summary.after_last_gap = (self.positions[row + 1] if rows else 0 for row in (first, last))
        return summary

    def magic_at(self, position: int) -> int:
        """The magic of the batch at this position of the file."""
        return self._header_at(position)[MAGIC_AT]

    def extent_at(self, position: int) -> tuple[int, int, int]:
        """The first and last offset of the batch at this position of the file, and where it ends."""
        data = self._header_at(position)
        if self.is_legacy:
            offset, length, *_ = MESSAGE_HEADER.unpack_from(data)
            return self.first_offsets[bisect_left(self.positions, position)], offset, position + LOG_OVERHEAD + length
        header = BATCH_HEADER.unpack_from(data)
        first_offset = header[BASE_OFFSET]
        return first_offset, first_offset + header[LAST_OFFSET_DELTA], position + LOG_OVERHEAD + header[LENGTH]

    def times_at(self, position: int) -> tuple[int, int]:
        """The base timestamp and the largest one of the batch of magic 2 at this position of the file."""
        header = BATCH_HEADER.unpack_from(self._header_at(position))
        return header[BASE_TIMESTAMP], header[MAX_TIMESTAMP]

    def producer_streaks(self) -> Iterator[tuple[int, ...]] | None:
        """What each producer wrote, a streak at a time; see producer_streak.STREAK. None where a batch is irregular."""
        data = self._streaks()
        return None if data is None else producer_streak.LAYOUT.iter_unpack(data)


def of_window(
    window: bytes, start: int, position: int, max_codec: int, crc32c: Checksum, *, is_legacy: bool
) -> BatchSummary | None:
    """The summary of the regular batches or messages in a window from `start` on, or None if they are not valid and in order.

    The window begins at this position of the file.
    """
    native = summary_reference if kernel.native is None else kernel.native
    if is_legacy:
        summarized = native.summarize_messages(window, start, position, 0, max_codec)
    else:
        summarized = native.summarize_batches(window, start, position, max_codec, crc32c)
    if summarized is None:
        return None
    numbers, *_ = summarized
    count = numbers[summary_reference.SUMMARY.index("count")]

    def header_at(start: int) -> bytes:
        at = start - position
        return window[at : at + BATCH_HEADER_SIZE]

    return BatchSummary(summarized, header_at, lambda: native.producer_streaks(window, start, count, position))
