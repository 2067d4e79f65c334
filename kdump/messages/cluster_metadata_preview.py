"""The records of the topic @metadata in the KRaft preview (2.8): frame version 0, most of them without tagged fields."""

from __future__ import annotations

from kdump.messages.cluster_metadata import CLIENT_QUOTA, CREDENTIAL_INFO, EARLIER_RECORDS, ENDPOINT, FEATURE
from kdump.messages.schema import Field, Message, flexible_message

# Version 0: 2.8.0, KIP-631 (KAFKA-12183)
RECORDS: dict[int, Message] = {
    0: Message(
        "RegisterBrokerRecord",
        Field("brokerId", "int32"),
        Field("incarnationId", "uuid"),
        Field("brokerEpoch", "int64"),
        Field("endPoints", "[]BrokerEndpoint", *ENDPOINT, is_keyed=True),
        Field("features", "[]BrokerFeature", *FEATURE, is_keyed=True),
        Field("rack", "string", nullable_since=0),
        last_version=0,
    ),
    1: Message("UnregisterBrokerRecord", Field("brokerId", "int32"), Field("brokerEpoch", "int64"), last_version=0),
    2: Message("TopicRecord", Field("name", "string"), Field("topicId", "uuid"), last_version=0),
    3: Message(
        "PartitionRecord",
        Field("partitionId", "int32", default=-1),
        Field("topicId", "uuid"),
        Field("replicas", "[]int32"),
        Field("isr", "[]int32"),
        Field("removingReplicas", "[]int32", nullable_since=0),
        Field("addingReplicas", "[]int32", nullable_since=0),
        Field("leader", "int32", default=-1),
        Field("leaderEpoch", "int32", default=-1),
        Field("partitionEpoch", "int32", default=-1),
        last_version=0,
    ),
    4: Message(
        "ConfigRecord",
        Field("resourceType", "int8"),
        Field("resourceName", "string"),
        Field("name", "string"),
        Field("value", "string"),
        last_version=0,
    ),
    5: flexible_message(
        "PartitionChangeRecord",
        Field("partitionId", "int32", default=-1),
        Field("topicId", "uuid"),
        Field("isr", "[]int32", nullable_since=0, tag=0, default_is_null=True),
        Field("leader", "int32", tag=1, default=-2),
    ),
    6: EARLIER_RECORDS[6],
    7: Message("FenceBrokerRecord", Field("id", "int32"), Field("epoch", "int64"), last_version=0),
    8: Message("UnfenceBrokerRecord", Field("id", "int32"), Field("epoch", "int64"), last_version=0),
    9: Message("RemoveTopicRecord", Field("topicId", "uuid"), last_version=0),
    10: Message(
        "DelegationTokenRecord",
        Field("owner", "string"),
        Field("renewers", "[]string"),
        Field("issueTimestamp", "int64"),
        Field("maxTimestamp", "int64"),
        Field("expirationTimestamp", "int64"),
        Field("tokenId", "string"),
        last_version=0,
    ),
    11: Message(
        "UserScramCredentialRecord",
        Field("name", "string"),
        Field("credentialInfos", "[]CredentialInfo", *CREDENTIAL_INFO),
        last_version=0,
    ),
    12: Message(
        "FeatureLevelRecord",
        Field("name", "string"),
        Field("minFeatureLevel", "int16"),
        Field("maxFeatureLevel", "int16"),
        last_version=0,
    ),
    14: Message("QuotaRecord", *CLIENT_QUOTA, last_version=0),
}
"""The messages by record id."""
