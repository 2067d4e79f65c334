"""Metadata records of KRaft and of tiered storage, in __cluster_metadata and __remote_log_metadata.

The value is three unsigned varints (frame version, record id, version) and the message; nothing may follow.
Kafka: AbstractApiMessageSerde (since 3.0.0); before that, the KRaft preview had a different frame.
"""

from __future__ import annotations

from kdump.errors import CorruptData
from kdump.messages import schema
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kdump.messages.schema import Message, Value

FRAME_VERSION = 1
PREVIEW_FRAME_VERSION = 0


class MetadataRecord(Declared):
    """A record's message, its version, its fields."""

    id: int
    message: Message
    version: int
    fields: dict[str, Value]


def read(
    records: Mapping[int, Message], value: bytes | None, *, bounds_sizes: bool = True, keeps_fields: bool = True
) -> MetadataRecord:
    """A record with one of these ids. Unless it `keeps_fields`, they are passed over, and take no memory.

    Raises CorruptData with the codes `metadata-number-short` and `metadata-number-too-large` (which `number`, in `values`),
    `metadata-frame-zero`, `metadata-frame-unknown`, `metadata-id-unknown`, `metadata-unreadable`, `metadata-garbage`, and
    `metadata-out-of-memory`.
    """
    reader = schema.Reader(value if value is not None else b"", bounds_sizes=bounds_sizes)
    frame_version = _number(reader, "frame version")
    if frame_version == 0:
        raise CorruptData("metadata-frame-zero", "frame version 0 is that of the preview of KRaft in 2.8")
    if frame_version != FRAME_VERSION:
        raise CorruptData("metadata-frame-unknown", f"frame version {frame_version} is not known", version=frame_version)
    record_id = _number(reader, "type")
    version = _number(reader, "version")
    record = _record(records, record_id, version, reader, keep=keeps_fields)
    if reader.remaining:
        text = f"{reader.remaining} bytes stand after the {record.message.name}"
        raise CorruptData("metadata-garbage", text, id=record_id, size=reader.remaining)
    return record


def read_preview(records: Mapping[int, Message], value: bytes | None, *, bounds_sizes: bool = True) -> MetadataRecord:
    """A record with one of these ids in the format of the KRaft preview, frame version 0. Trailing bytes are ignored.

    Raises CorruptData with the codes `metadata-value-null`, `metadata-frame-unknown`, `metadata-id-unknown`,
    `metadata-unreadable`, and `metadata-out-of-memory`. Kafka: MetadataRecordSerde (2.8).
    """
    if value is None:
        raise CorruptData("metadata-value-null", "the record has no value")
    reader = schema.Reader(value, bounds_sizes=bounds_sizes)
    numbers: list[int] = []
    try:
        while len(numbers) < 3:
            numbers.append(schema.as_int16(reader.unsigned_varint()))
            if numbers[0] != PREVIEW_FRAME_VERSION:
                raise CorruptData("metadata-frame-unknown", f"frame version {numbers[0]} is not known", version=numbers[0])
    except CorruptData as fault:
        if fault.code == "metadata-frame-unknown":
            raise
        raise CorruptData("metadata-unreadable", "the value ends inside its header", inner=fault) from fault
    return _record(records, numbers[1], numbers[2], reader)


def _record(
    records: Mapping[int, Message], record_id: int, version: int, reader: schema.Reader, *, keep: bool = True
) -> MetadataRecord:
    message = records.get(record_id)
    if message is None:
        raise CorruptData("metadata-id-unknown", f"records with the id {record_id} are not known", id=record_id)
    try:
        fields = schema.read(message, reader, version, keep=keep)
    except CorruptData as fault:
        code = "metadata-out-of-memory" if fault.code == "message-out-of-memory" else "metadata-unreadable"
        text = f"the value is no {message.name} of version {version}: {fault.message}"
        raise CorruptData(code, text, id=record_id, inner=fault) from fault
    return MetadataRecord(record_id, message, version, fields)


def _number(reader: schema.Reader, name: str) -> int:
    try:
        number = reader.unsigned_varint()
    except CorruptData as fault:
        raise CorruptData("metadata-number-short", f"the value ends inside its {name}", number=name) from fault
    if number > schema.MAX_INT16:
        raise CorruptData("metadata-number-too-large", f"the {name} is {number}", number=name)
    return number if number >= 0 else schema.as_int16(number)
