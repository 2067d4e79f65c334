"""Decodes keys and values for a search: those of conditions, and those of records that match."""

from __future__ import annotations

import os

from kdump.binary.paths import absolute
from kdump.errors import CorruptData
from kdump.searching.fields import DECODED_FIELDS, KEY, VALUE
from kdump.searching.undecidable import Undecidable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from kdump.binary.kernel import Headers
    from kdump.decoding.decoded import Decoded, Decoder
    from kdump.decoding.log_decoder import LogDecoder
    from kdump.decoding.schema_decoder import SchemaDecoder
    from kdump.decoding.schemas_of_logs import SchemasOfLogs
    from kdump.pipeline.discovery import FileItem

_STRING = "string"
_CONTROL = frozenset(map(chr, range(32))) - set("\t\n\r")


class Decoding:
    """How the keys and values of a search are decoded.

    `key` and `value` are decoders as the options name them, such as `avro:shop.Order`; without one, the data say which schema
    they have. `schemas` is where schemas are; by default in `_schemas-0` beside the data. `command` is what the decoder `cmd`
    asks. Internal topics have Kafka's own schemas in any case. `spooled` are paths of files that are not where their data came
    from.
    """

    def __init__(
        self,
        *,
        key: str = "",
        value: str = "",
        schemas: str | None = None,
        command: str | None = None,
        spooled: Iterable[str] = (),
    ) -> None:
        if command is not None and not key and not value:
            key = value = "cmd"
        self.key = key
        self.value = value
        self.schemas = schemas
        self.command = command
        self._spooled = frozenset(spooled)
        self._by_schema: SchemasOfLogs | None = None

    @property
    def is_asked_for(self) -> bool:
        """Whether decoders or schemas were named."""
        return bool(self.key or self.value or self.schemas is not None)

    def require(self, items: Iterable[FileItem]) -> None:
        """Raise UsageError if it cannot be told which schemas the records of these files have."""
        if not self.is_asked_for:
            return
        for path in {os.path.dirname(item.path): item for item in items}.values():
            self.of_conditions(path)

    def of_conditions(self, item: FileItem) -> ConditionDecoder:
        """What decodes the records of a log for conditions. Raises UsageError, and Unreadable for a path of schemas."""
        internal = self._internal(item)
        if internal is not None:
            return ConditionDecoder(_InternalParts(internal))
        parts, problems = self._schema_decoder(item)
        return ConditionDecoder(parts, problems, plain=[part for part in (KEY, VALUE) if getattr(self, part) == _STRING])

    def of_hits(self, item: FileItem) -> LogDecoder:
        """What decodes the records of a log that match, as listings do: if schemas are named, or a registry is beside them."""
        from kdump.decoding.log_decoder import LogDecoder

        internal = self._internal(item)
        if internal is not None:
            return LogDecoder(internal)
        if not self.is_asked_for and not self._has_registry(item):
            return LogDecoder(None)
        return LogDecoder(None, self._schema_decoder(item)[0], notes_shapes=True)

    def _internal(self, item: FileItem) -> Decoder | None:
        from kdump.decoding import decoded  # seldom needed, and slow to load

        topic = "" if item.path in self._spooled else decoded.internal_topic(item.path)
        return decoded.decoder_of(topic) if topic else None

    def _has_registry(self, item: FileItem) -> bool:
        if item.path in self._spooled:
            return False
        from kdump.schemas import topic

        return topic.beside(item.path) is not None

    def _schema_decoder(self, item: FileItem) -> tuple[SchemaDecoder, Mapping[str, list[str]]]:
        """The decoder by schemas, and what is wrong with the registry's topic, by its path."""
        if self._by_schema is None:
            from kdump.decoding.schemas_of_logs import SchemasOfLogs

            self._by_schema = SchemasOfLogs(self.key, self.value, self.schemas, self.command)
        is_spooled = item.path in self._spooled
        if is_spooled and self.schemas is None:
            return self._by_schema.decoder_beside_nothing(), {}
        decoder = self._by_schema.decoder_for(item.path, "" if is_spooled else item.topic or "")
        registry = self._by_schema.collection_of(item.path).registry
        return decoder, {} if registry is None or not registry.problem_count else {registry.path: registry.problems}

    def close(self) -> None:
        """End the command that decodes."""
        if self._by_schema is not None:
            self._by_schema.close()


class _InternalParts:
    """Keys and values of an internal topic, each on its own."""

    def __init__(self, decode: Decoder) -> None:
        self._decode = decode
        self._last: tuple[bytes | None, bytes | None, Decoded] | None = None

    def part(self, part: str, key: bytes | None, value: bytes | None, _headers: Headers | None) -> tuple[bool, Any]:
        """Whether there is a decoded value, and that value. Raises CorruptData."""
        import json

        if self._last is None or self._last[0] is not key or self._last[1] is not value:
            self._last = key, value, self._decode(key, value)
        one = self._last[2]
        text = one.key if part == KEY else one.value
        if text is None and one.fault is not None:
            raise one.fault.without_frames()  # it may have been raised before
        return text is not None, None if text is None else json.loads(text)


class ConditionDecoder:
    """Decodes keys and values of one log for conditions. `problems` say by path why schemas may be missing."""

    def __init__(
        self,
        parts: SchemaDecoder | _InternalParts,
        problems: Mapping[str, list[str]] | None = None,
        plain: Iterable[str] = (),
    ) -> None:
        from kdump.searching.json_path import document_of

        self._document_of = document_of
        self._wraps_data = isinstance(parts, _InternalParts)
        self._parts = parts
        self._plain = tuple(plain)
        self.problems = problems or {}

    def documents(self, part: str, key: bytes | None, value: bytes | None, headers: Headers | None) -> list[Any]:
        """A key or value as JSON; NaN, which equals nothing, for one that is no JSON, nothing for null. Raises Undecidable.

        For internal topics also the data in it, which tables show without what is around.
        """
        data = key if part == KEY else value
        if data is None:
            return []
        has_value, found = self._decoded(part, key, value, headers)
        if has_value:
            has_data = self._wraps_data and isinstance(found, dict) and "data" in found
            return [found, found["data"]] if has_data else [found]
        document = self._document_of(data)
        if data and part not in self._plain and not isinstance(document, dict | list) and not _is_text(data):
            raise Undecidable("schema-missing", f"the {part} is neither JSON nor text, and does not say which schema it has")
        return [document]

    def text(self, part: str, key: bytes | None, value: bytes | None, headers: Headers | None) -> tuple[str, bytes | None]:
        """The JSON of a key or value as text, and the field it is of; bytes without a schema as they are. Raises Undecidable."""
        has_value, found = self._decoded(part, key, value, headers)
        if not has_value:
            return part, key if part == KEY else value
        from kdump.schemas import json_values

        try:
            return DECODED_FIELDS[part], json_values.encode(found).encode("utf-8", "surrogatepass")
        except CorruptData as fault:
            raise Undecidable(fault.code, fault.message) from fault

    def _decoded(self, part: str, key: bytes | None, value: bytes | None, headers: Headers | None) -> tuple[bool, Any]:
        data = key if part == KEY else value
        if data is None:
            return False, None
        try:
            has_value, found = self._parts.part(part, key, value, headers)
        except CorruptData as fault:
            if part == VALUE and isinstance(self._document_of(data), dict | list):
                return False, None  # it is JSON without its schema
            raise Undecidable(fault.code, fault.message) from fault.without_frames()
        if not has_value and part not in self._plain and _is_single_object(data):
            raise Undecidable("schema-fingerprint-unknown", f"the {part} is of Avro, but no schema has its fingerprint")
        return has_value, found


def _is_text(data: bytes) -> bool:
    """Whether bytes are UTF-8 without control characters, except those between lines and words."""
    try:
        text = bytes(data).decode()
    except UnicodeDecodeError:
        return False
    return not _CONTROL.intersection(text)


def _is_single_object(data: bytes) -> bool:
    from kdump.schemas import framing

    return framing.by_fingerprint(data) is not None


def schemas_of(decoding: Decoding, items: Iterable[FileItem]) -> tuple[list[str], list[str]]:
    """The places where schemas for some files are looked for, and the files that are there."""
    from kdump.schemas import collection

    places: dict[str, None] = {}
    for path in {os.path.dirname(item.path): item.path for item in items}.values():
        places.update(dict.fromkeys(map(absolute, collection.places_of(path, decoding.schemas))))
    return list(places), [file for place in places for file in collection.files_at(place)]
