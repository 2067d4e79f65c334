"""Gaps between the entries of offset indexes."""

from __future__ import annotations

from array import array
from operator import sub

from kdump.checks.finding import INFO, WARNING
from kdump.checks.rules.indexes.sibling_log import SiblingLog
from kdump.checks.wording import counted
from kdump.formats.offset_index import ENTRY_SIZE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.checks.context import FileContext

INTERVAL_BYTES = 4096
"""The default of index.interval.bytes: an entry is made where more than this was appended since the last one."""

ONE_APPEND_BYTES = 1 << 20
"""The most bytes that followers and the cleaner append at once by default; brokers before 4.0 add at most one entry for them."""

WIDE_INTERVALS = 10
"""Intervals between two entries from which on a gap is reported."""

_SUSPICIOUS_INTERVALS = 100
_MAX_WIDE_GAPS = 1000
_MIN_ENTRIES_FOR_INTERVAL = 8  # from which on the smallest gap shows the interval of the broker


class EntryGaps:
    """Collects the distances between entries, in bytes of the log."""

    def __init__(self, context: FileContext, log: SiblingLog | None) -> None:
        self.context = context
        self.log = log
        self.largest_append = 0
        self._last_row = -1
        self.last_position = 0
        self._count = 0
        self._smallest: int | None = None
        self._wide: list[tuple[int, int, int]] = []  # the row of an entry, the position before, and its own

    def add(self, first_row: int, rows: Sequence[int], positions: array[int]) -> None:
        """Add a window; its entries in these rows, numbered from the first, are in order."""
        if not rows:
            return
        if len(rows) < len(positions):
            positions = array("i", map(positions.__getitem__, rows))
        starts = array("i", [self.last_position])
        starts += positions[:-1]
        gaps = list(map(sub, positions, starts))
        self._last_row, self.last_position = first_row + rows[-1], positions[-1]
        self._count += len(gaps)
        smallest = min(gaps)
        self._smallest = smallest if self._smallest is None else min(self._smallest, smallest)
        if max(gaps) > WIDE_INTERVALS * INTERVAL_BYTES and len(self._wide) < _MAX_WIDE_GAPS:
            self._wide += [
                (first_row + row, start, end)
                for row, start, end, gap in zip(rows, starts, positions, gaps, strict=True)
                if gap > WIDE_INTERVALS * INTERVAL_BYTES
            ][: _MAX_WIDE_GAPS - len(self._wide)]

    def finish(self, log_end: int | None = None, *, may_grow: bool = False) -> None:
        """Report gaps that are too wide for any usual interval, between entries and up to the end of the log."""
        interval = max(INTERVAL_BYTES, self._smallest or 0) if self._count >= _MIN_ENTRIES_FOR_INTERVAL else INTERVAL_BYTES
        allowed = _SUSPICIOUS_INTERVALS * interval + max(ONE_APPEND_BYTES, self.largest_append)
        wide = []
        for row, start, end in self._wide:
            excess = end - start - self._largest_batch(start, end)
            if excess > allowed:
                message = (
                    f"No entry for {end - start:,} bytes of the log, from byte {start:,} to {end:,}: lookups there are slow."
                )
                self._report("index-sparse-gap", max(row - 1, 0), row, message, WARNING, end - start)
            elif excess > WIDE_INTERVALS * interval:
                wide.append(end - start)
        if wide:
            gaps = counted(len(wide), "gap")
            limit = WIDE_INTERVALS * interval
            message = f"{gaps} of more than {limit:,} bytes of the log between entries; the widest has {max(wide):,}."
            self._report("index-sparse-gap", 0, self._last_row, message, INFO, max(wide))
        if log_end is None:
            return
        distance = log_end - self.last_position
        if distance - self._largest_batch(self.last_position, log_end) > allowed:
            message = f"The last entry leads to byte {self.last_position:,}, {distance:,} bytes before the end of the log."
            self._report("index-stale", self._last_row, self._last_row, message, INFO if may_grow else WARNING, distance)

    def _largest_batch(self, start: int, end: int) -> int:
        return 0 if self.log is None else self.log.largest_batch(start, end)

    def _report(self, code: str, first_row: int, last_row: int, message: str, severity: str, found: int) -> None:
        start, end = first_row * ENTRY_SIZE, (last_row + 1) * ENTRY_SIZE
        self.context.report(code, start, end, message, severity=severity, found=found)
