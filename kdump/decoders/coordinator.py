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

    from kdump.messages.kafka_json import Json
    from kdump.messages.schema import Message, Value

    Records = Mapping[int, tuple[Message, Message]]

_INT16 = Struct(">h")
_MAX_KNOWN_KEYS, _MAX_KNOWN_KEY = 1 << 12, 1 << 8  # that are remembered, and the bytes of one


class CoordinatorRecord:
    """A record's type and key, and the version and fields of its value; `value` is None for a tombstone.

    `key_json` is for those who show the key of several records.
    """

    def __init__(self, record_type: int, messages: tuple[Message, Message], key: dict[str, Value]) -> None:
        self.type = record_type
        self.key_message, self.value_message = messages
        self.key = key
        self.key_json: Json | None = None
        self.version = 0
        self.value: dict[str, Value] | None = None


class Keys:
    """Reads keys as `read_key`, but short ones, which most logs repeat, once. Nothing may be changed in what it gives."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._known: dict[bytes, CoordinatorRecord] = {}

    def read(self, key: bytes) -> CoordinatorRecord:
        """A record with this key, without its value."""
        record = self._known.get(key)
        if record is None:
            record = read_key(self._records, key)
            if len(key) <= _MAX_KNOWN_KEY:
                if len(self._known) >= _MAX_KNOWN_KEYS:
                    self._known.clear()
                self._known[key] = record
        return record


def read(records: Records, key: bytes, value: bytes | None, *, checks_version: bool = True) -> CoordinatorRecord:
    """A record of one of these types. Bytes after the messages are ignored, as Kafka does.

    Raises CorruptData with the codes `record-type-unknown`, `record-version-unknown`, and, for the part
    (`key` or `value`) named in `values`, `record-version-short` and `record-unreadable` (with the `inner` fault).
    """
    record = read_key(records, key)
    if value is not None:
        record.version, record.value = read_value(record, value, checks_version=checks_version)
    return record


def read_key(records: Records, key: bytes) -> CoordinatorRecord:
    """A record of one of these types without its value. Raises CorruptData as `read`."""
    record_type = _version(key, "key")
    messages = records.get(record_type)
    if messages is None:
        raise CorruptData("record-type-unknown", f"records of type {record_type} are not known", type=record_type)
    fields = _message(messages[0], key, 0, "key", shown_version=record_type)
    return CoordinatorRecord(record_type, messages, fields)


def read_value(
    record: CoordinatorRecord, value: bytes, *, checks_version: bool = True, keeps_value: bool = True
) -> tuple[int, dict[str, Value]]:
    """The version and the fields of a value of this record, whose key says what it is. Raises CorruptData as `read`.

    Unless it `keeps_value`, the value is passed over, and takes no memory.
    """
    version = _version(value, "value")
    if checks_version and not 0 <= version <= record.value_message.last_version:
        text = f"version {version} of records of type {record.type} is not known"
        raise CorruptData("record-version-unknown", text, type=record.type, version=version)
    return version, _message(record.value_message, value, version, "value", shown_version=version, keep=keeps_value)


def _version(data: bytes, part: str) -> int:
    if len(data) < _INT16.size:
        raise CorruptData("record-version-short", f"the {part} ends inside its version", part=part)
    version: int = _INT16.unpack_from(data)[0]
    return version


def _message(
    message: Message, data: bytes, version: int, part: str, *, shown_version: int, keep: bool = True
) -> dict[str, Value]:
    """The message after the version in the data of a key or value."""
    try:
        return schema.read(message, schema.Reader(data, _INT16.size), version, keep=keep)
    except CorruptData as fault:
        text = f"the {part} is no {message.name} of version {version}: {fault.message}"
        raise CorruptData("record-unreadable", text, part=part, version=shown_version, inner=fault) from fault
