"""How a key or a value says which schema it was written with.

Confluent's serializers put a byte 0 and the schema's id (four bytes) before the data, or a byte 1 and the schema's GUID (sixteen
bytes) into a header of the record; for Protobuf, the numbers of the message follow. Avro has single-object encoding: C3 01 and
the fingerprint of the schema.
"""

from __future__ import annotations

from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.binary.kernel import Headers

PREFIX, HEADER, SINGLE_OBJECT, BARE = "prefix", "header", "single-object", "bare"

HEADER_NAMES = {"key": b"__key_schema_id", "value": b"__value_schema_id"}
"""The header that says the schema of each part of a record."""

_ID_SIZE, _GUID_SIZE, _FINGERPRINT_SIZE = 5, 17, 10


class Framed(Declared):
    """How a key or value names its schema, and where what follows that starts.

    `in_header` is the rest of the header: the numbers of a Protobuf message, which otherwise are the start of the data.
    """

    framing: str
    start: int = 0
    id: int | None = None
    guid: bytes = b""
    fingerprint: bytes = b""
    in_header: bytes = b""

    @property
    def is_message(self) -> bool:
        """Whether one of Confluent's serializers wrote the data."""
        return self.framing in (PREFIX, HEADER)


def by_header(headers: Headers, name: bytes) -> Framed | None:
    """What the last header of this name says, or None if there is none, or none that a serializer writes."""
    for key, value in reversed(headers):
        if bytes(key) != name or value is None:
            continue
        if value[:1] == b"\1" and len(value) >= _GUID_SIZE:
            return Framed(HEADER, guid=bytes(value[1:_GUID_SIZE]), in_header=bytes(value[_GUID_SIZE:]))
        if value[:1] == b"\0" and len(value) >= _ID_SIZE:
            return Framed(HEADER, id=int.from_bytes(value[1:_ID_SIZE], "big"), in_header=bytes(value[_ID_SIZE:]))
        return None
    return None


def by_prefix(data: bytes) -> Framed | None:
    """What the first bytes say, or None if they are those of no serializer. Numbers may look like it."""
    if len(data) >= _ID_SIZE and data[0] == 0:
        return Framed(PREFIX, _ID_SIZE, id=int.from_bytes(data[1:_ID_SIZE], "big"))
    return None


def by_fingerprint(data: bytes) -> Framed | None:
    """What the first bytes say if they are those of single-object encoding, or None."""
    if len(data) >= _FINGERPRINT_SIZE and data[:2] == b"\xc3\x01":
        return Framed(SINGLE_OBJECT, _FINGERPRINT_SIZE, fingerprint=bytes(data[2:_FINGERPRINT_SIZE]))
    return None
