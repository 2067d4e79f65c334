"""Control records: transaction markers, and the control records of KRaft.

Kafka: ControlRecordType, EndTransactionMarker (since 0.11.0, KIP-98), and the KRaft records (since 2.7, KIP-595).
"""

from __future__ import annotations

import re

from kdump.errors import CorruptData
from kdump.messages import control_records, kafka_json, schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.messages.schema import Message

LARGE_MESSAGE = 1 << 20
"""A message of more bytes is better shown in pieces."""

MARKER_SIZE = 17
"""Bytes of the record of a usual marker."""

_USUAL_MARKER = re.compile(rb"\x20\0\0\0\x08\0\0\0([\0\1])\x0c\0\0(.{4})\0", re.DOTALL)
"""One-byte numbers, version and type in the key, version and epoch in the value, no headers."""

_KEY_SIZE = 4  # version, type
_MARKER_SIZE = 6  # version, coordinator epoch


def usual_marker(record: bytes) -> tuple[int, int] | None:
    """The type and the coordinator's epoch of a marker as brokers write it, by all its bytes; None for any other record."""
    found = _USUAL_MARKER.fullmatch(record)
    return None if found is None else (found[1][0], int.from_bytes(found[2], "big", signed=True))


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


def message_of(control_type: int, value: bytes | None, *, bounds_counts: bool = False) -> str:
    """The value of a KRaft control record as Kafka's JSON; `bounds_counts` as in Message.

    Raises CorruptData like `schema.Reader`, and with `control-message-null`.
    """
    if value is None:
        raise CorruptData("control-message-null", "a control record has no value")
    if len(value) > LARGE_MESSAGE:
        return "".join(pieces_of(control_type, value, bounds_counts=bounds_counts))
    message = _message(control_type, bounds_counts=bounds_counts)
    # Kafka reads every version as version 0, and then shows the fields of the version that the message claims.
    values = schema.read(message, schema.Reader(value), 0)
    version = values["version"]
    assert isinstance(version, int)
    return kafka_json.dumps(message, values, version)


def pieces_of(control_type: int, value: bytes, *, bounds_counts: bool = False) -> Iterator[str]:
    """What `message_of` returns, in pieces. Raises CorruptData like it, and at once."""
    from kdump.messages import json_pieces  # seldom needed, and slow to load

    version = int.from_bytes(value[:2], "big", signed=True)  # the first field of each of these messages
    return json_pieces.pieces(_message(control_type, bounds_counts=bounds_counts), value, 0, version)


def _message(control_type: int, *, bounds_counts: bool) -> Message:
    message = control_records.MESSAGES[control_type]
    return schema.with_bounded_counts(message) if bounds_counts else message
