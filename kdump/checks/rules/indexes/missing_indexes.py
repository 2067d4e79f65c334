"""Segments without their indexes, and indexes without their segment."""

from __future__ import annotations

from kdump.checks.context import context_in
from kdump.checks.finding import ERROR, INFO
from kdump.checks.rules import witnesses
from kdump.checks.rules.indexes.offset_index_gaps import INTERVAL_BYTES
from kdump.formats import file_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.partition_facts import PartitionFacts

_INDEXES = (file_name.OFFSET_INDEX, file_name.TIME_INDEX, file_name.TRANSACTION_INDEX)


def missing_indexes(partition: PartitionFacts) -> None:
    """Report logs without indexes, and indexes without a log. All files have been checked by now."""
    logs = partition.files.logs
    newest = max(logs, default=-1)
    without_time_index = [base for base in logs if file_name.TIME_INDEX not in partition.files.segments[base]]
    lost = set() if partition.is_being_deleted else set(witnesses.orphans(partition))
    for base_offset, names in sorted(partition.files.segments.items()):
        log = names.get(file_name.LOG)
        if log is None:
            for suffix in _INDEXES:
                if suffix in names:
                    message = f"{names[suffix]} has no {base_offset:020d}.log; a restart deletes it."
                    is_newest = base_offset in lost and base_offset > newest
                    if is_newest:
                        message += " No log here reaches so far: its contents are lost."
                    _report(partition, names[suffix], "index-orphan", message, ERROR if is_newest else None)
        elif file_name.OFFSET_INDEX not in names:
            message = f"{log} has no .index. {_forecast(partition, base_offset)}"
            _report(partition, log, "index-missing", message, INFO if _needs_none(partition, base_offset) else None)
    if without_time_index:
        log = partition.files.log_name(without_time_index[0])
        message = f"{log} has no .timeindex."
        if len(without_time_index) > 1:
            message = f"{len(without_time_index):,} of {len(logs):,} segments have no .timeindex, the first of them {log}."
        _report(partition, log, "timeindex-missing", message)


def _needs_none(partition: PartitionFacts, base_offset: int) -> bool:
    """Whether a broker writes to this log without an index: it makes one for the first entry, or when it stops."""
    facts = partition.segments.get(base_offset)
    return (
        facts is not None and not facts.is_damaged and facts.size <= INTERVAL_BYTES and base_offset == partition.files.newest_log
    )


def _forecast(partition: PartitionFacts, base_offset: int) -> str:
    facts = partition.segments.get(base_offset)
    if facts is not None and facts.is_damaged:
        return "A restart scans the segment, and truncates it at its first bad batch."
    return "A restart scans the segment and rebuilds it."


def _report(partition: PartitionFacts, name: str, code: str, message: str, severity: str | None = None) -> None:
    context_in(partition, name).report(code, 0, 0, message, severity=severity)
