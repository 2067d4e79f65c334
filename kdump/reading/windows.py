"""Batches of a log by the window, as a walk past damage gives them, each window with its summary where there is one."""

from __future__ import annotations

from array import array

from kdump.binary.batch_columns_reference import BATCH_COLUMNS
from kdump.formats.log import batches_of_columns
from kdump.reading import items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.formats.log import Chunk
    from kdump.formats.summary import BatchSummary


class Batches:
    """Consecutive batches of one slice, with their status, and their summary if there is one."""

    def __init__(self, chunk: Chunk, status: str = items.INTACT, summary: BatchSummary | None = None) -> None:
        self.chunk = chunk
        self.status = status
        self.summary = summary

    def between(self, start: int, end: int | None) -> Batches | None:
        """The batches that start from `start` up to but not including `end`, or None."""
        positions = self.chunk.batches["position"]
        if start <= positions[0] and (end is None or positions[-1] < end):
            return self
        rows = [row for row, position in enumerate(positions) if position >= start and (end is None or position < end)]
        return self.slice(rows[0], rows[-1] + 1) if rows else None

    def slice(self, start: int, end: int) -> Batches:
        return Batches(self.chunk.slice(start, end), self.status)

    def __len__(self) -> int:
        return len(self.chunk)

    @property
    def start(self) -> int:
        """Where the first of them starts."""
        start: int = self.chunk.batches["position"][0]
        return start

    @property
    def end(self) -> int:
        """Where the last of them ends."""
        end: int = self.chunk.batches["position"][-1] + self.chunk.batches["size"][-1]
        return end

    @property
    def records(self) -> int | None:
        """The number of records by their headers; None for old messages, which do not say."""
        return records_said(self.chunk)


class KeptBatches(Batches):
    """Intact batches of magic 2 that the kernel in C has summarized.

    `numbers` has the columns of BATCH_COLUMNS in the layout of Arrow. All else is made on demand.
    """

    summary: BatchSummary

    def __init__(self, summary: BatchSummary, numbers: dict[str, bytes]) -> None:
        self.status = items.INTACT
        self.summary = summary
        self.numbers = numbers
        self._made: Chunk | None = None

    @classmethod
    def of(cls, section: items.Section) -> KeptBatches | None:
        """Those of a section; None if it has others."""
        summary, numbers = section.summary, section.header_columns
        if summary is None or numbers is None or summary.horizons:
            return None
        return cls(summary, numbers)

    @property
    def chunk(self) -> Chunk:  # type: ignore[override]  # it is only read
        if self._made is None:
            self._made = batches_of_columns(self.numbers)
        return self._made

    def between(self, start: int, end: int | None) -> Batches | None:
        is_whole = start <= self.start and (end is None or self.summary.last_position < end)
        return self if is_whole else Batches(self.chunk).between(start, end)

    def __len__(self) -> int:
        return self.summary.count

    @property
    def start(self) -> int:
        return self.summary.positions[0]

    @property
    def end(self) -> int:
        return self.summary.end

    @property
    def records(self) -> int:
        return self.summary.records

    def column(self, name: str) -> array[int]:
        """The numbers of a column."""
        return array(BATCH_COLUMNS[name], self.numbers[name])


def records_said(chunk: Chunk) -> int | None:
    """The number of records by the headers of these batches; None for old messages, which do not say."""
    if chunk.is_legacy:
        return None
    counts: Sequence[int] = chunk.batches["count"]
    return sum(counts) if min(counts) >= 0 else sum(max(count, 0) for count in counts)
