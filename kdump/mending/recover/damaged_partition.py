"""The files of a damaged partition, and of its replicas: which logs are read, which files are taken over, which are left out."""

from __future__ import annotations

import os

from kdump.binary import system
from kdump.binary.source import Source
from kdump.binary.tolerant_source import TolerantSource
from kdump.checks import check
from kdump.checks.jobs import Job
from kdump.checks.settings import Settings, current_time
from kdump.formats import file_name, foreign, tree
from kdump.mending.plan import fault_of_metadata
from kdump.mending.recover.pieces import LeftOut, Log, Walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from kdump.mending.inputs import Inputs
    from kdump.mending.progress import Progress
    from kdump.mending.recover.pieces import Piece

DELETED = "leftover-deleted"
_LOG_SWAP = file_name.LOG + file_name.SWAP
_LEFT_OUT = {
    file_name.LOG + file_name.CLEANED: (
        "leftover-cleaned",
        "the cleaner did not finish it; a start deletes it, and uses the log",
    ),
    file_name.LOG + file_name.DELETED: (DELETED, "it is marked as deleted and was not looked at: a broker removes it"),
}
_OTHER_NAME = "it was not looked at, and may be the log that is missing, under another name"
_NOT_KAFKAS = "it is not Kafka's by name and content"
_INDEXES = (file_name.OFFSET_INDEX, file_name.TIME_INDEX, file_name.TRANSACTION_INDEX)


class DamagedPartition:
    """One directory of a partition. `rank` is 0 for the one that is mended, and counts the replicas.

    `logs` are in the order in which they are read: those with a broker's names by base offset, then what else may be a log.
    Raises Unreadable if it cannot be listed.
    """

    def __init__(self, path: str, rank: int = 0) -> None:
        self.path = path
        self.rank = rank
        self.logs: list[Log] = []
        self.left_out: list[LeftOut] = []
        foreign.require_kafka_directory(path)
        files = tree.PartitionFiles(path)
        self._files = files
        bases = [base for base in files.logs if files.log_name(base) not in files.directories]
        named = [base for base in bases if tree.is_canonical(files.log_name(base))]
        for base, following in tree.with_next(named):
            self._add(files.log_name(base), base, following)
        others = [files.log_name(base) for base in bases if base not in named]
        odd = [name for name in files.others if file_name.suffix(name) == file_name.LOG and name not in files.directories]
        self._of_others = [name for name in odd if tree.is_other_file(os.path.join(path, name))]
        others += [name for name in odd if name not in self._of_others]
        others += [name for name in files.others if name.endswith(_LOG_SWAP)]
        for name in others:
            self._add(name, None, None)
            self.logs[-1].is_spare = name.endswith(_LOG_SWAP)
        self.newest_base = max(named, default=max(files.segments, default=0))
        """The base offset of the newest log, or of what is left of one; 0 if nothing is."""
        self._note_left_out()

    @property
    def newest_log(self) -> str | None:
        """The path of the newest log; None if that is gone."""
        return next((log.path for log in self.logs if log.base_offset == self.newest_base), None)

    def _add(self, name: str, base: int | None, following: int | None) -> None:
        path = os.path.join(self.path, name)
        place = len(self.logs)
        self.logs.append(Log(path, base_offset=base, next_base_offset=following, rank=self.rank, place=place))

    def _note_left_out(self) -> None:
        files = self._files
        for name in files.others:
            path = os.path.join(self.path, name)
            for ending, (code, reason) in _LEFT_OUT.items():
                if name.endswith(ending):
                    self.left_out.append(LeftOut(path, 0, system.size(path), code, reason, is_lost=False))
                    break
            else:
                if name not in files.directories and tree.missing_log(path):
                    self.left_out.append(LeftOut(path, 0, system.size(path), "file-not-recognized", _OTHER_NAME))
        for name in self._of_others:
            path = os.path.join(self.path, name)
            self.left_out.append(LeftOut(path, 0, system.size(path), "file-not-recognized", _NOT_KAFKAS, is_lost=False))
        with_log = {tree.base_offset_of(os.path.basename(log.path)) for log in self.logs}
        for base, of_segment in sorted(files.segments.items()):
            indexes = [of_segment[suffix] for suffix in _INDEXES if suffix in of_segment]
            if base not in with_log and any(self._has_entries(name) for name in indexes):
                path = os.path.join(self.path, indexes[0])
                reason = "its log is not there: the batches that it points to are lost"
                self.left_out.append(LeftOut(path, 0, system.size(path), "segment-missing", reason))
        for name in sorted(files.directories):
            if file_name.suffix(name) == file_name.LOG:
                self.left_out.append(LeftOut(os.path.join(self.path, name), 0, 0, "file-is-directory", "a directory, not a log"))

    def _has_entries(self, name: str) -> bool:
        """Whether something other than zeros is in an index."""
        path = os.path.join(self.path, name)
        if name in self._files.directories:
            return False
        with Source(path) as source:
            return bool(source.read(0, 1 << 12).strip(b"\0"))

    def clonable(self) -> list[str]:
        """The names of files that are taken over as they are; what is unsound is added to `left_out`. Call it once."""
        found = []
        for name in self._files.others:
            if name == tree.PARTITION_METADATA:
                path = os.path.join(self.path, name)
                fault = fault_of_metadata(path)
                if not fault:
                    found.append(name)
                else:
                    reason = f"left out: {fault}; a broker of 2.8 or later may need it"
                    self.left_out.append(LeftOut(path, 0, system.size(path), "", reason, is_lost=False))
        if tree.is_metadata_log(self.path):
            found += [name for name in self._files.of_metadata if self._is_sound(name)]
        return found

    def _is_sound(self, name: str) -> bool:
        """Whether a check finds no error in a file of the metadata log; if it does, the file is left out."""
        path = os.path.join(self.path, name)
        error = next(iter(check.errors(Job(Job.FILE, path, path), Settings(now=current_time()))), None)
        if error is not None:
            reason = f"{error.message} Nodes load a file like this in part, or not at all"
            self.left_out.append(LeftOut(path, 0, system.size(path), error.code, reason))
        return error is None

    def walk(self, inputs: Inputs, progress: Progress, accept: Collection[int], found: set[int]) -> list[Piece]:
        """All whole batches of its logs, in the order of the files. What is left out is added to `left_out`."""
        pieces: list[Piece] = []
        inputs.note_directory(self.path)
        for log in self.logs:
            walk = self._walked(log, inputs, progress, accept)
            found |= walk.accepted
            pieces += walk.pieces
            self.left_out += walk.left_out
        return pieces

    def _walked(self, log: Log, inputs: Inputs, progress: Progress, accept: Collection[int]) -> Walk:
        with TolerantSource(log.path) as source:  # blocks that the device does not give are zeros, and so are damage
            inputs.note(source)
            walk = Walk(log, source, accept=accept, tick=progress.advance).to_end()
            for left in walk.left_out:
                if any(start < left.end and left.start < end for start, end in source.bad_ranges):
                    left.code, left.reason = "file-io-error", "the device does not give all of these bytes"
            return walk


def replicas_of(name: str, paths: Iterable[str]) -> list[str]:
    """The directories of a partition in other log directories; a path may also be the partition's directory itself."""
    found = []
    for path in paths:
        inside = os.path.join(path, name)
        if system.is_directory(inside):
            found.append(inside)
        elif tree.is_partition(path) and os.path.basename(os.path.abspath(path)) == name:
            found.append(path)
    return found
