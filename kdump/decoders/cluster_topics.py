"""The topics in the `__cluster_metadata` of a log directory: their ids, the replicas of their partitions, and their configs.

And the log directories that brokers have registered, which show whose metadata it is.

Kafka: TopicsImage, ConfigurationsImage; LogManager.isStrayKraftReplica (since 3.7).
"""

from __future__ import annotations

import os

from kdump.binary import system
from kdump.binary.source import Source
from kdump.decoders import metadata
from kdump.errors import CorruptData, MissingPackage, Unreadable
from kdump.formats import file_name, records, tree
from kdump.formats.log import Log
from kdump.messages.cluster_metadata import RECORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.formats.record import RecordChunk
    from kdump.messages.schema import Value

METADATA_DIRECTORY = f"{tree.METADATA_TOPIC}-0"

_TOPIC, _PARTITION, _CONFIG, _PARTITION_CHANGE, _REMOVE_TOPIC, _REGISTRATION, _REGISTRATION_CHANGE = 2, 3, 4, 5, 9, 0, 17
_BEGIN_TRANSACTION, _END_TRANSACTION, _ABORT_TRANSACTION = 23, 24, 25
_OF_BROKERS = (_REGISTRATION, _REGISTRATION_CHANGE)
_OF_TOPICS = (_TOPIC, _PARTITION, _CONFIG, _PARTITION_CHANGE, _REMOVE_TOPIC)
_REPLAYED = {id: RECORDS[id] for id in (*_OF_TOPICS, *_OF_BROKERS, _BEGIN_TRANSACTION, _END_TRANSACTION, _ABORT_TRANSACTION)}
_TOPIC_RESOURCE = 2
"""The type of the resource of a topic's configs. Kafka: ConfigResource.Type."""

CLEANUP_POLICY, REMOTE_STORAGE = "cleanup.policy", "remote.storage.enable"


class Topics:
    """The topics of a cluster, up to the end of the metadata in one log directory.

    `configs` are those set for a topic, by its name; `were_compacted` names topics that had a `cleanup.policy` with compaction at
    some time. `directories` are the ids of the log directories that a node has registered so far (since 3.7.0; KIP-858).
    `path` is the directory of the metadata log; `last_offset` is that of its last batch (-1 if there is none) and `timestamp` the
    time of that batch, in milliseconds since 1970. A whole snapshot `ends_with_footer`, a control batch after its header.
    """

    def __init__(self, path: str = "") -> None:
        self.names: dict[bytes, str] = {}
        self.replicas: dict[tuple[bytes, int], list[int]] = {}
        self.configs: dict[str, dict[str, str]] = {}
        self.were_compacted: set[str] = set()
        self.directories: dict[int, set[bytes]] = {}
        self.path = path
        self.last_offset = self.timestamp = -1
        self.ends_with_footer = False

    def id_of(self, name: str) -> bytes | None:
        """The id of the topic that currently has a name."""
        return next((topic_id for topic_id, other in self.names.items() if other == name), None)

    def are_of(self, node_id: int | None, directory_id: bytes | None) -> bool:
        """Whether this may be the metadata of a node's log directory: it is not if the node has only registered other ones."""
        registered = self.directories.get(-1 if node_id is None else node_id)
        return directory_id is None or not registered or directory_id in registered

    def replay(self, record_id: int, fields: dict[str, Value]) -> None:
        """Apply one record."""
        if record_id == _CONFIG:
            self._configure(fields)
        elif record_id in _OF_BROKERS:
            registered = self.directories.setdefault(int(str(fields["brokerId"])), set())
            registered.update(fields.get("logDirs", ()))  # type: ignore[arg-type]  # a list of ids, by its schema
        topic_id = fields.get("topicId")
        if not isinstance(topic_id, bytes):
            return
        if record_id == _TOPIC:
            self.names[topic_id] = str(fields["name"])
        elif record_id == _REMOVE_TOPIC:
            self._forget_configs(self.names.pop(topic_id, None))
            for key in [key for key in self.replicas if key[0] == topic_id]:
                del self.replicas[key]
        elif isinstance(replicas := fields["replicas"], list):  # a change without them is null
            self.replicas[topic_id, int(str(fields["partitionId"]))] = [int(str(replica)) for replica in replicas]

    def _configure(self, fields: dict[str, Value]) -> None:
        """Set a config of a topic, or take it back: then its value is null."""
        if fields["resourceType"] != _TOPIC_RESOURCE:
            return
        topic, name, value = str(fields["resourceName"]), str(fields["name"]), fields["value"]
        if value is None:
            self.configs.get(topic, {}).pop(name, None)
            return
        self.configs.setdefault(topic, {})[name] = str(value)
        if name == CLEANUP_POLICY and "compact" in str(value):
            self.were_compacted.add(topic)

    def _forget_configs(self, topic: str | None) -> None:
        if topic is not None:
            self.configs.pop(topic, None)
            self.were_compacted.discard(topic)

    def copy(self) -> Topics:
        topics = Topics(self.path)
        topics.names, topics.replicas = dict(self.names), dict(self.replicas)
        topics.configs = {topic: dict(configs) for topic, configs in self.configs.items()}
        topics.were_compacted = set(self.were_compacted)
        return topics

    def restore(self, before: Topics) -> None:
        """Undo what was applied since `before` was copied."""
        self.names, self.replicas = before.names, before.replicas
        self.configs, self.were_compacted = before.configs, before.were_compacted


def topics_in(log_directory: str) -> Topics | None:
    """The topics in the metadata of a log directory, or None if there is no metadata or not all of it makes sense.

    Raises Unreadable where the system does not give all of it.
    """
    path = os.path.join(log_directory, METADATA_DIRECTORY)
    try:
        names = system.names(path)
        return _topics(path, names)
    except Unreadable as error:
        if error.code in ("file-io-error", "file-shrank"):
            raise
        return None
    except (CorruptData, MissingPackage):
        return None


def _topics(path: str, names: list[str]) -> Topics | None:
    snapshots = file_name.kraft_snapshots(names)
    logs = [name for name in names if name.endswith(file_name.LOG) and tree.base_offset_of(name) is not None]
    if not logs:
        return None
    topics, start = Topics(path), 0
    if snapshots:
        start, _, newest = snapshots[-1]
        _replay(topics, [newest], 0)
        if not topics.ends_with_footer:
            return None  # what it lacks may be any topic
        topics.last_offset, topics.timestamp = start - 1, -1  # its batches have offsets of their own
    if file_name.base_offset(logs[0]) > start:
        return None  # the first records are missing
    return _replay(topics, logs, start)


def _replay(topics: Topics, names: list[str], start: int) -> Topics:
    """Apply all records from an offset on, except those of aborted transactions."""
    before = topics.copy()
    for record_id, fields in _records(topics, names, start):
        if record_id == _BEGIN_TRANSACTION:
            before = topics.copy()
        elif record_id == _ABORT_TRANSACTION:
            topics.restore(before)
        else:
            topics.replay(record_id, fields)
    return topics


def _records(topics: Topics, names: list[str], start: int) -> Iterator[tuple[int, dict[str, Value]]]:
    """The records in files of the metadata. Raises CorruptData where batches are missing: no cleaner removes any."""
    next_offset: int | None = None
    for name in names:
        with Source(os.path.join(topics.path, name)) as source:
            for chunk in Log(source).chunks():
                batches = chunk.batches
                for first, last in zip(batches["base_offset"], batches["last_offset"], strict=True):
                    if next_offset is not None and first != next_offset:
                        raise CorruptData("meta-log-gap", f"offset {next_offset} of the metadata is missing")
                    next_offset = last + 1
                if len(chunk):
                    topics.last_offset, topics.timestamp = batches["last_offset"][-1], batches["timestamp"][-1]
                    topics.ends_with_footer = batches["is_control"][-1] and topics.last_offset > 0
                for part in records.read(source, chunk):
                    yield from _records_of(part, start)


def _records_of(part: RecordChunk, start: int) -> Iterator[tuple[int, dict[str, Value]]]:
    """The records of a chunk that concern topics or transactions."""
    row = 0
    for batch, count in enumerate(part.counts):
        if not part.batches["isvalid"][batch]:
            raise CorruptData("crc-mismatch", "a batch of the metadata is damaged")
        for offset, value in zip(
            part.records["offset"][row : row + count], part.records["value"][row : row + count], strict=True
        ):
            if not part.batches["is_control"][batch] and offset >= start:
                try:
                    record = metadata.read(_REPLAYED, value)
                except CorruptData as fault:
                    if fault.code != "metadata-id-unknown":
                        raise
                    continue
                yield record.id, record.fields
        row += count
