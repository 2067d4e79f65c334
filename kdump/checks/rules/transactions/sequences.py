"""Sequences and epochs of producers."""

from __future__ import annotations

from kdump.binary.arithmetic import NO_SEQUENCE
from kdump.checks.finding import INFO
from kdump.checks.producers import ANYTHING, MAX_IN_FLIGHT, NO_PRODUCER_EPOCH, UNKNOWN_EPOCH, WRAPPED
from kdump.checks.rules.batch_findings import report_row
from kdump.checks.rules.order.misplaced import Misplaced, batch_at, misplaced, report
from kdump.checks.rules.transactions.producer_tally import ProducerTally
from kdump.checks.settings import DELETE
from kdump.checks.wording import counted, number_range, offset_range
from kdump.formats.record_batch import NO_PRODUCER_ID

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.context import FileContext
    from kdump.checks.producers import Producers, Rows
    from kdump.formats.record_batch import RecordBatch
    from kdump.tables import Table

_MAX_SEQUENCE = 0x7FFFFFFF
_MAX_OFFSET = 0x7FFFFFFFFFFFFFFF
_MOST_TOO_NARROW = 100


class Sequences:
    """Checks the sequences and epochs of producers.

    With `any_sequence`, any sequence may follow any other: a coordinator starts again with each of its batches.
    """

    def __init__(self, context: FileContext, producers: Producers, *, any_sequence: bool) -> None:
        self._context = context
        self._producers = producers
        self._any_sequence = any_sequence
        self._explained_gaps = ProducerTally()
        self._too_narrow: list[tuple[int, int, int, int]] = []  # producer, last and next offset, sequences left out between

    def check_unexpected(self, rows: Rows, row: int) -> None:
        """Check a data batch that does not continue as expected, which may be valid, and continue from it."""
        producer_ids, _, epochs, bases, lasts, _, _ = rows.columns
        producer_id, epoch, base, following = producer_ids[row], epochs[row], bases[row], lasts[row] + 1
        known = self._producers
        expected = known.expected.get(producer_id)
        if base <= NO_SEQUENCE:
            self._report_irregular_fields(rows.batches, row, "a producer id, but no sequence")
            following = ANYTHING
        if expected is None:
            known.make_room()
        elif epoch < known.epochs[producer_id]:
            if epoch >= NO_PRODUCER_EPOCH:
                self.report_epoch_regression(rows, row, known.epochs[producer_id])
            return
        elif epoch == known.epochs[producer_id] and not self._may_follow(rows, row, expected):
            return
        known.epochs[producer_id] = epoch
        known.expected[producer_id] = following

    def _may_follow(self, rows: Rows, row: int, expected: int) -> bool:
        """Whether to continue from a batch with an unexpected sequence; not if the log has it already."""
        base = rows.column("base_sequence")[row]
        if expected == ANYTHING or base <= NO_SEQUENCE or self._any_sequence:
            return True
        if expected == WRAPPED:
            expected = 0
            if base == 0:
                self.report_wrap(rows.batches, row)
                return True
        if expected - base & _MAX_SEQUENCE <= _MAX_SEQUENCE >> 1:
            earlier = self._earlier_offsets(rows, row)
            if earlier is not None:
                self._report_duplicate(rows.batches, row, expected, earlier)
                return False
        self._check_gap(rows, row, expected)
        return True

    def _earlier_offsets(self, rows: Rows, row: int) -> tuple[int, int] | None:
        """The offsets of an earlier batch with the same sequences, among the last few of its producer; None if there is none."""
        producer_ids, _, epochs, bases, lasts, _, _ = rows.columns
        producer_id, sought = producer_ids[row], (epochs[row], bases[row], lasts[row])
        left = MAX_IN_FLIGHT
        for before, end in ((rows, row), *((recent, len(recent)) for recent in self._producers.recent)):
            _, _, epochs, bases, lasts, base_offsets, last_offsets = before.columns
            numbers = before.before(producer_id, end)[-left:]
            for number in numbers:
                if (epochs[number], bases[number], lasts[number]) == sought and (
                    # what starts at 0 with other contents is a producer that started again, or a coordinator
                    bases[number] or before.crcs[number] == rows.crcs[row]
                ):
                    return base_offsets[number], last_offsets[number]
            left -= len(numbers)
            if not left:
                break
        return None

    def _report_duplicate(self, batches: Table[RecordBatch], row: int, expected: int, earlier: tuple[int, int]) -> None:
        batch = batches.row(row)
        sequences = number_range("sequence", batch.base_sequence or 0, batch.last_sequence or 0)
        message = (
            f"Producer {batch.producer_id:,}, epoch {batch.producer_epoch}: {sequences}, which the log already has at "
            f"{offset_range(*earlier)}, came again at offset {batch.base_offset:,}."
        )
        report_row(self._context, "sequence-duplicate", batches, row, message, expected=expected, found=batch.base_sequence)

    def _check_gap(self, rows: Rows, row: int, expected: int) -> None:
        """Report a gap in the sequences, or count it where offsets are missing, too: then batches were cleaned away."""
        batches = rows.batches
        producer_id, _, epoch, base, _, base_offset, _ = (column[row] for column in rows.columns)
        run_start = self._producers.continuity.run_start(base_offset)
        may_be_cleaned = self._context.settings.cleanup_policy != DELETE
        before = rows.before(producer_id, row)
        last_offset: int | None = None
        if before:
            last_offset = rows.column("last_offset")[before[-1]]
        elif producer_id in self._producers.last_batches:
            _, _, _, last_offset = self._producers.last_batches[producer_id]
        missing = base - expected & _MAX_SEQUENCE
        if base and last_offset is not None and base_offset - last_offset - 1 < missing <= _MAX_SEQUENCE >> 1:
            self._too_narrow = [*self._too_narrow[:_MOST_TOO_NARROW], (producer_id, last_offset, base_offset, missing)]
        if base == 0 or may_be_cleaned and run_start == base_offset:
            self._explained_gaps.add_row(batches, row)
            return
        if last_offset is None:
            return
        if may_be_cleaned and run_start > last_offset:
            self._explained_gaps.add_row(batches, row)
            return
        count = f": {counted(missing, 'number')} left out" if base > expected else ""
        report_row(
            self._context,
            "sequence-gap",
            batches,
            row,
            f"Producer {producer_id:,}, epoch {epoch}: sequence {expected:,} should follow its batch that ends at offset "
            f"{last_offset:,}, but {base:,} does, at offset {base_offset:,}{count}.",
            expected=expected,
            found=base,
        )

    def report_contradicted_offsets(self) -> None:
        """Report offsets that leave less room than sequences between two batches of a producer: records have both."""
        logs = self._producers.continuity.segments
        reported: set[int] = set()
        for producer_id, last, following, missing in self._too_narrow:
            before, after = batch_at(logs, last), batch_at(logs, following)
            found: list[Misplaced] = []
            if before is not None:
                facts, row = before
                found += misplaced(facts, row, following, range(following - missing - (last - facts.first_offsets[row])))
            if after is not None:
                end = self._context.next_base_offset
                if end is None:  # the last batch is not suspected if it continues the log
                    end = following if batch_at(logs, following - 1) else _MAX_OFFSET
                found += misplaced(*after, end, range(last + missing + 1, _MAX_OFFSET))
            if found and reported.isdisjoint(one.facts.positions[one.row] for one in found):
                reported.update(one.facts.positions[one.row] for one in found)
                numbers = counted(missing, "sequence number")
                report(
                    self._context, found, f"producer {producer_id:,} skips {numbers} between offsets {last:,} and {following:,}"
                )

    def report_wrap(self, batches: Table[RecordBatch], row: int) -> None:
        producer_id = batches["producer_id"][row]
        message = (
            f"Producer {producer_id:,} reached the last sequence, 2,147,483,647, and continued with 0 at offset "
            f"{batches['base_offset'][row]:,}, as it should."
        )
        report_row(self._context, "sequence-wrap", batches, row, message)

    def report_epoch_regression(self, rows: Rows, row: int, known_epoch: int) -> None:
        batches = rows.batches
        producer_id, epoch, offset = (batches[name][row] for name in ("producer_id", "producer_epoch", "base_offset"))
        what = "marker" if batches["is_control"][row] else "batch"
        before = rows.before(producer_id, row)
        if before:
            last_epoch, last_offset = (rows.column(name)[before[-1]] for name in ("producer_epoch", "last_offset"))
        else:
            last_epoch, _, _, last_offset = self._producers.last_batches.get(producer_id, (UNKNOWN_EPOCH, 0, 0, 0))
        last_known = f", its last batch of which ends at offset {last_offset:,}" if last_epoch == known_epoch else ""
        known = f"Producer {producer_id:,} had epoch {known_epoch} before{last_known}"
        message = f"{known}; the {what} at offset {offset:,} has epoch {epoch}."
        report_row(self._context, "producer-epoch-regression", batches, row, message, expected=known_epoch, found=epoch)

    def check_producers(self, batches: Table[RecordBatch]) -> None:
        """Report batches whose producer id or epoch is impossible, or that contradict each other."""
        names = ("producer_id", "producer_epoch", "is_transactional", "is_control")
        for row, values in enumerate(zip(*(batches[name] for name in names), strict=True)):
            producer_id, epoch, is_transactional, is_control = values
            if producer_id < NO_PRODUCER_ID:
                self._report_irregular_fields(batches, row, "a producer id below -1")
            elif epoch < NO_PRODUCER_EPOCH:
                self._report_irregular_fields(batches, row, "an epoch below -1")
            elif producer_id == NO_PRODUCER_ID and is_transactional and not is_control:
                self._report_irregular_fields(batches, row, "no producer id, and is transactional")

    def _report_irregular_fields(self, batches: Table[RecordBatch], row: int, wrong: str) -> None:
        batch = batches.row(row)
        message = (
            f"The batch at offset {batch.base_offset:,} has {wrong}: producer id {batch.producer_id:,}, "
            f"epoch {batch.producer_epoch:,}, sequence {batch.base_sequence:,}."
        )
        report_row(self._context, "producer-fields-odd", batches, row, message)

    def report_explained_gaps(self) -> None:
        """Report all gaps that missing offsets explain in one finding."""
        gaps = self._explained_gaps
        if gaps.count:
            self._context.report(
                "sequence-gap",
                gaps.start,
                gaps.end,
                f"{counted(gaps.count, 'batch', 'batches')} of {gaps.producers()} skipped to another sequence, first at "
                f"offset {gaps.first_offset:,}: the batches in between are no longer in the log, or it restarted with 0.",
                severity=INFO,
                offsets=(gaps.first_offset, gaps.last_offset),
            )
