"""The records of the topic __cluster_metadata, and of its snapshots."""

from __future__ import annotations

from kdump.messages.schema import Field, Message, flexible_message

ENDPOINT = (
    Field("name", "string"),
    Field("host", "string"),
    Field("port", "uint16"),
    Field("securityProtocol", "int16"),
)
FEATURE = (
    Field("name", "string"),
    Field("minSupportedVersion", "int16"),
    Field("maxSupportedVersion", "int16"),
)
CLIENT_QUOTA = (
    Field("entity", "[]EntityData", Field("entityType", "string"), Field("entityName", "string", nullable_since=0)),
    Field("key", "string"),
    Field("value", "float64"),
    Field("remove", "bool"),
)
CREDENTIAL_INFO = (
    Field("mechanism", "int8"),
    Field("salt", "bytes"),
    Field("saltedPassword", "bytes"),
    Field("iterations", "int32"),
)

# Version 0, unless a record says otherwise: 3.0.0, KIP-746 (KAFKA-12931)
RECORDS: dict[int, Message] = {
    0: flexible_message(
        "RegisterBrokerRecord",
        Field("brokerId", "int32"),
        Field("isMigratingZkBroker", "bool", since=2),
        Field("incarnationId", "uuid"),
        Field("brokerEpoch", "int64"),
        Field("endPoints", "[]BrokerEndpoint", *ENDPOINT, is_keyed=True),
        Field("features", "[]BrokerFeature", *FEATURE, is_keyed=True),
        Field("rack", "string", nullable_since=0),
        Field("fenced", "bool", default=True),
        Field("inControlledShutdown", "bool", since=1),
        Field("logDirs", "[]uuid", since=3, tag=0, tagged_since=3),
        Field("cordonedLogDirs", "[]uuid", since=4, nullable_since=4, tag=1, tagged_since=4, default_is_null=True),
        # Version 1: 3.3.0, KIP-841 (KAFKA-13916)
        # Version 2: 3.4.0, KIP-866 (KAFKA-14304)
        # Version 3: 3.7.0, KIP-858 (KAFKA-15355)
        # Version 4: 4.3.0, KIP-1066 (KAFKA-19774)
        last_version=4,
    ),
    1: flexible_message("UnregisterBrokerRecord", Field("brokerId", "int32"), Field("brokerEpoch", "int64")),
    2: flexible_message("TopicRecord", Field("name", "string"), Field("topicId", "uuid")),
    3: flexible_message(
        "PartitionRecord",
        Field("partitionId", "int32", default=-1),
        Field("topicId", "uuid"),
        Field("replicas", "[]int32"),
        Field("isr", "[]int32"),
        Field("removingReplicas", "[]int32"),
        Field("addingReplicas", "[]int32"),
        Field("leader", "int32", default=-1),
        Field("leaderRecoveryState", "int8", tag=0),
        Field("leaderEpoch", "int32", default=-1),
        Field("partitionEpoch", "int32", default=-1),
        Field("directories", "[]uuid", since=1),
        Field("eligibleLeaderReplicas", "[]int32", since=2, nullable_since=2, tag=1, tagged_since=2, default_is_null=True),
        Field("lastKnownElr", "[]int32", since=2, nullable_since=2, tag=2, tagged_since=2, default_is_null=True),
        # Version 1: 3.7.0, KIP-858 (KAFKA-15355)
        # Version 2: 3.7.0, KIP-966 (KAFKA-15581)
        last_version=2,
    ),
    4: flexible_message(
        "ConfigRecord",
        Field("resourceType", "int8"),
        Field("resourceName", "string"),
        Field("name", "string"),
        Field("value", "string", nullable_since=0),
    ),
    5: flexible_message(
        "PartitionChangeRecord",
        Field("partitionId", "int32", default=-1),
        Field("topicId", "uuid"),
        Field("isr", "[]int32", nullable_since=0, tag=0, default_is_null=True),
        Field("leader", "int32", tag=1, default=-2),
        Field("replicas", "[]int32", nullable_since=0, tag=2, default_is_null=True),
        Field("removingReplicas", "[]int32", nullable_since=0, tag=3, default_is_null=True),
        Field("addingReplicas", "[]int32", nullable_since=0, tag=4, default_is_null=True),
        Field("leaderRecoveryState", "int8", tag=5, default=-1),
        Field("directories", "[]uuid", since=1, nullable_since=1, tag=8, tagged_since=1, default_is_null=True),
        Field("eligibleLeaderReplicas", "[]int32", since=2, nullable_since=2, tag=6, tagged_since=2, default_is_null=True),
        Field("lastKnownElr", "[]int32", since=2, nullable_since=2, tag=7, tagged_since=2, default_is_null=True),
        # Version 1: 3.7.0, KIP-858 (KAFKA-15355)
        # Version 2: 3.7.0, KIP-966 (KAFKA-15581)
        last_version=2,
    ),
    7: flexible_message("FenceBrokerRecord", Field("id", "int32"), Field("epoch", "int64")),
    8: flexible_message("UnfenceBrokerRecord", Field("id", "int32"), Field("epoch", "int64")),
    9: flexible_message("RemoveTopicRecord", Field("topicId", "uuid")),
    10: flexible_message(
        "DelegationTokenRecord",
        Field("owner", "string"),
        Field("requester", "string"),
        Field("renewers", "[]string"),
        Field("issueTimestamp", "int64"),
        Field("maxTimestamp", "int64"),
        Field("expirationTimestamp", "int64"),
        Field("tokenId", "string"),
    ),
    11: flexible_message(
        "UserScramCredentialRecord",
        Field("name", "string"),
        Field("mechanism", "int8"),
        Field("salt", "bytes"),
        Field("storedKey", "bytes"),
        Field("serverKey", "bytes"),
        Field("iterations", "int32"),
        # Version 0: 3.5.0 (KAFKA-14881)
    ),
    # Version 0: 3.3.0, KIP-778 (KAFKA-13410)
    12: flexible_message("FeatureLevelRecord", Field("name", "string"), Field("featureLevel", "int16")),
    14: flexible_message("ClientQuotaRecord", *CLIENT_QUOTA),
    15: flexible_message(
        "ProducerIdsRecord",
        Field("brokerId", "int32"),
        Field("brokerEpoch", "int64", default=-1),
        Field("nextProducerId", "int64"),
        # Version 0: 3.0.0, KIP-730 (KAFKA-12620)
    ),
    17: flexible_message(
        "BrokerRegistrationChangeRecord",
        Field("brokerId", "int32"),
        Field("brokerEpoch", "int64"),
        Field("fenced", "int8", tag=0),
        Field("inControlledShutdown", "int8", since=1, tag=1, tagged_since=1),
        Field("logDirs", "[]uuid", since=2, tag=2, tagged_since=2),
        Field("cordonedLogDirs", "[]uuid", since=3, nullable_since=3, tag=3, tagged_since=3, default_is_null=True),
        # Version 1: 3.3.0, KIP-841 (KAFKA-13916)
        # Version 2: 3.7.0, KIP-858 (KAFKA-15355)
        # Version 3: 4.3.0, KIP-1066 (KAFKA-19774)
        last_version=3,
    ),
    18: flexible_message(
        "AccessControlEntryRecord",
        Field("id", "uuid"),
        Field("resourceType", "int8"),
        Field("resourceName", "string"),
        Field("patternType", "int8"),
        Field("principal", "string"),
        Field("host", "string"),
        Field("operation", "int8"),
        Field("permissionType", "int8"),
        # Version 0: 3.2.0, KIP-801 (KAFKA-13646)
    ),
    # Version 0: 3.2.0, KIP-801 (KAFKA-13646)
    19: flexible_message("RemoveAccessControlEntryRecord", Field("id", "uuid")),
    # Version 0: 3.3.0, KIP-835 (KAFKA-13883)
    20: flexible_message("NoOpRecord"),
    # Version 0: 3.4.0, KIP-866 (KAFKA-14304)
    21: flexible_message("ZkMigrationStateRecord", Field("zkMigrationState", "int8")),
    # Version 0: 3.5.0 (KAFKA-14084)
    22: flexible_message("RemoveUserScramCredentialRecord", Field("name", "string"), Field("mechanism", "int8")),
    23: flexible_message(
        "BeginTransactionRecord",
        Field("name", "string", nullable_since=0, tag=0, default_is_null=True),
        # Version 0: 3.6.0, KIP-868 (KAFKA-14538)
    ),
    # Version 0: 3.6.0, KIP-868 (KAFKA-14538)
    24: flexible_message("EndTransactionRecord"),
    25: flexible_message(
        "AbortTransactionRecord",
        Field("reason", "string", nullable_since=0, tag=0, default_is_null=True),
        # Version 0: 3.6.0, KIP-868 (KAFKA-14538)
    ),
    # Version 0: 3.6.0 (KAFKA-15219)
    26: flexible_message("RemoveDelegationTokenRecord", Field("tokenId", "string")),
    27: flexible_message(
        "RegisterControllerRecord",
        Field("controllerId", "int32"),
        Field("incarnationId", "uuid"),
        Field("zkMigrationReady", "bool"),
        Field("endPoints", "[]ControllerEndpoint", *ENDPOINT, is_keyed=True),
        Field("features", "[]ControllerFeature", *FEATURE, is_keyed=True),
        # Version 0: 3.7.0, KIP-919 (KAFKA-15369)
    ),
    # Version 0: 4.0.0, KIP-966
    28: flexible_message("ClearElrRecord", Field("topicName", "string")),
    # Version 0: 4.4.0
    29: flexible_message("UnregisterControllerRecord", Field("controllerId", "int32")),
}
"""The messages by record id."""

# Version 0: 3.0.0, KIP-746 (KAFKA-12931)
EARLIER_RECORDS: dict[int, Message] = {
    6: flexible_message(
        "AccessControlRecord",
        Field("resourceType", "int8"),
        Field("resourceName", "string", nullable_since=0),
        Field("patternType", "int8"),
        Field("principal", "string"),
        Field("host", "string"),
        Field("operation", "int8"),
        Field("permissionType", "int8"),
    ),
    11: flexible_message(
        "UserScramCredentialRecord",
        Field("name", "string"),
        Field("credentialInfos", "[]CredentialInfo", *CREDENTIAL_INFO),
    ),
    12: flexible_message(
        "FeatureLevelRecord",
        Field("name", "string"),
        Field("minFeatureLevel", "int16"),
        Field("maxFeatureLevel", "int16"),
    ),
    16: flexible_message("RemoveFeatureLevelRecord", Field("name", "string")),
}
"""Records with frame version 1 whose id is no longer used, or whose layout has changed since."""
