"""Transactions that are still open: those that may end yet, and those that hang."""

from __future__ import annotations

from kdump.binary.source import Source
from kdump.checks.context import FileContext
from kdump.checks.wording import counted
from kdump.errors import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kdump.checks.producers import OpenTransaction, Producers

LONGEST_TRANSACTION_MS = 20 * 60 * 1000
"""The broker's `transaction.max.timeout.ms` (15 minutes unless changed), and 5 minutes to write the marker."""


class OpenTransactions:
    """Reports the open transactions of a log."""

    def __init__(self, context: FileContext, producers: Producers) -> None:
        self._context = context
        self._producers = producers

    def report(self, *, is_log_end: bool) -> None:
        """Report the transactions without a marker. Those that are open for longer than any may last are hanging."""
        transactions = self._producers.open_transactions()
        if not transactions:
            return
        log_end = max((facts.last_offset or 0 for facts in self._producers.continuity.segments), default=0)
        run_start = self._producers.continuity.run_start(1 << 63)
        now = self._context.settings.now
        latest = max((_greatest(facts.max_timestamps, now) for facts in self._producers.continuity.segments), default=-1)
        for transaction, timestamp in zip(transactions, self._timestamps_at(transactions), strict=True):
            first_offset = transaction.first_offset
            is_certain = is_log_end and run_start <= first_offset and transaction.damages == self._producers.damages
            is_hanging = is_certain and latest - timestamp > LONGEST_TRANSACTION_MS
            code = "txn-hanging" if is_hanging else "txn-open"
            who = f"Producer {transaction.producer_id:,}, epoch {transaction.epoch}"
            later = log_end - transaction.last_offset
            if is_hanging:
                message = (
                    f"{who}: its transaction is open since offset {first_offset:,}, and the log continues for "
                    f"{_duration(latest - timestamp)} and {counted(later, 'offset')} after its last record. "
                    f"The last stable offset stays at {first_offset:,}, {log_end + 1 - first_offset:,} below the log end: "
                    "read-committed consumers and the cleaner wait there."
                )
            else:
                ending = "by the end of the log" if is_log_end else "in this file"
                if is_log_end and not is_certain:
                    ending += "; it may have been where bytes or offsets are missing"
                message = f"{who}: its transaction is open since offset {first_offset:,}, with no marker {ending}."
                if is_certain and later > 0 and latest >= timestamp:
                    age = _duration(latest - timestamp)
                    message += (
                        f" The log continues for {age} and {counted(later, 'offset')}: read-committed consumers wait at "
                        f"offset {first_offset:,}."
                    )
            self._report_at_start(code, transaction, message)

    def _report_at_start(self, code: str, transaction: OpenTransaction, message: str) -> None:
        """Report where the transaction starts, which may be in a segment that was checked before."""
        offsets = (transaction.first_offset, transaction.last_offset)
        partition = self._context.partition
        if transaction.path == self._context.path or partition is None:
            self._context.report(code, transaction.position, transaction.end, message, offsets=offsets)
            return
        try:
            with Source(transaction.path) as source:
                context = FileContext(source, transaction.path, self._context.file_type, self._context.settings, partition.emit)
                context.report(code, transaction.position, transaction.end, message, offsets=offsets)
        except Unreadable:
            self._context.report(code, 0, 0, f"{message} It starts in {transaction.path}.", offsets=offsets)

    def _timestamps_at(self, transactions: list[OpenTransaction]) -> Iterator[int]:
        """The greatest timestamp in the log up to the last data of each transaction; transactions come sorted by that offset."""
        now, greatest = self._context.settings.now, -1
        segments = iter(self._producers.continuity.segments)
        facts, row = next(segments), 0
        last_offset = facts.last_offset
        for transaction in transactions:
            while last_offset is None or last_offset < transaction.last_offset:
                greatest = max(greatest, _greatest(facts.max_timestamps[row:], now))
                following = next(segments, None)
                if following is None:
                    row = len(facts.max_timestamps)  # no transaction after this one looks at them again
                    break
                facts, row, last_offset = following, 0, following.last_offset
            end = facts.last_offsets.bisect_right(transaction.last_offset)
            if end > row:
                timestamps = facts.max_timestamps
                greatest = max(greatest, _greatest([timestamps[row]] if end - row == 1 else timestamps[row:end], now))
                row = end
            yield greatest


def _greatest(timestamps: Iterable[int], now: int) -> int:
    """The greatest timestamp that is not in the future."""
    greatest = max(timestamps, default=-1)
    return greatest if greatest <= now else max((timestamp for timestamp in timestamps if timestamp <= now), default=-1)


def _duration(elapsed_ms: int) -> str:
    minutes = elapsed_ms // 60_000
    days, hours = minutes // 1440, minutes // 60
    return f"{days:,} days" if days > 1 else f"{hours} h {minutes % 60} min" if hours else f"{minutes} min"
