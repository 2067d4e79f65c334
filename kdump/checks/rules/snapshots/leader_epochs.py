"""The file `leader-epoch-checkpoint`: alone, and against the leader epochs of the batches."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right

from kdump.checks.catalogue.fault_kind import DIE, IGNORE
from kdump.checks.context import context_in
from kdump.checks.finding import INFO, WARNING, Accounts
from kdump.checks.rules.order import missing_segments
from kdump.formats import text_checkpoint, tree
from kdump.formats.text_checkpoint import TextCheckpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.checks.context import FileContext
    from kdump.checks.partition_facts import PartitionFacts
    from kdump.checks.segment_facts import SegmentFacts
    from kdump.formats.text_checkpoint import Line

_MAX_SIZE = 1 << 20  # bytes of the file that are read: a hundred thousand elections
_SHOWN = 10

_CODES = {
    "checkpoint-line-malformed": "epochs-malformed",
    "checkpoint-cut": "epochs-malformed",
    "checkpoint-count-mismatch": "epochs-count-mismatch",
    "checkpoint-version-unknown": "epochs-version-unknown",
}


class _Epochs:
    """The entries of the file that can be used: epochs, where they start, and their bytes in the file."""

    def __init__(self) -> None:
        self.epochs = array("q")
        self.starts = array("q")
        self.lines = array("q")
        self.is_damaged = False

    def add(self, line: Line, epoch: int, start: int) -> None:
        self.epochs.append(epoch)
        self.starts.append(start)
        self.lines.append(line.start)

    def row_of(self, offset: int) -> int:
        """The row of the epoch that holds at an offset, -1 below the first."""
        return bisect_right(self.starts, offset) - 1


def check(context: FileContext) -> None:
    """Check one file; every byte of it is entered into its account."""
    if not context.source.size:
        _check_empty(context)
        return
    epochs = _read(context)
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
    message = f"There is no {text_checkpoint.LEADER_EPOCHS}, but the batches carry leader epochs."
    is_whole = tree.PARTITION_METADATA in partition.files.others or tree.is_log_directory(tree.parent(partition.path))
    if not is_whole:
        message += " This seems to be a copy of the segments only."
    context = context_in(partition, text_checkpoint.LEADER_EPOCHS)
    context.report("epochs-missing", 0, 0, message, severity=None if is_whole else INFO, expected=_rebuilt(partition))


def _check_empty(context: FileContext) -> None:
    """The file has no entries: that is lawful as long as the batches have no epochs."""
    partition = context.partition
    if partition is None or not any(facts.epochs for facts in partition.segments.values()):
        return
    message = "Holds no epochs, but the batches carry leader epochs."
    context.report("epochs-missing", 0, context.source.size, message, expected=_rebuilt(partition))


def _read(context: FileContext) -> _Epochs:
    """Read the file, and report what is wrong with it alone."""
    source, accounts = context.source, context.accounts
    epochs = _Epochs()
    expected = _expected(context)
    before: tuple[int, int, int] | None = None
    checkpoint = TextCheckpoint(source, text_checkpoint.EPOCH_FIELDS, end=_MAX_SIZE)
    for line in checkpoint.lines():
        fault = line.fault
        if fault is not None:
            epochs.is_damaged = True
            _report_fault(context, line, expected)
            if fault.code == "checkpoint-line-malformed":
                accounts.take(Accounts.INTACT, max(line.start, accounts.position))
                accounts.take(Accounts.DAMAGED, line.end, batches=int(line.number > 2))
            continue
        accounts.take(Accounts.INTACT, line.end, batches=1)
        epoch, start = line.values
        assert isinstance(epoch, int) and isinstance(start, int)
        if epoch < 0 or start < 0:
            message = f"Line {line.number} has epoch {epoch:,} from offset {start:,} on; neither can be negative."
            context.report(
                "epochs-not-monotonic",
                line.start,
                line.end,
                message,
                forecast=DIE,
                expected=expected,
                found=f"{epoch} {start}",
            )
            epochs.is_damaged = True
            continue
        last_epoch, last_start, _ = before or (-1, -1, 0)
        if before is None or (epoch > last_epoch and start > last_start):
            epochs.add(line, epoch, start)
        else:
            _report_order(context, line, (epoch, start), before, expected)
            if epoch > last_epoch and start == last_start and epochs.starts and epochs.starts[-1] == start:
                epochs.epochs[-1] = epoch
            else:
                epochs.is_damaged = True
        before = epoch, start, line.number
    stop = checkpoint.position
    if stop < source.size:
        epochs.is_damaged = True
        message = f"Only {stop:,} of {source.size:,} bytes were read: no broker writes that many epochs, or that many bad lines."
        context.report("epochs-malformed", stop, source.size, message)
    accounts.take(Accounts.INTACT, max(stop, accounts.position))
    return epochs


def _report_fault(context: FileContext, line: Line, expected: str | None) -> None:
    fault = line.fault
    assert fault is not None
    text = fault.message[0].upper() + fault.message[1:]
    if fault.code == "checkpoint-cut":
        message = f"{text}; a broker takes the file for empty."
        context.report(_CODES[fault.code], line.start, line.end, message, severity=WARNING, forecast=IGNORE)
        return
    forecast = DIE if line.is_number_wanted else None
    context.report(
        _CODES[fault.code],
        line.start,
        line.end,
        f"{text}.",
        forecast=forecast,
        expected=fault.values.get("expected") or expected,
        found=fault.values.get("found", fault.values.get("version")),
    )


def _report_order(
    context: FileContext, line: Line, pair: tuple[int, int], before: tuple[int, int, int], expected: str | None
) -> None:
    """Two lines that do not rise. Brokers before 2.2 wrote an epoch that began no batch and the next with one start offset."""
    epoch, start = pair
    last_epoch, last_start, last_line = before
    message = (
        f"Line {line.number} has epoch {epoch:,} from offset {start:,} on, "
        f"line {last_line} above it epoch {last_epoch:,} from offset {last_start:,} on."
    )
    if epoch > last_epoch and start == last_start:
        message += " Old brokers wrote such pairs; newer ones drop the first."
        context.report("epochs-not-monotonic", line.start, line.end, message, severity=INFO)
    else:
        context.report("epochs-not-monotonic", line.start, line.end, message, expected=expected)


def _check_against_start(context: FileContext, partition: PartitionFacts, epochs: _Epochs) -> None:
    """A broker that deletes the first segments takes what lies below the new start out of this file as well.

    With tiered storage it leaves in what remote segments have; log-start-offset-checkpoint says where they begin.
    """
    first_log = min(partition.files.logs, default=None)
    if not epochs.starts or partition.is_being_deleted:
        return
    if first_log is None:
        missing_segments.report_no_log(context, epochs.lines[0])
        return
    start = epochs.starts[0]
    if start >= first_log:
        return
    _, log_start = partition.noted(text_checkpoint.LOG_START_OFFSETS)
    if log_start is None or log_start >= first_log:
        line_end = _line_end(context, epochs, 0)
        missing_segments.report_before_first_log(context, partition, first_log, start, epochs.lines[0], line_end)


def _check_against_end(context: FileContext, partition: PartitionFacts, epochs: _Epochs) -> None:
    log_end = partition.log_end
    if log_end is None or partition.is_being_deleted:
        return
    beyond = range(bisect_right(epochs.starts, log_end), len(epochs.starts))
    if beyond and partition.has_grown():
        return
    for row in beyond:
        start, line_start = epochs.starts[row], epochs.lines[row]
        line_end = _line_end(context, epochs, row)
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


def _check_against_batches(context: FileContext, partition: PartitionFacts, epochs: _Epochs) -> None:
    """Every batch has to carry the epoch that the file has for its offset; told once, with the list as the batches have it.

    Below the first start offset nothing is known to be wrong within the first segment: the log may start in its middle.
    """
    first_segment = partition.segments[min(partition.segments)] if partition.segments else None
    first_end = None if first_segment is None else first_segment.last_offset
    differing = 0
    worst: tuple[int, int, int, int] | None = None
    for epoch, first, last in _runs(partition):
        first_row, last_row = epochs.row_of(first), epochs.row_of(last)
        if first_row < 0 and first_end is not None and epochs.starts[0] <= first_end + 1:
            if last_row < 0:
                continue
            first_row, first = 0, epochs.starts[0]
        if first_row == last_row >= 0 and epochs.epochs[first_row] == epoch:
            continue
        differing += 1
        if worst is None:
            bad_row = first_row if first_row < 0 or epochs.epochs[first_row] != epoch else last_row
            if bad_row != first_row:
                first = epochs.starts[bad_row]
            if bad_row + 1 < len(epochs.starts):
                last = min(last, epochs.starts[bad_row + 1] - 1)
            worst = epoch, first, last, bad_row
    if worst is None:
        return
    epoch, first, last, row = worst
    there = f"epoch {epochs.epochs[row]:,}" if row >= 0 else "no epoch"
    message = f"Batches at offsets {first:,} to {last:,} carry leader epoch {epoch:,}; the file has {there} there."
    if differing > 1:
        message += " One more epoch differs." if differing == 2 else f" {differing - 1:,} more epochs differ."
    start, end = (epochs.lines[row], _line_end(context, epochs, row)) if row >= 0 else (0, context.source.size)
    context.report(
        "epochs-disagree",
        start,
        end,
        message,
        offsets=(first, last),
        expected=_rebuilt(partition),
        found=_shown(_pairs_of(epochs)),
    )


def _line_end(context: FileContext, epochs: _Epochs, row: int) -> int:
    return epochs.lines[row + 1] if row + 1 < len(epochs.lines) else context.source.size


def _pairs_of(epochs: _Epochs) -> Iterator[tuple[int, int]]:
    return zip(epochs.epochs, epochs.starts, strict=True)


def _runs(partition: PartitionFacts) -> Iterator[tuple[int, int, int]]:
    """Epoch, first and last offset of neighbouring batches with one epoch; epochs that fall are left to other rules."""
    highest = -1
    run: tuple[int, int, int] | None = None  # which may go on in the next segment
    for base_offset in sorted(partition.segments):
        facts = partition.segments[base_offset]
        for place, (epoch, first) in enumerate(facts.epochs):
            last = _last_of_run(facts, place)
            if run is not None:
                run_epoch, first_of_run, _ = run
                if epoch == run_epoch and first <= last:
                    run = epoch, first_of_run, last
                    continue
                yield run
                run = None
            if epoch < highest:
                continue
            highest = epoch
            if first <= last:
                run = epoch, first, last
    if run is not None:
        yield run


def _last_of_run(facts: SegmentFacts, place: int) -> int:
    if place + 1 == len(facts.epochs):
        return facts.last_offsets[-1]
    row = bisect_left(facts.first_offsets, facts.epochs[place + 1][1])
    return facts.last_offsets[row - 1] if row else -1


def _expected(context: FileContext) -> str | None:
    """What should stand in a file that is damaged, where the batches tell."""
    return None if context.partition is None else _rebuilt(context.partition) or None


def _rebuilt(partition: PartitionFacts) -> str:
    """The file as the batches have it, told briefly."""

    def starts() -> Iterator[tuple[int, int]]:
        before = -1
        for epoch, first, _ in _runs(partition):
            if epoch != before:
                yield epoch, first
                before = epoch

    return _shown(starts())


def _shown(pairs: Iterator[tuple[int, int]]) -> str:
    shown: list[str] = []
    for pair in pairs:
        if len(shown) == _SHOWN:
            shown.append("and more")
            break
        shown.append(f"{pair[0]} from {pair[1]} on")
    return ", ".join(shown)
