"""Decoded keys and values of records as JSON objects, which are the same whatever the release: for NDJSON, CSV and tables.

Records of internal topics have Kafka's JSON form, as its newest tool prints it: the type and the data of a key, the version and
the data of a value. The object of a null value (a tombstone) is null.
"""

from __future__ import annotations

import os

from kdump.decoders import control_record, plain
from kdump.errors import CorruptData
from kdump.formats import file_name, tree
from kdump.messages import kafka_json
from kdump.messages.control_records import COMMIT, MESSAGES, NAMES
from kdump.messages.kafka_json import Json
from kdump.schemas.bounds import TOO_LARGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kdump.decoders.coordinator import Records
    from kdump.decoders.metadata import MetadataRecord
    from kdump.messages.schema import Value

    Decoder = Callable[[bytes | None, bytes | None], "Decoded"]

_MAX_KNOWN, _MAX_KNOWN_SIZE = 1 << 10, 1 << 8  # unreadable records that are not read again, and the bytes of one
MAX_RECORD, MAX_CONTROL_RECORD = 3 << 20, 1 << 20
"""Bytes of records that are decoded at most; their JSON takes up to forty times the memory in NDJSON and in tables."""


class Decoded:
    """A key and a value decoded. One that could not be decoded is None, and `fault` says why.

    `key_schema` and `value_schema` describe their schemas, if they have any; `raw_key` and `raw_value` are then the values that
    became JSON.
    """

    def __init__(self, key: Json | None = None, value: Json | None = None, fault: CorruptData | None = None) -> None:
        self.key = key
        self.value = value
        self.key_schema: Json | None = None
        self.value_schema: Json | None = None
        self.raw_key: Any = None  # of the types that JSON has
        self.raw_value: Any = None
        self.fault = fault

    @property
    def error(self) -> str | None:
        """The code of the fault and what is wrong."""
        return None if self.fault is None else f"{self.fault.code}: {self.fault.message}"

    def raw(self, part: str) -> Any:
        """The value of a part (`key` or `value`)."""
        return self.raw_key if part == "key" else self.raw_value


def internal_topic(path: str) -> str:
    """The name in TOPICS of the internal topic that a file belongs to, by its name and its directory; empty for any other."""
    if file_name.suffix(os.path.basename(path)) == file_name.CHECKPOINT:
        return "cluster-metadata"
    topic = tree.topic_of(path)
    name = topic.lower().lstrip("_").replace("_", "-")
    return name if topic.startswith("__") and name in TOPICS else ""


def decoder_of(topic: str) -> Decoder:
    """The decoder of the records of an internal topic. Of those that would take very much memory, it decodes a short key only."""
    decode = TOPICS[topic]()
    unreadable: dict[tuple[bytes | None, bytes | None], Decoded] = {}  # short records, which may be the same again and again

    def bounded(key: bytes | None, value: bytes | None) -> Decoded:
        size = len(key or b"") + len(value or b"")
        if size <= _MAX_KNOWN_SIZE and (key, value) in unreadable:
            return unreadable[key, value]
        try:
            decoded = decode(key, value if size <= MAX_RECORD else None) if len(key or b"") <= MAX_RECORD else Decoded()
        except CorruptData as fault:
            decoded = Decoded(fault=_shown(fault))
        if size > MAX_RECORD:
            decoded.fault = _too_large(size, MAX_RECORD)
        elif decoded.fault is not None and size <= _MAX_KNOWN_SIZE:
            if len(unreadable) >= _MAX_KNOWN:
                unreadable.clear()
            unreadable[key, value] = decoded
        return decoded

    return bounded


def plain_decoder(key_kind: str, value_kind: str) -> Decoder | None:
    """A decoder of numbers, `integer` or `long`; None if both are strings, which need no decoder."""
    if key_kind == value_kind == "string":
        return None

    def number(data: bytes | None, kind: str) -> Json | None:
        return None if data is None or kind == "string" else Json(plain.DECODERS[kind](data))

    def decode(key: bytes | None, value: bytes | None) -> Decoded:
        decoded = Decoded()
        try:
            decoded.key = number(key, key_kind)
        except CorruptData as fault:
            decoded.fault = fault
        try:
            decoded.value = number(value, value_kind)
        except CorruptData as fault:
            decoded.fault = decoded.fault or fault
        return decoded

    return decode


def control_record_of(key: bytes | None, value: bytes | None) -> Decoded:
    """A control record decoded: `{"controlType":"COMMIT"}`, and the message of its value."""
    decoded = Decoded()
    try:
        type_id = control_record.type_of(key)
        name = NAMES[type_id] if 0 <= type_id < len(NAMES) else f"UNKNOWN({type_id})"
        decoded.key = Json(f'{{"controlType":"{name}"}}')
        if 0 <= type_id <= COMMIT:
            epoch = control_record.coordinator_epoch_of(value)
            decoded.value = _versioned(_int16_of(value), f'{{"coordinatorEpoch":{epoch}}}')
        elif type_id in MESSAGES and value is not None and len(value) > MAX_CONTROL_RECORD:
            decoded.fault = _too_large(len(value), MAX_CONTROL_RECORD)
        elif type_id in MESSAGES:
            decoded.value = _versioned(_int16_of(value), control_record.message_of(type_id, value))
    except CorruptData as fault:
        decoded.fault = fault
    return decoded


def _too_large(size: int, limit: int) -> CorruptData:
    return CorruptData(TOO_LARGE, f"its {size:,} bytes are not decoded, as they are more than {limit >> 20} MiB")


def _int16_of(value: bytes | None) -> int:
    return int.from_bytes(value[:2], "big", signed=True) if value else 0


def _versioned(version: int | str, data: str) -> Json:
    return Json(f'{{"version":{version},"data":{data}}}')


def _consumer_offsets() -> Decoder:
    from kdump.decoders import consumer_offsets
    from kdump.messages.consumer_offsets import RECORDS

    def shown(record_type: int, value: dict[str, Value]) -> dict[str, Value]:
        return consumer_offsets.with_protocol_as_json(value) if record_type == consumer_offsets.GROUP_METADATA else value

    # brokers before 0.9 wrote values of later versions under keys of type 0
    return _coordinator(RECORDS | {0: (RECORDS[0][0], RECORDS[1][1])}, shown)


def _transaction_state() -> Decoder:
    from kdump.messages.transaction_state import RECORDS

    return _coordinator(RECORDS)


def _share_group_state() -> Decoder:
    from kdump.messages.share_group_state import RECORDS

    return _coordinator(RECORDS)


def _as_it_is(_record_type: int, value: dict[str, Value]) -> dict[str, Value]:
    return value


def _coordinator(records: Records, shown: Callable[[int, dict[str, Value]], dict[str, Value]] = _as_it_is) -> Decoder:
    """A decoder of the records of a coordinator. A key is shown even if its value cannot be read."""
    from kdump.decoders import coordinator

    keys = coordinator.Keys(records)

    def decode(key: bytes | None, value: bytes | None) -> Decoded:
        if key is None:
            raise CorruptData("record-key-null", "the record has no key")
        record = keys.read(key)
        if (key_json := record.key_json) is None:
            key_json = Json(f'{{"type":"{record.type}","data":{kafka_json.dumps(record.key_message, record.key, 0)}}}')
            record.key_json = key_json
        if value is None:
            return Decoded(key_json)
        try:
            version, fields = coordinator.read_value(record, value)
        except CorruptData as fault:
            return Decoded(key_json, fault=_shown(fault))
        data = kafka_json.dumps(record.value_message, shown(record.type, fields), version)
        return Decoded(key_json, _versioned(f'"{version}"', data))

    return decode


def _shown(fault: CorruptData) -> CorruptData:
    """A fault with what rows show of it, and nothing else: what many of them refer to takes long to free."""
    fault.values = {}
    fault.__cause__ = fault.__context__ = None
    return fault.without_frames()


def _cluster_metadata() -> Decoder:
    from kdump.decoders import metadata
    from kdump.messages.cluster_metadata import RECORDS

    def decode(_key: bytes | None, value: bytes | None) -> Decoded:
        return Decoded(value=_metadata_json(metadata.read(RECORDS, value)))

    return decode


def _remote_log_metadata() -> Decoder:
    from kdump.decoders import metadata, remote_log_metadata
    from kdump.messages.remote_log_metadata import RECORDS

    def decode(_key: bytes | None, value: bytes | None) -> Decoded:
        decoded = Decoded()
        try:
            record = metadata.read(RECORDS, value)
            decoded.value = _metadata_json(record)
            remote_log_metadata.check(record)  # what Kafka would not accept is shown all the same
        except CorruptData as fault:
            decoded.fault = _shown(fault)
        return decoded

    return decode


def _metadata_json(record: MetadataRecord) -> Json:
    data = kafka_json.dumps(record.message, record.fields, record.version)
    return Json(f'{{"type":"{kafka_json.type_name(record.message)}","version":{record.version},"data":{data}}}')


TOPICS: dict[str, Callable[[], Decoder]] = {
    "consumer-offsets": _consumer_offsets,
    "transaction-state": _transaction_state,
    "cluster-metadata": _cluster_metadata,
    "remote-log-metadata": _remote_log_metadata,
    "share-group-state": _share_group_state,
}
"""What makes a decoder, by the name of the topic with hyphens, without the underscores at its start."""
