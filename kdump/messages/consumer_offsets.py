"""The records of the topic __consumer_offsets: committed offsets and the state of groups."""

from __future__ import annotations

from kdump.messages.schema import Field, Message, flexible_message

_GROUP, _MEMBER = Field("groupId", "string"), Field("memberId", "string")
_MEMBER_METADATA = (
    _MEMBER,
    Field("groupInstanceId", "string", since=3, nullable_since=3, default_is_null=True),
    Field("clientId", "string"),
    Field("clientHost", "string"),
    Field("rebalanceTimeout", "int32", since=1, default=-1),
    Field("sessionTimeout", "int32"),
    Field("subscription", "bytes"),
    Field("assignment", "bytes"),
)
_TOPIC_PARTITION = (
    Field("topicId", "uuid"),
    Field("partitions", "[]int32"),
)
_ASSIGNMENT_EPOCHS = Field("assignmentEpochs", "[]int32", nullable_since=0, tag=0)
_TOPIC_PARTITIONS = (*_TOPIC_PARTITION, _ASSIGNMENT_EPOCHS)
_TOPIC_PARTITIONS_INFO = (
    Field("topicId", "uuid"),
    Field("topicName", "string"),
    Field("partitions", "[]int32"),
)
_TOPIC_INFO = (
    Field("topicId", "uuid"),
    Field("topicName", "string"),
)
_ENDPOINT = (
    Field("host", "string"),
    Field("port", "uint16"),
)
_KEY_VALUE = (
    Field("key", "string"),
    Field("value", "string"),
)
_TASK_IDS = (
    Field("subtopologyId", "string"),
    Field("partitions", "[]int32"),
)
_ASSIGNED_TASK_IDS = (*_TASK_IDS, _ASSIGNMENT_EPOCHS)
_INTERNAL_TOPIC_INFO = (
    Field("name", "string"),
    Field("partitions", "int32"),
    Field("replicationFactor", "int16"),
    Field("topicConfigs", "[]TopicConfig", *_KEY_VALUE, is_common=True),
)
_TOPIC_METADATA = (
    Field("topicId", "uuid"),
    Field("topicName", "string"),
    Field("numPartitions", "int32"),
    Field("partitionMetadata", "[]PartitionMetadata", Field("partition", "int32"), Field("racks", "[]string")),
)

RECORDS: dict[int, tuple[Message, Message]] = {
    0: (
        Message(
            "LegacyOffsetCommitKey",
            Field("group", "string"),
            Field("topic", "string"),
            Field("partition", "int32"),
        ),
        Message(
            "LegacyOffsetCommitValue",
            Field("offset", "int64"),
            Field("metadata", "string"),
            Field("commitTimestamp", "int64"),
            # Version 0: 0.8.2.0 (KAFKA-1012)
            last_version=0,
        ),
    ),
    1: (
        Message(
            "OffsetCommitKey",
            Field("group", "string"),
            Field("topic", "string"),
            Field("partition", "int32"),
        ),
        Message(
            "OffsetCommitValue",
            Field("offset", "int64"),
            Field("leaderEpoch", "int32", since=3, default=-1),
            Field("metadata", "string"),
            Field("commitTimestamp", "int64"),
            Field("expireTimestamp", "int64", since=1, until=2, default=-1),
            Field("topicId", "uuid", since=4, tag=0, tagged_since=4),
            flexible_since=4,
            # Version 0: 0.8.2.0 (KAFKA-1012)
            # Version 1: 0.9.0.0
            # Version 2: 2.1.0, KIP-211 (KAFKA-4682)
            # Version 3: 2.1.0, KIP-320 (KAFKA-7437)
            # Version 4: 3.4.1, KIP-915 (KAFKA-14869)
            last_version=4,
        ),
    ),
    2: (
        Message(
            "GroupMetadataKey",
            Field("group", "string"),
        ),
        Message(
            "GroupMetadataValue",
            Field("protocolType", "string"),
            Field("generation", "int32"),
            Field("protocol", "string", nullable_since=0),
            Field("leader", "string", nullable_since=0),
            Field("currentStateTimestamp", "int64", since=2, default=-1),
            Field("members", "[]MemberMetadata", *_MEMBER_METADATA, is_common=True),
            flexible_since=4,
            # Version 0: 0.9.0.0 (KAFKA-2017)
            # Version 1: 0.10.1.0, KIP-62 (KAFKA-3888)
            # Version 2: 2.1.0, KIP-211 (KAFKA-4682)
            # Version 3: 2.3.0, KIP-345 (KAFKA-7862)
            # Version 4: 3.4.1, KIP-915 (KAFKA-14869)
            last_version=4,
        ),
    ),
    3: (
        Message("ConsumerGroupMetadataKey", _GROUP),
        # Version 0: 3.5.0, KIP-848 (KAFKA-14462)
        flexible_message("ConsumerGroupMetadataValue", Field("epoch", "int32"), Field("metadataHash", "int64", tag=0)),
    ),
    4: (
        Message("ConsumerGroupPartitionMetadataKey", _GROUP),
        # Version 0: 3.5.0, KIP-848 (KAFKA-14462)
        flexible_message("ConsumerGroupPartitionMetadataValue", Field("topics", "[]TopicMetadata", *_TOPIC_METADATA)),
    ),
    5: (
        Message("ConsumerGroupMemberMetadataKey", _GROUP, _MEMBER),
        flexible_message(
            "ConsumerGroupMemberMetadataValue",
            Field("instanceId", "string", nullable_since=0),
            Field("rackId", "string", nullable_since=0),
            Field("clientId", "string"),
            Field("clientHost", "string"),
            Field("subscribedTopicNames", "[]string"),
            Field("subscribedTopicRegex", "string", nullable_since=0),
            Field("rebalanceTimeoutMs", "int32", default=-1),
            Field("serverAssignor", "string", nullable_since=0),
            Field(
                "classicMemberMetadata",
                "ClassicMemberMetadata",
                Field("sessionTimeoutMs", "int32"),
                Field("supportedProtocols", "[]ClassicProtocol", Field("name", "string"), Field("metadata", "bytes")),
                nullable_since=0,
                tag=0,
            ),
            # Version 0: 3.5.0, KIP-848 (KAFKA-14462)
        ),
    ),
    6: (
        Message("ConsumerGroupTargetAssignmentMetadataKey", _GROUP),
        flexible_message(
            "ConsumerGroupTargetAssignmentMetadataValue",
            Field("assignmentEpoch", "int32"),
            Field("assignmentTimestamp", "int64", tag=0),
            # Version 0: 3.5.0, KIP-848 (KAFKA-14462)
        ),
    ),
    7: (
        Message("ConsumerGroupTargetAssignmentMemberKey", _GROUP, _MEMBER),
        flexible_message(
            "ConsumerGroupTargetAssignmentMemberValue",
            Field("topicPartitions", "[]TopicPartition", *_TOPIC_PARTITION),
            # Version 0: 3.5.0, KIP-848 (KAFKA-14462)
        ),
    ),
    8: (
        Message("ConsumerGroupCurrentMemberAssignmentKey", _GROUP, _MEMBER),
        flexible_message(
            "ConsumerGroupCurrentMemberAssignmentValue",
            Field("memberEpoch", "int32"),
            Field("previousMemberEpoch", "int32"),
            Field("state", "int8"),
            Field("assignedPartitions", "[]TopicPartitions", *_TOPIC_PARTITIONS, is_common=True),
            Field("partitionsPendingRevocation", "[]TopicPartitions", *_TOPIC_PARTITIONS, is_common=True),
            # Version 0: 3.5.0, KIP-848 (KAFKA-14462)
        ),
    ),
    10: (
        Message("ShareGroupMemberMetadataKey", _GROUP, _MEMBER),
        flexible_message(
            "ShareGroupMemberMetadataValue",
            Field("rackId", "string", nullable_since=0),
            Field("clientId", "string"),
            Field("clientHost", "string"),
            Field("subscribedTopicNames", "[]string"),
            # Version 0: 3.9.0, KIP-932 (KAFKA-16741)
        ),
    ),
    11: (
        Message("ShareGroupMetadataKey", _GROUP),
        # Version 0: 3.9.0, KIP-932 (KAFKA-16741)
        flexible_message("ShareGroupMetadataValue", Field("epoch", "int32"), Field("metadataHash", "int64")),
    ),
    12: (
        Message("ShareGroupTargetAssignmentMetadataKey", _GROUP),
        flexible_message(
            "ShareGroupTargetAssignmentMetadataValue",
            Field("assignmentEpoch", "int32"),
            Field("assignmentTimestamp", "int64", tag=0),
            # Version 0: 4.0.0, KIP-932 (KAFKA-17247)
        ),
    ),
    13: (
        Message("ShareGroupTargetAssignmentMemberKey", _GROUP, _MEMBER),
        flexible_message(
            "ShareGroupTargetAssignmentMemberValue",
            Field("topicPartitions", "[]TopicPartition", *_TOPIC_PARTITION),
            # Version 0: 4.0.0, KIP-932 (KAFKA-17247)
        ),
    ),
    14: (
        Message("ShareGroupCurrentMemberAssignmentKey", _GROUP, _MEMBER),
        flexible_message(
            "ShareGroupCurrentMemberAssignmentValue",
            Field("memberEpoch", "int32"),
            Field("previousMemberEpoch", "int32"),
            Field("state", "int8"),
            Field("assignedPartitions", "[]TopicPartitions", *_TOPIC_PARTITION, is_common=True),
            # Version 0: 4.0.0, KIP-932 (KAFKA-17247)
        ),
    ),
    15: (
        Message("ShareGroupStatePartitionMetadataKey", _GROUP),
        flexible_message(
            "ShareGroupStatePartitionMetadataValue",
            Field("initializingTopics", "[]TopicPartitionsInfo", *_TOPIC_PARTITIONS_INFO, is_common=True),
            Field("initializedTopics", "[]TopicPartitionsInfo", *_TOPIC_PARTITIONS_INFO, is_common=True),
            Field("deletingTopics", "[]TopicInfo", *_TOPIC_INFO, is_common=True),
            # Version 0: 4.0.0, KIP-932
        ),
    ),
    16: (
        Message(
            "ConsumerGroupRegularExpressionKey",
            Field("groupId", "string"),
            Field("regularExpression", "string"),
        ),
        flexible_message(
            "ConsumerGroupRegularExpressionValue",
            Field("topics", "[]string"),
            Field("version", "int64"),
            Field("timestamp", "int64"),
            # Version 0: 4.0.0, KIP-848 (KAFKA-17593)
        ),
    ),
    17: (
        Message("StreamsGroupMetadataKey", _GROUP),
        flexible_message(
            "StreamsGroupMetadataValue",
            Field("epoch", "int32"),
            Field("metadataHash", "int64"),
            Field("validatedTopologyEpoch", "int32", tag=0, default=-1),
            Field("lastAssignmentConfigs", "[]LastAssignmentConfig", *_KEY_VALUE, is_common=True, nullable_since=0, tag=1),
            Field("storedDescriptionTopologyEpoch", "int32", tag=2, default=-1),
            Field("failedDescriptionTopologyEpoch", "int32", tag=3, default=-1),
            # Version 0: 4.1.0, KIP-1071 (KAFKA-18284)
        ),
    ),
    19: (
        Message("StreamsGroupMemberMetadataKey", _GROUP, _MEMBER),
        flexible_message(
            "StreamsGroupMemberMetadataValue",
            Field("instanceId", "string", nullable_since=0),
            Field("rackId", "string", nullable_since=0),
            Field("clientId", "string"),
            Field("clientHost", "string"),
            Field("rebalanceTimeoutMs", "int32", default=-1),
            Field("topologyEpoch", "int32"),
            Field("processId", "string"),
            Field("userEndpoint", "Endpoint", *_ENDPOINT, is_common=True, nullable_since=0, default_is_null=True),
            Field("clientTags", "[]KeyValue", *_KEY_VALUE, is_common=True),
            # Version 0: 4.1.0, KIP-1071 (KAFKA-18284)
        ),
    ),
    20: (
        Message("StreamsGroupTargetAssignmentMetadataKey", _GROUP),
        flexible_message(
            "StreamsGroupTargetAssignmentMetadataValue",
            Field("assignmentEpoch", "int32"),
            Field("assignmentTimestamp", "int64", tag=0),
            # Version 0: 4.1.0, KIP-1071 (KAFKA-18284)
        ),
    ),
    21: (
        Message("StreamsGroupTargetAssignmentMemberKey", _GROUP, _MEMBER),
        flexible_message(
            "StreamsGroupTargetAssignmentMemberValue",
            Field("activeTasks", "[]TaskIds", *_TASK_IDS, is_common=True),
            Field("standbyTasks", "[]TaskIds", *_TASK_IDS, is_common=True),
            Field("warmupTasks", "[]TaskIds", *_TASK_IDS, is_common=True),
            # Version 0: 4.1.0, KIP-1071 (KAFKA-18284)
        ),
    ),
    22: (
        Message("StreamsGroupCurrentMemberAssignmentKey", _GROUP, _MEMBER),
        flexible_message(
            "StreamsGroupCurrentMemberAssignmentValue",
            Field("memberEpoch", "int32"),
            Field("previousMemberEpoch", "int32"),
            Field("state", "int8"),
            Field("activeTasks", "[]TaskIds", *_ASSIGNED_TASK_IDS, is_common=True),
            Field("standbyTasks", "[]TaskIds", *_ASSIGNED_TASK_IDS, is_common=True),
            Field("warmupTasks", "[]TaskIds", *_ASSIGNED_TASK_IDS, is_common=True),
            Field("activeTasksPendingRevocation", "[]TaskIds", *_ASSIGNED_TASK_IDS, is_common=True),
            Field("standbyTasksPendingRevocation", "[]TaskIds", *_ASSIGNED_TASK_IDS, is_common=True),
            Field("warmupTasksPendingRevocation", "[]TaskIds", *_ASSIGNED_TASK_IDS, is_common=True),
            # Version 0: 4.1.0, KIP-1071 (KAFKA-18284)
        ),
    ),
    23: (
        Message("StreamsGroupTopologyKey", _GROUP),
        flexible_message(
            "StreamsGroupTopologyValue",
            Field("epoch", "int32"),
            Field(
                "subtopologies",
                "[]Subtopology",
                Field("subtopologyId", "string"),
                Field("sourceTopics", "[]string"),
                Field("sourceTopicRegex", "[]string"),
                Field("stateChangelogTopics", "[]TopicInfo", *_INTERNAL_TOPIC_INFO, is_common=True),
                Field("repartitionSinkTopics", "[]string"),
                Field("repartitionSourceTopics", "[]TopicInfo", *_INTERNAL_TOPIC_INFO, is_common=True),
                Field(
                    "copartitionGroups",
                    "[]CopartitionGroup",
                    Field("sourceTopics", "[]int16"),
                    Field("sourceTopicRegex", "[]int16"),
                    Field("repartitionSourceTopics", "[]int16"),
                ),
            ),
            # Version 0: 4.1.0, KIP-1071 (KAFKA-18284)
        ),
    ),
}
"""The messages of key and value, by the record type at the start of the key."""

EARLIER_RECORDS: dict[int, tuple[Message, Message]] = {
    9: (
        Message("ShareGroupPartitionMetadataKey", _GROUP),
        # Version 0: 3.9.0, KIP-932
        flexible_message("ShareGroupPartitionMetadataValue", Field("topics", "[]TopicMetadata", *_TOPIC_METADATA)),
    ),
}
"""Record types from the early access of share groups that are no longer used."""
