"""`kdump.reindex`: the companions of sound logs, rebuilt in a new directory as a broker's recovery rebuilds them."""

from __future__ import annotations

import os

from kdump.binary import system
from kdump.binary.source import Source
from kdump.errors import CorruptData
from kdump.formats import entries, file_name, offset_index, text_checkpoint, time_index, tree
from kdump.formats.selection import EVERYTHING, Selection
from kdump.mending.attested import Witnesses
from kdump.mending.inputs import Inputs
from kdump.mending.new.new_directory import NewDirectory
from kdump.mending.new.new_partition import NewPartition
from kdump.mending.plan import Plan
from kdump.mending.progress import Progress
from kdump.mending.row import CLONED, DIFFERENT, MISSING, REBUILT, SAME, TO_REMOVE, Companion, Hole
from kdump.mending.settings import Rules, kinds_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from kdump.mending.attested import Attested
    from kdump.mending.plan import PartitionPlan

_COMPARED_AT_ONCE = 1 << 20
_ENTRY_SIZES = {file_name.OFFSET_INDEX: offset_index.ENTRY_SIZE, file_name.TIME_INDEX: time_index.ENTRY_SIZE}


class Result:
    """What was made: a row for each file, what is missing in the logs, and the sums."""

    def __init__(self) -> None:
        self.files: list[Companion] = []
        self.holes: list[Hole] = []
        self.partitions = 0
        self.left_out = 0
        self.segments = 0
        self.log_bytes = 0
        self.batches = 0


def reindex(
    path: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    only: Iterable[str] = (),
    config: Mapping[str, str | int] | None = None,
    without_logs: bool = False,
    topics: Sequence[str] = (),
    partitions: Collection[int] | None = None,
) -> list[Companion | Hole]:
    """Make a copy of a partition or log directory with new companions: indexes, producer snapshots and leader epochs.

    `output` is the new directory; it must not exist, and may not lie inside the input, which is only read. `only` are words
    of `index`, `timeindex`, `txnindex`, `snapshot` and `epochs`; other companions are cloned as they are. `config` are
    settings of the topic or broker: `index.interval.bytes`, `segment.index.bytes`, `producer.id.expiration.ms`.
    Of a log directory, `topics` (globs) and `partitions` (numbers) choose what is copied.
    `without_logs` writes only the rebuilt companions, to be copied beside the logs; files of the input that must go then have a
    row, too. Returns a row for each file, and one for offsets that the logs do not have, though other files know of them. The
    output appears when it is complete, synced and verified, or not at all.

    Raises CorruptData if the input is damaged, or if the result does not pass the check; Unreadable if a file cannot be read
    or changes meanwhile; UsageError for an output that cannot be made, unknown words and settings, and a choice that no partition
    fits; OSError if the output cannot be written.
    """
    selection = Selection(topics, partitions)
    result = run(
        os.fspath(path), os.fspath(output), only=only, config=config or {}, without_logs=without_logs, selection=selection
    )
    return [*result.files, *result.holes]


def run(
    path: str,
    output: str,
    *,
    only: Iterable[str] = (),
    config: Mapping[str, str | int],
    without_logs: bool = False,
    selection: Selection = EVERYTHING,
    progress: Progress | None = None,
) -> Result:
    """As `reindex`, with the sums, and with the progress reported."""
    kinds, rules = kinds_of(only), Rules(config)
    with NewDirectory(output, [path]) as directory:
        try:
            plan = Plan(path, kinds, selection)
            run = _Run(plan, directory, kinds, rules, progress or Progress(), without_logs=without_logs)
            return run.to_end()
        except CorruptData as fault:
            fault.remedy = fault.remedy or f"`kdump check {path}` says what is wrong: reindex takes only sound logs"
            raise


class _Run:
    def __init__(
        self, plan: Plan, directory: NewDirectory, kinds: list[str], rules: Rules, progress: Progress, *, without_logs: bool
    ) -> None:
        self._plan = plan
        self._directory = directory
        self._kinds = kinds
        self._rules = rules
        self._progress = progress
        self._without_logs = without_logs
        self._inputs = Inputs()
        self._result = Result()

    def to_end(self) -> Result:
        plan, result = self._plan, self._result
        sizes = [system.size(os.path.join(part.path, name)) for part in plan.partitions for name in part.logs.values()]
        result.partitions, result.segments, result.log_bytes = len(plan.partitions), len(sizes), sum(sizes)
        result.left_out = plan.left_out
        self._progress.start(2 * result.log_bytes)
        for part in plan.partitions:
            self._inputs.note_directory(part.path)
        try:
            self._make()
        except CorruptData:
            self._inputs.require_unchanged()  # or else nothing is wrong with the input
            raise
        self._inputs.require_unchanged()
        self._directory.place()
        return result

    def _make(self) -> None:
        """Write everything, and verify it."""
        plan = self._plan
        for name in plan.cloned:
            if plan.left_out and name in text_checkpoint.OFFSET_CHECKPOINTS and not self._without_logs:
                self._choose(os.path.join(plan.path, name), name)
            else:
                self._clone(os.path.join(plan.path, name), name)
        for part in plan.partitions:
            self._rebuild(part)
        self._directory.remove_links()
        self._directory.sync()

    def _choose(self, path: str, name: str) -> None:
        """Write the entries of an offset checkpoint that are of partitions in the selection."""
        chosen = {(found.topic, found.partition) for part in self._plan.partitions if (found := tree.directory_name(part.path))}
        with Source(path) as source:
            self._inputs.note(source)
            entries_of_all = text_checkpoint.TextCheckpoint(source, text_checkpoint.OFFSET_FIELDS).entries()
            data = text_checkpoint.packed([entry for entry in entries_of_all if (str(entry[0]), int(entry[1])) in chosen])
            self._directory.write(name, data)
            before = SAME if _is_same(source, data, 0) else DIFFERENT
            self._result.files.append(Companion(name, REBUILT, len(data), before, source.size))

    def _rebuild(self, part: PartitionPlan) -> None:
        """Write all files of a partition, and verify them."""
        if part.name:
            self._directory.folder(part.name)
        for name in part.cloned:
            self._clone(os.path.join(part.path, name), os.path.join(part.name, name))
        logs = {base: os.path.join(part.path, name) for base, name in part.logs.items()}
        if self._without_logs:
            for base, name in part.logs.items():
                self._clone(logs[base], os.path.join(part.name, name))
            logs = {}
        made = NewPartition(
            self._directory,
            part.name,
            list(part.logs),
            origin=part.path,
            log_start=part.log_start,
            rules=self._rules,
            progress=self._progress,
            cloned_from=logs,
            inputs=self._inputs,
        )
        written: dict[str, Companion] = {}

        def keep(name: str, data: bytes) -> None:
            written[name] = self._write(part, name, data)

        made.complete(self._kinds, keep=keep)
        self._result.holes += _holes(part, made.rebuilt.next_offset)
        self._result.batches += made.rebuilt.batches
        for name in part.logs.values() if not self._without_logs else ():
            size = system.size(self._directory.inside(os.path.join(part.name, name)))
            self._result.files.append(Companion(os.path.join(part.name, name), CLONED, size, SAME, size))
        self._result.files += [written[name] for name in sorted(written)]
        if self._without_logs:
            self._result.files += [self._to_remove(part, name) for name in part.superseded() if name not in written]
        made.verify()

    def _write(self, part: PartitionPlan, name: str, data: bytes) -> Companion:
        """Write a companion, and compare it with the input's."""
        path = os.path.join(part.name, name)
        self._directory.write(path, data)
        before, size_before = MISSING, None
        if name in part.before:
            with Source(os.path.join(part.path, name)) as source:
                before = SAME if _is_same(source, data, _ENTRY_SIZES.get(file_name.suffix(name), 0)) else DIFFERENT
                size_before = source.size
        return Companion(path, REBUILT, len(data), before, size_before)

    def _to_remove(self, part: PartitionPlan, name: str) -> Companion:
        """A file of the input that is not to be beside the rebuilt companions."""
        size = system.size(os.path.join(part.path, name))
        return Companion(os.path.join(part.name, name), TO_REMOVE, 0, DIFFERENT, size)

    def _clone(self, path: str, name: str) -> None:
        """Clone a file; without logs, let checks see the input's."""
        with Source(path) as source:
            self._inputs.note(source)
            if self._without_logs:
                self._directory.link(path, name)
                return
            self._directory.clone(source, name)
            self._result.files.append(Companion(name, CLONED, source.size, SAME, source.size))


def _holes(part: PartitionPlan, log_end: int) -> Iterator[Hole]:
    """Offsets that the logs do not have, though other files of the input know of batches there or after them.

    What was before the first log counts where a check calls it lost: it may be in remote storage. Raises CorruptData if there is
    no log.
    """

    def hole(known: Attested) -> Hole:
        return Hole(part.name or os.curdir, known.first, known.last, known.last - known.first + 1, True, known.reason)

    witnesses = Witnesses(part.path)
    if part.logs:
        newest = max(part.logs)
        with Source(os.path.join(part.path, part.logs[newest])) as source:
            attested = witnesses.after_log(source, newest, log_end - 1, is_newest=True)
        if attested is not None:
            yield hole(attested)
    if not witnesses.doubts_logs(log_end):
        return
    for finding, attested in witnesses.missing_logs():
        if not part.logs:
            fault = CorruptData(finding.code, finding.message, path=finding.path)
            fault.remedy = "`kdump recover` makes a log that starts where this one has ended"
            raise fault
        if attested is not None:
            yield hole(attested)


def _is_same(source: Source, data: bytes, entry_size: int) -> bool:
    """Whether a file has these bytes; an index may have a zero tail."""
    size = source.size
    if entry_size and size != len(data):
        size = entries.used_entries(source, entry_size) * entry_size
    if size != len(data):
        return False
    starts = range(0, size, _COMPARED_AT_ONCE)
    return all(source.read(at, min(_COMPARED_AT_ONCE, size - at)) == data[at : at + _COMPARED_AT_ONCE] for at in starts)
