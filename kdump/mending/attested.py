"""What the other files of a damaged partition attest to: offsets that its logs do not have any more."""

from __future__ import annotations

import functools
import os
from array import array
from itertools import chain, pairwise

from kdump.binary.source import Source
from kdump.checks import check
from kdump.checks.context import FileContext
from kdump.checks.finding import ERROR, WARNING
from kdump.checks.jobs import Job
from kdump.checks.partition_facts import PartitionFacts
from kdump.checks.rules import witnesses
from kdump.checks.settings import Settings, current_time
from kdump.formats import offset_index, text_checkpoint, tree
from kdump.formats.entries import used_entries
from kdump.formats.file_name import OFFSET_INDEX, PRODUCER_SNAPSHOT
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from kdump.checks.finding import Finding

    LogEnd = tuple[str, int, int, bool]
    """A log: its path, base offset and last offset, and whether it is the newest."""

_CHECKPOINTS = {
    text_checkpoint.RECOVERY_POINTS: "says that the log was flushed up to offset {offset:,}",
    text_checkpoint.HIGH_WATERMARKS: "says that all offsets below {offset:,} were committed",
    text_checkpoint.LOG_START_OFFSETS: "says that the log starts at offset {offset:,}, so that a start deletes what is here",
    text_checkpoint.CLEANER_OFFSETS: "says that the log was cleaned up to offset {offset:,}",
}
_MISSING = ("segment-missing", "segments-gap", "epochs-beyond-log", "index-orphan")
_MOST_EPOCHS = 1 << 20  # bytes


class Attested(Declared):
    """Offsets from `first` to `last`, and which file knows of them."""

    first: int
    last: int
    reason: str


class Witnesses:
    """The other files of one partition. They attest to what `kdump check` says they do.

    Of logs with these `shortened` base offsets batches are gone, so that later ones are not where their indexes say.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self.shortened: Collection[int] = ()
        self._partition = PartitionFacts(path, tree.PartitionFiles(path), Settings(now=current_time()), lambda _: None)

    def after_log(self, source: Source, base_offset: int, last_offset: int, *, is_newest: bool) -> Attested | None:
        """What follows the last offset of a log, by its own indexes; of the newest, also by snapshots and by later indexes."""
        partition = self._partition
        context = FileContext(
            source,
            source.path,
            "log",
            partition.settings,
            partition.emit,
            base_offset=base_offset,
            is_newest=is_newest,
            partition=partition,
        )
        found = witnesses.after(context, last_offset)
        if base_offset in self.shortened:
            found = [witness for witness in found if not witness.is_by_position]
        if not found:
            return None
        return Attested(last_offset + 1, max(witness.offset for witness in found), f"{witnesses.words(found)} of them")

    def after_end(self, log_end: int) -> Iterator[Attested]:
        """What follows the log end, by the checkpoints of the log directory."""
        name = tree.directory_name(self._path)
        if name is None or name.is_going:
            return
        for checkpoint, words in _CHECKPOINTS.items():
            _, offset = self._partition.checkpointed_offset(checkpoint)
            if offset is not None and offset > log_end:
                yield Attested(log_end, offset - 1, f"{checkpoint} {words.format(offset=offset)}")

    def of_logs(self, logs: Iterable[LogEnd], log_end: int | None) -> Iterator[Attested]:
        """What follows the last offsets of these logs, and the log end if the newest is among them."""
        for path, base_offset, last_offset, is_newest in logs:
            with Source(path) as source:
                after = self.after_log(source, base_offset, last_offset, is_newest=is_newest)
            if after is not None:
                yield after
        if log_end is not None:
            yield from self.after_end(log_end)

    def is_preallocated(self, newest: Source, base_offset: int, next_offset: int) -> bool:
        """Whether zeros at the end of the newest log, after its last batch, held no batch as far as the other files know."""
        return self.after_log(newest, base_offset, next_offset - 1, is_newest=True) is None and not any(
            self.after_end(next_offset)
        )

    def strange_to(self, log: Source, base_offset: int) -> tuple[str, Sequence[int], list[tuple[int, int]]]:
        """The name of the offset index of a log, and its offsets that the batches at its positions do not have, ascending.

        Then the positions at which batches have other last offsets, and these, where the index is right beside that on both
        sides. None of an index that contradicts itself or has negative numbers.
        """
        name = self._partition.files.segments.get(base_offset, {}).get(OFFSET_INDEX)
        if name is None:
            return "", (), []
        offsets, positions = _used_entries(os.path.join(self._path, name))
        if any(before >= after for column in (offsets, positions) for before, after in pairwise(chain((-1,), column))):
            return name, (), []
        fits, moved, strange = bytearray(), array("i"), array("q")  # moved: rows of batches with another last offset
        for row, (relative, position) in enumerate(zip(offsets, positions, strict=True)):
            extent, last = witnesses.extent_at(log, position), base_offset + relative
            fits.append(witnesses.has_offset(extent, last))
            if not fits[-1]:
                strange.append(last)
            if extent is not None and extent[1] != last:
                moved.append(row)
        around = b"\1\1" + fits + b"\1\1"
        wrong = [row for row in moved if any(around[row : row + 2]) and any(around[row + 3 : row + 5])]
        return name, strange, [(positions[row], base_offset + offsets[row]) for row in wrong]

    def ends_in(self, base_offset: int) -> tuple[int, set[int]]:
        """Last offsets of batches: as the newest snapshot says, -1 without any; and the last entries of indexes of a segment."""
        partition = self._partition
        return (partition.files.newest_snapshot or 0) - 1, witnesses.last_offsets(partition, base_offset)

    def highest_known(self, base_offset: int) -> int:
        """The highest offset that files beside the newest log know of; -1 if none does."""
        return witnesses.highest_known(self._partition, base_offset)

    def orphan_of(self, offset: int) -> int | None:
        """The base offset of the segment of an offset, if it has indexes but no log."""
        base = max((base for base in witnesses.orphans(self._partition) if base <= offset), default=None)
        following = None if base is None else self._partition.files.next_log(base)
        return base if following is None or offset < following else None

    def doubts_logs(self, log_end: int) -> bool:
        """Whether whole logs may be gone, by what is left of them or by the leader epochs: `missing_logs` says more."""
        partition = self._partition
        if not partition.files.logs or witnesses.orphans(partition):
            return True
        starts = [start for _, start in self.epochs()]
        return bool(starts) and (min(starts) < partition.files.logs[0] or max(starts) > log_end)

    def epochs(self) -> list[tuple[int, int]]:
        """The leader epochs and their first offsets, as the file says."""
        files = self._partition.files
        if tree.LEADER_EPOCHS not in files.others or tree.LEADER_EPOCHS in files.directories:
            return []
        with Source(os.path.join(self._path, tree.LEADER_EPOCHS)) as source:
            entries = text_checkpoint.TextCheckpoint(source, text_checkpoint.EPOCH_FIELDS, end=_MOST_EPOCHS).entries()
            return [(int(epoch), int(start)) for epoch, start in entries]

    @functools.cached_property
    def _findings(self) -> list[Finding]:
        """The errors and warnings of a check of all of the partition, which is made once."""
        return check.errors(Job(Job.PARTITION, self._path, self._path), self._partition.settings, (ERROR, WARNING))

    def wrong_offsets(self) -> Iterator[tuple[str, int, int, int | None, str]]:
        """The log, start and end of each batch whose offset something contradicts, its true last one, if that is known, and why.

        This checks all of the partition.
        """
        for error in self._findings:
            first, last, right = error.offset_first, error.offset_last, error.expected
            is_rot = error.code == "uncovered-header-rot" and error.severity == ERROR
            if is_rot and first is not None and last is not None and error.found == str(first):
                yield error.path, error.start, error.end, None if right is None else last + int(right) - first, error.message

    def missing_logs(self) -> Iterator[tuple[Finding, Attested | None]]:
        """The errors that name offsets before, between or after the logs, or that there is no log, each with the offsets that it
        attests to, if it names both ends; likewise warnings of lost segments of which a snapshot is left. This checks all of it.
        """
        for error in self._findings:
            snapshot = self._partition.files.segments.get(error.offset_first or 0, {}).get(PRODUCER_SNAPSHOT)
            if error.code in _MISSING and (error.severity == ERROR or error.code == "segment-missing" and snapshot is not None):
                first, last = error.offset_first, error.offset_last
                yield error, None if first is None or last is None else Attested(first, last, error.message)


def _used_entries(path: str) -> tuple[array[int], array[int]]:
    """The relative offsets and the positions in an offset index, up to its zero tail."""
    offsets, positions = array("i"), array("i")
    with Source(path) as source:
        for window in offset_index.windows(source):
            more_offsets, more_positions = offset_index.columns_of(window)
            offsets += more_offsets
            positions += more_positions
        used = used_entries(source, offset_index.ENTRY_SIZE)
    del offsets[used:], positions[used:]
    return offsets, positions
