"""The records, versions and fields of internal topics that each release knows."""

from __future__ import annotations

from kdump.messages import schema
from kdump.messages.schema import Message
from kdump.messages.transaction_state import STATES
from kdump.releases.timeline import FIRST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kdump.releases.timeline import History

    Pair = tuple[Message, Message]


class KnownSchemas:
    """The message schemas of one release."""

    def __init__(self, then: History) -> None:
        self._then = then
        self.metadata_is_preview = then.at(METADATA_IS_PREVIEW)
        self.bounds_sizes = then.at(BOUNDS_SIZES)
        self.bounds_counts = then.at(BOUNDS_COUNTS)
        self.offsets_record_types = then.at(OFFSETS_RECORD_TYPES)
        self.shares_offset_value = then.at(SHARES_OFFSET_VALUE)

    def metadata(self, records: Mapping[int, Message], earlier: Mapping[int, Message] | None = None) -> dict[int, Message]:
        """The messages that the release knows, by id; `earlier` are former meanings of ids."""
        earlier = {number: message for number, message in (earlier or {}).items() if self._is_still_in_force(message)}
        known = {number: message for number, message in records.items() if self._has(LATER_RECORDS.get(message.name))}
        return {number: self.as_known(message) for number, message in (known | earlier).items()}

    def coordinator(self, records: Mapping[int, Pair], earlier: Mapping[int, Pair] | None = None) -> dict[int, Pair]:
        """Like `metadata`, for pairs of key and value."""
        still = {number: pair for number, pair in (earlier or {}).items() if self._is_still_in_force(pair[1])}
        return {number: (key, self.as_known(value)) for number, (key, value) in ({**records, **still}).items()}

    def as_known(self, message: Message) -> Message:
        """The message with the versions, fields, and names of fields and values that it has in the release."""
        versions = LAST_VERSIONS.get(message.name)
        last_version = message.last_version if versions is None else self._then.at(versions)
        later = LATER_FIELDS.get(message.name, {})
        unknown = frozenset(name for name, since in later.items() if not self._has(since))
        names = {name: self._then.at(spellings) for name, spellings in RENAMED_FIELDS.get(message.name, {}).items()}
        named = {name: self._then.at(texts) for name, texts in NAMED_VALUES.get(message.name, {}).items()}
        known = schema.as_known(message, last_version, unknown, names, named)
        return schema.with_bounded_counts(known) if self.bounds_counts else known

    def _has(self, since: str | None) -> bool:
        return since is None or self._then.find({since: True}) is True

    def _is_still_in_force(self, message: Message) -> bool:
        until = EARLIER_RECORDS_UNTIL.get(message.name)
        return until is None or not self._has(until)


METADATA_IS_PREVIEW = {FIRST: True, "3.0.0": False}
"""Whether metadata is that of the KRaft preview, with frame version 0 and different layouts."""

BOUNDS_SIZES = {FIRST: True, "2.7.0": False, "2.8.2": True, "3.0.0": False, "3.0.2": True, "3.1.0": False, "3.1.2": True}
BOUNDS_SIZES |= {"3.2.0": False, "3.2.2": True}
"""Whether sizes of arrays and bytes are compared with the remaining bytes before memory is allocated (CVE-2022-34917)."""

BOUNDS_COUNTS = {FIRST: False, "4.4.0": True}
"""Whether there are limits to the number of tagged fields and of the elements of an array."""

SHARES_OFFSET_VALUE = {FIRST: True, "4.1.0": False}
"""Whether values of record type 0 may have all versions of record type 1."""

OFFSETS_RECORD_TYPES = {
    FIRST: tuple(range(9)),
    "4.0.0": tuple(range(17)),
    "4.1.0": (*range(9), *range(10, 18), *range(19, 24)),
}
"""The record types that the JSON output of offsets knows."""

LATER_RECORDS = {
    "AccessControlEntryRecord": "3.2.0",
    "RemoveAccessControlEntryRecord": "3.2.0",
    "NoOpRecord": "3.3.0",
    "ZkMigrationStateRecord": "3.4.0",
    "RemoveUserScramCredentialRecord": "3.5.0",
    "BeginTransactionRecord": "3.6.0",
    "EndTransactionRecord": "3.6.0",
    "AbortTransactionRecord": "3.6.0",
    "RemoveDelegationTokenRecord": "3.6.0",
    "RegisterControllerRecord": "3.7.0",
    "ClearElrRecord": "4.0.0",
    "UnregisterControllerRecord": "4.4.0",
}
"""Metadata records added after the first release of KRaft, with the release that introduced them."""

EARLIER_RECORDS_UNTIL = {
    "AccessControlRecord": "3.5.0",
    "UserScramCredentialRecord": "3.5.0",
    "FeatureLevelRecord": "3.3.0",
    "RemoveFeatureLevelRecord": "3.3.0",
    "ShareSnapshotValue": "4.1.0",
    "ShareUpdateValue": "4.1.0",
}
"""Records that were removed or got another layout, with the release that changed them."""

LATER_FIELDS = {
    "PartitionRecord": {"leaderRecoveryState": "3.2.0"},  # KIP-704
    "PartitionChangeRecord": {"leaderRecoveryState": "3.2.0"},  # KIP-704
    "DelegationTokenRecord": {"requester": "3.6.0"},  # KAFKA-15219
    "RemoteLogSegmentMetadataRecord": {"txnIndexEmpty": "4.0.0"},
    "RemoteLogSegmentMetadataSnapshotRecord": {"txnIndexEmpty": "4.0.0"},
    "TransactionLogValue": {
        "previousProducerId": "4.0.0",
        "nextProducerId": "4.0.0",
        "clientTransactionVersion": "4.0.0",
        "nextProducerEpoch": "4.1.0",
    },
    "OffsetCommitValue": {"topicId": "4.1.0"},  # KAFKA-19141
    "ShareGroupMetadataValue": {"metadataHash": "4.1.0"},  # KIP-1101
    "ShareGroupStatePartitionMetadataValue": {"initializingTopics": "4.1.0"},
    "ConsumerGroupMetadataValue": {"metadataHash": "4.1.0"},  # KIP-1101
    "ConsumerGroupCurrentMemberAssignmentValue": {"assignmentEpochs": "4.3.0"},
    "ConsumerGroupTargetAssignmentMetadataValue": {"assignmentTimestamp": "4.3.0"},  # KIP-1263
    "ShareGroupTargetAssignmentMetadataValue": {"assignmentTimestamp": "4.3.0"},  # KIP-1263
    "StreamsGroupTargetAssignmentMetadataValue": {"assignmentTimestamp": "4.3.0"},  # KIP-1263
    "StreamsGroupCurrentMemberAssignmentValue": {"assignmentEpochs": "4.2.0"},
    "StreamsGroupMetadataValue": {
        "validatedTopologyEpoch": "4.2.0",
        "lastAssignmentConfigs": "4.2.0",
        "storedDescriptionTopologyEpoch": "4.4.0",
        "failedDescriptionTopologyEpoch": "4.4.0",
    },
    "ShareSnapshotValue": {"deliveryCompleteCount": "4.2.0"},  # KIP-1226
    "ShareUpdateValue": {"deliveryCompleteCount": "4.2.0"},  # KIP-1226
}
"""Fields added to an existing version of a record, with the release that introduced them."""

LAST_VERSIONS = {
    "RegisterBrokerRecord": {FIRST: 0, "3.3.0": 1, "3.4.0": 2, "3.7.0": 3, "4.3.0": 4},
    "PartitionRecord": {FIRST: 0, "3.7.0": 2},
    "PartitionChangeRecord": {FIRST: 0, "3.7.0": 2},
    "BrokerRegistrationChangeRecord": {FIRST: 0, "3.3.0": 1, "3.7.0": 2, "4.3.0": 3},
}
"""The last versions of records, by the release that introduced them."""

RENAMED_FIELDS = {
    "ProducerIdsRecord": {"nextProducerId": {FIRST: "producerIdsEnd", "3.2.0": "nextProducerId"}},
    "PartitionRecord": {"lastKnownElr": {FIRST: "lastKnownELR", "3.8.0": "lastKnownElr"}},
    "PartitionChangeRecord": {"lastKnownElr": {FIRST: "lastKnownELR", "3.8.0": "lastKnownElr"}},
}
"""The names of renamed fields."""

NAMED_VALUES = {"TransactionLogValue": {"transactionStatus": {FIRST: (), "4.4.0": STATES}}}
"""The names that JSON has for the values of fields, from 0 on; none where it has the numbers themselves."""
