"""The records of the topic __share_group_state: the progress of share groups."""

from __future__ import annotations

from kdump.messages.schema import Field, Message, flexible_message

_KEY = (
    Field("groupId", "string"),
    Field("topicId", "uuid"),
    Field("partition", "int32"),
)
_STATE_BATCHES = Field(
    "stateBatches",
    "[]StateBatch",
    Field("firstOffset", "int64"),
    Field("lastOffset", "int64"),
    Field("deliveryState", "int8"),
    Field("deliveryCount", "int16"),
)

# Version 0: 4.1.0, KIP-932
RECORDS: dict[int, tuple[Message, Message]] = {
    0: (
        Message("ShareSnapshotKey", *_KEY),
        flexible_message(
            "ShareSnapshotValue",
            Field("snapshotEpoch", "int32"),
            Field("stateEpoch", "int32"),
            Field("leaderEpoch", "int32"),
            Field("startOffset", "int64"),
            Field("deliveryCompleteCount", "int32", tag=0, default=-1),
            Field("createTimestamp", "int64"),
            Field("writeTimestamp", "int64"),
            _STATE_BATCHES,
        ),
    ),
    1: (
        Message("ShareUpdateKey", *_KEY),
        flexible_message(
            "ShareUpdateValue",
            Field("snapshotEpoch", "int32"),
            Field("leaderEpoch", "int32"),
            Field("startOffset", "int64"),
            Field("deliveryCompleteCount", "int32", tag=0, default=-1),
            _STATE_BATCHES,
        ),
    ),
}
"""The messages of key and value, by the record type at the start of the key."""

# Version 0: 4.0.0, KIP-932
EARLIER_RECORDS: dict[int, tuple[Message, Message]] = {
    0: (
        Message("ShareSnapshotKey", *_KEY),
        flexible_message(
            "ShareSnapshotValue",
            Field("snapshotEpoch", "uint16"),
            Field("stateEpoch", "int32"),
            Field("leaderEpoch", "int32"),
            Field("startOffset", "int64"),
            _STATE_BATCHES,
        ),
    ),
    1: (
        Message("ShareUpdateKey", *_KEY),
        flexible_message(
            "ShareUpdateValue",
            Field("snapshotEpoch", "uint16"),
            Field("leaderEpoch", "int32"),
            Field("startOffset", "int64"),
            _STATE_BATCHES,
        ),
    ),
}
"""The same messages in the early access of share groups."""
