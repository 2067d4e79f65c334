"""`kdump.recover`: everything whole in damaged partition directories, in a new directory that a broker loads."""

from __future__ import annotations

import os

from kdump.binary import system
from kdump.binary.source import Source
from kdump.checks import check
from kdump.checks.jobs import Job
from kdump.checks.rules.directories import missing_partitions
from kdump.checks.settings import Settings, current_time
from kdump.errors import CorruptData, Unreadable, UsageError
from kdump.exit_codes import CLEAN, FINDINGS
from kdump.forecasts import places
from kdump.forecasts.log_directory import LogDirectory
from kdump.forecasts.neighbours import Member
from kdump.formats import foreign, text_checkpoint, tree
from kdump.formats.partition_metadata import text_of, topic_id_of
from kdump.formats.selection import EVERYTHING, Selection
from kdump.mending.inputs import Inputs
from kdump.mending.new.new_directory import NewDirectory
from kdump.mending.plan import OF_LOG_DIRECTORY, is_deleted, log_start_of
from kdump.mending.progress import Progress
from kdump.mending.recover.damaged_partition import replicas_of
from kdump.mending.recover.partition_recovery import PartitionRecovery, dropped
from kdump.mending.recover.pieces import LeftOut
from kdump.mending.row import (
    CLONED,
    DIFFERENT,
    REBUILT,
    SAME,
    Companion,
    Dropped,
    Hole,
    Recovered,
    RecoverSummary,
    Rewritten,
)
from kdump.mending.settings import Rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from kdump.tables import Row

_MAX_CHECKPOINT = 64 << 20


class Result:
    """What was made: rows in the order of the partitions, and the sums."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.partitions = 0
        self.left_out = 0
        """How many partitions are not in the selection."""
        self.segments = 0
        self.remaining_errors = 0
        self.is_whole = True
        """Whether nothing was lost or assumed, and no errors remain."""
        self.are_more_missing = False
        """Whether bytes are lost at the end of a partition."""

    def summary(self, path: str) -> RecoverSummary:
        """The sums of all rows, but for the seconds that it took."""
        taken = [row for row in self.rows if isinstance(row, Recovered | Rewritten)]
        dropped_rows = list(_outermost(row for row in self.rows if isinstance(row, Dropped)))
        holes = [row for row in self.rows if isinstance(row, Hole) and row.is_damage]
        return RecoverSummary.like(
            self,
            path=path,
            bytes=sum(row.bytes for row in taken),
            batches=sum(row.batches for row in taken),
            records=sum(row.records for row in taken),
            rewritten=sum(isinstance(row, Rewritten) for row in taken),
            bytes_dropped=sum(row.bytes for row in dropped_rows),
            batches_dropped=sum(row.batches for row in dropped_rows),
            bytes_lost=sum(row.bytes for row in dropped_rows if row.is_lost),
            holes=len(holes),
            offsets_missing=sum(row.offsets for row in holes),
            partitions_left_out=self.left_out,
            seconds=0.0,
            exit_code=CLEAN if self.is_whole else FINDINGS,
        )


def _outermost(rows: Iterable[Dropped]) -> Iterator[Dropped]:
    """Those that lie in no other: batches inside a damaged one count with it. Rows of a log are in the order of the file."""
    source, end = "", 0
    for row in rows:
        if row.source != source or row.end > end:
            yield row
            source, end = row.source, row.end


def recover(
    path: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    merge: Iterable[str | os.PathLike[str]] = (),
    accept: Iterable[int] = (),
    config: Mapping[str, str | int] | None = None,
    topics: Sequence[str] = (),
    partitions: Collection[int] | None = None,
) -> list[Row]:
    """Make a sound copy of a damaged partition directory, or of all partitions of a log directory.

    `output` is the new directory; it must not exist, and may not lie inside an input, which is only read. It has every whole
    batch with the same offsets and bytes, holes where data is lost, and new companions. Holes are filled from the replicas in
    `merge`: directories of the same partition, or log directories that have one. `accept` are offsets of batches whose CRC does
    not match, which are taken over with a new CRC if they decode. `config` is as of `reindex`. Of a
    log directory, `topics` (globs) and `partitions` (numbers) choose what is copied.

    Returns rows: Recovered, Rewritten, Dropped, LostRecord, Hole and Companion. The output appears when it is complete, synced
    and verified, or not at all: a check that reads every record finds no error that the batches did not have before, and a start
    keeps all of it, after a clean stop and after an unclean one. The unclean one is simulated for old messages and
    wrappers; of other batches, rebuilding has scanned all as a start does.

    Raises CorruptData if the result cannot be verified, or if two replicas contradict each other; Unreadable if a file cannot be
    read or changes meanwhile; UsageError for an output that cannot be made, unknown settings, an offset to accept that no
    damaged batch has, and a choice that no partition fits; OSError if the output cannot be written.
    """
    replicas = [os.fspath(replica) for replica in merge]
    selection = Selection(topics, partitions)
    return run([os.fspath(path)], os.fspath(output), merge=replicas, accept=accept, config=config or {}, selection=selection).rows


def run(
    paths: Sequence[str],
    output: str,
    *,
    merge: Sequence[str] = (),
    accept: Iterable[int] = (),
    config: Mapping[str, str | int],
    selection: Selection = EVERYTHING,
    progress: Progress | None = None,
) -> Result:
    """As `recover`, of several partition directories, with the sums, and with the progress reported."""
    rules = Rules(config)
    with NewDirectory(output, [*paths, *merge]) as directory:
        return _Run(directory, paths, merge, set(accept), rules, selection, progress or Progress()).to_end()


class _Run:
    def __init__(
        self,
        directory: NewDirectory,
        paths: Sequence[str],
        merge: Sequence[str],
        accept: set[int],
        rules: Rules,
        selection: Selection,
        progress: Progress,
    ) -> None:
        self._directory = directory
        self._paths = paths
        self._merge = merge
        self._accept = accept
        self._rules = rules
        self._selection = selection
        self._progress = progress
        self._inputs = Inputs()
        self._result = Result()

    def to_end(self) -> Result:
        result = self._result
        recoveries = self._recoveries()
        self._progress.start(3 * sum(one.log_bytes for one in recoveries))
        for one in recoveries:
            if one.name:
                self._directory.folder(one.name)
            one.write(self._accept)
            one.finish()
        missing = sorted(self._accept.difference(*(one.accepted for one in recoveries)))
        if missing:
            raise UsageError(f"--accept {missing[0]}: no batch whose CRC does not match has this offset")
        if is_log_directory := len(self._paths) == 1 and (not recoveries or bool(recoveries[0].name)):
            self._write_log_directory(self._paths[0], recoveries)
        self._directory.sync()
        for one in recoveries:
            one.verify()
            result.rows += one.rows
            result.segments += one.segments
            result.remaining_errors += len(one.remaining)
            result.is_whole = result.is_whole and one.is_whole
            result.are_more_missing |= one.has_lost_end
        if is_log_directory:  # what no partition shows alone, such as topic ids that are not those of the metadata
            errors = check.errors(Job(Job.LOG_DIR, self._directory.built, self._directory.built), Settings(now=current_time()))
            result.remaining_errors += len(errors)
            result.is_whole = result.is_whole and not errors
        result.partitions = len(recoveries)
        self._inputs.require_unchanged()
        self._directory.place()
        return result

    def _recoveries(self) -> list[PartitionRecovery]:
        """All partitions of the paths."""
        found: list[PartitionRecovery] = []
        used: set[str] = set()
        for path in self._paths:
            foreign.require_kafka_path(path)
            system.entries(path)  # says why it cannot be listed
            if places.kind_of(path) == places.PARTITION:
                self._selection.chosen([path])
                name = "" if len(self._paths) == 1 else os.path.basename(os.path.abspath(path))
                if any(name == other.name for other in found):
                    raise UsageError(f"two partitions are called {name}: recover them one by one")
                log_directory = LogDirectory(tree.parent(path))
                found.append(self._recovery(path, name, log_directory, used))
            elif len(self._paths) > 1:
                raise UsageError(f"{path} is not a partition directory; a log directory is recovered alone")
            else:
                found += self._of_log_directory(path, used)
        for path in self._merge:
            if path not in used:
                raise UsageError(f"--merge {path}: there is no replica of a partition that is recovered")
        return found

    def _of_log_directory(self, path: str, used: set[str]) -> list[PartitionRecovery]:
        places_ = [place for place in tree.partitions(path) if places.may_be_partition(place)]
        if not places_:
            raise Unreadable("file-not-regular", "is neither a partition directory nor a log directory", path=path)
        chosen = self._selection.chosen(places_)
        for missing in missing_partitions.find(path):
            if self._selection.has(missing.topic, missing.partition):
                place = os.path.join(path, missing.name)
                self._result.rows.append(dropped(LeftOut(place, 0, 0, missing_partitions.CODE, missing.message, is_lost=False)))
                self._result.is_whole = self._result.is_whole and not missing.is_missed
        self._result.left_out = sum(not is_deleted(place) for place in places_ if place not in chosen)
        log_directory = LogDirectory(path)
        found = []
        for place in chosen:
            if is_deleted(place):
                self._leave_out(place, "a directory that brokers no longer serve")
                continue
            found.append(self._recovery(place, os.path.basename(place), log_directory, used))
        return found

    def _leave_out(self, directory: str, reason: str) -> None:
        size = sum(system.size(entry.path) for entry in system.entries(directory) if not entry.is_directory)
        self._result.rows.append(dropped(LeftOut(directory, 0, size, "", reason, is_lost=False)))

    def _is_of_other_topic(self, replica: str, path: str) -> bool:
        """Whether a replica has the id of another topic of this name; if so, it is left out."""
        theirs, own = topic_id_of(replica), topic_id_of(path)
        if theirs is None or own is None or theirs == own:
            return False
        self._leave_out(replica, f"of another topic of this name: its id is {text_of(theirs)}, not {text_of(own)}")
        return True

    def _recovery(self, path: str, name: str, log_directory: LogDirectory, used: set[str]) -> PartitionRecovery:
        own = os.path.basename(os.path.abspath(path))
        replicas = []
        for root in self._merge:
            inside = replicas_of(own, [root])
            if not inside and not name and places.kind_of(root) == places.PARTITION:
                inside = [root]  # named itself, whatever it is called
            if inside:
                used.add(root)
            replicas += [replica for replica in inside if not self._is_of_other_topic(replica, path)]
        return PartitionRecovery(
            path,
            name,
            log_start=log_start_of(path, log_directory),
            replicas=replicas,
            directory=self._directory,
            inputs=self._inputs,
            rules=self._rules,
            progress=self._progress,
        )

    def _write_log_directory(self, path: str, recoveries: list[PartitionRecovery]) -> None:
        """Write the files of a log directory: checkpoints, whose offsets are in the logs that were made, and meta.properties."""
        ends = {}
        for one in recoveries:
            parsed = tree.directory_name(one.path)
            if parsed is not None and (not parsed.state or (parsed.topic, parsed.partition) not in ends):
                ends[parsed.topic, parsed.partition] = one.log_end
        self._inputs.note_directory(path)
        for name in [name for name in tree.log_dir_files(path) if name in OF_LOG_DIRECTORY]:
            with Source(os.path.join(path, name)) as source:
                self._inputs.note(source)
                fault = _fault_of_properties(path) if name == tree.META_PROPERTIES else None
                if fault is not None:
                    self._result.rows.append(dropped(LeftOut(source.path, 0, source.size, fault.code, fault.message)))
                    self._result.is_whole = False
                    continue
                if name not in text_checkpoint.OFFSET_CHECKPOINTS:
                    self._directory.clone(source, name)
                    self._result.rows.append(Companion(name, CLONED, source.size, SAME, source.size))
                    continue
                data = text_checkpoint.packed(_entries(source, ends, is_of_starts=name == text_checkpoint.LOG_START_OFFSETS))
                self._directory.write(name, data)
                before = SAME if source.read(0, len(data) + 1) == data else DIFFERENT
                self._result.rows.append(Companion(name, REBUILT, len(data), before, source.size))


def _fault_of_properties(path: str) -> CorruptData | None:
    """Why no broker starts with the meta.properties of a log directory; None if one does."""
    member = Member(path)
    if member.fault is not None:
        return CorruptData(member.fault.code, f"{member.fault.message}; no broker starts with it")
    if member.properties is None or member.properties.node_id is None:
        return CorruptData("meta-id-missing", "it does not say which broker it belongs to; no broker starts with it")
    if member.properties.has_reserved_directory_id:
        return CorruptData("meta-directory-id-malformed", "its directory.id is one that Kafka reserves; no broker starts with it")
    return None


def _entries(source: Source, ends: Mapping[tuple[str, int], int], *, is_of_starts: bool) -> list[tuple[int | str, ...]]:
    """The entries of a checkpoint for partitions that there are, none after the end of the log; bad lines are left out.

    So is a log start after the end: moved to the end it would let a broker delete all batches.
    """
    entries: list[tuple[int | str, ...]] = []
    checkpoint = text_checkpoint.TextCheckpoint(source, text_checkpoint.OFFSET_FIELDS, end=_MAX_CHECKPOINT)
    for topic, partition, offset in checkpoint.entries():
        end = ends.get((str(topic), int(partition)))
        if end is not None and not (is_of_starts and int(offset) > end):
            entries.append((topic, partition, min(int(offset), end)))
    return entries
