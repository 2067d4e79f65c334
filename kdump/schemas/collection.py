"""All schemas that a command was given or found: those of a registry, and those of files.

What is made of a schema is kept, so each is compiled once.
"""

from __future__ import annotations

import os

from kdump.errors import CorruptData, UsageError
from kdump.schemas import avro_types, files, proto_descriptors, proto_text, topic
from kdump.schemas.avro import AvroDecoder
from kdump.schemas.bounds import invalid, undecodable
from kdump.schemas.proto_known import known_types
from kdump.schemas.proto_types import Message, Types, message_at
from kdump.schemas.protobuf import ProtobufDecoder
from kdump.schemas.resolving import references_of
from kdump.schemas.schema import AVRO, KINDS, PROTOBUF, Schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.schemas.proto_text import ProtoFile
    from kdump.schemas.registry import Registered, Registry


_MAX_KEPT = 1 << 20  # bytes of compressed schemas whose decoders are kept


class Protobuf:
    """A Protobuf schema: all its types, and the messages of its file, or of all files of a set."""

    def __init__(self, types: Types, messages: Sequence[Message]) -> None:
        self.types = types
        self.messages = messages
        self._decoders: dict[str, ProtobufDecoder] = {}

    def decoder_at(self, indexes: Sequence[int]) -> ProtobufDecoder:
        """A decoder of the message that these numbers lead to. Raises CorruptData (`schema-undecodable`)."""
        message = message_at(self.messages, indexes)
        if message is None:
            raise undecodable(f"its message has the numbers {', '.join(map(str, indexes[:10]))}, which the schema does not have")
        return self._decoder_of(message)

    def decoder_named(self, name: str) -> ProtobufDecoder:
        """A decoder of the message with this full name. Raises CorruptData (`schema-invalid`)."""
        message = self.types.messages.get(name)
        if message is None:
            raise invalid(f"the schema does not declare {name[:100]}")
        return self._decoder_of(message)

    def _decoder_of(self, message: Message) -> ProtobufDecoder:
        if message.name not in self._decoders:
            self._decoders[message.name] = ProtobufDecoder(message, self.types)
        return self._decoders[message.name]


class Collection:
    """The schemas of a registry's topic, if there is one, and of files."""

    def __init__(self, registry: Registry | None = None, schemas: Sequence[Schema] = ()) -> None:
        self.registry = registry
        self.files = list(schemas)
        self._compiled: dict[tuple[int, str], AvroDecoder | Protobuf | CorruptData] = {}  # by identity of the schema, and name
        self._kept_bytes = 0
        self._fingerprints: dict[bytes, tuple[Registered | None, Schema]] | None = None
        self._known: Types | None = None

    # Finding

    def by_fingerprint(self, fingerprint: bytes) -> tuple[Registered | None, Schema] | None:
        """The Avro schema with a fingerprint, of a file or of the registry."""
        if self._fingerprints is None:
            self._fingerprints = self._all_fingerprints()
        return self._fingerprints.get(fingerprint)

    def _all_fingerprints(self) -> dict[bytes, tuple[Registered | None, Schema]]:
        found: dict[bytes, tuple[Registered | None, Schema]] = {}
        registered = [] if self.registry is None else list(self.registry.all())
        for id, schema in (*((None, schema) for schema in self.files), *registered):
            if schema.type != AVRO:
                continue
            try:
                fingerprint = avro_types.fingerprint(schema.text)
            except CorruptData:
                continue
            if fingerprint not in found:
                found[fingerprint] = (None if id is None or self.registry is None else self.registry.by_id(id)), schema
        return found

    def named(self, type: str, name: str, topic_name: str, part: str) -> tuple[Registered | None, Schema] | None:
        """The schema of data that names none: of a file, or the newest of the topic's subject; None if there is none.

        Of several files, it is the one that declares the name; or that is called after the topic and the part, or the topic.
        Raises UsageError if it cannot be told which is meant.
        """
        of_type = [schema for schema in self.files if schema.type == type]
        if self.files and not of_type:
            raise UsageError(f"--schemas has no schema for --{part}-decoder {type.lower()}")
        if not of_type:
            registered = None if self.registry is None else self.registry.newest(f"{topic_name}-{part}")
            return None if registered is None or registered.schema.type != type else (registered, registered.schema)
        if name:
            of_type = [schema for schema in of_type if self._declares(schema, name)]
            if not of_type:
                raise UsageError(f"no schema of --schemas declares {name}")
            return None, of_type[0]
        for wanted in (f"{topic_name}-{part}", topic_name):
            for schema in of_type:
                if topic_name and os.path.basename(schema.name).partition(".")[0] == wanted:
                    return None, schema
        if len(of_type) > 1:
            names = ", ".join(schema.name for schema in of_type[:5])
            remedy = f"name the type: --{part}-decoder {type.lower()}:NAME, or call a file {topic_name or 'TOPIC'}-{part}"
            raise UsageError(f"--schemas has several schemas: {names}", remedy=remedy)
        return None, of_type[0]

    def _declares(self, schema: Schema, name: str) -> bool:
        try:
            if schema.type == PROTOBUF:
                compiled = self.protobuf(schema)
                return any(_is_or_has(message, name) for message in compiled.messages)
            avro_types.parsed(schema.text, self._others(schema), name)
        except CorruptData:
            return False
        return name.rpartition(".")[2] in schema.text

    def _others(self, schema: Schema) -> list[str]:
        """The texts of the other Avro schemas in files, in an order in which each follows those that it uses."""
        texts: list[str] = []
        left = [other for other in self.files if other.type == AVRO and other is not schema]
        while left:
            waiting = []
            for other in left:
                try:
                    avro_types.parsed(other.text, texts)
                    texts.append(other.text)
                except CorruptData:
                    waiting.append(other)
            if len(waiting) == len(left):
                break
            left = waiting
        return texts

    # Compiling

    def avro(self, schema: Schema, name: str = "") -> AvroDecoder:
        """The decoder of an Avro schema, or of the type with a name in it. Raises CorruptData (`schema-invalid`)."""
        compiled = self._compile(schema, name)
        assert isinstance(compiled, AvroDecoder)
        return compiled

    def protobuf(self, schema: Schema) -> Protobuf:
        """The types of a Protobuf schema. Raises CorruptData (`schema-invalid`)."""
        compiled = self._compile(schema, "")
        assert isinstance(compiled, Protobuf)
        return compiled

    def _compile(self, schema: Schema, name: str) -> AvroDecoder | Protobuf:
        """What is made of a schema, once: also the fault of one that cannot be used is kept."""
        compiled = self._compiled.get((id(schema), name))
        if compiled is None:
            try:
                compiled = self._protobuf(schema) if schema.type == PROTOBUF else self._avro(schema, name)
            except CorruptData as fault:
                compiled = fault
            except RecursionError:
                compiled = invalid("its types contain each other in too long a chain")
            self._keep((id(schema), name), compiled, schema)
        if isinstance(compiled, CorruptData):
            raise compiled
        return compiled

    def _keep(self, key: tuple[int, str], compiled: AvroDecoder | Protobuf | CorruptData, schema: Schema) -> None:
        """Keep what was made of a schema; if there is too much of it, forget all else, which can be made again."""
        self._kept_bytes += schema.held_bytes
        if self._kept_bytes > _MAX_KEPT:
            self._compiled.clear()
            self._kept_bytes = schema.held_bytes
        self._compiled[key] = compiled

    def _avro(self, schema: Schema, name: str) -> AvroDecoder:
        if schema.references or not schema.name:
            referenced = [other.text for _, other in references_of(schema, self.registry)]
        else:
            referenced = self._others(schema)
        return AvroDecoder(avro_types.parsed(schema.text, referenced, name))

    def _protobuf(self, schema: Schema) -> Protobuf:
        if self._known is None:
            self._known = known_types()
        types = Types(self._known)
        imported = [other for _, other in references_of(schema, self.registry)]
        if schema.name:  # files: what one imports is beside it
            imported = [other for other in self.files if other.type == PROTOBUF and other is not schema and not other.data]
        for other in imported:
            _add(other, types)
        messages = [message for file in _add(schema, types) for message in file.messages]
        types.link()
        return Protobuf(types, messages)


def _add(schema: Schema, types: Types) -> list[ProtoFile]:
    if schema.data:
        return proto_descriptors.parse_set(schema.data, types)
    text = schema.text
    file = proto_descriptors.parse_base64(text, types)
    return [proto_text.parse(text, types) if file is None else file]


def _is_or_has(message: Message, name: str) -> bool:
    return message.name == name or any(_is_or_has(nested, name) for nested in message.nested)


def collection_of(path: str, given: str | None, kind: str = "") -> Collection:
    """The schemas for the records of a segment: of the registry's topic beside it, and of `given`, a file or directory.

    `given` may also be a registry's topic, or a log directory that has one; it then takes the place of the one beside the data.
    Raises UsageError if `given` has no schemas.
    """
    if given is None:
        directory = topic.beside(path)
        return Collection(None if directory is None else topic.read(directory))
    directory = _registry_in(given)
    if directory is not None:
        return Collection(topic.read(directory))
    beside = topic.beside(path)
    return Collection(None if beside is None else topic.read(beside), files.schemas_in(given, KINDS.get(kind, "")))


def _registry_in(given: str) -> str | None:
    return next((directory for directory in (given, os.path.join(given, topic.NAME)) if files.is_registry(directory)), None)


def places_of(path: str, given: str | None) -> list[str]:
    """Where `collection_of` looks for schemas: directories of a registry's topic, which may not exist, files and directories."""
    beside = topic.place_beside(path)
    if given is None:
        return [beside]
    directory = _registry_in(given)
    return [beside, given] if directory is None else [directory]


def files_at(place: str) -> list[str]:
    """The files that hold the schemas of such a place."""
    if os.path.basename(place) == topic.NAME or files.is_registry(place):
        return topic.files_in(place)
    return files.files_at(place)
