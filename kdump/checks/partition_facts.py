"""Facts about a partition, collected while its files are checked one by one."""

from __future__ import annotations

import functools
import os

from kdump.binary import system
from kdump.binary.source import Source
from kdump.checks.topic_policy import policy_of
from kdump.errors import Unreadable
from kdump.formats import file_name, text_checkpoint, tree
from kdump.reading.walked_log import MOST_KEPT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.finding import Emit
    from kdump.checks.producers import Producers
    from kdump.checks.segment_facts import SegmentFacts
    from kdump.checks.settings import Settings
    from kdump.checks.topic_policy import TopicPolicy
    from kdump.formats.tree import PartitionFiles
    from kdump.reading.walked_log import WalkedLog


class PartitionFacts:
    """The files of a partition, and the facts about its segments so far, by base offset, in ascending order.

    `leader_epoch` is the highest so far, `producers` are those that rules hand on from segment to segment; both are None before
    the first. `swapped_logs` are the facts about logs that end in .swap. `sizes` are those of the files by name, once they have
    been checked.
    """

    def __init__(self, path: str, files: PartitionFiles, settings: Settings, emit: Emit) -> None:
        self.path = path
        self.files = files
        self.settings = settings
        self.emit = emit
        self.segments: dict[int, SegmentFacts] = {}
        self.leader_epoch: int | None = None
        self.producers: Producers | None = None
        self.swapped_logs: dict[int, SegmentFacts] = {}
        self.sizes: dict[str, int] = {}
        self.walked: dict[tuple[str, int], WalkedLog] = {}
        """What the walks through logs found, for others: of those that were read to their ends, by path and size."""
        self._room = MOST_KEPT
        self.has_open_transactions = False
        """Whether a sound producer snapshot has one, at levels that read all bytes."""

    @functools.cached_property
    def topic_policy(self) -> TopicPolicy:
        """What is known of the configuration of the topic. Takes its time: the metadata log beside it is read."""
        return policy_of(self.path, self.settings)

    @property
    def is_being_deleted(self) -> bool:
        """Whether a broker is deleting the directory, one file after the other."""
        name = tree.directory_name(self.path)
        return name is not None and name.state == tree.DELETE

    def checkpointed_offset(self, checkpoint: str) -> tuple[bool, int | None]:
        """Whether the log directory has a checkpoint of this name that may be read, and the offset in it for this partition.

        Raises Unreadable where the system fails to read it.
        """
        name = tree.directory_name(self.path)
        if name is None:
            return False, None
        try:
            with Source(os.path.join(tree.parent(self.path), checkpoint)) as source:
                entry = text_checkpoint.entry_of(source, name.topic, name.partition)
        except Unreadable as error:
            if error.code in ("file-io-error", "file-shrank"):
                raise
            return False, None
        return True, None if entry is None else int(entry.values[-1])

    @property
    def cleaned_from(self) -> int | None:
        """The base offset of the first `.cleaned` file, from which on a restart deletes what was to replace others."""
        cleaned = (tree.base_offset_of(name) for name in self.files.others if file_name.is_leftover(name, file_name.CLEANED))
        return min((base for base in cleaned if base is not None), default=None)

    @property
    def put_in_place(self) -> dict[int, SegmentFacts]:
        """The new logs that a restart puts in place of others, by base offset; known once all files have been checked."""
        cleaned_from = self.cleaned_from if self.swapped_logs else None
        return {base: facts for base, facts in self.swapped_logs.items() if cleaned_from is None or base < cleaned_from}

    @property
    def log_end(self) -> int | None:
        """The offset after the last readable one of the newest segment; None if that was not read at all.

        One that a restart puts in place counts. Without any log a broker starts at 0.
        """
        swapped = self.put_in_place
        newest = max((*self.files.logs[-1:], *swapped), default=None)
        if newest is None:
            return 0
        facts = swapped.get(newest) or self.segments.get(newest)
        if facts is None:
            return None
        last_offset = -1 if facts.last_offset is None else facts.plausible_offsets(None)[1]
        return newest if last_offset < 0 else last_offset + 1

    def keep(self, log: SegmentFacts, walked: WalkedLog) -> None:
        """Keep what the walk through a log found, if there is room for it."""
        if walked.size <= self._room:
            self._room -= walked.size
            self.walked[log.path, log.size] = walked

    def has_grown(self) -> bool:
        """Whether a broker has written to the newest segment since it was read, or started another one."""
        newest = max(self.files.logs, default=-1)
        facts = self.segments.get(newest)
        try:
            return (
                facts is not None
                and system.size(facts.path) > facts.size
                or max(tree.PartitionFiles(self.path).logs, default=-1) > newest
            )
        except Unreadable:
            return False

    @property
    def is_damaged_at_end(self) -> bool:
        """Whether the newest segment cannot be read to its last byte."""
        newest = self.segments.get(max(self.files.logs, default=-1))
        return newest is not None and newest.end < newest.size

    @property
    def end_text(self) -> str:
        """Where the log ends, in words."""
        if not self.files.logs:
            return "there is no log"
        return f"the log {'can be read up to' if self.is_damaged_at_end else 'ends at'} offset {self.log_end or 0:,}"
