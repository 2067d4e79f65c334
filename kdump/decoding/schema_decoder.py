"""Decodes records by the schemas of their keys and values, for rows."""

from __future__ import annotations

from kdump.decoders import plain
from kdump.decoding.decoded import Decoded
from kdump.errors import CorruptData, UsageError
from kdump.schemas import json_values
from kdump.schemas.decoding import KEY, VALUE, PartDecoded, PartDecoder
from kdump.schemas.schema import KINDS
from kdump.schemas.shapes import INT64, NotedShapes, Shape

STRING = "string"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from kdump.binary.kernel import Headers
    from kdump.messages.kafka_json import Json
    from kdump.schemas.collection import Collection
    from kdump.schemas.own import Command

    class Part(Protocol):
        """What decodes keys, or values."""

        @property
        def noted_shapes(self) -> NotedShapes: ...

        def decode(self, data: bytes | None, headers: Headers | None) -> PartDecoded: ...

        def note_shape(self, data: bytes | None, headers: Headers | None) -> None: ...


class PlainPart:
    """Decodes numbers; a string needs no decoder."""

    def __init__(self, kind: str) -> None:
        self._decode = None if kind == STRING else plain.DECODERS[kind]
        self.noted_shapes = NotedShapes([] if self._decode is None else [Shape(INT64)])

    def note_shape(self, data: bytes | None, _headers: Headers | None) -> None:
        """Nothing: there is one shape."""

    def decode(self, data: bytes | None, _headers: Headers | None) -> PartDecoded:
        """The number in some bytes."""
        if data is None or self._decode is None:
            return PartDecoded()
        try:
            return PartDecoded(int(self._decode(data)), has_value=True)
        except CorruptData as fault:
            return PartDecoded(fault=fault)


class SchemaDecoder:
    """Decodes a record: its key and its value, each as its decoder says."""

    def __init__(self, key: Part, value: Part) -> None:
        self._key = key
        self._value = value

    def note_shapes(self, key: bytes | None, value: bytes | None, headers: Headers | None) -> None:
        """Take note of the schemas that key and value have, without decoding them."""
        self._key.note_shape(key, headers)
        self._value.note_shape(value, headers)

    @property
    def noted_shapes(self) -> tuple[NotedShapes, NotedShapes]:
        """The shapes of all keys, and of all values, whose schemas were noted."""
        return self._key.noted_shapes, self._value.noted_shapes

    def decode(self, key: bytes | None, value: bytes | None, headers: Headers | None) -> Decoded:
        """Key and value as JSON. If both could not be decoded, the fault names both reasons."""
        decoded = Decoded()
        key_part, value_part = self._key.decode(key, headers), self._value.decode(value, headers)
        decoded.key, key_fault = _json_of(key_part)
        decoded.value, value_fault = _json_of(value_part)
        decoded.raw_key, decoded.raw_value = key_part.value, value_part.value
        decoded.key_schema, decoded.value_schema = key_part.schema, value_part.schema
        decoded.fault = key_fault or value_fault
        if key_fault is not None and value_fault is not None:
            message = f"{key_fault.message}; {value_fault.code}: {value_fault.message}"
            decoded.fault = CorruptData(key_fault.code, message)
        return decoded

    def part(self, part: str, key: bytes | None, value: bytes | None, headers: Headers | None) -> tuple[bool, Any]:
        """Whether the key or the value has a decoded value, and that value. Raises CorruptData if it could not be decoded."""
        found = self._key.decode(key, headers) if part == KEY else self._value.decode(value, headers)
        if found.fault is not None:
            raise found.fault
        return found.has_value, found.value


def decoder_of_parts(collection: Collection, key: str, value: str, topic: str, command: Command | None = None) -> SchemaDecoder:
    """The decoder of a topic's records. `key` and `value` are decoders as options name them, such as `avro:shop.Order`;
    without one, the data say which schema they have. `command` is what the decoder `cmd` asks.

    Raises UsageError if it cannot be told which schema of several files is meant, and for a decoder that there is not.
    """
    key_part, value_part = (_part(collection, part, given, topic, command) for part, given in ((KEY, key), (VALUE, value)))
    return SchemaDecoder(key_part, value_part)


def _part(collection: Collection, part: str, given: str, topic: str, command: Command | None) -> Part:
    kind, _, name = given.partition(":")
    if kind in (STRING, *plain.DECODERS):
        return PlainPart(kind)
    if kind and kind not in KINDS:
        from kdump.schemas import own

        if kind != own.COMMAND:
            return own.OwnPart(part, topic, own.function_of(given))
        if command is None:
            raise UsageError("the decoder cmd needs a command", remedy="--decoder-cmd says which")
        return own.OwnPart(part, topic, command)
    return PartDecoder(collection, part, kind=kind, name=name, topic=topic)


def _json_of(part: PartDecoded) -> tuple[Json | None, CorruptData | None]:
    if part.fault is not None or not part.has_value:
        return None, part.fault
    try:
        return json_values.encode(part.value), None
    except CorruptData as fault:
        return None, fault
