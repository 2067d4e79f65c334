"""The records of the topic __remote_log_metadata."""

from __future__ import annotations

from kdump.messages.schema import Field, Message

RECORDS: dict[int, Message] = {
    0: Message(
        "RemoteLogSegmentMetadataRecord",
        Field(
            "remoteLogSegmentId",
            "RemoteLogSegmentIdEntry",
            Field(
                "topicIdPartition",
                "TopicIdPartitionEntry",
                Field("name", "string"),
                Field("id", "uuid"),
                Field("partition", "int32"),
            ),
            Field("id", "uuid"),
        ),
        Field("startOffset", "int64"),
        Field("endOffset", "int64"),
        Field("brokerId", "int32"),
        Field("maxTimestampMs", "int64"),
        Field("eventTimestampMs", "int64"),
        Field("segmentLeaderEpochs", "[]SegmentLeaderEpochEntry", Field("leaderEpoch", "int32"), Field("offset", "int64")),
        Field("segmentSizeInBytes", "int32"),
        Field("customMetadata", "bytes", nullable_since=0, default_is_null=True),
        Field("remoteLogSegmentState", "int8"),
        Field("txnIndexEmpty", "bool", tag=0),
        flexible_since=0,
        last_version=0,
    ),
    1: Message(
        "RemoteLogSegmentMetadataUpdateRecord",
        Field(
            "remoteLogSegmentId",
            "RemoteLogSegmentIdEntry",
            Field(
                "topicIdPartition",
                "TopicIdPartitionEntry",
                Field("name", "string"),
                Field("id", "uuid"),
                Field("partition", "int32"),
            ),
            Field("id", "uuid"),
        ),
        Field("brokerId", "int32"),
        Field("eventTimestampMs", "int64"),
        Field("customMetadata", "bytes", nullable_since=0, default_is_null=True),
        Field("remoteLogSegmentState", "int8"),
        flexible_since=0,
        last_version=0,
    ),
    2: Message(
        "RemotePartitionDeleteMetadataRecord",
        Field(
            "topicIdPartition", "TopicIdPartitionEntry", Field("name", "string"), Field("id", "uuid"), Field("partition", "int32")
        ),
        Field("brokerId", "int32"),
        Field("eventTimestampMs", "int64"),
        Field("remotePartitionDeleteState", "int8"),
        flexible_since=0,
        last_version=0,
    ),
    3: Message(
        "RemoteLogSegmentMetadataSnapshotRecord",
        Field("segmentId", "uuid"),
        Field("startOffset", "int64"),
        Field("endOffset", "int64"),
        Field("brokerId", "int32"),
        Field("maxTimestampMs", "int64"),
        Field("eventTimestampMs", "int64"),
        Field("segmentLeaderEpochs", "[]SegmentLeaderEpochEntry", Field("leaderEpoch", "int32"), Field("offset", "int64")),
        Field("segmentSizeInBytes", "int32"),
        Field("customMetadata", "bytes", nullable_since=0, default_is_null=True),
        Field("remoteLogSegmentState", "int8"),
        Field("txnIndexEmpty", "bool", tag=0),
        flexible_since=0,
        last_version=0,
    ),
}
"""The messages by the id in front of them."""
