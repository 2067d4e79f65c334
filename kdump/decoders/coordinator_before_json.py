"""Records of coordinators (offsets, groups, transactions) in releases that identify them by the version of the key.

Key and value begin with an int16 version. Kafka: GroupMetadataManager and TransactionLog (0.9 to 3.7 and 4.0).
"""

from __future__ import annotations

from struct import Struct

from kdump.errors import CorruptData
from kdump.messages import consumer_protocol, schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.messages.schema import Message, Value

_INT16 = Struct(">h")

OFFSET_KEY_VERSIONS = (0, 1)
GROUP_KEY_VERSION = 2

OFFSET_CODE = "offset-version-unknown"
GROUP_CODE = "group-version-unknown"
TRANSACTION_CODE = "transaction-log-version-unknown"
"""The fault codes for unknown value versions."""

LAST_FEATURE_LEVEL = 2
"""The last level of the feature transaction.version, which transactions hold since 4.0."""


def versioned(data: bytes, *, bounds_sizes: bool = True) -> tuple[int, schema.Reader]:
    """The version at the start of a key or value, and a reader for the rest. Raises CorruptData like Reader."""
    reader = schema.Reader(data, bounds_sizes=bounds_sizes)
    return int(reader.fixed(_INT16)), reader


def value_of(message: Message, data: bytes, last_version: int, code: str, *, bounds_sizes: bool = True) -> dict[str, Value]:
    """The fields of a value that starts with its version.

    Raises CorruptData with the given code if the version is negative or above the last, with `message-unreadable`,
    which has the `inner` fault, and like Reader.
    """
    version, reader = versioned(data, bounds_sizes=bounds_sizes)
    if not 0 <= version <= last_version:
        raise CorruptData(code, f"version {version} of {message.name} is not known", version=version)
    return fields_of(message, reader, version)


def fields_of(message: Message, reader: schema.Reader, version: int) -> dict[str, Value]:
    """The fields of a message. Raises CorruptData with `message-unreadable`, which has the `inner` fault."""
    try:
        return schema.read(message, reader, version)
    except CorruptData as fault:
        text = f"no {message.name} of version {version}: {fault.message}"
        raise CorruptData("message-unreadable", text, inner=fault, version=version) from fault


def assignment_of(data: bytes, *, bounds_sizes: bool = True) -> tuple[list[tuple[str, int]], bytes | None]:
    """The partitions assigned to a member of a consumer group, and the user data.

    Raises CorruptData with `message-unreadable` (`part` in its values is `header`, `assignment` or `user data`), and
    `assignment-version-negative`. Later versions are read like the first.
    """
    version, reader = _protocol_version(data, bounds_sizes)
    if version < 0:
        raise CorruptData("assignment-version-negative", f"the assignment has version {version}", version=version)
    fields = _protocol_fields(consumer_protocol.ASSIGNMENT, reader, "assignment")
    user_data = fields["userData"]
    assert user_data is None or isinstance(user_data, bytes)
    return partitions_of(fields, "assignedPartitions", "partitions"), user_data


def check_subscription(data: bytes, *, bounds_sizes: bool = True) -> None:
    """Raise CorruptData with `message-unreadable`, like `assignment_of`, if a subscription is invalid in every version."""
    _, reader = _protocol_version(data, bounds_sizes)
    _protocol_fields(consumer_protocol.SUBSCRIPTION, reader, "subscription")


def partitions_of(fields: dict[str, Value], topics_name: str, partitions_name: str) -> list[tuple[str, int]]:
    """The topics and partitions in an array of topics. Raises CorruptData with `partitions-null`."""
    topics = fields[topics_name]
    if topics is None:
        raise CorruptData("partitions-null", f"{topics_name} is null")
    assert isinstance(topics, list)
    partitions = []
    for entry in topics:
        assert isinstance(entry, dict)
        topic, numbers = entry["topic"], entry[partitions_name]
        assert isinstance(topic, str) and isinstance(numbers, list)
        partitions += [(topic, number) for number in numbers if isinstance(number, int)]
    return partitions


def _protocol_version(data: bytes, bounds_sizes: bool) -> tuple[int, schema.Reader]:
    try:
        return versioned(data, bounds_sizes=bounds_sizes)
    except CorruptData as fault:
        fault.values["fields"] = ("version",)
        text = "the data of the member ends inside its version"
        raise CorruptData("message-unreadable", text, inner=fault, version=0, part="header") from fault


def _protocol_fields(message: Message, reader: schema.Reader, part: str) -> dict[str, Value]:
    try:
        return fields_of(message, reader, 0)
    except CorruptData as fault:
        inner = fault.values["inner"].values
        fault.values["part"] = "user data" if inner["fields"] == ("userData",) and "size" in inner else part
        raise
