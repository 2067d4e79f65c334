"""Control batches, transactions and producers, across the segments of a partition."""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left, bisect_right
from itertools import groupby

from kdump.binary.batch_header import CONTROL_BIT, TRANSACTIONAL_BIT
from kdump.binary.producer_streak import (
    BASE_OFFSET,
    COMMIT_OFFSET,
    COMMITS,
    CONTROL_TYPE,
    COORDINATOR_EPOCH,
    END,
    EPOCH,
    FIRST_COORDINATOR_EPOCH,
    IS_OPEN,
    LAST_BASE_OFFSET,
    LAST_OFFSET,
    MARKER,
    PLAIN,
    POSITION,
    PRODUCER_ID,
    TRANSACTIONAL,
)
from kdump.binary.source import Source
from kdump.checks import producers
from kdump.checks.context import FileContext
from kdump.checks.finding import INFO
from kdump.checks.producers import ANYTHING, WRAPPED, OpenTransaction, Rows
from kdump.checks.rules import control_batches
from kdump.checks.rules.rule import SegmentRule
from kdump.checks.settings import DELETE
from kdump.checks.wording import counted, number_range, offset_range
from kdump.errors import Unreadable
from kdump.formats import file_name, transaction_index
from kdump.formats.record_batch import NO_PRODUCER_ID, NO_SEQUENCE
from kdump.messages.control_records import ABORT, COMMIT
from kdump.reading import salvage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kdump.checks.facts import SegmentFacts
    from kdump.checks.producers import LastBatch, Producers
    from kdump.formats.log import Chunk
    from kdump.formats.record_batch import RecordBatch
    from kdump.formats.summary import BatchSummary
    from kdump.reading.items import Damage, Section
    from kdump.tables import Table

    Run = tuple[int, ...]  # producer_streak says of what
    Place = tuple[int, int, int]  # where a marker starts and ends, and its offset

LONGEST_TRANSACTION = 20 * 60 * 1000
"""Milliseconds: the broker's `transaction.max.timeout.ms` (15 minutes unless changed), and 5 minutes to write the marker."""

_NO_PRODUCER_EPOCH = -1
_UNKNOWN_EPOCH = -2  # lower than any
_NO_COORDINATOR_EPOCH = -1 << 63  # the same

_MAX_SEQUENCE = 0x7FFFFFFF
_NEAR_WRAP = 0x7F000000
_COORDINATOR_TOPICS = ("__consumer_offsets-", "__transaction_state-", "__share_group_state-")


class Transactions(SegmentRule):
    """Follows each producer: its epochs, its sequences, its transactions and the markers that end them.

    Sections without producers cost a look at two columns; the sequences of a producer that goes on as expected, one look-up.
    """

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        super().__init__(context, facts)
        self.producers = producers.of(context)
        self.producers.enter_segment(facts)
        self.aborted = _Aborted()
        self.lone_markers = _Tally()
        self.lawful_gaps = _Tally()
        folder = os.path.basename(os.path.dirname(os.path.abspath(context.path)))
        self.has_coordinator_sequences = folder.startswith(_COORDINATOR_TOPICS)

    def damage(self, damage: Damage) -> None:
        self.producers.damages += 1

    def batches(self, section: Section) -> None:
        chunk, row = section.chunk, 0
        if chunk.is_legacy or section.summary is not None and _has_no_producers(section.summary):
            return
        if section.is_intact:
            if section.summary is None or not self._take_runs(section.summary, chunk):
                self._take(chunk)
            return
        for status, run in groupby(section.statuses):
            start, row = row, row + len(list(run))
            if status == salvage.INTACT:
                self._take(chunk.slice(start, row))
                continue
            self.producers.damages += 1
            if status == salvage.SALVAGED:
                # perhaps payload that looks like batches: of these producers nothing is certain any more
                for producer_id in set(chunk.batches["producer_id"][start:row]):
                    self.producers.forget(producer_id)

    def _take_runs(self, summary: BatchSummary, chunk: Chunk) -> bool:
        """Go on with each producer, a run of its batches at a time. False, and nothing is changed, where something is off."""
        known, snapshots = self.producers, self.producers.snapshots
        if summary.orphans or summary.lowest_producer_id < NO_PRODUCER_ID or summary.lowest_producer_epoch < _NO_PRODUCER_EPOCH:
            return False
        if summary.highest_base_sequence >= _NEAR_WRAP or snapshots and snapshots[0] <= summary.last_offset:
            return False
        runs = summary.producer_streaks()
        if runs is None or len(known.expected) + summary.count >= producers.MAX_PRODUCERS:
            return False
        following = _Following(known, self.context.path, any_sequence=self.has_coordinator_sequences)
        if not following.take(runs):
            return False
        following.enter()
        for producer_id, first_offset, (start, end, offset) in following.aborted:
            self.aborted.add(producer_id, first_offset, offset, start, end - start)
        for producer_id, (start, end, offset) in following.lone_markers:
            self.lone_markers.add(producer_id, start, end, offset, offset)
        if following.states:
            known.note(Rows(chunk))
        return True

    def _take(self, chunk: Chunk) -> None:
        """Look at sound batches, and keep what snapshots between them are to say."""
        batches = chunk.batches
        producer_ids, epochs = batches["producer_id"], batches["producer_epoch"]
        has_transactional = True in batches["is_transactional"]
        has_producers = producer_ids.count(NO_PRODUCER_ID) != len(producer_ids)
        if has_producers or has_transactional or epochs.count(_NO_PRODUCER_EPOCH) != len(epochs):
            has_odd_producers = has_transactional and NO_PRODUCER_ID in producer_ids or min(producer_ids) < NO_PRODUCER_ID
            if has_odd_producers or min(epochs) < _NO_PRODUCER_EPOCH:
                self._check_producers(batches)
        if not has_producers and True not in batches["is_control"]:
            return
        snapshots = self.producers.snapshots
        while snapshots and snapshots[0] <= batches["last_offset"][-1]:
            row = bisect_left(chunk.batches["last_offset"], snapshots[0])
            if row:
                self._follow(chunk.slice(0, row))
                chunk = chunk.slice(row, len(chunk.batches))
            snapshot = self.producers.keep_view()
            self._follow(chunk.slice(0, 1))
            self.producers.keep_later_view(snapshot, chunk.batches["producer_id"][0])
            chunk = chunk.slice(1, len(chunk.batches))
            if not len(chunk.batches):
                return
        self._follow(chunk)

    def _follow(self, chunk: Chunk) -> None:
        """Go on with each producer."""
        batches = chunk.batches
        rows = Rows(chunk)
        producer_ids, is_control, epochs, bases, lasts, base_offsets, last_offsets = rows.columns
        transactions = self.producers.open
        is_plain = True not in is_control and True not in batches["is_transactional"]
        if not is_plain or transactions and not transactions.keys().isdisjoint(producer_ids):
            self._follow_transactions(chunk, rows)
        else:
            self._follow_sequences(batches, rows)
        if max(bases) >= _NEAR_WRAP:
            for row, (base, last) in enumerate(zip(bases, lasts, strict=True)):
                if last < base:
                    self._report_wrap(batches, row)
        expected, last_batches = self.producers.expected, self.producers.last_batches
        for producer_id, row in _last_rows(producer_ids, is_control):
            if producer_id in expected:
                last_batches[producer_id] = (epochs[row], lasts[row], base_offsets[row], last_offsets[row])
        self.producers.note(rows)

    def _follow_sequences(self, batches: Table[RecordBatch], rows: Rows) -> None:
        """Compare each sequence with what was expected, where there is nothing else: this is where most batches go through."""
        producer_ids, _, epochs, bases, lasts, _, _ = rows.columns
        expected, known_epochs = self.producers.expected, self.producers.epochs
        get, epoch = expected.get, epochs[0]
        row = 0
        if epochs.count(epoch) == len(epochs) and all(known_epochs.get(known, epoch) == epoch for known in set(producer_ids)):
            for producer_id, base, last in zip(producer_ids, bases, lasts, strict=True):
                if get(producer_id) == base:
                    expected[producer_id] = last + 1
                elif producer_id >= 0:
                    self._unexpected(batches, rows, row)
                row += 1
            return
        for producer_id, epoch, base, last in zip(producer_ids, epochs, bases, lasts, strict=True):
            if get(producer_id) == base and known_epochs[producer_id] == epoch:
                expected[producer_id] = last + 1
            elif producer_id >= 0:
                self._unexpected(batches, rows, row)
            row += 1

    def _follow_transactions(self, chunk: Chunk, rows: Rows) -> None:
        """The same, where there are control batches, transactional ones, or producers in a transaction."""
        batches, known = chunk.batches, self.producers
        expected, known_epochs, transactions = known.expected, known.epochs, known.open
        columns = zip(*rows.columns[:5], batches["is_transactional"], strict=True)
        for row, (producer_id, is_control, epoch, base, last, is_transactional) in enumerate(columns):
            if is_control:
                control = control_batches.read(self.context, chunk, row)
                if control is not None and producer_id >= 0:
                    self._end_transaction(batches, rows, row, control)
                continue
            if producer_id < 0:
                continue
            if expected.get(producer_id) == base and known_epochs[producer_id] == epoch:
                expected[producer_id] = last + 1
            else:
                self._unexpected(batches, rows, row)
            if producer_id in transactions:
                if not is_transactional:
                    self._report_plain_write(batches, row, transactions[producer_id])
            elif is_transactional and batches["count"][row]:
                # an empty batch that the cleaner kept for its sequence begins no transaction
                position = batches["position"][row]
                transactions[producer_id] = OpenTransaction(
                    producer_id,
                    epoch,
                    batches["base_offset"][row],
                    self.context.path,
                    position,
                    position + batches["size"][row],
                    known.damages,
                )

    # --- sequences and epochs -----------------------------------------------------------------------------------

    def _unexpected(self, batches: Table[RecordBatch], rows: Rows, row: int) -> None:
        """Look at a data batch that does not go on as expected, which may well be lawful, and go on from it."""
        producer_ids, _, epochs, bases, lasts, _, _ = rows.columns
        producer_id, epoch, base, following = producer_ids[row], epochs[row], bases[row], lasts[row] + 1
        known = self.producers
        expected = known.expected.get(producer_id)
        if base <= NO_SEQUENCE:
            self._report_odd_fields(batches, row, "a producer id, and no sequence")
            following = ANYTHING
        if expected is None:
            known.make_room()
        elif epoch < known.epochs[producer_id]:
            if epoch >= _NO_PRODUCER_EPOCH:
                self._report_epoch_regression(batches, rows, row, known.epochs[producer_id])
            return
        elif epoch == known.epochs[producer_id] and not self._may_follow(batches, rows, row, expected):
            return
        known.epochs[producer_id] = epoch
        known.expected[producer_id] = following

    def _may_follow(self, batches: Table[RecordBatch], rows: Rows, row: int, expected: int) -> bool:
        """Whether to go on from a batch with another sequence than was expected of its epoch; not if it came twice."""
        base = rows.column("base_sequence")[row]
        # a coordinator starts each of its batches again
        if expected == ANYTHING or base <= NO_SEQUENCE or self.has_coordinator_sequences:
            return True
        if expected == WRAPPED:
            expected = 0
            if base == 0:
                self._report_wrap(batches, row)
                return True
        if expected - base & _MAX_SEQUENCE <= _MAX_SEQUENCE >> 1:
            earlier = self._earlier(rows, row)
            if earlier is not None:
                self._report_duplicate(batches, row, expected, earlier)
                return False
        self._sequence_gap(batches, rows, row, expected)
        return True

    def _earlier(self, rows: Rows, row: int) -> tuple[int, int] | None:
        """The offsets at which the sequences of this batch stand already, among the last few of its producer."""
        producer_ids, _, epochs, bases, lasts, _, _ = rows.columns
        producer_id, sought = producer_ids[row], (epochs[row], bases[row], lasts[row])
        for before, end in ((rows, row), *((recent, len(recent)) for recent in self.producers.recent)):
            _, _, epochs, bases, lasts, base_offsets, last_offsets = before.columns
            for number in before.before(producer_id, end):
                if (epochs[number], bases[number], lasts[number]) == sought and (
                    # what starts at 0 with other contents is a producer that started again, or a coordinator
                    bases[number] or before.crcs[number] == rows.crcs[row]
                ):
                    return base_offsets[number], last_offsets[number]
        return None

    def _report_duplicate(self, batches: Table[RecordBatch], row: int, expected: int, earlier: tuple[int, int]) -> None:
        batch = batches.row(row)
        sequences = number_range("sequence", batch.base_sequence or 0, batch.last_sequence or 0)
        message = (
            f"Producer {batch.producer_id:,}, epoch {batch.producer_epoch}: {sequences}, which the log has at "
            f"{offset_range(*earlier)} already, came again at offset {batch.base_offset:,}."
        )
        self._report("sequence-duplicate", batches, row, message, expected=expected, found=batch.base_sequence)

    def _sequence_gap(self, batches: Table[RecordBatch], rows: Rows, row: int, expected: int) -> None:
        """A sequence other than the next: of no weight where offsets are missing as well, for then batches were cleaned away."""
        producer_id, _, epoch, base, _, base_offset, _ = (column[row] for column in rows.columns)
        run_start = self.producers.continuity.run_start(base_offset)
        may_be_cleaned = self.context.settings.cleanup_policy != DELETE
        if base == 0 or may_be_cleaned and run_start == base_offset:
            self._add_to(self.lawful_gaps, batches, row)
            return
        before = rows.before(producer_id, row)
        if before:
            last_offset = rows.column("last_offset")[before[-1]]
        elif producer_id in self.producers.last_batches:
            _, _, _, last_offset = self.producers.last_batches[producer_id]
        else:
            return
        if may_be_cleaned and run_start > last_offset:
            self._add_to(self.lawful_gaps, batches, row)
            return
        missing = base - expected & _MAX_SEQUENCE
        count = f": {counted(missing, 'number')} left out" if base > expected else ""
        self._report(
            "sequence-gap",
            batches,
            row,
            f"Producer {producer_id:,}, epoch {epoch}: sequence {expected:,} was to follow its batch that ends at offset "
            f"{last_offset:,}, and {base:,} does, at offset {base_offset:,}{count}.",
            expected=expected,
            found=base,
        )

    def _report_wrap(self, batches: Table[RecordBatch], row: int) -> None:
        producer_id = batches["producer_id"][row]
        message = (
            f"Producer {producer_id:,} came to the last sequence, 2,147,483,647, and went on with 0 at offset "
            f"{batches['base_offset'][row]:,}, as it should."
        )
        self._report("sequence-wrap", batches, row, message)

    def _report_epoch_regression(self, batches: Table[RecordBatch], rows: Rows, row: int, known_epoch: int) -> None:
        producer_id, epoch, offset = (batches[name][row] for name in ("producer_id", "producer_epoch", "base_offset"))
        what = "marker" if batches["is_control"][row] else "batch"
        before = rows.before(producer_id, row)
        if before:
            last_epoch, last_offset = (rows.column(name)[before[-1]] for name in ("producer_epoch", "last_offset"))
        else:
            last_epoch, _, _, last_offset = self.producers.last_batches.get(producer_id, (_UNKNOWN_EPOCH, 0, 0, 0))
        last_known = f", its last batch of which ends at offset {last_offset:,}" if last_epoch == known_epoch else ""
        known = f"Producer {producer_id:,} had epoch {known_epoch} before{last_known}"
        message = f"{known}; the {what} at offset {offset:,} has epoch {epoch}."
        self._report("producer-epoch-regression", batches, row, message, expected=known_epoch, found=epoch)

    def _check_producers(self, batches: Table[RecordBatch]) -> None:
        """Name the batches whose producer and epoch cannot be, or do not go together."""
        names = ("producer_id", "producer_epoch", "is_transactional", "is_control")
        for row, values in enumerate(zip(*(batches[name] for name in names), strict=True)):
            producer_id, epoch, is_transactional, is_control = values
            if producer_id < NO_PRODUCER_ID:
                self._report_odd_fields(batches, row, "a producer id below -1")
            elif epoch < _NO_PRODUCER_EPOCH:
                self._report_odd_fields(batches, row, "an epoch below -1")
            elif producer_id == NO_PRODUCER_ID and is_transactional and not is_control:
                self._report_odd_fields(batches, row, "no producer id, and is transactional")

    def _report_odd_fields(self, batches: Table[RecordBatch], row: int, wrong: str) -> None:
        batch = batches.row(row)
        message = (
            f"The batch at offset {batch.base_offset:,} has {wrong}: producer id {batch.producer_id:,}, "
            f"epoch {batch.producer_epoch:,}, sequence {batch.base_sequence:,}."
        )
        self._report("producer-fields-odd", batches, row, message)

    # --- transactions -------------------------------------------------------------------------------------------

    def _end_transaction(self, batches: Table[RecordBatch], rows: Rows, row: int, control: control_batches.Control) -> None:
        """A marker: it ends the transaction of its producer, and may bring a new epoch."""
        known = self.producers
        producer_id, epoch = batches["producer_id"][row], batches["producer_epoch"][row]
        transaction = known.open.pop(producer_id, None)
        known_epoch = known.epochs.get(producer_id)
        if known_epoch is None:
            known.make_room()
        if known_epoch is None or epoch > known_epoch:
            known.epochs[producer_id] = epoch
            known.expected[producer_id] = ANYTHING
        elif epoch < known_epoch:
            self._report_epoch_regression(batches, rows, row, known_epoch)
        if control.coordinator_epoch is not None:
            self._check_coordinator_epoch(batches, row, control.coordinator_epoch)
        if transaction is None:
            if control.kind in (ABORT, COMMIT):
                self._add_to(self.lone_markers, batches, row)
        elif control.kind == ABORT:
            marker = batches.row(row)
            self.aborted.add(producer_id, transaction.first_offset, marker.last_offset, marker.position, marker.size)

    def _check_coordinator_epoch(self, batches: Table[RecordBatch], row: int, coordinator_epoch: int) -> None:
        producer_id, offset = batches["producer_id"][row], batches["last_offset"][row]
        known_epoch, known_offset = self.producers.markers.get(producer_id, (coordinator_epoch, offset))
        if coordinator_epoch >= known_epoch:
            self.producers.markers[producer_id] = (coordinator_epoch, offset)
            return
        self._report(
            "coordinator-epoch-regression",
            batches,
            row,
            f"Producer {producer_id:,}: the marker at offset {offset:,} has coordinator epoch {coordinator_epoch}, that at "
            f"offset {known_offset:,} had {known_epoch}. A coordinator that was replaced wrote it.",
            expected=known_epoch,
            found=coordinator_epoch,
        )

    @staticmethod
    def _add_to(tally: _Tally, batches: Table[RecordBatch], row: int) -> None:
        producer_id, position, size = (batches[name][row] for name in ("producer_id", "position", "size"))
        tally.add(producer_id, position, position + size, batches["base_offset"][row], batches["last_offset"][row])

    def _report_plain_write(self, batches: Table[RecordBatch], row: int, transaction: OpenTransaction) -> None:
        self._report(
            "txn-nontransactional-write",
            batches,
            row,
            f"Producer {transaction.producer_id:,} has a transaction open since offset {transaction.first_offset:,}, and its "
            f"batch at offset {batches['base_offset'][row]:,} is not part of it. A broker that scans the segment does not start.",
        )

    def end(self) -> None:
        if self.context.next_base_offset is not None:
            self.producers.leave_segment()
        self._tell_tallies()
        if not producers.is_part_of_log(self.context):
            self._tell_open(is_log_end=False)
        else:
            self._check_aborted()
            if self.context.is_newest:
                self._tell_open(is_log_end=True)

    def _tell_tallies(self) -> None:
        gaps, markers = self.lawful_gaps, self.lone_markers
        if gaps.count:
            self.context.report(
                "sequence-gap",
                gaps.start,
                gaps.end,
                f"{counted(gaps.count, 'batch', 'batches')} of {gaps.who()} did not go on with the next sequence, first at "
                f"offset {gaps.first_offset:,}: the batches between are not in the log any more, or it started again with 0.",
                severity=INFO,
                offsets=(gaps.first_offset, gaps.last_offset),
            )
        if markers.count:
            self.context.report(
                "marker-without-txn",
                markers.start,
                markers.end,
                f"{counted(markers.count, 'marker')} of {markers.who()} without data in view, first at offset "
                f"{markers.first_offset:,}: the data are not in the log any more, or there were none.",
                offsets=(markers.first_offset, markers.last_offset),
            )

    def _check_aborted(self) -> None:
        """Report the aborted transactions that the transaction index beside this log does not have."""
        aborted, partition = self.aborted, self.context.partition
        if not aborted.last_offsets or partition is None or not self.context.settings.checks_crcs:
            return
        beside = partition.files.segments.get(self.context.base_offset or 0, {})
        name = beside.get(file_name.TRANSACTION_INDEX)
        if file_name.OFFSET_INDEX not in beside:
            return  # a log without its files, or one that a broker scans when it opens it
        if name is None:
            count = counted(len(aborted.last_offsets), "transaction")
            self.context.report(
                "txn-aborted-not-indexed",
                aborted.positions[0],
                aborted.positions[-1] + aborted.size,
                f"{count} with data in view {'was' if len(aborted.last_offsets) == 1 else 'were'} aborted here, and there is no "
                "transaction index: read-committed consumers see these records. Only a scan of the segment rebuilds the index.",
                offsets=(min(aborted.first_offsets), aborted.last_offsets[-1]),
            )
            return
        for row in aborted.missing_from(os.path.join(partition.path, name)):
            producer_id, first, last = aborted.producer_ids[row], aborted.first_offsets[row], aborted.last_offsets[row]
            self.context.report(
                "txn-aborted-not-indexed",
                aborted.positions[row],
                aborted.positions[row] + aborted.size,
                f"Producer {producer_id:,} aborted offsets {first:,} to {last:,}, and the transaction index does not have it: "
                "read-committed consumers see these records.",
                offsets=(first, last),
            )

    def _tell_open(self, *, is_log_end: bool) -> None:
        """Report the transactions without marker; those that the log outgrew are hanging."""
        transactions = self.producers.open_transactions()
        if not transactions:
            return
        log_end = max((facts.last_offset or 0 for facts in self.producers.continuity.segments), default=0)
        run_start = self.producers.continuity.run_start(1 << 63)
        latest = self._greatest_timestamp()
        for transaction, timestamp in zip(transactions, self._timestamps_at(transactions), strict=True):
            first_offset = transaction.first_offset
            is_certain = is_log_end and run_start <= first_offset and transaction.damages == self.producers.damages
            who = f"Producer {transaction.producer_id:,}, epoch {transaction.epoch}"
            if is_certain and latest - timestamp > LONGEST_TRANSACTION:
                code = "txn-hanging"
                message = (
                    f"{who}: its transaction is open since offset {first_offset:,}, and the log went on for "
                    f"{_duration(latest - timestamp)} and {log_end - transaction.last_offset:,} offsets after its last data. "
                    f"The last stable offset stays at {first_offset:,}, {log_end + 1 - first_offset:,} after the log end: "
                    "read-committed consumers and the cleaner wait there."
                )
            else:
                code = "txn-open"
                ending = "by the end of the log" if is_log_end else "in this file"
                if is_log_end and not is_certain:
                    ending += "; it may have stood where bytes or offsets are missing"
                message = f"{who}: its transaction is open since offset {first_offset:,}, with no marker {ending}."
            self._report_at_begin(code, transaction, message)

    def _report_at_begin(self, code: str, transaction: OpenTransaction, message: str) -> None:
        """Report where the transaction begins, which may be in a segment that was checked before."""
        offsets = (transaction.first_offset, transaction.last_offset)
        partition = self.context.partition
        if transaction.path == self.context.path or partition is None:
            self.context.report(code, transaction.position, transaction.end, message, offsets=offsets)
            return
        try:
            with Source(transaction.path) as source:
                context = FileContext(source, transaction.path, self.context.file_type, self.context.settings, partition.emit)
                context.report(code, transaction.position, transaction.end, message, offsets=offsets)
        except Unreadable:
            self.context.report(code, 0, 0, f"{message} It begins in {transaction.path}.", offsets=offsets)

    def _greatest_timestamp(self) -> int:
        now = self.context.settings.now
        return max((_greatest(facts.max_timestamps, now) for facts in self.producers.continuity.segments), default=-1)

    def _timestamps_at(self, transactions: list[OpenTransaction]) -> Iterator[int]:
        """The greatest timestamp in the log up to the last data of each transaction; they come by that offset."""
        now, greatest = self.context.settings.now, -1
        segments = iter(self.producers.continuity.segments)
        facts, row = next(segments), 0
        for transaction in transactions:
            while facts.last_offset is None or facts.last_offset < transaction.last_offset:
                greatest = max(greatest, _greatest(facts.max_timestamps[row:], now))
                following = next(segments, None)
                if following is None:
                    break
                facts, row = following, 0
            end = bisect_right(facts.last_offsets, transaction.last_offset)
            greatest = max(greatest, _greatest(facts.max_timestamps[row:end], now))
            row = max(row, end)
            yield greatest

    def _report(
        self,
        code: str,
        batches: Table[RecordBatch],
        row: int,
        message: str,
        *,
        expected: object = None,
        found: object = None,
    ) -> None:
        position = batches["position"][row]
        end = position + batches["size"][row]
        offsets = (batches["base_offset"][row], batches["last_offset"][row])
        self.context.report(code, position, end, message, offsets=offsets, expected=expected, found=found)


class _Following:
    """Goes on with producers a run at a time, as far as nothing is off; what is known of them is changed by `enter` only."""

    def __init__(self, known: Producers, path: str, *, any_sequence: bool) -> None:
        self.states: dict[int, _State] = {}
        self.last_batches: dict[int, LastBatch] = {}
        self.lone_markers: list[tuple[int, Place]] = []
        self.aborted: list[tuple[int, int, Place]] = []
        self._known = known
        self._path = path
        self._any_sequence = any_sequence

    def take(self, runs: Iterator[Run]) -> bool:
        """Whether all runs go on as they should, or in a way of which nothing is to be said."""
        states, any_sequence = self.states, self._any_sequence
        for run in runs:
            producer_id, epoch, kind, base, last = run[:5]
            state = states.get(producer_id) or self._state_of(producer_id)
            if epoch < state.epoch:
                return False
            if kind == MARKER:
                coordinator_epoch = run[COORDINATOR_EPOCH]
                if coordinator_epoch < state.coordinator_epoch:
                    return False
                if epoch > state.epoch:
                    state.epoch, state.expected = epoch, ANYTHING
                if state.begin is None or run[CONTROL_TYPE] == ABORT:
                    self._note_marker(state.begin, run)
                state.begin, state.coordinator_epoch, state.marker_offset = None, coordinator_epoch, run[LAST_OFFSET]
                continue
            if base != state.expected != ANYTHING and epoch == state.epoch and not any_sequence:
                return False
            commits = run[COMMITS]
            if commits:
                if run[FIRST_COORDINATOR_EPOCH] < state.coordinator_epoch:
                    return False
                state.begin, state.coordinator_epoch, state.marker_offset = None, run[COORDINATOR_EPOCH], run[COMMIT_OFFSET]
            state.epoch, state.expected = epoch, last + 1
            self.last_batches[producer_id] = (epoch, last, run[LAST_BASE_OFFSET], run[LAST_OFFSET])
            if commits and not run[IS_OPEN]:
                continue  # the last transaction is committed, too
            if kind == PLAIN:
                if state.begin is not None:
                    return False
            elif kind == TRANSACTIONAL and state.begin is None:
                state.begin = run
        return True

    def _state_of(self, producer_id: int) -> _State:
        state = self.states[producer_id] = _State(self._known, producer_id)
        return state

    def _note_marker(self, begin: OpenTransaction | Run | None, run: Run) -> None:
        """A marker without data, or of a transaction that was aborted."""
        producer_id, place = run[PRODUCER_ID], (run[POSITION], run[END], run[LAST_OFFSET])
        if begin is None:
            self.lone_markers.append((producer_id, place))
        else:
            first_offset = begin.first_offset if isinstance(begin, OpenTransaction) else begin[BASE_OFFSET]
            self.aborted.append((producer_id, first_offset, place))

    def enter(self) -> None:
        """Make it known."""
        known = self._known
        for producer_id, state in self.states.items():
            known.epochs[producer_id] = state.epoch
            known.expected[producer_id] = state.expected
            begin = state.begin
            if begin is None:
                known.open.pop(producer_id, None)
            elif not isinstance(begin, OpenTransaction):
                first_epoch, base_offset = begin[EPOCH], begin[BASE_OFFSET]
                known.open[producer_id] = OpenTransaction(
                    producer_id, first_epoch, base_offset, self._path, begin[POSITION], begin[END], known.damages
                )
            if state.marker_offset is not None:
                known.markers[producer_id] = (state.coordinator_epoch, state.marker_offset)
        known.last_batches.update(self.last_batches)


class _State:
    """A producer while its runs are gone through.

    `begin` is the run that began its open transaction, or that transaction if it was open before. The highest marker so far has
    the `coordinator_epoch`, and stands at `marker_offset`, None where there was none.
    """

    __slots__ = ("begin", "coordinator_epoch", "epoch", "expected", "marker_offset")

    def __init__(self, known: Producers, producer_id: int) -> None:
        self.epoch = known.epochs.get(producer_id, _UNKNOWN_EPOCH)
        self.expected = known.expected.get(producer_id, ANYTHING)
        self.begin: OpenTransaction | Run | None = known.open.get(producer_id)
        self.coordinator_epoch: int = _NO_COORDINATOR_EPOCH
        self.marker_offset: int | None = None
        marker = known.markers.get(producer_id)
        if marker is not None:
            self.coordinator_epoch, self.marker_offset = marker


class _Tally:
    """Counts what is lawful, to be told in one finding."""

    def __init__(self) -> None:
        self.count = self.start = self.end = self.first_offset = self.last_offset = 0
        self._producer_id = 0
        self._has_others = False

    def add(self, producer_id: int, start: int, end: int, first_offset: int, last_offset: int) -> None:
        """One more, in these bytes."""
        if not self.count:
            self.start, self.first_offset, self._producer_id = start, first_offset, producer_id
        self.count += 1
        self._has_others = self._has_others or producer_id != self._producer_id
        self.end, self.last_offset = end, last_offset

    def who(self) -> str:
        """The producers, in words."""
        return "several producers" if self._has_others else f"producer {self._producer_id:,}"


class _Aborted:
    """Aborted transactions with data in view, by their markers."""

    def __init__(self) -> None:
        self.producer_ids, self.first_offsets, self.last_offsets, self.positions = (array("q") for _ in range(4))
        self.size = 0  # of the last marker's batch

    def add(self, producer_id: int, first_offset: int, last_offset: int, position: int, size: int) -> None:
        """One more, which begins with the first offset; the marker with the last offset is of this position and size."""
        self.producer_ids.append(producer_id)
        self.first_offsets.append(first_offset)
        self.last_offsets.append(last_offset)
        self.positions.append(position)
        self.size = size

    def missing_from(self, path: str) -> list[int]:
        """The rows that a transaction index does not have; none where it cannot be read."""
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


def _has_no_producers(summary: BatchSummary) -> bool:
    """Whether these are plain batches of producers without id."""
    return (
        summary.lowest_producer_id == summary.highest_producer_id == NO_PRODUCER_ID
        and summary.lowest_producer_epoch >= _NO_PRODUCER_EPOCH
        and not summary.any_attributes & (TRANSACTIONAL_BIT | CONTROL_BIT)
    )


def _last_rows(producer_ids: Sequence[int], is_control: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The row of the last data batch of each producer."""
    if True not in is_control:
        yield from dict(zip(producer_ids, range(len(producer_ids)), strict=True)).items()
        return
    rows = {producer_id: row for row, producer_id in enumerate(producer_ids) if not is_control[row]}
    yield from rows.items()


def _greatest(timestamps: Iterable[int], now: int) -> int:
    """The greatest that is not in the future, which no clock can have meant."""
    greatest = max(timestamps, default=-1)
    return greatest if greatest <= now else max((timestamp for timestamp in timestamps if timestamp <= now), default=-1)


def _duration(elapsed_ms: int) -> str:
    minutes = elapsed_ms // 60_000
    days, hours = minutes // 1440, minutes // 60
    return f"{days:,} days" if days > 1 else f"{hours} h {minutes % 60} min" if hours else f"{minutes} min"


RULES: tuple[type[SegmentRule], ...] = (Transactions,)
