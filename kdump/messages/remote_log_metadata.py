"""The records of the topic __remote_log_metadata."""

from __future__ import annotations

from kdump.messages.schema import Field, Message, flexible_message

_TOPIC_ID_PARTITION = Field(
    "topicIdPartition", "TopicIdPartitionEntry", Field("name", "string"), Field("id", "uuid"), Field("partition", "int32")
)
_SEGMENT_ID = Field("remoteLogSegmentId", "RemoteLogSegmentIdEntry", _TOPIC_ID_PARTITION, Field("id", "uuid"))
_CUSTOM_METADATA = Field("customMetadata", "bytes", nullable_since=0, default_is_null=True)
_SEGMENT = (
    Field("startOffset", "int64"),
    Field("endOffset", "int64"),
    Field("brokerId", "int32"),
    Field("maxTimestampMs", "int64"),
    Field("eventTimestampMs", "int64"),
    Field("segmentLeaderEpochs", "[]SegmentLeaderEpochEntry", Field("leaderEpoch", "int32"), Field("offset", "int64")),
    Field("segmentSizeInBytes", "int32"),
    _CUSTOM_METADATA,
    Field("remoteLogSegmentState", "int8"),
    Field("txnIndexEmpty", "bool", tag=0),
)

# Version 0, unless a record says otherwise: 3.0.0, KIP-405 (KAFKA-12429)
RECORDS: dict[int, Message] = {
    0: flexible_message("RemoteLogSegmentMetadataRecord", _SEGMENT_ID, *_SEGMENT),
    1: flexible_message(
        "RemoteLogSegmentMetadataUpdateRecord",
        _SEGMENT_ID,
        Field("brokerId", "int32"),
        Field("eventTimestampMs", "int64"),
        _CUSTOM_METADATA,
        Field("remoteLogSegmentState", "int8"),
    ),
    2: flexible_message(
        "RemotePartitionDeleteMetadataRecord",
        _TOPIC_ID_PARTITION,
        Field("brokerId", "int32"),
        Field("eventTimestampMs", "int64"),
        Field("remotePartitionDeleteState", "int8"),
    ),
    # Version 0: 3.1.0, KIP-405 (KAFKA-12802)
    3: flexible_message("RemoteLogSegmentMetadataSnapshotRecord", Field("segmentId", "uuid"), *_SEGMENT),
}
"""The messages by record id."""
