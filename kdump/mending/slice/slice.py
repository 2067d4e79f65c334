"""`kdump.slice`: a part of a partition as a valid partition directory of its own."""

from __future__ import annotations

import os

from kdump.binary import system
from kdump.binary.source import Source
from kdump.errors import CorruptData, UsageError
from kdump.formats import tree
from kdump.formats.ranges import Range
from kdump.mending.inputs import Inputs
from kdump.mending.new.log_writer import LogWriter
from kdump.mending.new.new_directory import NewDirectory
from kdump.mending.new.new_partition import NewPartition
from kdump.mending.plan import Plan
from kdump.mending.progress import Progress
from kdump.mending.settings import KINDS, Rules
from kdump.mending.slice.excerpt import Excerpt
from kdump.mending.slice.slicing import Slicing, Wanted, require_named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kdump.mending.plan import PartitionPlan
    from kdump.mending.row import Hole, SlicedSegment


class Result:
    """What was made: a row for each log that was read, what is missing, and where the slice starts and ends."""

    def __init__(self, rows: list[SlicedSegment], holes: list[Hole], bases: list[int], log_end: int, log_bytes: int) -> None:
        self.rows = rows
        self.holes = holes
        self.segments = len(bases)
        self.log_start = bases[0]
        self.log_end = log_end
        self.log_bytes = log_bytes


def slice(
    path: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    from_offset: int | None = None,
    to_offset: int | None = None,
    from_time: int | None = None,
    to_time: int | None = None,
    exact: bool = False,
    keep_keys: Iterable[bytes] = (),
    drop_keys: Iterable[bytes] = (),
    with_damage: bool = False,
    config: Mapping[str, str | int] | None = None,
) -> list[SlicedSegment | Hole]:
    """Make a partition directory of the batches of another one that hold records in these ranges, both ends included.

    Times are in milliseconds since 1970. Whole batches are kept; with `exact`, records outside of the ranges are taken out of
    those at the edges. With `keep_keys`, only records with one of these keys are kept; those with one of `drop_keys` are not.
    `output` and `config` are as `kdump.reindex` says. Returns a SlicedSegment for each log that was read, and a Hole for offsets
    in the range that no log has any more, though an index, a snapshot or a checkpoint knows of them.

    With `with_damage`, the bytes that hold a range of offsets are copied as they are, damage included, without companions: a Hole
    names each damaged place. No broker is to start with that.

    Raises CorruptData if something in the range is damaged, or if the result does not pass the check; Unreadable if a file
    cannot be read or changes meanwhile; UsageError for an output that cannot be made, and if nothing is in the range; OSError if
    the output cannot be written.
    """
    asked = Range(from_offset, to_offset, from_time, to_time)
    wanted = Wanted(asked, is_exact=exact, keep_keys=keep_keys, drop_keys=drop_keys)
    result = run(os.fspath(path), os.fspath(output), wanted, with_damage=with_damage, config=config or {})
    return [*result.rows, *result.holes]


def run(
    path: str,
    output: str,
    wanted: Wanted,
    *,
    with_damage: bool = False,
    config: Mapping[str, str | int],
    progress: Progress | None = None,
) -> Result:
    """As `slice`, with the sums, and with the progress reported."""
    rules = Rules(config)
    if with_damage and (wanted.has_times or wanted.chooses_records):
        raise UsageError(
            "an excerpt with damage has all bytes of a range of offsets", remedy="take only --from-offset, --to-offset"
        )
    with NewDirectory(output, [path]) as directory:
        if with_damage:
            return _excerpt(_partition(path), directory, wanted, progress or Progress())
        try:
            return _made(_partition(path), directory, wanted, rules, progress or Progress())
        except CorruptData as fault:
            remedy = f"choose a range without it, keep it (--with-damage), or mend it first: kdump recover {path} -o DIR"
            fault.remedy = fault.remedy or remedy
            raise


def _partition(path: str) -> PartitionPlan:
    plan = Plan(path, KINDS)
    if plan.is_log_directory:
        raise UsageError(f"{path} is a log directory", remedy="name one partition directory in it")
    require_named(plan.partitions[0])
    return plan.partitions[0]


def _excerpt(part: PartitionPlan, directory: NewDirectory, wanted: Wanted, progress: Progress) -> Result:
    """Copy the bytes of a range with their damage, and place them."""
    inputs = Inputs()
    inputs.note_directory(part.path)
    progress.start(sum(system.size(os.path.join(part.path, name)) for name in part.logs.values()))
    excerpt = Excerpt(part, wanted, directory, inputs, progress)
    directory.sync()
    inputs.require_unchanged()
    log_bytes = sum(system.size(directory.inside(f"{base:020}.log")) for base in excerpt.bases)
    directory.place()
    return Result(excerpt.rows, excerpt.damage, excerpt.bases, excerpt.log_end, log_bytes)


def _made(part: PartitionPlan, directory: NewDirectory, wanted: Wanted, rules: Rules, progress: Progress) -> Result:
    """Write everything, verify it, and place it."""
    inputs = Inputs()
    inputs.note_directory(part.path)
    wanted.from_offset = max(wanted.from_offset, part.log_start)
    progress.start(sum(system.size(os.path.join(part.path, name)) for name in part.logs.values()))
    try:
        result, partition = _written(part, directory, wanted, rules, progress, inputs)
        directory.sync()
        partition.verify(log_end=result.log_end)
    except CorruptData:
        inputs.require_unchanged()  # or else nothing is wrong with the input
        raise
    inputs.require_unchanged()
    directory.place()
    return result


def _written(
    part: PartitionPlan, directory: NewDirectory, wanted: Wanted, rules: Rules, progress: Progress, inputs: Inputs
) -> tuple[Result, NewPartition]:
    with LogWriter(directory) as writer:
        slicing = Slicing(part, wanted, writer, inputs, progress)
        slicing.to_end()
    if not writer.bases:
        raise UsageError(f"{part.path}: nothing is in this range, so there is nothing to write")
    partition = NewPartition(directory, "", writer.bases, origin=part.path, rules=rules)
    partition.complete(newest_timestamp=slicing.newest)
    for entry in system.entries(directory.built):
        if partition.is_passing(entry.name):
            directory.remove(entry.name)
    for name in part.cloned:
        if name == tree.PARTITION_METADATA:
            with Source(os.path.join(part.path, name)) as source:
                inputs.note(source)
                directory.clone(source, name)
    log_bytes = sum(system.size(directory.inside(f"{base:020}.log")) for base in writer.bases)
    return Result(slicing.rows, slicing.holes(), writer.bases, slicing.log_end, log_bytes), partition
