"""Prints metadata of remote log segments as Java's toString does."""

from __future__ import annotations

from functools import lru_cache

from kdump.decoders import remote_log_metadata
from kdump.messages.kafka_json import uuid_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.decoders.metadata import MetadataRecord
    from kdump.messages.schema import Value

_CACHED_UUIDS = 4096  # those of segments return with each change of their state

TEXTS = {
    remote_log_metadata.SEGMENT: (
        "RemoteLogSegmentMetadata{{remoteLogSegmentId={remoteLogSegmentId}, startOffset={startOffset}, endOffset={endOffset},"
        " brokerId={brokerId}, maxTimestampMs={maxTimestampMs}, eventTimestampMs={eventTimestampMs},"
        " segmentLeaderEpochs={segmentLeaderEpochs}, segmentSizeInBytes={segmentSizeInBytes},"
        " customMetadata={customMetadata}, state={state}{txnIndexEmpty}}}"
    ),
    remote_log_metadata.SEGMENT_UPDATE: (
        "RemoteLogSegmentMetadataUpdate{{remoteLogSegmentId={remoteLogSegmentId}, customMetadata={customMetadata},"
        " state={state}, eventTimestampMs={eventTimestampMs}, brokerId={brokerId}}}"
    ),
    remote_log_metadata.PARTITION_DELETE: (
        "RemotePartitionDeleteMetadata{{topicPartition={topicIdPartition}, state={state},"
        " eventTimestampMs={eventTimestampMs}, brokerId={brokerId}}}"
    ),
    remote_log_metadata.SEGMENT_SNAPSHOT: (
        "RemoteLogSegmentMetadataSnapshot{{segmentId={segmentId}, startOffset={startOffset}, endOffset={endOffset},"
        " maxTimestampMs={maxTimestampMs}, segmentLeaderEpochs={segmentLeaderEpochs}, segmentSizeInBytes={segmentSizeInBytes},"
        " customMetadata={customMetadata}, state={state}{txnIndexEmpty}}}"
    ),
}


def text_of(record: MetadataRecord) -> str:
    """The text of a record that `remote_log_metadata.check` accepts."""
    name, states = remote_log_metadata.state_of(record.id)
    fields = record.fields
    state = fields[name]
    assert isinstance(state, int)
    texts = {field: text(fields[field]) for field, text in _TEXT_OF.items() if field in fields}  # others are numbers
    return TEXTS[record.id].format(**{"txnIndexEmpty": ""} | fields | texts, state=states[state])


@lru_cache(_CACHED_UUIDS)
def _uuid(value: bytes) -> str:
    return uuid_text(value)


def _uuid_of(value: Value) -> str:
    assert isinstance(value, bytes)
    return _uuid(value)


def _partition(value: Value) -> str:
    assert isinstance(value, dict)
    name, partition = value["name"], value["partition"]
    assert isinstance(name, str) and isinstance(partition, int)
    return f"{_uuid_of(value['id'])}:{name}-{partition}"


def _segment_id(value: Value) -> str:
    assert isinstance(value, dict)
    return f"RemoteLogSegmentId{{topicIdPartition={_partition(value['topicIdPartition'])}, id={_uuid_of(value['id'])}}}"


def _epochs(value: Value) -> str:
    assert isinstance(value, list)
    offsets: dict[int, int] = {}
    for entry in value:
        assert isinstance(entry, dict)
        epoch, offset = entry["leaderEpoch"], entry["offset"]
        assert isinstance(epoch, int) and isinstance(offset, int)
        offsets[epoch] = offset
    return "{" + ", ".join(f"{epoch}={offset}" for epoch, offset in sorted(offsets.items())) + "}"


def _custom_metadata(value: Value) -> str:
    assert value is None or isinstance(value, bytes)
    return "Optional.empty" if value is None else f"Optional[CustomMetadata{{{len(value)} bytes}}]"


def _transaction_index(value: Value) -> str:
    return f", txnIdxEmpty={'true' if value else 'false'}"


_TEXT_OF = {
    "topicIdPartition": _partition,
    "remoteLogSegmentId": _segment_id,
    "segmentId": _uuid_of,
    "segmentLeaderEpochs": _epochs,
    "customMetadata": _custom_metadata,
    "txnIndexEmpty": _transaction_index,
}
