"""Other files of a partition that attest to lost offsets of a log, or to lost segments."""

from __future__ import annotations

import os
from operator import le

from kdump.binary import system
from kdump.binary.batch_header import BATCH_HEADER_SIZE, MAGIC_AT
from kdump.binary.source import Source
from kdump.errors import Unreadable
from kdump.formats import entries, offset_index, time_index, transaction_index, tree
from kdump.formats.file_name import (
    DELETED,
    LOG,
    OFFSET_INDEX,
    PRODUCER_SNAPSHOT,
    TIME_INDEX,
    TRANSACTION_INDEX,
    kraft_snapshots,
)
from kdump.formats.text_checkpoint import HIGH_WATERMARKS, RECOVERY_POINTS
from kdump.reading.plausible import may_be_header
from kdump.reading.trust import extent_of
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kdump.checks.context import FileContext
    from kdump.checks.partition_facts import PartitionFacts
    from kdump.checks.segment_facts import SegmentFacts
    from kdump.reading.trust import Extent

    LastEntry = tuple[str, str, tuple[int, ...]]  # the suffix of an index, its name, its last entry

_LAYOUTS = {OFFSET_INDEX: offset_index.ENTRY, TIME_INDEX: time_index.ENTRY, TRANSACTION_INDEX: transaction_index.ENTRY}
_LATEST = 10**16  # ms; also later than what some clients write as microseconds
_ENTRIES_COMPARED = 16  # of an offset index with its log, to know whether it belongs to that


class Witness(Declared):
    """The name of a file, and the last offset it knows of.

    `is_by_position` says that an index only knows of a byte after the end of the log, so that some offset must be there.
    """

    name: str
    offset: int
    is_by_position: bool = False


def words(witnesses: list[Witness]) -> str:
    """The names of these files with a verb: `x.index knows`."""
    names = " and ".join(witness.name for witness in witnesses)
    return f"{names} know{'s' if len(witnesses) == 1 else ''}"


def after(context: FileContext, last: int) -> list[Witness]:
    """The files that know of offsets after `last`, which is the last offset of a segment as far as it can be read.

    They are the segment's own indexes; and for the newest segment the snapshot with the highest offset, snapshots of KRaft, and
    the indexes of later segments whose log is gone. Nothing is compared with a log that a broker deletes, or has written to since
    it was opened.
    """
    partition, base_offset, size = context.partition, context.base_offset, context.source.size
    if partition is None or base_offset is None or context.file_type != "log":
        return []
    if partition.is_being_deleted or _has_grown(context):
        return []
    beyond = [
        (suffix, name, entry)
        for suffix, name, entry in _last_entries(partition, base_offset)
        if _offset_in(suffix, entry, base_offset) > last or suffix == OFFSET_INDEX and entry[1] >= size > 0
    ]
    found = []
    for suffix, name, entry in _counted_from(base_offset, partition, beyond) if beyond else ():
        offset = _offset_in(suffix, entry, base_offset)
        found.append(Witness(name, max(offset, last + 1), is_by_position=offset <= last))
    if not context.is_newest:
        return found
    files = partition.files.segments
    highest = partition.files.newest_snapshot
    if highest is not None and highest > last + 1:
        found.append(Witness(files[highest][PRODUCER_SNAPSHOT], highest - 1))
    for end_offset, _, name in kraft_snapshots(partition.files.others):
        if end_offset > last + 1:
            found.append(Witness(name, end_offset - 1))
    for orphan in orphans(partition):
        if orphan > base_offset:
            found += [witness for witness in of_orphan(partition, orphan) if witness.offset > last]
    return found


def orphans(partition: PartitionFacts) -> list[int]:
    """The base offsets of segments that have indexes but no log, ascending.

    A broker that deletes a segment renames its log first: where that is still there, the deletion was only interrupted. A log of
    that base offset that a restart puts in place, and that goes as far as the indexes know, is the segment's.
    """
    files = partition.files
    others = set(files.others)
    swapped = partition.put_in_place
    return sorted(
        base
        for base, names in files.segments.items()
        if LOG not in names and any(suffix in names for suffix in _LAYOUTS) and f"{base:020d}{LOG}{DELETED}" not in others
        if base not in swapped or not _reaches_orphan(swapped[base], partition, base)
    )


def _reaches_orphan(facts: SegmentFacts, partition: PartitionFacts, base_offset: int) -> bool:
    """Whether a log has all offsets that the indexes of its base offset know of, as far as its last one says."""
    last = facts.last_offset
    return last is not None and all(witness.offset <= last for witness in of_orphan(partition, base_offset))


def of_orphan(partition: PartitionFacts, base_offset: int) -> list[Witness]:
    """What the indexes of a segment without a log attest: its records or, if they have no entries, its base offset."""
    entries = _last_entries(partition, base_offset)
    if entries:
        return [Witness(name, _offset_in(suffix, entry, base_offset)) for suffix, name, entry in entries]
    names = partition.files.segments[base_offset]
    return [Witness(names[suffix], base_offset - 1) for suffix in _LAYOUTS if suffix in names]


def has_entries(partition: PartitionFacts, base_offset: int) -> bool:
    """Whether an index of a segment knows of some record."""
    return bool(_last_entries(partition, base_offset))


def ends(partition: PartitionFacts) -> Iterator[tuple[int, str, bool]]:
    """Offsets after batches, as names of snapshots and checkpoints say; the file of each, and whether the log may end there.

    A high watermark may be far below the end, and a recovery point, too, but after a clean stop: where batches were compacted
    away, it may be that of none that is left.
    """
    for offset, names in partition.files.segments.items():
        if PRODUCER_SNAPSHOT in names:
            yield offset, names[PRODUCER_SNAPSHOT], True
    for checkpoint in (RECOVERY_POINTS, HIGH_WATERMARKS):
        _, noted = partition.checkpointed_offset(checkpoint)
        if noted is not None:
            marker = os.path.join(tree.parent(partition.path), tree.CLEAN_SHUTDOWN)
            yield noted, checkpoint, checkpoint == RECOVERY_POINTS and system.has_name(marker)


def last_offsets(partition: PartitionFacts, base_offset: int) -> set[int]:
    """The offsets in the last entries of the indexes of a segment."""
    found = _last_entries(partition, base_offset)
    own = _counted_from(base_offset, partition, found) if found else ()
    return {_offset_in(suffix, entry, base_offset) for suffix, _, entry in own}


def highest_known(partition: PartitionFacts, base_offset: int) -> int:
    """The highest offset known to snapshots, the indexes of a segment, and what was flushed or committed; -1 if none is."""
    ends = {partition.files.newest_snapshot or 0}
    ends |= {partition.checkpointed_offset(name)[1] or 0 for name in (RECOVERY_POINTS, HIGH_WATERMARKS)}
    return max(last_offsets(partition, base_offset) | {end - 1 for end in ends})


def _last_entries(partition: PartitionFacts, base_offset: int) -> list[LastEntry]:
    """The last entry of each index of a segment that has one."""
    names = partition.files.segments.get(base_offset, {})
    found = []
    for suffix in filter(names.__contains__, _LAYOUTS):
        layout = _LAYOUTS[suffix]
        try:
            with Source(os.path.join(partition.path, names[suffix])) as source:
                count = entries.used_entries(source, layout.size)
                before, entry = (entries.at(source, layout, row) if row >= 0 else None for row in (count - 2, count - 1))
        except Unreadable:
            continue
        if entry is not None and _offset_in(suffix, entry, base_offset) >= base_offset and _is_plausible(suffix, before, entry):
            found.append((suffix, names[suffix], entry))
    return found


def _is_plausible(suffix: str, before: tuple[int, ...] | None, entry: tuple[int, ...]) -> bool:
    """Whether an entry is above the one before it, and has a possible time: what overwrote an index knows of no offset."""
    is_above = suffix == TRANSACTION_INDEX or before is None or all(map(le, before, entry))
    return is_above and (suffix != TIME_INDEX or 0 <= entry[0] <= _LATEST)


def _counted_from(base_offset: int, partition: PartitionFacts, found: list[LastEntry]) -> list[LastEntry]:
    """Those entries whose offsets count from the base offset of their log; a transaction index has whole offsets."""
    names = partition.files.segments.get(base_offset, {})
    if LOG in names and _are_of_another(partition.path, names, base_offset):
        return [one for one in found if one[0] == TRANSACTION_INDEX]
    return found


def _offset_in(suffix: str, entry: tuple[int, ...], base_offset: int) -> int:
    if suffix == TRANSACTION_INDEX:
        _, _, _, last_offset, _ = entry
        return last_offset
    first, second = entry
    return base_offset + (first if suffix == OFFSET_INDEX else second)  # a time index has the timestamp first


def extent_at(log: Source, position: int) -> Extent | None:
    """The offsets of the batch that may start at a position of a log, by its header."""
    header_bytes = log.read(position, BATCH_HEADER_SIZE)
    if len(header_bytes) <= MAGIC_AT or not may_be_header(header_bytes, log.size - position):
        return None
    return extent_of(header_bytes)


def has_offset(extent: Extent | None, offset: int) -> bool:
    return extent is not None and extent[0] <= offset <= extent[1]


def _are_of_another(folder: str, names: Mapping[str, str], base_offset: int) -> bool:
    """Whether the indexes of a log count from another base offset than that in its name, as those of a renamed segment do.

    Of several entries from all over the offset index none may stand for the batches that it leads to; or, if it has no several,
    the log begins before its base offset.
    """
    pairs: list[list[tuple[int, ...]]] = []  # entries, each with the one after it, if any
    try:
        if OFFSET_INDEX in names:
            with Source(os.path.join(folder, names[OFFSET_INDEX])) as source:
                count = entries.used_entries(source, offset_index.ENTRY.size)
                rows = sorted({count * part // _ENTRIES_COMPARED for part in range(_ENTRIES_COMPARED)}) if count else ()
                pairs = [[entries.at(source, offset_index.ENTRY, at) for at in (row, row + 1) if at < count] for row in rows]
        with Source(os.path.join(folder, names[LOG])) as log:
            in_reach = [pair for pair in pairs if 0 <= pair[0][1] < log.size]
            if len(in_reach) > 1:
                return not any(_may_lead(log, base_offset + pair[0][0], [position for _, position in pair]) for pair in in_reach)
            first = extent_at(log, 0)
            return first is not None and first[1] < base_offset
    except Unreadable:
        return False


def _may_lead(log: Source, offset: int, positions: Sequence[int]) -> bool:
    """Whether an entry of this offset may stand for the batches from the first position on, up to that of the next entry.

    It may have the offset of any of them, as of an append that was many. A wrapper does not say what its first offset is.
    """
    extent, *following = (extent_at(log, position) for position in positions)
    if extent is None:
        return False
    end = following[0][0] if following and following[0] is not None else extent[1] + 1
    return (extent[0] <= offset or extent[2] is None) and offset < max(end, extent[1] + 1)


def _has_grown(context: FileContext) -> bool:
    try:
        return system.size(context.path) > context.source.size
    except Unreadable:
        return False
