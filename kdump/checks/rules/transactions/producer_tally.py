"""Counts valid peculiarities of producers, which one finding reports."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.formats.record_batch import RecordBatch
    from kdump.tables import Table


class ProducerTally:
    """Counts batches of producers; the first and the last place are kept."""

    def __init__(self) -> None:
        self.count = self.start = self.end = self.first_offset = self.last_offset = 0
        self._producer_id = 0
        self._has_others = False

    def add(self, producer_id: int, start: int, end: int, first_offset: int, last_offset: int) -> None:
        """Count a batch in these bytes."""
        if not self.count:
            self.start, self.first_offset, self._producer_id = start, first_offset, producer_id
        self.count += 1
        self._has_others = self._has_others or producer_id != self._producer_id
        self.end, self.last_offset = end, last_offset

    def producers(self) -> str:
        """The producer in words, or that there are several."""
        return "several producers" if self._has_others else f"producer {self._producer_id:,}"

    def add_row(self, batches: Table[RecordBatch], row: int) -> None:
        """Count the batch in this row."""
        producer_id, position, size = (batches[name][row] for name in ("producer_id", "position", "size"))
        self.add(producer_id, position, position + size, batches["base_offset"][row], batches["last_offset"][row])
