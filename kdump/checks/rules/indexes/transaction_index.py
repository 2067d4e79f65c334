"""Transaction indexes, on their own and compared with the markers of their log."""

from __future__ import annotations

from itertools import repeat

from kdump.binary.batch_header import (
    ATTRIBUTES,
    BATCH_HEADER,
    BATCH_HEADER_SIZE,
    COMPRESSION_MASK,
    CONTROL_BIT,
    LENGTH,
    LOG_OVERHEAD,
    MAGIC,
    PRODUCER_ID,
    RECORD_COUNT,
)
from kdump.checks.catalogue.fault_kind import BLIND, RESCAN
from kdump.checks.finding import INFO
from kdump.checks.rules.indexes.entry_file import EntryFile
from kdump.checks.rules.indexes.sibling_log import SiblingLog, rows_of, sibling_log
from kdump.checks.rules.transactions.control_batches import MAX_BATCH_BYTES
from kdump.decoders import control_record
from kdump.decoders.control_record import MARKER_SIZE, usual_marker
from kdump.errors import CorruptData
from kdump.formats import record
from kdump.formats.transaction_index import ENTRY, ENTRY_SIZE
from kdump.messages.control_records import ABORT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kdump.checks.context import FileContext

_VERSION = 0


def check(context: FileContext) -> None:
    """Check one file; each of its bytes is counted once."""
    with sibling_log(context) as log:
        _Check(context, log).run()


class _Check:
    def __init__(self, context: FileContext, log: SiblingLog | None) -> None:
        self.context = context
        self.entries = EntryFile(context, ENTRY_SIZE, is_preallocated=False)
        self.log = log
        self.last_offset: int | None = None  # of the entry before
        self.stable_offset = -1  # the highest so far
        self.tail_offset = None if log is None else log.last_offset_of_tail()
        self.batch_count = 0 if log is None else len(log.positions)
        self.opened: dict[int, bool] = {}  # rows of control batches that were opened: whether they abort

    def run(self) -> None:
        for first_row, data, _ in self.entries.windows():
            damaged: set[int] = set()
            zeros: set[int] = set()
            entries = list(ENTRY.iter_unpack(data))
            for row, (entry, batch_row) in enumerate(zip(entries, self._batch_rows(entries), strict=True)):
                if not any(entry):
                    zeros.add(row)
                elif not self._is_sound(first_row + row, batch_row, *entry):
                    damaged.add(row)
            self.entries.count_window(data, damaged, zeros)
        self.entries.finish("txnindex-size-misaligned")

    def _batch_rows(self, entries: Sequence[tuple[int, ...]]) -> Iterable[int]:
        """For each entry, the first batch of the log that does not end below its transaction; 0 where no log was read."""
        if self.log is None:
            return repeat(0, len(entries))
        return rows_of(self.log.facts.last_offsets, [last for _, _, _, last, _ in entries])

    def _is_sound(self, row: int, batch_row: int, version: int, producer_id: int, first: int, last: int, stable: int) -> bool:
        if version != _VERSION:
            message = f"Entry {row:,} has version 0x{version & 0xFFFF:04x}; only 0 is known. Its other fields were not checked."
            forecast = None if version & 0xFF00 else BLIND  # a broker looks at the first byte only
            self._report("txnindex-version-unknown", row, message, expected=_VERSION, found=version, forecast=forecast)
            return False
        is_ordered = self._is_in_order(row, first, last)
        self._check_stable_offset(row, first, last, stable)
        return self._has_marker(row, batch_row, producer_id, first, last) and is_ordered

    def _is_in_order(self, row: int, first: int, last: int) -> bool:
        base_offset, before = self.context.base_offset, self.last_offset
        self.last_offset = last
        forecast = None
        if base_offset is not None and last < base_offset:
            wrong, forecast = f"the segment starts at {base_offset:,}", RESCAN
        elif first > last or first < 0:
            wrong = f"its first offset is {first:,}"
        elif before is not None and last <= before:
            wrong = f"the entry before ends at {before:,}"
        else:
            return True
        if not self._is_only_counted("txnindex-order", row):
            message = f"Entry {row:,} says that an aborted transaction ends at offset {last:,}, but {wrong}."
            self._report("txnindex-order", row, message, offsets=(first, last), found=last, forecast=forecast)
        return False

    def _check_stable_offset(self, row: int, first: int, last: int, stable: int) -> None:
        """Report a last stable offset that goes back, or past a transaction that was still open."""
        stable_offset = self.stable_offset
        if last + 1 >= stable >= stable_offset <= first:
            self.stable_offset = stable
            return
        if self._is_only_counted("txnindex-lso-odd", row):
            return
        if stable > last + 1:
            wrong = f"its marker is at offset {last:,}"
        elif first < stable_offset:
            wrong = f"an earlier entry says that all below {stable_offset:,} is stable, and this one starts at {first:,}"
        else:
            wrong = f"an earlier entry has {stable_offset:,}, and it cannot go back"
        message = f"Entry {row:,} has {stable:,} as last stable offset, but {wrong}."
        self._report("txnindex-lso-odd", row, message, offsets=(first, last), found=stable)

    def _has_marker(self, row: int, batch_row: int, producer_id: int, first: int, last: int) -> bool:
        """Whether the log has, or may have, the ABORT marker of this entry; reported if not."""
        log = self.log
        if log is None:
            return True
        facts, count = log.facts, self.batch_count
        # A broker takes the base offset of a marker's batch, also where the batch says that it goes on.
        if batch_row == count or last not in (facts.first_offsets[batch_row], facts.last_offsets[batch_row]):
            if self._may_be_damaged(log, batch_row, last):
                return True
            is_inside = batch_row < count and facts.first_offsets[batch_row] <= last
            was_cleaned = self.context.settings.may_be_compacted and not is_inside and 0 < batch_row < count
            wrong = "offset {last:,} lies inside a batch" if is_inside else "the log has no batch at offset {last:,}"
        else:
            found, was_emptied = _marker_at(log, batch_row, self.opened)
            if found == producer_id:
                return True
            was_cleaned = was_emptied and self.context.settings.may_be_compacted
            wrong = "the batch at offset {last:,} " + (
                "is not an ABORT marker" if found is None else f"aborts that of producer {found:,}"
            )
        if not was_cleaned and self._is_only_counted("txnindex-without-marker", row):
            return False
        message = f"Entry {row:,} is for a transaction of producer {producer_id:,}, but {wrong.format(last=last)}."
        severity = INFO if was_cleaned else None
        self._report("txnindex-without-marker", row, message, offsets=(first, last), found=producer_id, severity=severity)
        return was_cleaned

    def _may_be_damaged(self, log: SiblingLog, batch_row: int, offset: int) -> bool:
        positions = log.positions
        if batch_row == self.batch_count:
            return self.tail_offset is None or offset <= self.tail_offset
        return log.may_hold_more(positions[batch_row - 1] if batch_row else 0, positions[batch_row])

    def _is_only_counted(self, code: str, row: int) -> bool:
        """Whether a finding about an entry is one of too many: then it is counted here, and needs no message."""
        start = row * ENTRY_SIZE
        return self.context.counts_only(code, start, start + ENTRY_SIZE)

    def _report(
        self,
        code: str,
        row: int,
        message: str,
        *,
        severity: str | None = None,
        offsets: tuple[int, int] | None = None,
        expected: int | None = None,
        found: int | None = None,
        forecast: str | None = None,
    ) -> None:
        start = row * ENTRY_SIZE
        self.context.report(
            code,
            start,
            start + ENTRY_SIZE,
            message,
            severity=severity,
            offsets=offsets,
            expected=expected,
            found=found,
            forecast=forecast,
        )


def _marker_at(log: SiblingLog, batch_row: int, opened: dict[int, bool]) -> tuple[int | None, bool]:
    """The producer whose transaction the batch in this row aborts, or None; and whether the batch was emptied.

    `opened` keeps what was found in batches of another form than usual, so that none is opened twice.
    """
    data = log.bytes_of(batch_row, BATCH_HEADER_SIZE + MARKER_SIZE)
    if len(data) < BATCH_HEADER_SIZE:
        return None, False
    header = BATCH_HEADER.unpack_from(data)
    magic, attributes, producer_id, count = header[MAGIC], header[ATTRIBUTES], header[PRODUCER_ID], header[RECORD_COUNT]
    if magic < 2 or not attributes & CONTROL_BIT:
        return None, count == 0 and magic >= 2
    if count == 0:
        return None, True
    marker = None if attributes & COMPRESSION_MASK else usual_marker(data[BATCH_HEADER_SIZE:])
    if marker is not None:
        return (producer_id if marker[0] == ABORT else None), False
    if batch_row not in opened:
        opened[batch_row] = _is_abort(log, batch_row, header)
    return (producer_id if opened[batch_row] else None), False


def _is_abort(log: SiblingLog, batch_row: int, header: tuple[int, ...]) -> bool:
    """Whether the first record of a control batch is an ABORT marker, compressed or not: no broker writes such, but reads it."""
    batch = log.bytes_of(batch_row, min(header[LENGTH] + LOG_OVERHEAD, MAX_BATCH_BYTES))
    try:
        first = record.first_of(header, batch, max_payload=MAX_BATCH_BYTES)
        return first is not None and control_record.type_of(None if first[5] is None else bytes(first[5])) == ABORT
    except CorruptData:
        return True  # it may be one: what is wrong with its key is said of the log
