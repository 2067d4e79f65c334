"""Leader epochs as the batches of a partition have them."""

from __future__ import annotations

from bisect import bisect_left

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.checks.partition_facts import PartitionFacts
    from kdump.checks.segment_facts import SegmentFacts

_MAX_SHOWN = 10  # epochs in a finding


def runs(partition: PartitionFacts) -> Iterator[tuple[int, int, int]]:
    """Epoch, first and last offset of neighbouring batches with one epoch; other rules report epochs that go back."""
    highest = -1
    run: tuple[int, int, int] | None = None  # which may go on in the next segment
    for base_offset in sorted(partition.segments):
        facts = partition.segments[base_offset]
        for place, (epoch, first) in enumerate(zip(facts.epochs, facts.epoch_starts, strict=True)):
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
    row = bisect_left(facts.first_offsets, facts.epoch_starts[place + 1])
    return facts.last_offsets[row - 1] if row else -1


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
