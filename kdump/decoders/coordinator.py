"""Records of coordinators, in __consumer_offsets, __transaction_state and __share_group_state.

The key is an int16 record type and its message; the value is an int16 version and its message, or null for a tombstone.
Kafka: CoordinatorRecordSerde (since 3.8.0). Earlier releases treated the type as the version of the key; the bytes are the same.
"""

from __future__ import annotations

from struct import Struct

from kdump.errors import CorruptData
from kdump.messages import schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kdump.messages.schema import Message, Value

    Records = Mapping[int, tuple[Message, Message]]

_INT16 = Struct(">h")


class CoordinatorRecord:
    """A record's type and key, and the version and fields of its value; `value` is None for a tombstone."""

    def __init__(self, record_type: int, messages: tuple[Message, Message], key: dict[str, Value]) -> None:
        self.type = record_type
        self.key_message, self.value_message = messages
        self.key = key
        self.version = 0
        self.value: dict[str, Value] | None = None


def read(
    records: Records, key: bytes, value: bytes | None, *, checks_version: bool = True, keeps_value: bool = True
) -> CoordinatorRecord:
    """A record of one of these types. Bytes after the messages are ignored, as Kafka does.

    Unless it `keeps_value`, the value is passed over, and takes no memory.

    Raises CorruptData with the codes `record-type-unknown`, `record-version-unknown`, and, for the part
    (`key` or `value`) named in `values`, `record-version-short` and `record-unreadable` (with the `inner` fault).
    """
    record = read_key(records, key)
    if value is not None:
        record.version, record.value = read_value(record, value, checks_version=checks_version, keeps_value=keeps_value)
    return record


def read_key(records: Records, key: bytes) -> CoordinatorRecord:
    """A record of one of these types without its value. Raises CorruptData as `read`."""
    key_reader = schema.Reader(key)
    record_type = _version(key_reader, "key")
    messages = records.get(record_type)
    if messages is None:
        raise CorruptData("record-type-unknown", f"records of type {record_type} are not known", type=record_type)
    fields = _message(messages[0], key_reader, 0, "key", shown_version=record_type)
    return CoordinatorRecord(record_type, messages, fields)


def read_value(
    record: CoordinatorRecord, value: bytes, *, checks_version: bool = True, keeps_value: bool = True
) -> tuple[int, dict[str, Value]]:
    """The version and the fields of a value of this record, whose key says what it is. Raises CorruptData as `read`."""
    value_reader = schema.Reader(value)
    version = _version(value_reader, "value")
    if checks_version and not 0 <= version <= record.value_message.last_version:
        text = f"version {version} of records of type {record.type} is not known"
        raise CorruptData("record-version-unknown", text, type=record.type, version=version)
    return version, _message(record.value_message, value_reader, version, "value", shown_version=version, keep=keeps_value)


def _version(reader: schema.Reader, part: str) -> int:
    if reader.remaining < _INT16.size:
        raise CorruptData("record-version-short", f"the {part} ends inside its version", part=part)
    return int(reader.fixed(_INT16))


def _message(
    message: Message, reader: schema.Reader, version: int, part: str, *, shown_version: int, keep: bool = True
) -> dict[str, Value]:
    try:
        return schema.read(message, reader, version, keep=keep)
    except CorruptData as fault:
        text = f"the {part} is no {message.name} of version {version}: {fault.message}"
        raise CorruptData("record-unreadable", text, part=part, version=shown_version, inner=fault) from fault
