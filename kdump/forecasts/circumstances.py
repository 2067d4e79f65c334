"""Conditions outside a partition that keep its log from being loaded or served, entered into the rows of its starts."""

from __future__ import annotations

import os

from kdump.binary.paths import absolute
from kdump.binary.source import Source
from kdump.checks import check
from kdump.checks.jobs import Job
from kdump.checks.settings import Settings, current_time
from kdump.checks.wording import metadata_words, offset_range
from kdump.decoders.cluster_topics import METADATA_DIRECTORY
from kdump.errors import CorruptData, Unreadable
from kdump.forecasts import permissions
from kdump.forecasts.exceptions import ILLEGAL_STATE, INCONSISTENT_TOPIC_ID, NO_SUCH_ELEMENT, RUNTIME, UNCHECKED_IO, InvalidBatch
from kdump.forecasts.outcome import DIE, KEEP, OFFLINE, RESCAN, STRAY
from kdump.formats import file_name, quorum_state, text_checkpoint, tree
from kdump.formats.log import Log
from kdump.formats.partition_metadata import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kdump.decoders.cluster_topics import Topics
    from kdump.forecasts.log_directory import LogDirectory
    from kdump.forecasts.neighbours import Failure, Neighbours
    from kdump.forecasts.permissions import Denial
    from kdump.forecasts.row import Forecast

_INSTEAD = {
    text_checkpoint.RECOVERY_POINTS: "0 for all recovery points",
    text_checkpoint.LOG_START_OFFSETS: "the first segment of a log for its start",
}
_METADATA_ID = bytes(15) + b"\x01"  # Kafka: Uuid.METADATA_TOPIC_ID
_SNAPSHOT_EXCEPTIONS = {"checkpoint-bad-batch": InvalidBatch.name, "checkpoint-no-header": ILLEGAL_STATE}
_QUORUM_EXCEPTIONS = {"quorum-version-unknown": ILLEGAL_STATE, "quorum-field-bad": RUNTIME}


def enter(rows: Iterable[Forecast], log_directory: LogDirectory, neighbours: Neighbours) -> None:
    """Enter the effects of the log directory, its neighbours and the cluster metadata on the starts, the worst last."""
    for row in rows:
        _note_missing_checkpoints(row, log_directory)
        _note_dead_links(row)
        _judge_topic_id(row, log_directory, neighbours)
        if neighbours.rules.knows_metadata_log and tree.is_metadata_log(row.path):
            _judge_metadata(row)
        duplicate = neighbours.duplicates.get(row.path)
        if duplicate is not None:
            _fail_as_duplicate(row, duplicate)
        denied = permissions.denial(row.path, log_directory.path)
        if denied is not None:
            _deny(row, denied)
        enter_log_directory(row, log_directory.path, neighbours)


def enter_log_directory(row: Forecast, log_directory: str, neighbours: Neighbours) -> None:
    """Enter the effects of neighbouring log directories on the start."""
    row.conditions += neighbours.conditions.get(log_directory, ())
    failure = neighbours.failures.get(log_directory)
    if failure is not None:
        _fail_before_loading(row, failure)


def _depend(row: Forecast, condition: str, *, is_likely: bool) -> None:
    """Enter a condition. A likely condition comes first and makes the start unsafe."""
    row.conditions.insert(0 if is_likely else len(row.conditions), condition)
    row.is_doubtful |= is_likely


def _note_missing_checkpoints(row: Forecast, log_directory: LogDirectory) -> None:
    """The directory as the broker left it, with its assumptions about missing files; a copy may lack files of the original."""
    for name in log_directory.missing_checkpoints if log_directory.has_properties else ():
        row.conditions.append(f"there is no {name} in the log directory: a start uses {_INSTEAD[name]}")


def _note_dead_links(row: Forecast) -> None:
    """To a broker, a segment with a dangling link does not exist, and neither do its records."""
    for name in row.dead_logs if row.outcome not in (DIE, OFFLINE) else ():
        condition = f"{name} is a dangling link: a start continues without this segment, and no one can read it"
        _depend(row, condition, is_likely=True)


def _judge_metadata(row: Forecast) -> None:
    files, start = judge_metadata_files(row)
    if row.topic_id is not None and row.topic_id != _METADATA_ID:
        reason = (
            f"{tree.PARTITION_METADATA} has the topic id {text_of(row.topic_id)}; that of the metadata is {text_of(_METADATA_ID)}"
        )
        _fail(row, INCONSISTENT_TOPIC_ID, reason)
    _note_missing_metadata(row, files, start)


def judge_metadata_files(row: Forecast) -> tuple[tree.PartitionFiles, int]:
    """What a node reads besides the metadata log must be there. Kafka: KafkaRaftLog.recoverSnapshots, FileQuorumStateStore.

    Returns the files, and the offset that the newest snapshot reaches.
    """
    files = tree.PartitionFiles(row.path)
    *_, (start, _, newest) = ((0, 0, ""), *file_name.kraft_snapshots(files.others))
    log_start = min(files.logs, default=0)
    if row.log_end is not None and start > row.log_end:
        _go_on_from_snapshot(row, start)
    if start < log_start:
        _fail(row, ILLEGAL_STATE, f"the metadata log starts at offset {log_start:,}, and no snapshot reaches up to there")
    job = Job(Job.FILE, os.path.join(row.path, newest))
    for error in check.errors(job, Settings(now=current_time())) if newest else ():
        if error.code in _SNAPSHOT_EXCEPTIONS:
            is_empty = error.code == "checkpoint-no-header" and error.expected is None
            exception = NO_SUCH_ELEMENT if is_empty else _SNAPSHOT_EXCEPTIONS[error.code]
            _fail(row, exception, f"{newest}: {error.message.removesuffix('.')}")
    try:
        with Source(os.path.join(row.path, tree.QUORUM_STATE)) as source:
            quorum_state.read(source.read(0, quorum_state.MAX_SIZE))
    except CorruptData as fault:
        _fail(row, _QUORUM_EXCEPTIONS.get(fault.code, UNCHECKED_IO), f"{tree.QUORUM_STATE}: {fault.message}")
    except Unreadable:
        pass  # without it, a node starts; what may not be read is judged elsewhere
    return files, start


def _go_on_from_snapshot(row: Forecast, end: int) -> None:
    """A log that ends before the newest snapshot is dropped: that has all of it. Kafka: KafkaRaftLog.truncateToLatestSnapshot.

    Damage in it stays said: it may be why the log ends there.
    """
    dropped = f"the log ends at offset {row.log_end:,}, before its newest snapshot: the start drops it, and goes on from {end:,}"
    row.conditions.append(f"{dropped}; what follows there has to come from other controllers")
    if row.outcome in (KEEP, RESCAN) and row.bytes_lost <= 0:
        _leave_as_it_is(row, KEEP, "")
        row.reason = None
        row.log_start = row.log_end = row.data_end = end
        row.segments = [[end, 0]]


def _note_missing_metadata(row: Forecast, files: tree.PartitionFiles, start: int) -> None:
    """Nothing compacts the metadata log: a start replays the newest snapshot and what follows it, without what is missing."""
    gap = next(((first, last) for first, last in _gaps(files) if last >= start), None)
    if gap is not None:
        first, last = gap
        missing = (
            f"{offset_range(first, last)} of the metadata {'is' if first == last else 'are'} missing, and nothing compacts it"
        )
        _depend(row, f"{missing}: what a node makes of the records that follow cannot be told", is_likely=True)
        row.lacks_metadata = True


def _gaps(files: tree.PartitionFiles) -> Iterator[tuple[int, int]]:
    """The offsets that are missing between sound batches of a partition; what is damaged is reported elsewhere."""
    next_offset: int | None = None
    for base_offset in files.logs:
        try:
            with Source(os.path.join(files.path, files.log_name(base_offset))) as source:
                for chunk in Log(source).chunks():
                    batches = chunk.batches
                    for first, last, is_valid in zip(
                        batches["base_offset"], batches["last_offset"], batches["isvalid"], strict=True
                    ):
                        if next_offset is not None and first is not None and is_valid and first > next_offset:
                            yield next_offset, first - 1
                        next_offset = last + 1 if is_valid else None
        except CorruptData:
            next_offset = None


# --- the topic's id


def _judge_topic_id(row: Forecast, log_directory: LogDirectory, neighbours: Neighbours) -> None:
    """A KRaft broker sets aside directories that are not its replicas. Kafka: LogManager.isStrayKraftReplica (since 3.7)."""
    name = tree.directory_name(row.path)
    if name is not None and name.state == tree.STRAY and neighbours.finds_strays(log_directory.path):
        _look_for_original(row, name, log_directory, neighbours)
        return
    is_served = name is not None and not name.is_going and not tree.is_metadata_log(row.path)
    if name is None or not is_served or not neighbours.finds_strays(log_directory.path) or row.outcome in (DIE, OFFLINE):
        return
    if row.topic_id is None:
        _set_aside(row, f"there is no {tree.PARTITION_METADATA}, so its topic id is not known")
        return
    topics, is_evidence = neighbours.topics_of(log_directory.path)
    if topics is not None:
        by = _source(topics, log_directory)
        why = _why_stray(topics, row.topic_id, name, neighbours.node_id_of(log_directory.path))
        if why and is_evidence:
            _set_aside(row, why + by)
        elif why:
            row.conditions.append(
                f"{why}{by}. As far as one can tell, this metadata is of another copy of the broker's directories, and decides "
                "nothing here: if the metadata that the start reads says the same, the directory is marked -stray"
            )
        elif topics.names[row.topic_id] != name.topic:
            condition = f"its topic id is that of topic {topics.names[row.topic_id]}{by}: the broker does not serve it"
            _depend(row, condition, is_likely=is_evidence)
    if is_evidence:
        return
    other = neighbours.other_topic_id(log_directory.path, name.topic, row.topic_id)
    if other is not None:
        text = (
            f"another partition of {name.topic} in this broker has the topic id {text_of(other)}, and not {text_of(row.topic_id)}"
        )
        _depend(row, f"{text}: the broker marks those whose id is not the topic's as -stray", is_likely=True)
    elif topics is None:
        unread = "readable " if neighbours.holds(METADATA_DIRECTORY) else ""
        row.conditions.append(
            f"there is no {unread}{METADATA_DIRECTORY} to compare its topic id with: if it is not that of the topic, or this is"
            " not its broker, the directory is marked -stray"
        )


def _look_for_original(row: Forecast, name: tree.DirectoryName, log_directory: LogDirectory, neighbours: Neighbours) -> None:
    """If the partition still belongs to the broker, its data is missing once it is set aside: the broker starts it empty."""
    topics, is_evidence = neighbours.topics_of(log_directory.path)
    topic_id = None if topics is None else topics.id_of(name.topic)
    if topics is None or topic_id is None or neighbours.holds(partition := f"{name.topic}-{name.partition}"):
        return
    if neighbours.node_id_of(log_directory.path) in topics.replicas.get((topic_id, name.partition), ()):
        condition = (
            f"{partition} belongs to this broker{_source(topics, log_directory)}, but exists in no log directory here except "
            "under this name: it starts out empty"
        )
        _depend(row, condition, is_likely=is_evidence)


def _source(topics: Topics, log_directory: LogDirectory) -> str:
    """Which metadata says so, and how far it reaches; nothing where it is in the log directory itself."""
    if absolute(os.path.dirname(topics.path)) == absolute(log_directory.path):
        return ""
    return f" ({metadata_words(topics)})"


def _why_stray(topics: Topics, topic_id: bytes, name: tree.DirectoryName, node_id: int | None) -> str:
    if topic_id not in topics.names:
        now = topics.id_of(name.topic)
        there = f"the cluster has no topic {name.topic}" if now is None else f"topic {name.topic} has {text_of(now)}"
        return f"no topic has the id {text_of(topic_id)} of its {tree.PARTITION_METADATA}; {there}"
    replicas = topics.replicas.get((topic_id, name.partition))
    if replicas is None:
        return f"topic {topics.names[topic_id]} has no partition {name.partition}"
    if node_id is not None and node_id not in replicas:
        return f"its replicas are on {', '.join(map(str, replicas))}, and this is broker {node_id}"
    return ""


def _set_aside(row: Forecast, reason: str) -> None:
    row.also = [word for word in (row.outcome, *row.also) if word != KEEP]
    row.outcome = STRAY
    row.was_never_written = tree.was_never_written(row.path)
    row.log_start = row.log_end = row.segments = None
    row.end_differs = False
    row.reason = reason


# --- failures


def _fail_as_duplicate(row: Forecast, other: str) -> None:
    """The start fails because the partition is in two log directories. Kafka: LogManager.loadLog."""
    row.duplicate = other
    _fail(row, ILLEGAL_STATE, f"another directory of this broker has the partition, too: {other}")


def _fail(row: Forecast, exception: str, reason: str) -> None:
    """The start fails after the log was loaded, unless that fails."""
    if row.outcome != DIE:
        row.also = [word for word in (row.outcome, *row.also) if word != KEEP]
        row.outcome = DIE
        row.log_start = row.log_end = row.segments = None
        row.end_differs = False
        row.exception, row.reason = exception, reason


def _deny(row: Forecast, denied: Denial) -> None:
    """A file that the broker may not read or write takes the log directory offline, if our assumption about its user holds."""
    if not denied.is_certain:
        _depend(row, f"{denied.reason}: its start fails", is_likely=denied.is_alone)
        row.is_denied |= denied.is_alone
    elif row.outcome != DIE:
        _leave_as_it_is(row, OFFLINE, denied.reason)
        row.is_denied = True


def _fail_before_loading(row: Forecast, failure: Failure) -> None:
    _leave_as_it_is(row, failure.outcome, failure.reason)
    row.exception = failure.exception if failure.outcome == DIE else None
    row.is_not_loaded = True


def _leave_as_it_is(row: Forecast, outcome: str, reason: str) -> None:
    """Nothing is loaded, so no file changes."""
    row.outcome, row.also, row.reason, row.exception = outcome, [], reason, None
    row.log_start = row.log_end = row.segments = None
    row.end_differs = False
    row.bytes_lost = row.lost_records = 0
    row.lost_offsets, row.segments_gone, row.files = [], [], []
    row.events = type(row.events)()
