"""Control records: transaction markers, and what a KRaft quorum notes in its log."""

from __future__ import annotations

from kdump.errors import CorruptData
from kdump.messages import control_records, kafka_json, schema
from kdump.tables import Int32, Row, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.releases.profile import Profile

_KEY_SIZE = 4  # version, type
_MARKER_SIZE = 6  # version, coordinator epoch


class ControlRecord(Row):
    """The meaning of a control record: the type in its key, and its value as a marker's epoch or as JSON.

    Kafka: ControlRecordType, EndTransactionMarker (since 0.11.0, KIP-98), and the KRaft records (since 2.7, KIP-595).
    """

    type: Int32
    coordinator_epoch: Int32 | None
    message: Text | None


def type_of(key: bytes | None) -> int:
    """The type in the key of a control record.

    Raises CorruptData with the codes `control-key-null`, `control-key-short` or `control-version-negative`.
    """
    if key is None:
        raise CorruptData("control-key-null", "a control record has no key")
    if len(key) < _KEY_SIZE:
        raise CorruptData("control-key-short", f"the key of a control record has {len(key)} bytes", size=len(key))
    version = int.from_bytes(key[:2], "big", signed=True)
    if version < 0:
        raise CorruptData("control-version-negative", f"a control record has version {version}", version=version)
    return int.from_bytes(key[2:4], "big", signed=True)


def coordinator_epoch_of(value: bytes | None, *, checks_size_first: bool = False) -> int:
    """The coordinator's epoch in the value of a transaction marker.

    Raises CorruptData with the codes `control-value-null`, `marker-value-short` or `marker-version-negative`.
    """
    if value is None:
        raise CorruptData("control-value-null", "a control record has no value")
    version = int.from_bytes(value[:2], "big", signed=True)
    is_short = len(value) < _MARKER_SIZE
    if len(value) < 2 or is_short and (checks_size_first or version >= 0):
        raise CorruptData("marker-value-short", f"a transaction marker has {len(value)} bytes", size=len(value))
    if version < 0:
        raise CorruptData("marker-version-negative", f"a transaction marker has version {version}", version=version)
    return int.from_bytes(value[2:_MARKER_SIZE], "big", signed=True)


def message_of(control_type: int, value: bytes | None) -> str:
    """The value of a KRaft control record as Kafka's JSON.

    Raises CorruptData as `schema.Reader` says, and with `control-value-null`.
    """
    if value is None:
        raise CorruptData("control-value-null", "a control record has no value")
    message = control_records.MESSAGES[control_type]
    # Kafka reads every version as 0, and then shows the fields of the version that the message claims.
    values = schema.read(message, schema.Reader(value), 0)
    version = values["version"]
    assert isinstance(version, int)
    return kafka_json.dumps(message, values, version)


def text_of(key: bytes | None, value: bytes | None, profile: Profile) -> str:
    """What a release prints behind the fields of a control record. Raises CorruptData as the functions above."""
    type_id = type_of(key)
    control_type = profile.control_types.get(type_id)
    if control_type is None:
        return f" controlType: UNKNOWN({type_id})"
    if control_type.is_marker:
        epoch = coordinator_epoch_of(value, checks_size_first=profile.marker_size_is_checked_first)
        return f" endTxnMarker: {control_type.name} coordinatorEpoch: {epoch}"
    if control_type.heading:
        return f" {control_type.heading} {message_of(type_id, value)}"
    return f" controlType: {control_type.name}({type_id})"
