"""What consumers exchange in group metadata: subscriptions and assignments."""

from __future__ import annotations

from kdump.messages.schema import Field, Message

SUBSCRIPTION = Message(
    "ConsumerProtocolSubscription",
    Field("topics", "[]string"),
    Field("userData", "bytes", nullable_since=0, default_is_null=True),
    Field(
        "ownedPartitions",
        "[]TopicPartition",
        Field("topic", "string", since=1),
        Field("partitions", "[]int32", since=1),
        since=1,
    ),
    Field("generationId", "int32", since=2, default=-1),
    Field("rackId", "string", since=3, nullable_since=3, default_is_null=True),
    # Version 0: 0.9.0.0
    # Version 1: 2.4.0, KIP-429 (KAFKA-8179)
    # Version 2: 3.4.0, KIP-792 (KAFKA-13715)
    # Version 3: 3.4.0, KIP-881 (KAFKA-14352)
    last_version=3,
)

ASSIGNMENT = Message(
    "ConsumerProtocolAssignment",
    Field("assignedPartitions", "[]TopicPartition", Field("topic", "string"), Field("partitions", "[]int32")),
    Field("userData", "bytes", nullable_since=0, default_is_null=True),
    # Version 0: 0.9.0.0
    # Version 1: 2.4.0, KIP-429 (KAFKA-8179)
    # Version 2: 3.4.0, KIP-792 (KAFKA-13715)
    # Version 3: 3.4.0, KIP-881 (KAFKA-14352)
    last_version=3,
)
