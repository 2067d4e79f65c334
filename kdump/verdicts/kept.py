"""Partitions that every start keeps as they are, shown by what their check has read, so that no start needs to be simulated."""

from __future__ import annotations

from kdump.binary.paths import absolute
from kdump.errors import Unreadable
from kdump.forecasts import permissions
from kdump.forecasts.log_directory import LogDirectory
from kdump.forecasts.settings import CONFIG
from kdump.formats import file_name, text_checkpoint, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from kdump.checks.partition_facts import PartitionFacts

_OTHERS = {text_checkpoint.LEADER_EPOCHS, tree.PARTITION_METADATA}
_INDEXES = (file_name.OFFSET_INDEX, file_name.TIME_INDEX)
_LARGEST_LOG = _LARGEST_DELTA = 0x7FFFFFFF
_LARGEST_OFFSET = (1 << 63) - 1


def by_every_start(facts: PartitionFacts, max_index_size: int = CONFIG["segment.index.bytes"]) -> bool:
    """Whether every start loads all batches of a partition, and ends the log where they end, whatever the stop before it.

    Its check, of a level that reads all bytes, must have found nothing but missing indexes: then batches are valid and in order,
    and files beside the logs agree with them. What a check does not judge is looked at here. False if there is anything that
    only a simulation answers: transactions, control batches, old messages, other files, an index that is too large.
    """
    files = facts.files
    return (
        facts.settings.checks_crcs
        and bool(files.logs)
        and _OTHERS.issuperset(files.others)
        and not files.directories
        and all(_are_usual(names) for names in files.segments.values())
        and not facts.has_open_transactions
        and facts.sizes.keys() == {*files.others, *(name for names in files.segments.values() for name in names.values())}
        and all(size <= max_index_size for name, size in facts.sizes.items() if name.endswith(_INDEXES))
        and all(_is_plain(facts, base_offset) for base_offset in files.logs)
        and _is_in_usual_surroundings(facts)
    )


def _are_usual(suffixes: Iterable[str]) -> bool:
    """Whether these are the files of a segment, or the snapshot of a clean stop."""
    rest = set(suffixes) - {file_name.PRODUCER_SNAPSHOT}
    return not rest or file_name.LOG in rest and rest <= {file_name.LOG, *_INDEXES}


def _is_plain(facts: PartitionFacts, base_offset: int) -> bool:
    log = facts.segments.get(base_offset)
    if log is None or log.is_damaged or not log.is_plain or log.end != log.size or log.size > _LARGEST_LOG:
        return False
    last_offset = base_offset if log.last_offset is None else log.last_offset
    return last_offset - base_offset <= _LARGEST_DELTA and last_offset < _LARGEST_OFFSET


def _is_in_usual_surroundings(facts: PartitionFacts) -> bool:
    """Whether nothing around the partition keeps a broker from serving all of it: its name, checkpoints, permissions."""
    name, above = tree.directory_name(facts.path), tree.parent(absolute(facts.path))
    if name is not None and (name.state or name.topic == tree.METADATA_TOPIC):
        return False
    try:
        if not tree.is_log_directory(above):
            return permissions.denial(facts.path, above) is None
        log_directory = LogDirectory(above)
    except Unreadable:
        return False
    if name is None or facts.log_end is None or not log_directory.has_sound_checkpoints:
        return False
    return log_directory.log_starts.get((name.topic, name.partition), 0) <= facts.log_end
