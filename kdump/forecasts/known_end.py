"""How far a log once went, by other files of its partition and its log directory."""

from __future__ import annotations

import os
from operator import attrgetter
from typing import NamedTuple

from kdump.binary.source import Source
from kdump.checks.partition_facts import PartitionFacts
from kdump.checks.rules import witnesses
from kdump.checks.rules.directories.offset_checkpoints import STORIES
from kdump.checks.settings import Settings, current_time
from kdump.errors import Unreadable
from kdump.formats import file_name, text_checkpoint, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.forecasts.directory import Directory
    from kdump.forecasts.log_directory import LogDirectory


class KnownEnd(NamedTuple):
    """An offset below which a log had records, and in words which file knows of it; 0 if one only knows that there was a log."""

    offset: int
    words: str


def of(directory: Directory, log_directory: LogDirectory) -> KnownEnd | None:
    """The highest offset that any file knows of; None where none does, or a broker no longer serves the partition."""
    name = tree.directory_name(directory.path)
    if name is not None and name.is_going:
        return None
    noted = log_directory.ends_of(name.topic, name.partition) if name is not None else ()
    found = [KnownEnd(end, f"by {checkpoint} it {STORIES[checkpoint].format(f'{end:,}')}") for checkpoint, end in noted if end]
    try:
        return max((*found, *_beside(directory)), default=None)
    except Unreadable:
        return max(found, default=None)  # what a start makes of such a file is said


def _beside(directory: Directory) -> Iterator[KnownEnd]:
    """What the files of a partition know: the newest snapshot, the indexes of segments without a log, and the epochs.

    There are no epochs before there is a log.
    """
    partition = PartitionFacts(directory.path, tree.PartitionFiles(directory.path), Settings(now=current_time()), lambda _: None)
    snapshot = partition.files.newest_snapshot
    if snapshot:
        name = partition.files.segments[snapshot][file_name.PRODUCER_SNAPSHOT]
        yield KnownEnd(snapshot, f"{name} is of offset {snapshot:,}")
    for base in witnesses.orphans(partition)[-1:]:
        witness = max(witnesses.of_orphan(partition, base), key=attrgetter("offset"))
        if witness.offset >= 0:
            yield KnownEnd(witness.offset + 1, f"{witness.name} knows of offset {witness.offset:,}")
    if tree.LEADER_EPOCHS in partition.files.others and tree.LEADER_EPOCHS not in partition.files.directories:
        with Source(os.path.join(directory.path, tree.LEADER_EPOCHS)) as source:
            epoch, start = map(int, text_checkpoint.last_entry(source, text_checkpoint.EPOCH_FIELDS) or (0, -1))
        if start > 0 or start == 0 and not partition.files.logs:
            yield KnownEnd(start, f"by {tree.LEADER_EPOCHS} epoch {epoch:,} starts at offset {start:,}")
