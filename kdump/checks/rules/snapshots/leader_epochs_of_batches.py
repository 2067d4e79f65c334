"""Leader epochs as the batches of a partition have them."""

from __future__ import annotations

from array import array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.checks.partition_facts import PartitionFacts
    from kdump.checks.segment_facts import SegmentFacts

_MAX_SHOWN = 10  # epochs in a finding
_MANY_EPOCHS = 4096  # whose batches are looked up together


def runs(partition: PartitionFacts) -> Iterator[tuple[int, int, int]]:
    """Epoch, first and last offset of neighbouring batches with one epoch; other rules report epochs that go back."""
    highest = -1
    run: tuple[int, int, int] | None = None  # which may go on in the next segment
    for base_offset in sorted(partition.segments):
        facts = partition.segments[base_offset]
        for epoch, first, last in zip(facts.epochs, facts.epoch_starts, _last_of_runs(facts), strict=True):
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


def _last_of_runs(facts: SegmentFacts) -> Iterator[int]:
    """The last offset before each epoch but the first, and that of the segment."""
    for start in range(1, len(facts.epochs), _MANY_EPOCHS):
        rows = facts.first_offsets.rows_of(facts.epoch_starts[start : start + _MANY_EPOCHS])
        lasts = iter(facts.last_offsets.at(array("q", [row - 1 for row in rows if row])))
        yield from (next(lasts) if row else -1 for row in rows)
    if len(facts.epochs):
        yield facts.last_offsets[-1]


def epochs_of_batches(partition: PartitionFacts) -> str:
    """The content of the file by the batches, in short."""

    def starts() -> Iterator[tuple[int, int]]:
        before = -1
        for epoch, first, _ in runs(partition):
            if epoch != before:
                yield epoch, first
                before = epoch

    return shown(starts())


def shown(pairs: Iterator[tuple[int, int]]) -> str:
    """Epochs with their start offsets, in words; of many only the first."""
    parts: list[str] = []
    for epoch, start in pairs:
        if len(parts) == _MAX_SHOWN:
            parts.append("and more")
            break
        parts.append(f"{epoch} from {start} on")
    return ", ".join(parts)
