"""The file `leader-epoch-checkpoint`: on its own, and compared with the leader epochs of the batches."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right

from kdump.checks.context import context_in
from kdump.checks.finding import INFO
from kdump.checks.rules.order import missing_segments
from kdump.checks.rules.order.misplaced import batch_at, is_joined, misplaced, report
from kdump.checks.rules.snapshots.leader_epoch_entries import EpochEntries, read
from kdump.checks.rules.snapshots.leader_epochs_of_batches import epochs_of_batches, runs, shown
from kdump.checks.wording import offset_range
from kdump.formats import text_checkpoint, tree
from kdump.reading.trust import is_flipped_epoch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.context import FileContext
    from kdump.checks.partition_facts import PartitionFacts

_MAX_OFFSET = 0x7FFFFFFFFFFFFFFF
_MOST_TRIED = 16  # epochs that differ, of which a batch may have a wrong offset


def check(context: FileContext) -> None:
    """Check one file; each of its bytes is counted once."""
    if not context.source.size:
        _check_empty(context)
        return
    epochs = read(context)
    if context.partition is not None and context.settings.checks_crcs:
        _check_against_start(context, context.partition, epochs)
        _check_against_end(context, context.partition, epochs)
        if epochs.is_damaged:
            return
        if epochs.epochs:
            _check_against_batches(context, context.partition, epochs)
        else:
            _check_empty(context)


def check_missing(partition: PartitionFacts) -> None:
    """Report a partition without the file, although its batches have leader epochs."""
    if text_checkpoint.LEADER_EPOCHS in partition.files.others or not any(facts.epochs for facts in partition.segments.values()):
        return
    message = f"There is no {text_checkpoint.LEADER_EPOCHS}, but the batches have leader epochs."
    is_whole = tree.PARTITION_METADATA in partition.files.others or tree.is_log_directory(tree.parent(partition.path))
    if not is_whole:
        message += " This seems to be a copy of only the segments."
    context = context_in(partition, text_checkpoint.LEADER_EPOCHS)
    context.report("epochs-missing", 0, 0, message, severity=None if is_whole else INFO, expected=epochs_of_batches(partition))


def _check_empty(context: FileContext) -> None:
    """Report a file without entries, if the batches have epochs."""
    partition = context.partition
    if partition is None or not any(facts.epochs for facts in partition.segments.values()):
        return
    message = "Contains no epochs, but the batches have leader epochs."
    context.report("epochs-missing", 0, context.source.size, message, expected=epochs_of_batches(partition))


def _check_against_start(context: FileContext, partition: PartitionFacts, epochs: EpochEntries) -> None:
    """Report epochs that start below the first log: a broker that deletes segments removes them from this file as well."""
    first_log = min(partition.files.logs, default=None)
    if not epochs.starts or partition.is_being_deleted:
        return
    if first_log is None:
        missing_segments.report_no_log(context, epochs.lines[0])
        return
    start = epochs.starts[0]
    if start < first_log:
        line_end = epochs.line_end(0, context.source.size)
        missing_segments.report_before_first_log(context, partition, first_log, start, epochs.lines[0], line_end)


def _check_against_end(context: FileContext, partition: PartitionFacts, epochs: EpochEntries) -> None:
    log_end = partition.log_end
    if log_end is None or partition.is_being_deleted:
        return
    beyond = range(bisect_right(epochs.starts, log_end), len(epochs.starts))
    if beyond and partition.has_grown():
        return
    for row in beyond:
        start, line_start = epochs.starts[row], epochs.lines[row]
        line_end = epochs.line_end(row, context.source.size)
        message = f"Epoch {epochs.epochs[row]:,} starts at offset {start:,}, but {partition.end_text}."
        context.report(
            "epochs-beyond-log",
            line_start,
            line_end,
            message,
            offsets=(log_end, start - 1),
            is_estimated=True,
            expected=f"at most {log_end}",
            found=start,
        )


def _check_against_batches(context: FileContext, partition: PartitionFacts, epochs: EpochEntries) -> None:
    """Report once, with the epochs of the batches, if batches carry another epoch than the file has for their offsets.

    Below the first start offset nothing is known to be wrong within the first segment: the log may start in its middle.
    """
    first_segment = partition.segments[min(partition.segments)] if partition.segments else None
    first_end = None if first_segment is None else first_segment.last_offset
    differing = tried = 0
    worst: tuple[int, int, int, int] | None = None
    for epoch, first, last in runs(partition):
        first_row, last_row = epochs.row_of(first), epochs.row_of(last)
        if first_row < 0 and first_end is not None and epochs.starts[0] <= first_end + 1:
            if last_row < 0:
                continue
            first_row, first = 0, epochs.starts[0]
        if first_row == last_row >= 0 and epochs.epochs[first_row] == epoch:
            continue
        tried += 1
        if tried <= _MOST_TRIED and _has_moved(context, partition, epochs, (epoch, first, last)):
            continue
        if first_row >= 0 and _is_rot(context, partition, epochs, epoch, first, epochs.epochs[first_row]):
            continue
        differing += 1
        if worst is None:
            bad_row = first_row if first_row < 0 or epochs.epochs[first_row] != epoch else last_row
            if bad_row != first_row:
                first = epochs.starts[bad_row]
            if bad_row + 1 < len(epochs.starts):
                last = min(last, epochs.starts[bad_row + 1] - 1)
            worst = epoch, first, max(first, last), bad_row  # the first batch may have a wrong offset, which is too high
    if worst is None:
        return
    epoch, first, last, row = worst
    there = f"epoch {epochs.epochs[row]:,}" if row >= 0 else "no epoch"
    message = f"Batches at {offset_range(first, last)} have leader epoch {epoch:,}; the file has {there} there."
    if differing > 1:
        message += " One more epoch differs." if differing == 2 else f" {differing - 1:,} more epochs differ."
    start, end = (epochs.lines[row], epochs.line_end(row, context.source.size)) if row >= 0 else (0, context.source.size)
    context.report(
        "epochs-disagree",
        start,
        end,
        message,
        offsets=(first, last),
        expected=epochs_of_batches(partition),
        found=shown(zip(epochs.epochs, epochs.starts, strict=True)),
    )


def _has_moved(context: FileContext, partition: PartitionFacts, epochs: EpochEntries, run: tuple[int, int, int]) -> bool:
    """Whether one bit of the offset of the first or the last batch of an epoch seems to be wrong; reported if so.

    With that bit flipped it lies between the start of its epoch and that of the next one, as the file has them. A batch that
    continues another one is not suspected: the file may be wrong.
    """
    epoch, first, last = run
    row = bisect_left(epochs.epochs, epoch)
    if row == len(epochs.epochs) or epochs.epochs[row] != epoch:
        return False
    start, end = [*epochs.starts[row : row + 2], _MAX_OFFSET][:2]
    batch = batch_at(list(partition.segments.values()), first if first < start else last)
    found = [] if batch is None or is_joined(*batch) else misplaced(*batch, end, range(start, end))
    if found:
        name = os.path.basename(context.path)
        until = "on" if end == _MAX_OFFSET else f"to {end - 1:,}"
        report(context, found, f"{name} has its leader epoch {epoch:,} from offset {start:,} {until}")
    return bool(found)


def _is_rot(context: FileContext, partition: PartitionFacts, epochs: EpochEntries, epoch: int, first: int, known: int) -> bool:
    """Whether only the last batch of all has an epoch, and one bit of it is wrong by that of the file; reported if so."""
    newest = partition.segments[max(partition.segments)]
    is_last = bool(newest.positions) and newest.first_offsets[-1] == first and newest.epoch_starts[-1] == first
    if not is_last or epoch in epochs.epochs or not is_flipped_epoch(epoch, known):
        return False
    last = newest.last_offsets[-1]
    message = (
        f"The last batch, {offset_range(first, last)}, says its leader epoch is {epoch:,}; {os.path.basename(context.path)} has "
        f"{known:,} there. Its CRC matches and does not cover this field: probably only the field is wrong."
    )
    log = context_in(partition, os.path.basename(newest.path))
    offsets = (first, last)
    log.report("uncovered-header-rot", newest.positions[-1], newest.end, message, offsets=offsets, expected=known, found=epoch)
    return True
