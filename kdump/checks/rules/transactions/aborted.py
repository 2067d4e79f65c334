"""Aborted transactions, compared with the transaction index of their log."""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left

from kdump.binary.source import Source
from kdump.checks.wording import counted, offset_range
from kdump.errors import Unreadable
from kdump.formats import file_name, transaction_index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.context import FileContext


class AbortedTransactions:
    """Aborted transactions whose data is in the log, by their markers."""

    def __init__(self) -> None:
        self.producer_ids, self.first_offsets, self.last_offsets, self.positions = (array("q") for _ in range(4))
        self.size = 0  # of the last marker's batch

    def add(self, producer_id: int, first_offset: int, last_offset: int, position: int, size: int) -> None:
        """Add a transaction that starts at the first offset, and whose marker has the last offset, this position and size."""
        self.producer_ids.append(producer_id)
        self.first_offsets.append(first_offset)
        self.last_offsets.append(last_offset)
        self.positions.append(position)
        self.size = size

    def missing_from(self, path: str) -> list[int]:
        """The rows that a transaction index lacks; none if it cannot be read."""
        is_there = bytearray(len(self.last_offsets))
        try:
            with Source(path) as source:
                for table in transaction_index.read(source):
                    for producer_id, last_offset in zip(table["producer_id"], table["last_offset"], strict=True):
                        row = bisect_left(self.last_offsets, last_offset)
                        if row < len(is_there) and (self.last_offsets[row], self.producer_ids[row]) == (last_offset, producer_id):
                            is_there[row] = 1
        except Unreadable:
            return []
        return [row for row, has_entry in enumerate(is_there) if not has_entry]


def report_not_indexed(context: FileContext, aborted: AbortedTransactions) -> None:
    """Report the aborted transactions that the transaction index of this log lacks."""
    partition = context.partition
    if not aborted.last_offsets or partition is None or not context.settings.checks_crcs:
        return
    beside = partition.files.segments.get(context.base_offset or 0, {})
    name = beside.get(file_name.TRANSACTION_INDEX)
    if file_name.OFFSET_INDEX not in beside:
        return  # a log without its files, or one that a broker scans when it opens it
    if name is None:
        count = counted(len(aborted.last_offsets), "transaction")
        context.report(
            "txn-aborted-not-indexed",
            aborted.positions[0],
            aborted.positions[-1] + aborted.size,
            f"{count} with visible data {'was' if len(aborted.last_offsets) == 1 else 'were'} aborted here, and there is no "
            "transaction index: read-committed consumers see these records. Only a scan of the segment rebuilds the index.",
            offsets=(min(aborted.first_offsets), aborted.last_offsets[-1]),
        )
        return
    for row in aborted.missing_from(os.path.join(partition.path, name)):
        start = aborted.positions[row]
        end = min(start + aborted.size, context.source.size)
        producer_id, first, last = aborted.producer_ids[row], aborted.first_offsets[row], aborted.last_offsets[row]
        context.report(
            "txn-aborted-not-indexed",
            start,
            end,
            f"Producer {producer_id:,} aborted {offset_range(first, last)}, but the transaction index lacks this: "
            "read-committed consumers see these records.",
            offsets=(first, last),
        )
