"""The transactions of a partition that have no marker, as far as its batches were read."""

from __future__ import annotations

import os

from kdump.binary.batch_header import TRANSACTIONAL_BIT
from kdump.binary.source import Source
from kdump.checks.rules.transactions.open_transactions import LONGEST_TRANSACTION_MS
from kdump.errors import KdumpError
from kdump.formats import file_name, producer_snapshot
from kdump.formats.record_batch import NO_TIMESTAMP
from kdump.overview.row import OpenTransaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.reading.windows import Batches

_MOST = 1 << 16  # open transactions, and producers, that are kept


class Transactions:
    """Follows transactions from a producer snapshot on, through batches in the order of their offsets."""

    def __init__(self) -> None:
        self._open: dict[int, tuple[int, int, int]] = {}  # epoch, first offset and timestamp, by producer
        self.starts_at = 0  # the offset from which on batches count
        self.producers = 0
        """Those in the snapshot."""

    def start(self, directory: str, offset: int) -> None:
        """Start with the producer snapshot at this offset. One that cannot be read is as none."""
        path = os.path.join(directory, f"{offset:020}{file_name.PRODUCER_SNAPSHOT}")
        found: dict[int, tuple[int, int, int]] = {}
        count = 0
        try:
            with Source(path) as source:
                for table in producer_snapshot.read(source):
                    count += len(table)
                    for state in table if max(table["current_txn_first_offset"], default=-1) >= 0 else ():
                        if state.current_txn_first_offset >= 0 and len(found) < _MOST:
                            found[state.producer_id] = state.producer_epoch, state.current_txn_first_offset, state.timestamp
        except KdumpError:
            return
        self._open, self.starts_at, self.producers = found, offset, count

    def take(self, item: Batches) -> None:
        """Follow the next batches, of which none is damaged."""
        if item.summary is not None and not item.summary.any_attributes & TRANSACTIONAL_BIT:
            return
        batches = item.chunk.batches
        if True not in batches["is_transactional"]:
            return
        names = ("is_transactional", "is_control", "producer_id", "producer_epoch", "base_offset", "timestamp")
        rows = zip(*(batches[name] for name in names), strict=True)
        for is_transactional, is_control, producer, epoch, offset, timestamp in rows:
            if not is_transactional or offset < self.starts_at:
                continue
            if is_control:
                self._open.pop(producer, None)
            elif producer not in self._open and len(self._open) < _MOST:
                self._open[producer] = epoch, offset, timestamp

    def rows(self, path: str, newest: int | None, *, is_certain: bool) -> Iterator[OpenTransaction]:
        """The open ones, by offset; `newest` is the newest timestamp of the log."""
        for producer, (epoch, offset, timestamp) in sorted(self._open.items(), key=lambda item: item[1][1]):
            known = None if timestamp == NO_TIMESTAMP else timestamp
            elapsed = None if known is None or newest is None else max(newest - known, 0)
            is_hanging = is_certain and elapsed is not None and elapsed > LONGEST_TRANSACTION_MS
            yield OpenTransaction(path, producer, epoch, offset, known, elapsed, is_certain, is_hanging)
