"""Markers: the control batches that end transactions."""

from __future__ import annotations

from kdump.checks.producers import ANYTHING
from kdump.checks.rules.batch_findings import report_row
from kdump.checks.rules.transactions.aborted import AbortedTransactions
from kdump.checks.rules.transactions.producer_tally import ProducerTally
from kdump.checks.wording import counted
from kdump.messages.control_records import ABORT, COMMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.context import FileContext
    from kdump.checks.producers import OpenTransaction, Producers, Rows
    from kdump.checks.rules.transactions.control_batches import Control
    from kdump.checks.rules.transactions.sequences import Sequences
    from kdump.formats.record_batch import RecordBatch
    from kdump.tables import Table


class Markers:
    """Ends transactions. `aborted` are those that were aborted, `without_data` counts markers of which no data is in the log."""

    def __init__(self, context: FileContext, producers: Producers, sequences: Sequences) -> None:
        self._context = context
        self._producers = producers
        self._sequences = sequences
        self.aborted = AbortedTransactions()
        self.without_data = ProducerTally()

    def end_transaction(self, rows: Rows, row: int, control: Control) -> None:
        """End the transaction of the marker's producer; the marker may bring a new epoch."""
        known, batches = self._producers, rows.batches
        producer_id, epoch = batches["producer_id"][row], batches["producer_epoch"][row]
        transaction = known.open.pop(producer_id, None)
        known_epoch = known.epochs.get(producer_id)
        if known_epoch is None:
            known.make_room()
        if known_epoch is None or epoch > known_epoch:
            known.epochs[producer_id] = epoch
            known.expected[producer_id] = ANYTHING
        elif epoch < known_epoch:
            self._sequences.report_epoch_regression(rows, row, known_epoch)
        if control.coordinator_epoch is not None:
            self._check_coordinator_epoch(batches, row, control.coordinator_epoch)
        if transaction is None:
            if control.kind in (ABORT, COMMIT):
                self.without_data.add_row(batches, row)
        elif control.kind == ABORT:
            last_offset, position, size = (batches[name][row] for name in ("last_offset", "position", "size"))
            self.aborted.add(producer_id, transaction.first_offset, last_offset, position, size)

    def _check_coordinator_epoch(self, batches: Table[RecordBatch], row: int, coordinator_epoch: int) -> None:
        producer_id, offset = batches["producer_id"][row], batches["last_offset"][row]
        known_epoch, known_offset = self._producers.markers.get(producer_id, (coordinator_epoch, offset))
        if coordinator_epoch >= known_epoch:
            self._producers.markers[producer_id] = (coordinator_epoch, offset)
            return
        report_row(
            self._context,
            "coordinator-epoch-regression",
            batches,
            row,
            f"Producer {producer_id:,}: the marker at offset {offset:,} has coordinator epoch {coordinator_epoch}, that at "
            f"offset {known_offset:,} had {known_epoch}. It was written by a coordinator that had been replaced.",
            expected=known_epoch,
            found=coordinator_epoch,
        )

    def report_plain_write(self, batches: Table[RecordBatch], row: int, transaction: OpenTransaction) -> None:
        report_row(
            self._context,
            "txn-nontransactional-write",
            batches,
            row,
            f"Producer {transaction.producer_id:,} has had a transaction open since offset {transaction.first_offset:,}, and its "
            f"batch at offset {batches['base_offset'][row]:,} is not part of it. A broker that scans the segment does not start.",
        )

    def report_without_data(self) -> None:
        """Report all markers without data in one finding."""
        markers = self.without_data
        if markers.count:
            self._context.report(
                "marker-without-txn",
                markers.start,
                markers.end,
                f"{counted(markers.count, 'marker')} of {markers.producers()} without visible data, the first at offset "
                f"{markers.first_offset:,}: the data is no longer in the log, or there was none.",
                offsets=(markers.first_offset, markers.last_offset),
            )
