"""The entries of the file `leader-epoch-checkpoint`, and what is wrong with them on their own."""

from __future__ import annotations

import itertools
from array import array
from bisect import bisect_right

from kdump.checks.catalogue.fault_kind import DIE, IGNORE
from kdump.checks.finding import INFO, WARNING, ByteCoverage
from kdump.checks.rules.snapshots.leader_epochs_of_batches import epochs_of_batches
from kdump.checks.wording import capitalized
from kdump.formats import text_checkpoint
from kdump.formats.text_checkpoint import TextCheckpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.context import FileContext
    from kdump.formats.text_checkpoint import Line

_MAX_FILE_BYTES = 1 << 20  # that are read: a hundred thousand elections
_MAX_LINES = 1 << 17

_CODES = {
    "checkpoint-line-malformed": "epochs-malformed",
    "checkpoint-cut": "epochs-malformed",
    "checkpoint-count-mismatch": "epochs-count-mismatch",
    "checkpoint-version-unknown": "epochs-version-unknown",
}


class EpochEntries:
    """The usable entries of the file: epochs, their start offsets, and where their lines start."""

    def __init__(self) -> None:
        self.epochs = array("q")
        self.starts = array("q")
        self.lines = array("q")
        self.is_damaged = False

    def add(self, line: Line, epoch: int, start: int) -> None:
        self.epochs.append(epoch)
        self.starts.append(start)
        self.lines.append(line.start)

    def line_end(self, row: int, file_size: int) -> int:
        """The end of this row's line in findings: the start of the next one."""
        return self.lines[row + 1] if row + 1 < len(self.lines) else file_size

    def row_of(self, offset: int) -> int:
        """The row of the epoch of an offset, -1 below the first."""
        return bisect_right(self.starts, offset) - 1


def read(context: FileContext) -> EpochEntries:
    """Read the file, and report what is wrong with it on its own."""
    source, coverage = context.source, context.coverage
    epochs = EpochEntries()
    expected = None if context.partition is None else epochs_of_batches(context.partition) or None
    before: tuple[int, int, int] | None = None
    checkpoint = TextCheckpoint(source, text_checkpoint.EPOCH_FIELDS, end=_MAX_FILE_BYTES)
    for line in itertools.islice(checkpoint.lines(), _MAX_LINES):
        fault = line.fault
        if fault is not None:
            epochs.is_damaged = True
            _report_fault(context, line, expected)
            if fault.code == "checkpoint-line-malformed":
                coverage.add(ByteCoverage.INTACT, max(line.start, coverage.position))
                coverage.add(ByteCoverage.DAMAGED, line.end, batches=int(line.number > 2))
            continue
        coverage.add(ByteCoverage.INTACT, line.end, batches=1)
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
        message = f"Only {stop:,} of {source.size:,} bytes were read: no broker writes that many epochs or bad lines."
        context.report("epochs-malformed", stop, source.size, message)
    coverage.add(ByteCoverage.INTACT, max(stop, coverage.position))
    return epochs


def _report_fault(context: FileContext, line: Line, expected: str | None) -> None:
    fault = line.fault
    assert fault is not None
    text = capitalized(fault.message)
    if fault.code == "checkpoint-cut":
        message = f"{text}; a broker treats the file as empty."
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
    """Report two lines out of order. Brokers before 2.2 gave an epoch without batches the start offset of the next."""
    epoch, start = pair
    last_epoch, last_start, last_line = before
    is_of_old_broker = epoch > last_epoch and start == last_start
    message = (
        f"Line {line.number} has epoch {epoch:,} from offset {start:,} on, "
        f"line {last_line} above it epoch {last_epoch:,} from offset {last_start:,} on."
    )
    if is_of_old_broker:
        message += " Old brokers wrote such pairs; newer ones drop the first."
        context.report("epochs-not-monotonic", line.start, line.end, message, severity=INFO)
    else:
        context.report("epochs-not-monotonic", line.start, line.end, message, expected=expected)
