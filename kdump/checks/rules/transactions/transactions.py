"""Follows producers through a log: their epochs, their sequences, and their transactions."""

from __future__ import annotations

import os
from bisect import bisect_left

from kdump.binary.batch_header import CONTROL_BIT, TRANSACTIONAL_BIT
from kdump.binary.paths import parent
from kdump.binary.source import Source
from kdump.checks import producers
from kdump.checks.producers import NO_PRODUCER_EPOCH, OpenTransaction, Producers, Rows
from kdump.checks.rules.files import file_object
from kdump.checks.rules.rule import SegmentRule
from kdump.checks.rules.transactions import control_batches
from kdump.checks.rules.transactions.aborted import report_not_indexed
from kdump.checks.rules.transactions.markers import Markers
from kdump.checks.rules.transactions.open_transactions import OpenTransactions
from kdump.checks.rules.transactions.producer_streaks import FollowedRuns
from kdump.checks.rules.transactions.sequences import Sequences
from kdump.errors import Unreadable
from kdump.formats import file_name, producer_snapshot
from kdump.formats.record_batch import NO_PRODUCER_ID
from kdump.reading import salvage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.context import FileContext
    from kdump.checks.producers import StateAt
    from kdump.checks.segment_facts import SegmentFacts
    from kdump.formats.log import Chunk
    from kdump.formats.summary import BatchSummary
    from kdump.reading.items import Damage, Section

_MIN_SEQUENCE_NEAR_WRAP = 0x7F000000
_COORDINATOR_TOPICS = ("__consumer_offsets-", "__transaction_state-", "__share_group_state-")


class Transactions(SegmentRule):
    """Follows each producer: its epochs, its sequences, its transactions and the markers that end them.

    Sections without producers cost a look at two columns; the sequences of a producer that continues as expected, one look-up.
    """

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        super().__init__(context, facts)
        self.producers = _producers_before(context)
        self.producers.enter_segment(facts)
        folder = os.path.basename(parent(context.path))
        self._any_sequence = folder.startswith(_COORDINATOR_TOPICS)
        self._sequences = Sequences(context, self.producers, any_sequence=self._any_sequence)
        self._markers = Markers(context, self.producers, self._sequences)
        self._has_producers = False  # whether any batch was more than one of a producer without id

    def damage(self, damage: Damage) -> None:
        self.producers.damages += 1

    def batches(self, section: Section) -> None:
        chunk = section.chunk
        if chunk.is_legacy:
            self.producers.damages += section.status == salvage.DAMAGED  # perhaps a batch whose magic is wrong
            return
        if section.summary is not None and _has_no_producers(section.summary):
            return
        self._has_producers = True
        if not section.is_intact:
            self.producers.damages += 1
            if section.status == salvage.SALVAGED:
                # perhaps payload that looks like a batch: of this producer nothing is certain any more
                self.producers.forget(chunk.batches["producer_id"][0])
        elif section.summary is None or not self._follow_runs(section.summary, chunk):
            self._check(Rows(chunk))

    def _follow_runs(self, summary: BatchSummary, chunk: Chunk) -> bool:
        """Follow each producer, a run of its batches at a time. False, and nothing is changed, if something is unusual."""
        known, snapshots = self.producers, self.producers.snapshots
        if summary.orphans or summary.lowest_producer_id < NO_PRODUCER_ID or summary.lowest_producer_epoch < NO_PRODUCER_EPOCH:
            return False
        if summary.highest_base_sequence >= _MIN_SEQUENCE_NEAR_WRAP or snapshots and snapshots[0] <= summary.last_offset:
            return False
        runs = summary.producer_streaks()
        if runs is None or len(known.expected) + summary.count >= producers.MAX_PRODUCERS:
            return False
        following = FollowedRuns(known, self.context.path, any_sequence=self._any_sequence)
        if not following.follow(runs):
            return False
        following.enter()
        for producer_id, first_offset, (start, end, offset) in following.aborted:
            self._markers.aborted.add(producer_id, first_offset, offset, start, end - start)
        for producer_id, (start, end, offset) in following.markers_without_data:
            self._markers.without_data.add(producer_id, start, end, offset, offset)
        if following.states:
            known.record(Rows(chunk))
        return True

    def _check(self, rows: Rows) -> None:
        """Check these batches, and keep what snapshots between them should say."""
        batches = rows.batches
        producer_ids, epochs = batches["producer_id"], batches["producer_epoch"]
        has_transactional = True in batches["is_transactional"]
        has_producers = producer_ids.count(NO_PRODUCER_ID) != len(producer_ids)
        if has_producers or has_transactional or epochs.count(NO_PRODUCER_EPOCH) != len(epochs):
            has_irregular_producers = has_transactional and NO_PRODUCER_ID in producer_ids or min(producer_ids) < NO_PRODUCER_ID
            if has_irregular_producers or min(epochs) < NO_PRODUCER_EPOCH:
                self._sequences.check_producers(batches)
        if not has_producers and True not in batches["is_control"]:
            return
        known, snapshots, last_offsets, start = self.producers, self.producers.snapshots, batches["last_offset"], 0
        while snapshots:
            row = bisect_left(last_offsets, snapshots[0], start)
            if row == len(rows):
                break
            self._follow(rows, start, row)
            snapshot = known.keep_state(self._state_for(snapshots[0]))
            self._follow(rows, row, row + 1)
            known.keep_later_view(snapshot, producer_ids[row])
            start = row + 1
        self._follow(rows, start, len(rows))
        known.record(rows)

    def _state_for(self, offset: int) -> StateAt | None:
        """What the snapshot of this offset should say now; None if it is not to be compared."""
        partition = self.context.partition
        if partition is None or not self.context.settings.checks_crcs:
            return None
        name = partition.files.segments.get(offset, {}).get(file_name.PRODUCER_SNAPSHOT)
        if name is None:
            return None  # when the directory was listed again, it was gone
        try:
            with Source(os.path.join(partition.path, name)) as source:
                return self.producers.state_for(producer_snapshot.ids(source))
        except Unreadable as error:
            if error.code != "file-missing":  # or a broker has just deleted it
                file_object.report_failure(self.context, error)
            return None

    def _follow(self, rows: Rows, start: int, end: int) -> None:
        """Follow each producer, batch by batch, from one row up to but not including another."""
        if start == end:
            return
        batches = rows.batches
        producer_ids, is_control, epochs, _, lasts, base_offsets, last_offsets = rows.columns
        transactions = self.producers.open
        is_regular = True not in is_control and True not in batches["is_transactional"]
        if not is_regular or transactions and not transactions.keys().isdisjoint(producer_ids):
            self._follow_transactions(rows, start, end)
        else:
            self._follow_sequences(rows, start, end)
        for row in _wraps(rows, start, end):
            self._sequences.report_wrap(batches, row)
        expected, last_batches = self.producers.expected, self.producers.last_batches
        for producer_id, row in rows.last_rows(start, end):
            if producer_id in expected:
                last_batches[producer_id] = (epochs[row], lasts[row], base_offsets[row], last_offsets[row])

    def _follow_sequences(self, rows: Rows, start: int, end: int) -> None:
        """Compare each sequence with the expected one, where there are no transactions: most batches are checked here."""
        producer_ids, _, epochs, bases, lasts = (column[start:end] for column in rows.columns[:5])
        expected, known_epochs = self.producers.expected, self.producers.epochs
        get, epoch = expected.get, epochs[0]
        row = start
        if epochs.count(epoch) == len(epochs) and all(known_epochs.get(known, epoch) == epoch for known in set(producer_ids)):
            for producer_id, base, last in zip(producer_ids, bases, lasts, strict=True):
                if get(producer_id) == base:
                    expected[producer_id] = last + 1
                elif producer_id >= 0:
                    self._sequences.check_unexpected(rows, row)
                row += 1
            return
        for producer_id, epoch, base, last in zip(producer_ids, epochs, bases, lasts, strict=True):
            if get(producer_id) == base and known_epochs[producer_id] == epoch:
                expected[producer_id] = last + 1
            elif producer_id >= 0:
                self._sequences.check_unexpected(rows, row)
            row += 1

    def _follow_transactions(self, rows: Rows, start: int, end: int) -> None:
        """The same, where there are control batches, transactional ones, or producers in a transaction."""
        batches, known = rows.batches, self.producers
        expected, known_epochs, transactions = known.expected, known.epochs, known.open
        columns = zip(*(column[start:end] for column in (*rows.columns[:5], batches["is_transactional"])), strict=True)
        for row, (producer_id, is_control, epoch, base, last, is_transactional) in enumerate(columns, start):
            if is_control:
                control = control_batches.read(self.context, rows.chunk, row)
                if control is not None and producer_id >= 0:
                    self._markers.end_transaction(rows, row, control)
                continue
            if producer_id < 0:
                continue
            if expected.get(producer_id) == base and known_epochs[producer_id] == epoch:
                expected[producer_id] = last + 1
            else:
                self._sequences.check_unexpected(rows, row)
            if producer_id in transactions:
                if not is_transactional:
                    self._markers.report_plain_write(batches, row, transactions[producer_id])
            elif is_transactional and not batches["count"][row]:
                known.forget(producer_id)  # the cleaner kept it for its sequence; it may have opened a transaction, or not
            elif is_transactional:
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

    def end(self) -> None:
        if self.context.next_base_offset is not None:
            self.producers.leave_segment()
        if not self._has_producers and not self.producers.open:
            return
        self._sequences.report_explained_gaps()
        self._sequences.report_contradicted_offsets()
        self._markers.report_without_data()
        open_transactions = OpenTransactions(self.context, self.producers)
        if not self.context.is_part_of_log:
            open_transactions.report(is_log_end=False)
        else:
            report_not_indexed(self.context, self._markers.aborted)
            if self.context.is_newest:
                open_transactions.report(is_log_end=True)


def _producers_before(context: FileContext) -> Producers:
    """The producers as the segments before this one left them; new ones for the first segment, and for a log on its own."""
    partition = context.partition
    if partition is None or not context.is_part_of_log:
        return Producers([])
    if partition.producers is None:
        segments = partition.files.segments
        snapshots = sorted(base for base, names in segments.items() if file_name.PRODUCER_SNAPSHOT in names)
        partition.producers = Producers(snapshots)
    return partition.producers


def _has_no_producers(summary: BatchSummary) -> bool:
    """Whether these are plain batches of producers without id."""
    return (
        summary.lowest_producer_id == summary.highest_producer_id == NO_PRODUCER_ID
        and summary.lowest_producer_epoch >= NO_PRODUCER_EPOCH
        and not summary.any_attributes & (TRANSACTIONAL_BIT | CONTROL_BIT)
    )


def _wraps(rows: Rows, start: int, end: int) -> list[int]:
    """The rows of batches whose sequences continue with 0 after the highest."""
    bases, lasts = (column[start:end] for column in rows.columns[3:5])
    if max(bases) < _MIN_SEQUENCE_NEAR_WRAP:
        return []
    return [row for row, (base, last) in enumerate(zip(bases, lasts, strict=True), start) if last < base]
