"""Partitions that the checkpoints of a log directory name, though no directory of them is there."""

from __future__ import annotations

import os
from itertools import groupby
from operator import attrgetter

from kdump.binary.java_strings import escaped
from kdump.binary.source import Source
from kdump.checks.context import FileContext
from kdump.checks.finding import ERROR
from kdump.checks.rules.directories.offset_checkpoints import STORIES
from kdump.decoders import metadata_beside
from kdump.errors import Unreadable
from kdump.formats import text_checkpoint, tree
from kdump.formats.text_checkpoint import RECOVERY_POINTS, Line, TextCheckpoint
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.checks.finding import Emit
    from kdump.checks.settings import Settings
    from kdump.decoders.cluster_topics import Topics

    Partition = tuple[str, int]

CODE = "partition-missing"


class MissingPartition(Declared):
    """A partition without a directory: its topic and number, the checkpoint that names it, and the offset there.

    If it `is_expected`, the metadata of the cluster say that the broker is to have it; else there are none.
    If it `is_one_of_all`, no partition is there.
    """

    topic: str
    partition: int
    checkpoint: str
    offset: int
    is_expected: bool
    is_one_of_all: bool

    @property
    def is_missed(self) -> bool:
        """Whether the directory is no copy of some partitions only."""
        return self.is_expected or self.is_one_of_all

    @property
    def name(self) -> str:
        """The name of its directory."""
        return f"{self.topic}-{self.partition}"

    @property
    def message(self) -> str:
        """What is not there, and what a start makes of it."""
        story = STORIES[self.checkpoint].format(f"{self.offset:,}")
        known = f"By {self.checkpoint}, {escaped(self.name)} {story}, but it has no directory here"
        whose = "By the metadata it is this broker's: if it is" if self.is_expected else "If it is this broker's, and"
        return (
            f"{known}: its records were not examined. {whose} in none of its other log directories, a start makes an empty one"
            " and copies it from its leader; without another replica its records are lost."
        )


def check(path: str, settings: Settings, emit: Emit) -> None:
    """Report the missing partitions of a log directory, each at its entry of a checkpoint."""
    for checkpoint, of_checkpoint in groupby(find(path), key=attrgetter("checkpoint")):
        file = os.path.join(path, checkpoint)
        with Source(file) as source:
            context = FileContext(source, file, checkpoint, settings, emit)
            for missing in of_checkpoint:
                severity = ERROR if missing.is_expected else None
                if not context.counts_only(CODE, 0, 0, severity):
                    entry = text_checkpoint.entry_of(source, missing.topic, missing.partition) or Line(0, 0, 0)
                    context.report(CODE, entry.start, entry.end, missing.message, severity=severity, found=missing.offset)
            context.finish()


def find(path: str) -> Iterator[MissingPartition]:
    """The partitions that had records by the checkpoints of a log directory, and that no log directory of its broker has.

    They come by checkpoint, that with their highest offset. A broker writes the recovery points of all partitions again before it
    removes one: what is not among them is not missing.
    Raises Unreadable where the system does not give the checkpoints, or the names in the directory.
    """
    held = {(name.topic, name.partition) for name in map(tree.directory_name, tree.partitions(path)) if name is not None}
    points = _offsets(os.path.join(path, RECOVERY_POINTS))
    named = {one: offset for one, offset in (points or {}).items() if one not in held}
    told_by: dict[Partition, str] = {}  # of those of which another checkpoint has a higher offset
    for checkpoint in (one for one in STORIES if one != RECOVERY_POINTS):
        for one, offset in (_offsets(os.path.join(path, checkpoint)) or {}).items():
            if (one in named or points is None and one not in held) and offset > named.get(one, 0):
                named[one], told_by[one] = offset, checkpoint
    if not any(offset > 0 for offset in named.values()):
        return
    node_id, beside = metadata_beside.held_beside(path)
    topics = metadata_beside.topics_for(path)
    for checkpoint in STORIES:
        missing = (one for one in named if named[one] > 0 and told_by.get(one, RECOVERY_POINTS) == checkpoint)
        for topic, number in sorted(missing):
            is_expected = _is_expected(topics, node_id, topic, number)
            if is_expected is not False and f"{topic}-{number}" not in beside:  # else it was deleted, or moved
                yield MissingPartition(topic, number, checkpoint, named[topic, number], bool(is_expected), not held)


def _is_expected(topics: Topics | None, node_id: int | None, topic: str, number: int) -> bool | None:
    """Whether a node is to have a partition, by the metadata; None if there are none."""
    if topics is None or node_id is None:
        return None
    topic_id = topics.id_of(topic)
    return topic_id is not None and node_id in topics.replicas.get((topic_id, number), ())


def _offsets(path: str) -> dict[Partition, int] | None:
    """The entries of a checkpoint; None if there is none that a broker reads."""
    found: dict[Partition, int] = {}
    try:
        with Source(path) as source:
            for line in TextCheckpoint(source, text_checkpoint.OFFSET_FIELDS).stretches():
                if isinstance(line, Line) and line.fault is not None:
                    return None
                found.update(((str(topic), int(number)), int(offset)) for topic, number, offset in line.entries())
    except Unreadable as error:
        if error.code in ("file-io-error", "file-shrank"):
            raise
        return None  # the check of the file says why
    return found
