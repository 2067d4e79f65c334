"""Files of a log directory itself: checkpoints of offsets, whose entries are compared with partitions, and `meta.properties`."""

from __future__ import annotations

import os

from kdump.binary import system
from kdump.binary.java_strings import escaped
from kdump.binary.paths import absolute
from kdump.binary.source import NoSource, Source
from kdump.checks.catalogue.fault_kind import BLIND, DIE, OFFLINE, RESCAN
from kdump.checks.context import FileContext
from kdump.checks.finding import ERROR, WARNING, ByteCoverage
from kdump.checks.wording import as_sentence, offset_range
from kdump.decoders.cluster_topics import METADATA_DIRECTORY
from kdump.errors import CorruptData, Unreadable
from kdump.formats import file_name, meta_properties, properties, text_checkpoint, tree
from kdump.formats.text_checkpoint import PlainLines, TextCheckpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.finding import Emit
    from kdump.checks.partition_facts import PartitionFacts
    from kdump.checks.settings import Settings

LACKS_PROPERTIES = (
    f"there is no {tree.META_PROPERTIES}: a KRaft broker only starts if each of its log directories has one, as"
    " kafka-storage.sh makes it; one of the time before makes it at its start"
)
"""What a start makes of a log directory without this file."""
OF_ZOOKEEPER = (
    f"there is no cluster.id in {tree.META_PROPERTIES}, as of a broker with ZooKeeper: one with KRaft, which is each from 4.0 on,"
    " does not start"
)
"""What a start makes of this file as a broker with ZooKeeper wrote it."""

_MAX_FILE_BYTES = 8 << 20  # bytes of a checkpoint that are read: a hundred thousand partitions
_IDS = ("broker.id", "node.id")
_META_VERSIONS = ("0", "1")
_GOING = tuple(file_name.LOG + suffix for suffix in (file_name.CLEANED, file_name.DELETED))
_WITHOUT_ENTRIES = {text_checkpoint.RECOVERY_POINTS: RESCAN, text_checkpoint.LOG_START_OFFSETS: BLIND}
"""What a start does that takes the checkpoint for one without entries."""


def check(context: FileContext) -> None:
    """Check a checkpoint of offsets; each of its bytes is counted once."""
    source, coverage = context.source, context.coverage
    good = 0  # entries since the last bad one
    without = _WITHOUT_ENTRIES.get(os.path.basename(context.path), OFFLINE)
    forecast = ""  # by the first fault, after which a start reads no more
    checkpoint = TextCheckpoint(source, text_checkpoint.OFFSET_FIELDS, end=_MAX_FILE_BYTES)
    for line in checkpoint.stretches():
        if isinstance(line, PlainLines):
            good += len(line)
            continue
        fault = line.fault
        if fault is None:
            good += 1
            continue
        if fault.code == "checkpoint-line-malformed":
            coverage.add(ByteCoverage.INTACT, max(line.start, coverage.position), batches=good)
            good = 0
            coverage.add(ByteCoverage.DAMAGED, line.end, batches=int(line.number > 2))
        if fault.code != "checkpoint-cut":  # a broker reads no entries then, as from an empty file
            forecast = forecast or (without if line.is_reset else OFFLINE)
            is_unserved = forecast == OFFLINE and line.is_reset and context.file_type == text_checkpoint.HIGH_WATERMARKS
            then = " A broker starts with it, and serves no replica of this log directory." if is_unserved else ""
            context.report("log-dir-file-bad", line.start, line.end, as_sentence(fault.message) + then, forecast=forecast)
    stop = checkpoint.position
    if stop < source.size:
        message = f"Only {stop:,} of {source.size:,} bytes were read: no broker writes that many entries or bad lines."
        context.report("log-dir-file-bad", stop, source.size, message)
    coverage.add(ByteCoverage.INTACT, max(stop, coverage.position), batches=good)


def check_meta_properties(context: FileContext) -> None:
    """Check `meta.properties`: which broker the log directory belongs to."""
    data = context.source.read(0, properties.MAX_SIZE)
    message = _what_is_wrong(properties.read(data))
    if not message:
        context.coverage.add(ByteCoverage.INTACT, len(data))
        return
    context.coverage.add(ByteCoverage.DAMAGED, len(data))
    context.report("log-dir-file-bad", 0, len(data), message, severity=ERROR, forecast=DIE)


def check_directory(path: str, settings: Settings, emit: Emit) -> None:
    """Report that a log directory has no `meta.properties`: another folder of partitions needs none, nor does a copy."""
    file = os.path.join(path, tree.META_PROPERTIES)
    if tree.is_log_directory(path) and not system.has_name(file):
        context = FileContext(NoSource(file), file, tree.META_PROPERTIES, settings, emit)
        severity = WARNING if system.has_name(os.path.join(path, METADATA_DIRECTORY)) else None
        context.report("meta-properties-missing", 0, 0, as_sentence(LACKS_PROPERTIES), severity=severity)


def _what_is_wrong(values: dict[str, str]) -> str:
    """Why no broker accepts these properties; empty if one does."""
    version = values.get("version")
    if version not in _META_VERSIONS:
        return "It has no version." if version is None else "Its version is neither 0 nor 1."
    if not any(name in values for name in _IDS):
        return "It has neither a broker.id nor a node.id."
    try:
        has_reserved_id = meta_properties.of(values).has_reserved_directory_id
    except CorruptData as fault:
        return as_sentence(fault.message)
    return "Its directory.id is one that Kafka reserves." if has_reserved_id else ""


def check_clean_shutdown(context: FileContext) -> None:
    """Count the bytes of the mark of a clean stop, empty or a line of JSON: only its presence matters."""
    context.coverage.add(ByteCoverage.INTACT, context.source.size)


def check_partition(partition: PartitionFacts) -> None:
    """Compare the partition's entries in the checkpoints of its log directory with the end of its log."""
    name, log_end = tree.directory_name(partition.path), partition.log_end
    if name is None or name.is_going or log_end is None:
        return
    for checkpoint, report in _AGAINST_END.items():
        path = os.path.join(tree.parent(partition.path), checkpoint)
        try:
            with Source(path) as source:
                entry = text_checkpoint.entry_of(source, name.topic, name.partition)
                if entry is not None and _offset(entry) > log_end and not partition.has_grown():
                    context = FileContext(source, path, checkpoint, partition.settings, partition.emit, partition=partition)
                    report(context, entry, partition, log_end)
        except Unreadable:
            continue  # there is none, or the check of the log directory says why not


def _offset(entry: text_checkpoint.Line) -> int:
    offset = entry.values[-1]
    assert isinstance(offset, int)
    return offset


def _log_start(context: FileContext, entry: text_checkpoint.Line, partition: PartitionFacts, log_end: int) -> None:
    offset = _offset(entry)
    restart = "A RESTART THAT CUTS IT THERE DELETES" if partition.is_damaged_at_end else "A RESTART DELETES"
    message = f"{_name(partition)} starts at offset {offset:,} here, but {partition.end_text}. {restart} ALL ITS SEGMENTS."
    context.report("log-start-beyond-end", entry.start, entry.end, message, expected=f"at most {log_end}", found=offset)


def _report_beyond_end(context: FileContext, entry: text_checkpoint.Line, partition: PartitionFacts, log_end: int) -> None:
    offset = _offset(entry)
    code, story = _CODES[context.file_type], STORIES[context.file_type].format(f"{offset:,}")
    message = f"{_name(partition)} {story}, but {partition.end_text}. Lost: {offset_range(log_end, offset - 1)}."
    going = [name for name in partition.files.others if name.endswith(_GOING) and log_end <= (tree.base_offset_of(name) or 0)]
    if going:
        message += f" {going[0]} may have some of them: a restart deletes it, so copy it first."
    context.report(
        code, entry.start, entry.end, message, offsets=(log_end, offset - 1), expected=f"at most {log_end}", found=offset
    )


def _name(partition: PartitionFacts) -> str:
    return escaped(os.path.basename(absolute(partition.path)))


STORIES = {
    text_checkpoint.RECOVERY_POINTS: "was flushed up to offset {}",
    text_checkpoint.HIGH_WATERMARKS: "had all offsets below {} committed",
    text_checkpoint.CLEANER_OFFSETS: "was cleaned up to offset {}",
    text_checkpoint.LOG_START_OFFSETS: "starts at offset {}",
}
"""What an entry of a checkpoint says of its partition."""

_CODES = {
    text_checkpoint.RECOVERY_POINTS: "recovery-point-beyond-end",
    text_checkpoint.HIGH_WATERMARKS: "high-watermark-beyond-end",
    text_checkpoint.CLEANER_OFFSETS: "cleaner-offset-beyond-end",
}
"""The fault of a checkpoint whose entry is beyond the end of the log."""

_AGAINST_END = {text_checkpoint.LOG_START_OFFSETS: _log_start, **dict.fromkeys(_CODES, _report_beyond_end)}
