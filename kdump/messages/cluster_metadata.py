"""The records of the topic __cluster_metadata, and of its snapshots."""

from __future__ import annotations

from kdump.messages.schema import Field, Message

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
    0: Message(
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
        flexible_since=0,
        # Version 1: 3.3.0, KIP-841 (KAFKA-13916)
        # Version 2: 3.4.0, KIP-866 (KAFKA-14304)
        # Version 3: 3.7.0, KIP-858 (KAFKA-15355)
        # Version 4: 4.3.0, KIP-1066 (KAFKA-19774)
        last_version=4,
    ),
    1: Message(
        "UnregisterBrokerRecord",
        Field("brokerId", "int32"),
        Field("brokerEpoch", "int64"),
        flexible_since=0,
        last_version=0,
    ),
    2: Message(
        "TopicRecord",
        Field("name", "string"),
        Field("topicId", "uuid"),
        flexible_since=0,
        last_version=0,
    ),
    3: Message(
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
        flexible_since=0,
        # Version 1: 3.7.0, KIP-858 (KAFKA-15355)
        # Version 2: 3.7.0, KIP-966 (KAFKA-15581)
        last_version=2,
    ),
    4: Message(
        "ConfigRecord",
        Field("resourceType", "int8"),
        Field("resourceName", "string"),
        Field("name", "string"),
        Field("value", "string", nullable_since=0),
        flexible_since=0,
        last_version=0,
    ),
    5: Message(
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
        flexible_since=0,
        # Version 1: 3.7.0, KIP-858 (KAFKA-15355)
        # Version 2: 3.7.0, KIP-966 (KAFKA-15581)
        last_version=2,
    ),
    7: Message(
        "FenceBrokerRecord",
        Field("id", "int32"),
        Field("epoch", "int64"),
        flexible_since=0,
        last_version=0,
    ),
    8: Message(
        "UnfenceBrokerRecord",
        Field("id", "int32"),
        Field("epoch", "int64"),
        flexible_since=0,
        last_version=0,
    ),
    9: Message(
        "RemoveTopicRecord",
        Field("topicId", "uuid"),
        flexible_since=0,
        last_version=0,
    ),
    10: Message(
        "DelegationTokenRecord",
        Field("owner", "string"),
        Field("requester", "string"),
        Field("renewers", "[]string"),
        Field("issueTimestamp", "int64"),
        Field("maxTimestamp", "int64"),
        Field("expirationTimestamp", "int64"),
        Field("tokenId", "string"),
        flexible_since=0,
        last_version=0,
    ),
    11: Message(
        "UserScramCredentialRecord",
        Field("name", "string"),
        Field("mechanism", "int8"),
        Field("salt", "bytes"),
        Field("storedKey", "bytes"),
        Field("serverKey", "bytes"),
        Field("iterations", "int32"),
        flexible_since=0,
        # Version 0: 3.5.0 (KAFKA-14881)
        last_version=0,
    ),
    12: Message(
        "FeatureLevelRecord",
        Field("name", "string"),
        Field("featureLevel", "int16"),
        flexible_since=0,
        # Version 0: 3.3.0, KIP-778 (KAFKA-13410)
        last_version=0,
    ),
    14: Message(
        "ClientQuotaRecord",
        *CLIENT_QUOTA,
        flexible_since=0,
        last_version=0,
    ),
    15: Message(
        "ProducerIdsRecord",
        Field("brokerId", "int32"),
        Field("brokerEpoch", "int64", default=-1),
        Field("nextProducerId", "int64"),
        flexible_since=0,
        # Version 0: 3.0.0, KIP-730 (KAFKA-12620)
        last_version=0,
    ),
    17: Message(
        "BrokerRegistrationChangeRecord",
        Field("brokerId", "int32"),
        Field("brokerEpoch", "int64"),
        Field("fenced", "int8", tag=0),
        Field("inControlledShutdown", "int8", since=1, tag=1, tagged_since=1),
        Field("logDirs", "[]uuid", since=2, tag=2, tagged_since=2),
        Field("cordonedLogDirs", "[]uuid", since=3, nullable_since=3, tag=3, tagged_since=3, default_is_null=True),
        flexible_since=0,
        # Version 1: 3.3.0, KIP-841 (KAFKA-13916)
        # Version 2: 3.7.0, KIP-858 (KAFKA-15355)
        # Version 3: 4.3.0, KIP-1066 (KAFKA-19774)
        last_version=3,
    ),
    18: Message(
        "AccessControlEntryRecord",
        Field("id", "uuid"),
        Field("resourceType", "int8"),
        Field("resourceName", "string"),
        Field("patternType", "int8"),
        Field("principal", "string"),
        Field("host", "string"),
        Field("operation", "int8"),
        Field("permissionType", "int8"),
        flexible_since=0,
        # Version 0: 3.2.0, KIP-801 (KAFKA-13646)
        last_version=0,
    ),
    19: Message(
        "RemoveAccessControlEntryRecord",
        Field("id", "uuid"),
        flexible_since=0,
        # Version 0: 3.2.0, KIP-801 (KAFKA-13646)
        last_version=0,
    ),
    20: Message(
        "NoOpRecord",
        flexible_since=0,
        # Version 0: 3.3.0, KIP-835 (KAFKA-13883)
        last_version=0,
    ),
    21: Message(
        "ZkMigrationStateRecord",
        Field("zkMigrationState", "int8"),
        flexible_since=0,
        # Version 0: 3.4.0, KIP-866 (KAFKA-14304)
        last_version=0,
    ),
    22: Message(
        "RemoveUserScramCredentialRecord",
        Field("name", "string"),
        Field("mechanism", "int8"),
        flexible_since=0,
        # Version 0: 3.5.0 (KAFKA-14084)
        last_version=0,
    ),
    23: Message(
        "BeginTransactionRecord",
        Field("name", "string", nullable_since=0, tag=0, default_is_null=True),
        flexible_since=0,
        # Version 0: 3.6.0, KIP-868 (KAFKA-14538)
        last_version=0,
    ),
    24: Message(
        "EndTransactionRecord",
        flexible_since=0,
        # Version 0: 3.6.0, KIP-868 (KAFKA-14538)
        last_version=0,
    ),
    25: Message(
        "AbortTransactionRecord",
        Field("reason", "string", nullable_since=0, tag=0, default_is_null=True),
        flexible_since=0,
        # Version 0: 3.6.0, KIP-868 (KAFKA-14538)
        last_version=0,
    ),
    26: Message(
        "RemoveDelegationTokenRecord",
        Field("tokenId", "string"),
        flexible_since=0,
        # Version 0: 3.6.0 (KAFKA-15219)
        last_version=0,
    ),
    27: Message(
        "RegisterControllerRecord",
        Field("controllerId", "int32"),
        Field("incarnationId", "uuid"),
        Field("zkMigrationReady", "bool"),
        Field("endPoints", "[]ControllerEndpoint", *ENDPOINT, is_keyed=True),
        Field("features", "[]ControllerFeature", *FEATURE, is_keyed=True),
        flexible_since=0,
        # Version 0: 3.7.0, KIP-919 (KAFKA-15369)
        last_version=0,
    ),
    28: Message(
        "ClearElrRecord",
        Field("topicName", "string"),
        flexible_since=0,
        # Version 0: 4.0.0, KIP-966
        last_version=0,
    ),
    29: Message(
        "UnregisterControllerRecord",
        Field("controllerId", "int32"),
        flexible_since=0,
        # Version 0: 4.4.0
        last_version=0,
    ),
}
"""The messages by record id."""

# Version 0: 3.0.0, KIP-746 (KAFKA-12931)
EARLIER_RECORDS: dict[int, Message] = {
    6: Message(
        "AccessControlRecord",
        Field("resourceType", "int8"),
        Field("resourceName", "string", nullable_since=0),
        Field("patternType", "int8"),
        Field("principal", "string"),
        Field("host", "string"),
        Field("operation", "int8"),
        Field("permissionType", "int8"),
        flexible_since=0,
        last_version=0,
    ),
    11: Message(
        "UserScramCredentialRecord",
        Field("name", "string"),
        Field("credentialInfos", "[]CredentialInfo", *CREDENTIAL_INFO),
        flexible_since=0,
        last_version=0,
    ),
    12: Message(
        "FeatureLevelRecord",
        Field("name", "string"),
        Field("minFeatureLevel", "int16"),
        Field("maxFeatureLevel", "int16"),
        flexible_since=0,
        last_version=0,
    ),
    16: Message(
        "RemoveFeatureLevelRecord",
        Field("name", "string"),
        flexible_since=0,
        last_version=0,
    ),
}
"""Records with frame version 1 whose id is no longer used, or whose layout has changed since."""
