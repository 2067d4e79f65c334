"""Random messages of any schema and version, as bytes."""

import random
import struct
from collections.abc import Iterator, Sequence

from kdump.messages import (
    cluster_metadata,
    cluster_metadata_preview,
    consumer_offsets,
    consumer_protocol,
    remote_log_metadata,
    share_group_state,
    transaction_state,
)
from kdump.messages.schema import Field, Message
from tests.builders.records import unsigned_varint

CODES = {"bool": "b", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint16": "H", "uint32": "I", "float64": "d"}
NUMBERS: Sequence[int] = (0, 1, -1, 7, 99, 10_000, -1_234_567, (1 << 31) - 1, -(1 << 31), (1 << 63) - 1, -(1 << 63))
DOUBLES = (0.0, -0.0, 1.0, -3.0, 1048576.0, 9999999.0, 10_000_000.0, 1.5e12, 123456789012345.0, 0.1, 1e-5, 1e300, float("nan"))
TEXTS = (b"", b"g1", b"consumer", b"a topic of some length", b'quotes " and \\ and \x01\n\x1f', "käse \U0001f9c0".encode())
MALFORMED = (b"\xff\xfe", b"a\xed\xa0\x80b", b"\xe2\x82")


def messages() -> Iterator[Message]:
    for pairs in (
        *(consumer_offsets.RECORDS, consumer_offsets.EARLIER_RECORDS, transaction_state.RECORDS),
        *(share_group_state.RECORDS, share_group_state.EARLIER_RECORDS),
    ):
        for pair in pairs.values():
            yield from pair
    for records in (
        *(cluster_metadata.RECORDS, cluster_metadata.EARLIER_RECORDS, cluster_metadata_preview.RECORDS),
        remote_log_metadata.RECORDS,
    ):
        yield from records.values()
    yield from (consumer_protocol.SUBSCRIPTION, consumer_protocol.ASSIGNMENT)


def versions(message: Message) -> range:
    """The declared versions, or 0 alone if they are not limited."""
    return range(message.last_version + 1 if message.last_version < 100 else 1)


def any_message(message: Message, version: int, chance: random.Random) -> bytes:
    return Writer(version, version >= message.flexible_since, chance).fields(message.fields)


class Writer:
    """Writes the fields of a message of one version with random values."""

    def __init__(self, version: int, is_flexible: bool, chance: random.Random) -> None:
        self.version = version
        self.is_flexible = is_flexible
        self.chance = chance

    def fields(self, fields: Sequence[Field]) -> bytes:
        data = b""
        tagged = []
        for field in fields:
            if field.tag is not None and self.version >= field.tagged_since:
                tagged.append(field)
            elif field.since <= self.version < field.until:
                data += self.field(field)
        return data + (self.tags(tagged) if self.is_flexible else b"")

    def tags(self, fields: Sequence[Field]) -> bytes:
        chance = self.chance
        written = []
        for field in fields:
            if chance.random() < 0.5:
                value = self.field(field, is_tagged=True)
                written.append(unsigned_varint(field.tag or 0) + unsigned_varint(len(value)) + value)
        if chance.random() < 0.2:  # one that no version knows
            size = chance.choice((0, 3, 200))
            written.append(unsigned_varint(chance.choice((90, 1000))) + unsigned_varint(size) + chance.randbytes(size))
        if written and chance.random() < 0.1:
            written.append(written[0])
        return unsigned_varint(len(written)) + b"".join(written)

    def field(self, field: Field, is_tagged: bool = False) -> bytes:
        chance = self.chance
        is_null = field.nullable_since <= self.version and chance.random() < 0.3
        if not field.is_array:
            return self.value(field, is_tagged, is_null)
        if is_null:
            return self.length(-1, "i")
        count = chance.choice((0, 1, 2, 3, 3, 140)) if field.type == "int32" else chance.choice((0, 0, 1, 2))
        return self.length(count, "i") + b"".join(self.value(field, False, False, is_element=True) for _ in range(count))

    def value(self, field: Field, is_tagged: bool, is_null: bool, is_element: bool = False) -> bytes:
        chance = self.chance
        if field.type == "struct":
            marker = b""
            if field.nullable_since <= self.version and not is_element:
                marker = unsigned_varint(0 if is_null else 1) if is_tagged else struct.pack(">b", -1 if is_null else 1)
            return marker if is_null else marker + self.fields(field.fields)
        if field.type == "uuid":
            return chance.choice((bytes(16), chance.randbytes(16)))
        if field.type == "float64":
            return struct.pack(
                ">d",
                chance.choice(
                    (*DOUBLES, chance.uniform(-1e9, 1e9), round(chance.uniform(-1e4, 1e4), 3), float(chance.randrange(1 << 60)))
                ),
            )
        if field.type in CODES:
            size = struct.calcsize(CODES[field.type])
            number = field.default if isinstance(field.default, int) and chance.random() < 0.3 else chance.choice(NUMBERS)
            return struct.pack(">q", number)[-size:]
        if field.type == "string":
            text = chance.choice(TEXTS if chance.random() < 0.95 else (*MALFORMED, b"long " * 60))
            return self.length(-1, "h") if is_null else self.length(len(text), "h") + text
        data = chance.choice((b"", b"\0", chance.randbytes(chance.randrange(20))))
        return self.length(-1, "i") if is_null else self.length(len(data), "i") + data

    def length(self, size: int, code: str) -> bytes:
        return unsigned_varint(size + 1) if self.is_flexible else struct.pack(f">{code}", size)


def damaged(data: bytes, chance: random.Random) -> bytes:
    """The bytes with one of them changed, removed or added, or cut off."""
    at = chance.randrange(len(data) + 1)
    byte = bytes([chance.choice((0, 1, 2, 0x7F, 0x80, 0xFF, chance.randrange(256)))])
    return chance.choice((data[:at], data[:at] + byte + data[at + 1 :], data[:at] + byte + data[at:], data[:at] + data[at + 1 :]))
