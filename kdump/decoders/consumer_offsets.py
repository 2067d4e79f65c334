"""The subscriptions and assignments of the members of a consumer group, from group metadata."""

from __future__ import annotations

from struct import Struct

from kdump.errors import CorruptData
from kdump.messages import consumer_protocol, kafka_json, schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.messages.schema import Message, Value

GROUP_METADATA = 2
"""The record type of group metadata; 0 and 1 are offset commits."""

CONSUMERS = "consumer"
"""The protocol type of groups whose members have subscriptions and assignments in Kafka's format."""

PROTOCOL = {"subscription": consumer_protocol.SUBSCRIPTION, "assignment": consumer_protocol.ASSIGNMENT}
"""The messages in the fields of such members, after a version of two bytes."""

_INT16 = Struct(">h")


def with_protocol_as_json(group: dict[str, Value]) -> dict[str, Value]:
    """Group metadata with subscriptions and assignments as JSON, or unchanged if they cannot be read.

    Only groups with the protocol type "consumer" store them in Kafka's format.
    """
    members = group["members"]
    if group["protocolType"] != CONSUMERS or not isinstance(members, list):
        return group
    return group | {"members": [_with_protocol_as_json(member) for member in members if isinstance(member, dict)]}


def _with_protocol_as_json(member: dict[str, Value]) -> dict[str, Value]:
    return member | {name: _as_json(message, member[name]) for name, message in PROTOCOL.items()}


def _as_json(message: Message, data: Value) -> Value:
    assert isinstance(data, bytes)
    try:
        reader = schema.Reader(data)
        version = int(reader.fixed(_INT16))
        return kafka_json.Json(kafka_json.dumps(message, schema.read(message, reader, version), version))
    except CorruptData:
        return data
