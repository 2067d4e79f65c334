"""What `kdump reindex` is to make of an input: which partitions, which segments, which files are rebuilt and which cloned."""

from __future__ import annotations

import os

from kdump.binary import system
from kdump.binary.source import Source
from kdump.errors import CorruptData, Unreadable
from kdump.forecasts import places
from kdump.forecasts.log_directory import LogDirectory
from kdump.formats import file_name, foreign, partition_metadata, properties, text_checkpoint, tree
from kdump.formats.selection import EVERYTHING
from kdump.mending.settings import KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from kdump.formats.selection import Selection

OF_LOG_DIRECTORY = (*text_checkpoint.OFFSET_CHECKPOINTS, properties.META_PROPERTIES, file_name.BOOTSTRAP_CHECKPOINT)


class PartitionPlan:
    """A partition: its path, its name in the new directory (empty for the directory itself), its log start by the checkpoint.

    `logs` are the names of its segments' logs by base offset, ascending; `cloned` the names of files that are taken over,
    `before` those of the companions that the input has.
    """

    def __init__(self, path: str, name: str, log_start: int, kinds: Iterable[str]) -> None:
        self.path = path
        self.name = name
        self.log_start = log_start
        foreign.require_kafka_directory(path)
        files = tree.PartitionFiles(path)
        self.logs = {base: files.log_name(base) for base in files.logs}
        companions = [files.segments[base][suffix] for base in files.segments for suffix in files.segments[base]]
        self.before = {name for name in (*companions, *files.others) if name == tree.LEADER_EPOCHS or _suffix(name) != ""}
        self._others = files.others
        self._refuse(files)
        rebuilt = [KINDS[kind] for kind in kinds]
        kept = [name for name in self.before if file_name.suffix(name) not in rebuilt and name not in rebuilt]
        self.cloned = sorted(name for name in kept if self._is_of_segment(name)) + [
            name for name in files.others if name == tree.PARTITION_METADATA and not fault_of_metadata(os.path.join(path, name))
        ]
        if tree.is_metadata_log(path):
            self.cloned += files.of_metadata

    def _is_of_segment(self, name: str) -> bool:
        """Whether a companion belongs to a segment; a snapshot may also lie after all of them."""
        base = tree.base_offset_of(name)
        return (
            name == tree.LEADER_EPOCHS or base in self.logs or base is not None and _suffix(name) == file_name.PRODUCER_SNAPSHOT
        )

    def superseded(self) -> list[str]:
        """The names of files that are not cloned, and that a broker would read: companions, and metadata that is damaged."""
        is_damaged = tree.PARTITION_METADATA in self._others and tree.PARTITION_METADATA not in self.cloned
        names = [*self.before, tree.PARTITION_METADATA] if is_damaged else self.before
        return sorted(set(names) - set(self.cloned))

    def _refuse(self, files: tree.PartitionFiles) -> None:
        odd = [name for name in self.logs.values() if not tree.is_canonical(name)]
        odd += [name for name in files.others if file_name.suffix(name) == file_name.LOG]
        for name in odd:
            message = "this is not the name of a log: its base offset must have 20 digits, and fit into 64 bits"
            raise CorruptData("name-width-odd", message, path=os.path.join(self.path, name))
        for name in files.others:
            if name.endswith(file_name.SWAP):
                message = "is left of a compaction or a split that was interrupted: the next start completes it"
                raise CorruptData("leftover-swap", message, path=os.path.join(self.path, name))


class Plan:
    """All partitions of an input that are in a selection, and the names of the files of a log directory that are cloned.

    Raises Unreadable if the path is neither a partition directory nor a log directory, CorruptData for what would be lost, and
    UsageError if nothing is selected.
    """

    def __init__(self, path: str, kinds: Iterable[str], selection: Selection = EVERYTHING) -> None:
        kinds = list(kinds)
        self.path = path
        self.cloned: list[str] = []
        self.is_log_directory = False
        self.left_out = 0
        """How many partitions of the log directory are not in the selection."""
        system.entries(path)  # says why it cannot be listed
        kind = places.kind_of(path)
        if kind == places.PARTITION:
            selection.chosen([path])
            log_directory = LogDirectory(tree.parent(path))
            self.partitions = [PartitionPlan(path, "", log_start_of(path, log_directory), kinds)]
            return
        log_directory = LogDirectory(path)
        found = [place for place in tree.partitions(path) if places.may_be_partition(place)]
        if not found:
            message = "is neither a partition directory nor a log directory"
            raise Unreadable("file-not-regular", message, path=path)
        served = [place for place in found if not is_deleted(place)]
        chosen = selection.chosen(served)
        self.left_out = len(served) - len(chosen)
        self.is_log_directory = True
        self.cloned = [name for name in tree.log_dir_files(path) if name in OF_LOG_DIRECTORY]
        self.partitions = [
            PartitionPlan(place, os.path.basename(place), log_start_of(place, log_directory), kinds) for place in chosen
        ]


def log_start_of(path: str, log_directory: LogDirectory) -> int:
    """The log start offset of a partition by the checkpoint of its log directory, 0 if there is none."""
    name = tree.directory_name(path)
    return 0 if name is None else log_directory.log_starts.get((name.topic, name.partition), 0)


def is_deleted(path: str) -> bool:
    """Whether a partition directory is one that brokers are about to delete."""
    name = tree.directory_name(path)
    return name is not None and name.state == tree.DELETE


def _suffix(name: str) -> str:
    """The suffix of an index or a snapshot; empty for other files."""
    suffix = file_name.suffix(name)
    return suffix if suffix in KINDS.values() and tree.is_canonical(name) else ""


def fault_of_metadata(path: str) -> str:
    """What is wrong with a partition.metadata; empty if nothing is."""
    try:
        with Source(path) as source:
            partition_metadata.read(source.read(0, partition_metadata.MAX_SIZE))
    except CorruptData as fault:
        return fault.message
    return ""
