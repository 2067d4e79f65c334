"""Prints metadata of remote log segments as Java's toString does."""

from __future__ import annotations

from kdump.decoders import remote_log_metadata
from kdump.messages.kafka_json import uuid_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.decoders.metadata import MetadataRecord
    from kdump.messages.schema import Value

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
    state = record.fields[name]
    assert isinstance(state, int)
    texts = {field: _TEXT_OF.get(field, _plain)(value) for field, value in record.fields.items()}
    return TEXTS[record.id].format(**{"txnIndexEmpty": ""} | texts, state=states[state])


def _plain(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return uuid_text(value) if isinstance(value, bytes) else str(value)


def _partition(value: Value) -> str:
    assert isinstance(value, dict)
    return f"{_plain(value['id'])}:{_plain(value['name'])}-{_plain(value['partition'])}"


def _segment_id(value: Value) -> str:
    assert isinstance(value, dict)
    return f"RemoteLogSegmentId{{topicIdPartition={_partition(value['topicIdPartition'])}, id={_plain(value['id'])}}}"


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
    return f", txnIdxEmpty={_plain(value)}"


_TEXT_OF = {
    "topicIdPartition": _partition,
    "remoteLogSegmentId": _segment_id,
    "segmentLeaderEpochs": _epochs,
    "customMetadata": _custom_metadata,
    "txnIndexEmpty": _transaction_index,
}
