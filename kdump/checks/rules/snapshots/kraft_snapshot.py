"""Snapshots of KRaft: their first and last records, the batches between them, and their names."""

from __future__ import annotations

import os

from kdump.binary.batch_header import ATTRIBUTES, BASE_TIMESTAMP, COMPRESSION_MASK
from kdump.checks.catalogue.fault_kind import IGNORE
from kdump.checks.context import context_in
from kdump.checks.finding import ByteCoverage
from kdump.checks.rules.rule import SegmentRule
from kdump.checks.wording import offset_range
from kdump.errors import CorruptData
from kdump.formats import file_name, record, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.binary.source import Source
    from kdump.checks.context import FileContext
    from kdump.checks.partition_facts import PartitionFacts
    from kdump.checks.segment_facts import SegmentFacts
    from kdump.formats.log import Chunk
    from kdump.reading.items import Damage, Section

SNAPSHOT_HEADER, SNAPSHOT_FOOTER = 3, 4
"""Types of control records."""

_CHECKPOINT = file_name.CHECKPOINT.removeprefix(".")
_LEFTOVERS = (".checkpoint.part", ".checkpoint.deleted")
_CUT_OFF = ("torn-header", "torn-tail")
_NAME_LENGTH = 20 + 1 + 10


class Snapshot(SegmentRule):
    """Reports a snapshot without header or footer, or with batches that no snapshot has."""

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        super().__init__(context, facts)
        self._first: tuple[int, int, int | None] | None = None  # position, end and control type of the first record
        self._last: tuple[int, int, int | None] | None = None
        self._damage: tuple[int, int] | None = None
        self._starts_with_damage = False
        others = file_name.kraft_snapshots(() if context.partition is None else context.partition.files.others)
        is_older = any(name == os.path.basename(context.path) for _, _, name in others[:-1])
        self._forecast = IGNORE if is_older else None  # a start reads the newest snapshot

    @classmethod
    def is_wanted(cls, context: FileContext) -> bool:
        return context.file_type == _CHECKPOINT

    def batches(self, section: Section) -> None:
        chunk = section.chunk
        for row, batch in enumerate(chunk.batches):
            end = batch.position + batch.size
            if section.status == ByteCoverage.DAMAGED:
                self._record_damage(batch.position, end)
                continue
            self._check_batch(chunk, row)
            types = list(_control_types(self.context.source, chunk, row)) or [None]
            if self._first is None:
                self._first = batch.position, end, types[0]
            self._last = batch.position, end, types[-1]

    def damage(self, damage: Damage) -> None:
        if damage.code not in _CUT_OFF:  # a node reads what is before that as if it were all
            self._record_damage(damage.start, damage.end)

    def _record_damage(self, start: int, end: int) -> None:
        if self._damage is None:
            self._damage = start, end
            self._starts_with_damage = self._first is None

    def end(self) -> None:
        context, size = self.context, self.context.source.size
        if self._damage is not None:
            start, end = self._damage
            message = "A batch of the snapshot is damaged. KRaft does not load the snapshot."
            context.report("checkpoint-bad-batch", start, end, message, forecast=self._forecast)
        if self._first is None:
            if self._damage is None:
                message = "The first batch is cut off." if size else "The file is empty."
                context.report("checkpoint-no-header", 0, size, message, forecast=self._forecast)
            return
        start, end, control_type = self._first
        if control_type != SNAPSHOT_HEADER and not self._starts_with_damage:
            message = "The first record is not a snapshot header. This is not a snapshot, or its start is missing."
            context.report(
                *("checkpoint-no-header", start, end, message),
                expected=SNAPSHOT_HEADER,
                found=control_type,
                forecast=self._forecast,
            )
        assert self._last is not None
        start, end, control_type = self._last
        if control_type != SNAPSHOT_FOOTER:
            message = "The last record is not a snapshot footer. The snapshot was not completely written, or was truncated."
            context.report("checkpoint-no-footer", start, end, message, expected=SNAPSHOT_FOOTER, found=control_type)

    def _check_batch(self, chunk: Chunk, row: int) -> None:
        """Report a sound batch that a broker refuses to read in a snapshot."""
        batch = chunk.batches.row(row)
        bad = ""
        if chunk.is_legacy:
            bad = f"is of magic {batch.magic}"
        elif chunk.headers[row][ATTRIBUTES] & COMPRESSION_MASK:
            bad = f"is compressed ({batch.compresscodec.lower()})"
        elif not batch.is_control:
            bad = _bad_record(self.context.source, chunk, row)
        if bad:
            offsets = batch.first_offset, batch.last_offset
            message = f"The batch of {offset_range(*offsets)} {bad}. Snapshots contain no such batches."
            end = batch.position + batch.size
            self.context.report("checkpoint-bad-batch", batch.position, end, message, offsets=offsets, forecast=self._forecast)


def check(context: FileContext) -> None:
    """Check the name of a file; its bytes are checked as those of a segment."""
    name = os.path.basename(context.path)
    if name == file_name.BOOTSTRAP_CHECKPOINT or not name.endswith(file_name.CHECKPOINT):  # as with `--as checkpoint`
        return
    try:
        file_name.snapshot_id(name)
        is_good = len(name) == _NAME_LENGTH + len(file_name.CHECKPOINT) and name[20] == "-"
    except CorruptData:
        is_good = False
    if not is_good:
        message = "The name of a snapshot must be an offset of 20 digits, a dash and an epoch of 10 digits."
        context.report("checkpoint-name-bad", 0, 0, message)


def check_directory(partition: PartitionFacts) -> None:
    """Check all snapshots of a directory together."""
    leftovers = [name for name in partition.files.others if name.endswith(_LEFTOVERS)]
    if leftovers:
        some = f"{leftovers[0]} was" if len(leftovers) == 1 else f"{len(leftovers):,} files as {leftovers[0]} were"
        context_in(partition, leftovers[0]).report(
            "checkpoint-leftover", 0, 0, f"{some} left by a broker that stopped while it was writing or deleting a snapshot."
        )
    log_start = min(partition.files.logs, default=0)
    if not log_start or not tree.is_metadata_log(partition.path):
        return
    ends = [end for end, _, _ in file_name.kraft_snapshots(partition.files.others)]
    if max(ends, default=-1) < log_start:
        newest = f"the newest one ends at {max(ends):,}" if ends else "there is none"
        first_missing = max(ends, default=0)
        message = f"The log starts at offset {log_start:,}, so a snapshot must reach up to there; {newest}."
        log = partition.files.log_name(log_start)
        context_in(partition, log).report("snapshot-gap-metadata", 0, 0, message, offsets=(first_missing, log_start - 1))


def _control_types(source: Source, chunk: Chunk, row: int) -> Iterator[int | None]:
    """The types of the control records in a batch; none for other batches."""
    if chunk.is_legacy or not chunk.batches["is_control"][row]:
        return
    try:
        for part in record.read(source, chunk.slice(row, row + 1)):
            for key in part.records["key"]:
                yield int.from_bytes(key[2:4], "big") if key is not None and len(key) >= 4 else None
    except CorruptData:
        yield None


def _bad_record(source: Source, chunk: Chunk, row: int) -> str:
    """The first fault of a record in a batch of data, in words; empty if there is none."""
    base_timestamp = chunk.headers[row][BASE_TIMESTAMP]
    try:
        for part in record.read(source, chunk.slice(row, row + 1)):
            records = part.records
            if any(key is not None for key in records["key"]):
                return "has a record with a key"
            if any(records["headers"]):
                return "has a record with headers"
            if any(timestamp != base_timestamp for timestamp in records["timestamp"]):
                return "has a record with a separate timestamp"
    except CorruptData:
        return "has a record that cannot be read"
    return ""
