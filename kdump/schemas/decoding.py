"""Decodes keys and values by their schemas, and says which schema each has."""

from __future__ import annotations

from kdump.errors import CorruptData
from kdump.messages.kafka_json import Json
from kdump.schemas import framing, json_values, protobuf, protobuf_bare, shapes
from kdump.schemas.avro import AvroDecoder
from kdump.schemas.bounds import FINGERPRINT_UNKNOWN, GUID_UNKNOWN, ID_UNKNOWN, MISSING, undecodable
from kdump.schemas.framing import BARE, Framed
from kdump.schemas.schema import AVRO, JSON, KINDS, guid_text
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kdump.binary.kernel import Headers
    from kdump.schemas.collection import Collection
    from kdump.schemas.protobuf import ProtobufDecoder
    from kdump.schemas.registry import Registered
    from kdump.schemas.schema import Schema

KEY, VALUE = "key", "value"

_ERRORS = {ID_UNKNOWN: "unknown-id", GUID_UNKNOWN: "unknown-guid", FINGERPRINT_UNKNOWN: "unknown-fingerprint"}
_UNDECODABLE = "undecodable"
_NO_REGISTRY = ", because no _schemas-0 is beside the data; --schemas DIR says where one is"


class PartDecoded(Declared):
    """A key or value decoded: its value for JSON, the schema as an object, and why it could not be decoded.

    `schema` is None for data without one: null, and plain bytes. `has_value` says whether there is a value, which may be null.
    """

    value: Any = None
    schema: Json | None = None
    fault: CorruptData | None = None
    has_value: bool = False


class PartDecoder:
    """Decodes the keys, or the values, of a topic.

    Without `kind`, the data say which schema they have, or they are plain. With one (`avro`, `protobuf`, `json`), data that do
    not say it have that of a file, of the type with `name`, or the newest of the topic's subject.
    Raises UsageError if it cannot be told which schema of several files is meant.
    """

    def __init__(self, collection: Collection, part: str, *, kind: str = "", name: str = "", topic: str = "") -> None:
        self._collection = collection
        self._part = part
        self._header = framing.HEADER_NAMES[part]
        self._type = KINDS[kind] if kind else ""
        self._name = name
        self._named = collection.named(self._type, name, topic, part) if kind else None
        self._has_file = bool(kind) and any(schema.type == self._type for schema in collection.files)
        self._noted: set[tuple[int, int]] = set()  # the identities of schemas and of their decoders
        self.noted_shapes = shapes.NotedShapes()
        """The shapes of values whose schemas were noted."""
        self._about: dict[tuple[object, ...], Json] = {}
        self._by_id: dict[int, Registered] = {}
        self._by_guid: dict[bytes, Registered] = {}

    def decode(self, data: bytes | None, headers: Headers | None) -> PartDecoded:
        """A key or value decoded."""
        if data is None:
            return PartDecoded()
        framed = framing.by_header(headers, self._header) if headers else None
        if framed is None:
            framed = self._framed(data)
        if framed is None:
            return PartDecoded()
        described = _Described(framed)
        try:
            value = self._decoded(framed, data, described)
            return PartDecoded(value, self._json_of(described, ""), has_value=True)
        except CorruptData as fault:
            error = fault
        except RecursionError:
            error = undecodable("it is nested too deeply")
        error = CorruptData(error.code, f"the {self._part} was not decoded: {error.message}")
        return PartDecoded(None, self._json_of(described, _ERRORS.get(error.code, _UNDECODABLE)), error)

    def _framed(self, data: bytes) -> Framed | None:
        """Where the data are that say themselves what they are, or are to be taken for something."""
        if self._has_file:  # then there is no registry's prefix
            return self._single_object(data) or Framed(BARE)
        found = framing.by_prefix(data) or self._single_object(data)
        return found or (Framed(BARE) if self._type else None)

    def _single_object(self, data: bytes) -> Framed | None:
        framed = framing.by_fingerprint(data)
        if framed is None or self._type not in ("", AVRO):
            return None
        is_known = self._type == AVRO or self._collection.by_fingerprint(framed.fingerprint) is not None
        return framed if is_known else None

    def _decoded(self, framed: Framed, data: bytes, described: _Described) -> Any:
        found = self._schema(framed)
        if found is None:  # JSON says itself what it is, and so do Protobuf's numbers
            described.type = self._type
            position = framed.start
            return json_values.decode(data[position:]) if self._type == JSON else protobuf_bare.decode(data[position:])
        registered, schema = found
        described.type = schema.type
        if registered is not None and framed.framing != BARE:
            described.registered = registered
        return self._by_schema(framed, data, schema, described)

    def _schema(self, framed: Framed) -> tuple[Registered | None, Schema] | None:
        """The schema of some data; None if it is decoded without one. Raises CorruptData if it is not known."""
        if framed.framing == framing.SINGLE_OBJECT:
            found = self._collection.by_fingerprint(framed.fingerprint)
            if found is None:
                raise CorruptData(FINGERPRINT_UNKNOWN, f"no schema has the fingerprint {framed.fingerprint.hex()}")
            return found
        if framed.framing == BARE:
            if self._named is None and self._type == AVRO:
                raise CorruptData(MISSING, "it does not say which schema it has, and none was named")
            return self._named
        registered = self._registered(framed)
        if registered is not None:
            return registered, registered.schema
        if self._type == JSON:
            return None
        why = "" if self._collection.registry is not None else _NO_REGISTRY
        if framed.id is None:
            raise CorruptData(GUID_UNKNOWN, f"no schema has the GUID {guid_text(framed.guid)}{why}")
        raise CorruptData(ID_UNKNOWN, f"no schema has the id {framed.id}{why}")

    def _registered(self, framed: Framed) -> Registered | None:
        registry = self._collection.registry
        if registry is None:
            return None
        if framed.id is None:
            found = self._by_guid.get(framed.guid) or registry.by_guid(guid_text(framed.guid))
            if found is not None:  # those that are unknown may be as many as records
                self._by_guid[framed.guid] = found
            return found
        found = self._by_id.get(framed.id) or registry.by_id(framed.id)
        if found is not None:
            self._by_id[framed.id] = found
        return found

    def _by_schema(self, framed: Framed, data: bytes, schema: Schema, described: _Described) -> Any:
        decoder, position = self._decoder_of(framed, data, schema)
        if isinstance(decoder, AvroDecoder):
            return decoder.decode(data, position, is_message=framed.is_message)
        if decoder is None:
            return json_values.decode(data[position:])
        value = decoder.decode(data, position)
        described.message = decoder.message.name
        return value

    def _decoder_of(self, framed: Framed, data: bytes, schema: Schema) -> tuple[AvroDecoder | ProtobufDecoder | None, int]:
        """What decodes some data, None for JSON, and where the value starts."""
        name = self._name if framed.framing == BARE else ""
        if schema.type == AVRO:
            return self._collection.avro(schema, name=name), framed.start
        if schema.type == JSON:
            return None, framed.start
        compiled = self._collection.protobuf(schema)
        position, indexes = framed.start, [0]
        if framed.framing == framing.HEADER:
            indexes, _ = protobuf.indexes(framed.in_header, 0) if framed.in_header else ([0], 0)
        elif framed.is_message:
            indexes, position = protobuf.indexes(data, position)
        return (compiled.decoder_named(name) if name else compiled.decoder_at(indexes)), position

    def note_shape(self, data: bytes | None, headers: Headers | None) -> None:
        """Take note of the schema that some data have, without decoding them."""
        if data is None:
            return
        framed = (framing.by_header(headers, self._header) if headers else None) or self._framed(data)
        if framed is None:
            return
        try:
            found = self._schema(framed)
            decoder = None if found is None else self._decoder_of(framed, data, found[1])[0]
        except CorruptData:
            return
        key = (0 if found is None else id(found[1]), id(decoder))
        if key not in self._noted and len(self._noted) < _MAX_KEPT:
            self._noted.add(key)
            self.noted_shapes.add([shapes.Shape(shapes.JSON) if decoder is None else decoder.shape])

    def _json_of(self, described: _Described, error: str) -> Json:
        key = (*described.identity, error)
        found = self._about.get(key)
        if found is None:
            found = json_values.encode(described.fields(error))
            if len(self._about) < _MAX_KEPT:
                self._about[key] = found
        return found


_MAX_KEPT = 10_000  # objects that describe schemas; wrong data may have as many as there are records


class _Described:
    """What is known about the schema of some data."""

    def __init__(self, framed: Framed) -> None:
        self._framed = framed
        self.registered: Registered | None = None
        self.type = ""
        self.message: str | None = None

    @property
    def identity(self) -> tuple[object, ...]:
        framed = self._framed
        return framed.framing, framed.id, framed.guid, self.type, self.message, id(self.registered)

    def fields(self, error: str) -> dict[str, Any]:
        """The object that rows show."""
        framed, registered = self._framed, self.registered
        return {
            "framing": framed.framing,
            "id": framed.id if registered is None else registered.id,
            "guid": guid_text(framed.guid) if framed.guid else None,
            "type": self.type or None,
            "message": self.message,
            "subjects": None if registered is None else registered.subjects,
            "state": None if registered is None else registered.state,
            "error": error or None,
        }
