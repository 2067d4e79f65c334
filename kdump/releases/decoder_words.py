"""The wording of each release for decoded records of internal topics."""

from __future__ import annotations

from kdump.releases.exception_texts import Words
from kdump.releases.timeline import FIRST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.releases.timeline import History


class DecoderWords:
    """The wording of the decoders in one release."""

    def __init__(self, then: History) -> None:
        self.offsets_are_json = then.at(OFFSETS_ARE_JSON)
        self.transactions_are_json = then.at(TRANSACTIONS_ARE_JSON)
        self.offset_key = then.at(OFFSET_KEY)
        self.offset = then.at(OFFSET)
        self.offset_with_metadata = then.at(OFFSET_WITH_METADATA)
        self.group_key = then.at(GROUP_KEY)
        self.group = then.at(GROUP)
        self.transaction_key = then.at(TRANSACTION_KEY)
        self.transaction = then.at(TRANSACTION)
        self.last_offset_version = then.at(LAST_OFFSET_VERSION)
        self.last_group_version = then.at(LAST_GROUP_VERSION)
        self.last_transaction_version = then.at(LAST_TRANSACTION_VERSION)
        self.last_transaction_state = then.at(LAST_TRANSACTION_STATE)
        self.shows_tombstones = then.at(SHOWS_TOMBSTONES)
        self.empty_groups_have_protocol_type = then.at(EMPTY_GROUPS_HAVE_PROTOCOL_TYPE)
        self.escapes_json = then.at(ESCAPES_JSON)
        self.shows_unknown_keys = then.at(SHOWS_UNKNOWN_KEYS)
        self.allows_null_protocol = then.at(ALLOWS_NULL_PROTOCOL)
        self.allows_null_user_data = then.at(ALLOWS_NULL_USER_DATA)
        self.shows_bytes = then.at(SHOWS_BYTES)
        self.counts_members = then.at(COUNTS_MEMBERS)
        self.reads_subscriptions = then.at(READS_SUBSCRIPTIONS)
        self.has_unique_instances = then.at(HAS_UNIQUE_INSTANCES)
        self.has_schema_exceptions = then.at(HAS_SCHEMA_EXCEPTIONS)
        self.protocol_has_schema_exceptions = then.at(PROTOCOL_HAS_SCHEMA_EXCEPTIONS)
        self.checks_record_version = then.at(CHECKS_RECORD_VERSION)
        self.shares_have_type = then.at(SHARES_HAVE_TYPE)
        self.field_names = FIELD_NAMES
        self.schema_errors = then.at(SCHEMA_ERRORS)
        self.partitions = then.at(PARTITIONS)

    def partitions_text(self, partitions: list[str]) -> str:
        """The partitions of a transaction."""
        start, separator, end = self.partitions
        return start + separator.join(partitions) + end


OFFSETS_ARE_JSON = {FIRST: False, "3.8.0": True}
"""Whether `--offsets-decoder` prints JSON instead of text."""

TRANSACTIONS_ARE_JSON = {FIRST: False, "4.1.0": True}
"""Whether `--transaction-log-decoder` prints JSON instead of text."""

SHOWS_TOMBSTONES = {FIRST: False, "2.4.1": True}
"""Whether text decoders show records without a value. Before, offsets decoders skipped them and transaction decoders failed."""

EMPTY_GROUPS_HAVE_PROTOCOL_TYPE = {FIRST: True, "0.10.1.0": False, "1.0.1": True}
"""Whether the protocol type of a group without members is shown; other releases derive it from the members."""

ESCAPES_JSON = {FIRST: False, "1.0.1": True}
"""Whether quotes and control characters are escaped in JSON."""

SHOWS_UNKNOWN_KEYS = {FIRST: False, "3.4.1": True}
"""Whether text decoders continue after keys of unknown versions (KIP-915)."""

ALLOWS_NULL_PROTOCOL = {FIRST: False, "0.10.1.0": True}
"""Whether a group may have no protocol and no leader."""

SHOWS_BYTES = {FIRST: False, "0.10.1.0": True}
"""Whether user data, and assignments of groups other than consumer groups, can be shown; before, the tool failed."""

ALLOWS_NULL_USER_DATA = {FIRST: False, "2.4.1": True}
"""Whether an assignment without user data is shown instead of an exception."""

COUNTS_MEMBERS = {FIRST: False, "2.1.0": True}
"""Whether the tool fails if a group lists a member twice and continues after it."""

READS_SUBSCRIPTIONS = {FIRST: False, "2.7.0": True}
"""Whether the tool fails on malformed subscriptions, although it does not show them."""

HAS_UNIQUE_INSTANCES = {FIRST: False, "3.0.0": True}
"""Whether the tool fails on a group with two members of the same instance id."""

HAS_SCHEMA_EXCEPTIONS = {FIRST: True, "2.8.0": False}
"""Whether messages are read by Struct and Schema, which name the field that fails; later by generated classes."""

PROTOCOL_HAS_SCHEMA_EXCEPTIONS = {FIRST: True, "2.7.0": False}
"""Whether subscriptions and assignments are read by Struct and Schema as well."""

CHECKS_RECORD_VERSION = {FIRST: False, "4.0.0": True}
"""Whether the version of a value is checked before its message is read."""

SHARES_HAVE_TYPE = {FIRST: True, "4.1.0": False}
"""Whether values of share groups have "type" where all others have "version"."""

OFFSET_KEY = {FIRST: "offset::{group}:{topic}:{partition}", "2.4.1": "offset_commit::group={group},partition={topic}-{partition}"}
"""The key of an offset commit."""

OFFSET = {FIRST: "{offset}", "2.4.1": "offset={offset}"}
"""An offset commit."""

OFFSET_WITH_METADATA = {FIRST: "{offset}:{metadata}", "2.4.1": "offset={offset},metadata={metadata}"}
"""An offset commit with metadata."""

GROUP_KEY = {
    FIRST: "metadata::{group}",
    "1.0.0": '{{"metadata":{group_json}}}',
    "2.4.1": "group_metadata::group={group}",
}
"""The key of group metadata."""

GROUP = {
    FIRST: "{protocolType}:{protocol}:{generation}:{members}",
    "1.0.0": '{{"protocolType":{protocolType_json},"protocol":{protocol_json},"generationId":{generation},'
    '"assignment":{members_json}}}',
}
"""Group metadata."""

TRANSACTION_KEY = {FIRST: "transactionalId={transactionalId}", "2.4.1": "transaction_metadata::transactionalId={transactionalId}"}
"""The key of a transaction."""

TRANSACTION = {
    FIRST: "producerId:{producerId},producerEpoch:{producerEpoch},state={state},partitions={partitions},"
    "txnLastUpdateTimestamp={transactionLastUpdateTimestampMs},txnTimeoutMs={transactionTimeoutMs}"
}
"""A transaction."""

PARTITIONS = {FIRST: ("Set(", ", ", ")"), "2.5.0": ("[", ",", "]")}
"""The start of a set of partitions, the separator, and the end."""

LAST_OFFSET_VERSION = {FIRST: 1, "2.1.0": 3, "3.4.1": 4}
"""The last version of an offset commit that a release reads."""

LAST_GROUP_VERSION = {FIRST: 0, "0.10.1.0": 1, "2.1.0": 2, "2.3.0": 3, "3.4.1": 4}
"""The last version of group metadata that a release reads."""

LAST_TRANSACTION_VERSION = {FIRST: 0, "3.4.1": 1}
"""The last version of a value that a release reads."""

LAST_TRANSACTION_STATE = {FIRST: 6, "0.11.0.2": 7}
"""The last transaction state that a text decoder knows; the last of all is PrepareEpochFence."""

FIELD_NAMES: dict[str, str] = {
    "transactionTimeoutMs": "transaction_timeout",
    "transactionLastUpdateTimestampMs": "transaction_entry_timestamp",
    "transactionStartTimestampMs": "transaction_start_timestamp",
    "assignedPartitions": "topic_partitions",
    "commitTimestamp 0": "timestamp",
}
"""The former names of fields in messages, of one version or of all; other names are in snake case."""

_UNCHECKED_SIZES = {
    "message-underflow": "java.nio.BufferUnderflowException",
    "message-bytes-past-end string": "java.nio.BufferUnderflowException",
    "message-bytes-past-end bytes": "newLimit > capacity: ({size} > {remaining})",
    "message-array-too-large": "Error reading array of size {count}, only {remaining} bytes available",
    "message-null string": "{size}",
    "message-null bytes": "newLimit < 0: ({size} < 0)",
    "message-null array": "{size}",
}
"""Java's messages for sizes that the tool did not check."""

_CHECKED_SIZES = _UNCHECKED_SIZES | {
    "message-bytes-past-end string": "Error reading string of length {size}, only {remaining} bytes available",
    "message-bytes-past-end bytes": "Error reading bytes of size {size}, only {remaining} bytes available",
    "message-null string": "String length {size} cannot be negative",
    "message-null bytes": "Bytes size {size} cannot be negative",
    "message-null array": "Array size {size} cannot be negative",
}
SCHEMA_ERRORS = {FIRST: _UNCHECKED_SIZES, "0.10.0.0": _CHECKED_SIZES}
"""The message of SchemaException about a field, by fault code and type of the field."""

_ILLEGAL_STATE = "java.lang.IllegalStateException"
_NULL_POINTER = "java.lang.NullPointerException"
_RUNTIME = "java.lang.RuntimeException"
_MISSING_KEY = "Failed to decode message at offset {offset} using %s (message had a missing key)"
_MISSING_OFFSET_KEY = "Failed to decode message using offset topic decoder (message had a missing key)"
_AT_OFFSET = "Error at offset {offset}, skipping. "
_DESERIALIZE = "Could not deserialize metadata record"
_NULL_PARTITIONS = (
    'Cannot invoke "java.util.List.forEach(java.util.function.Consumer)" because the return value of'
    ' "{package}.TransactionLogValue.transactionPartitions()" is null'
)
_UNKNOWN_FRAME = _DESERIALIZE + " due to unknown frame version {version}"
_NULL_VALUE = 'Cannot invoke "java.nio.ByteBuffer.remaining()" because the return value of "{package}.Record.value()" is null'


def _kafka(message: str) -> dict[str, Words]:
    """A KafkaException: its class moved to another package in 2.0.0."""
    return {
        FIRST: Words("kafka.common.KafkaException", message),
        "2.0.0": Words("org.apache.kafka.common.KafkaException", message),
    }


WORDS: dict[str, dict[str, Words]] = {
    # in messages of any kind
    "message-version-unknown": {
        FIRST: Words("org.apache.kafka.common.errors.UnsupportedVersionException", "Can't read version {version} of {struct}")
    },
    "message-tag-not-in-version": {FIRST: Words(_RUNTIME, "Tag {tag} is not valid for version {version}")},
    # records of coordinators; text without an exception class is part of the record's line
    "record-key-null": {
        FIRST: Words(_RUNTIME, _MISSING_KEY % "offset topic decoder"),
        "4.1.0": Words(_RUNTIME, _MISSING_KEY % "the specified decoder"),
    },
    "share-key-null": {
        FIRST: Words(_RUNTIME, _MISSING_KEY % "share group state topic decoder"),
        "4.1.0": Words(_RUNTIME, _MISSING_KEY % "the specified decoder"),
    },
    "record-type-unknown": {FIRST: Words("", "Unknown record type {type} at offset {offset}, skipping.")},
    "record-version-short": {FIRST: Words("", _AT_OFFSET + "Could not read version from {part}'s buffer.")},
    "record-version-unknown": {FIRST: Words("", _AT_OFFSET + "Found an unknown record version {version} for {type} type")},
    "record-value-past-end": {FIRST: Words("", _AT_OFFSET + "newLimit > capacity: ({size} > {room})")},
    "record-unreadable": {
        FIRST: Words(
            "", _AT_OFFSET + "Could not read record with version {version} from {part}'s buffer due to: {inner_message}."
        )
    },
    # records of coordinators as text
    "message-unreadable": {
        FIRST: Words("org.apache.kafka.common.protocol.types.SchemaException", "{inner_message}"),
    },
    "offsets-key-null": {FIRST: Words("org.apache.kafka.common.KafkaException", _MISSING_OFFSET_KEY)},
    "offsets-key-version-unknown": _kafka("Unknown offset schema version {version}")
    | {
        "2.4.0": Words("org.apache.kafka.common.KafkaException", "Unknown message key schema version {version}"),
        "2.8.0": Words(_ILLEGAL_STATE, "Unknown group metadata message version: {version}"),
    },
    "offset-version-unknown": _kafka("Unknown offset schema version {version}")
    | {"2.8.0": Words(_ILLEGAL_STATE, "Unknown offset message version: {version}")},
    "group-version-unknown": _kafka("Unknown group metadata version {version}")
    | {"2.8.0": Words(_ILLEGAL_STATE, "Unknown group metadata message version: {version}")},
    "assignment-version-negative": {
        FIRST: Words("org.apache.kafka.common.protocol.types.SchemaException", "Unsupported subscription version: {version}"),
        "2.4.0": Words("org.apache.kafka.common.protocol.types.SchemaException", "Unsupported assignment version: {version}"),
    },
    "assignment-user-data-null": {
        FIRST: Words(_NULL_POINTER, 'Cannot invoke "java.nio.ByteBuffer.limit()" because "buffer" is null'),
        "0.11.0.0": Words(_NULL_POINTER, 'Cannot invoke "java.nio.ByteBuffer.remaining()" because "buffer" is null'),
    },
    "bytes-not-shown": {FIRST: Words("java.util.IllegalFormatConversionException", "x != scala.math.BigInt")},
    "consumer-protocol-underflow": {
        FIRST: Words(
            "org.apache.kafka.common.protocol.types.SchemaException", "Buffer underflow while parsing consumer protocol's {part}"
        )
    },
    "user-data-past-end": {FIRST: Words("java.lang.IllegalArgumentException", "newLimit > capacity: ({size} > {remaining})")},
    "group-member-repeated": {FIRST: Words("java.lang.AssertionError", "assertion failed")},
    "group-instance-repeated": {
        FIRST: Words(
            _ILLEGAL_STATE,
            "Static member with groupInstanceId={instance} cannot be added to group {group} since it is already a member",
        )
    },
    "transaction-log-key-null": {
        FIRST: Words("java.lang.NullPointerException", 'Cannot invoke "java.nio.ByteBuffer.getShort()" because "buffer" is null')
    },
    "transaction-log-value-null": {
        FIRST: Words(
            "java.lang.NullPointerException",
            'Cannot invoke "kafka.coordinator.transaction.TransactionMetadata.producerId()" because "txnMetadata" is null',
        )
    },
    "transaction-log-key-version-unknown": _kafka("Unknown transaction log message key schema version {version}")
    | {"2.8.0": Words(_ILLEGAL_STATE, "Unknown version {version} from the transaction log message")},
    "transaction-log-version-unknown": _kafka("Unknown transaction log message value schema version {version}")
    | {"2.8.0": Words(_ILLEGAL_STATE, "Unknown version {version} from the transaction log message value")},
    "transaction-log-state-unknown": {
        FIRST: Words(
            "java.lang.IllegalStateException",
            "Unknown transaction state byte {state} from the transaction status message",
        ),
        "3.0.0": Words(_ILLEGAL_STATE, "Unknown transaction state id {state} from the transaction status message"),
    },
    "transaction-log-feature-unknown": {
        FIRST: Words("java.lang.IllegalArgumentException", "No feature:transaction.version with feature level {level}")
    },
    "partitions-null": {
        FIRST: Words("java.lang.NullPointerException", 'Cannot read the array length because "$this" is null'),
        "2.5.0": Words("java.lang.NullPointerException", 'Cannot read the array length because "topicPartitionArray" is null'),
        "2.8.0": Words("java.lang.NullPointerException", _NULL_PARTITIONS.format(package="kafka.internals.generated")),
        "3.9.0": Words(
            "java.lang.NullPointerException",
            _NULL_PARTITIONS.format(package="org.apache.kafka.coordinator.transaction.generated"),
        ),
    },
    # the framing of metadata; this text follows `Error at` and the offset
    "metadata-number-short": {FIRST: Words("", "Error while reading {number}")},
    "metadata-number-too-large": {FIRST: Words("", "Value for {number} was too large.")},
    "metadata-frame-zero": {
        FIRST: Words(
            "",
            _DESERIALIZE + " with frame version 0. Note that upgrades from the preview release of KRaft in 2.8"
            " to newer versions are not supported.",
        )
    },
    "metadata-value-null": {FIRST: Words("", 'Cannot invoke "java.nio.ByteBuffer.get()" because "buffer" is null')},
    "metadata-frame-unknown": {
        # Kafka omits the space before the parenthesis; we do too.
        FIRST: Words("", _UNKNOWN_FRAME + "(only frame version 0 is supported)"),
        "3.0.0": Words("", _UNKNOWN_FRAME + "(only frame version 1 is supported)"),
    },
    "metadata-id-unknown": {
        FIRST: Words("", "Unknown metadata id {id}"),
        "3.0.0": Words("", "org.apache.kafka.common.errors.UnsupportedVersionException: Unknown metadata id {id}"),
    },
    "metadata-unreadable": {
        FIRST: Words("", "{inner_message}"),
        "3.0.0": Words("", "Failed to deserialize record with type {id}"),
    },
    "metadata-out-of-memory": {FIRST: Words("", "{inner_message}")},
    "metadata-garbage": {FIRST: Words("", "Found {size} byte(s) of garbage after {id}")},
    # records that tiered storage rejects
    "remote-value-null": {
        FIRST: Words("", _NULL_VALUE.format(package="org.apache.kafka.common.record")),
        "4.3.0": Words("", _NULL_VALUE.format(package="org.apache.kafka.common.record.internal")),
    },
    "remote-start-offset-negative": {
        FIRST: Words("", "Unexpected start offset = {start_offset}. StartOffset for a remote segment cannot be negative")
    },
    "remote-end-offset-too-small": {
        FIRST: Words(
            "",
            "Unexpected end offset = {end_offset}."
            " EndOffset for a remote segment cannot be less than startOffset = {start_offset}",
        )
    },
    "remote-epochs-empty": {FIRST: Words("", "segmentLeaderEpochs can not be null or empty")},
    "remote-partition-state-unknown": {FIRST: Words("", "null")},
    "remote-state-unknown": {FIRST: Words("", "state can not be null")},
}
"""Like exception_texts.WORDS, by the codes of faults in records of internal topics."""
