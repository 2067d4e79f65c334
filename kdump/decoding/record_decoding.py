"""Decodes the records of a table by their schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdump.decoding.decoded import Decoded
from kdump.decoding.schema_decoder import decoder_of_parts
from kdump.errors import CorruptData
from kdump.formats import file_name, tree
from kdump.schemas.bounds import TOO_LARGE
from kdump.schemas.collection import Collection, collection_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from kdump.decoding.schema_decoder import SchemaDecoder
    from kdump.formats.record import RecordChunk
    from kdump.schemas.own import Command

MAX_TABLE = 64 << 20
"""Characters of JSON that the records of one table become at most; further ones are not decoded."""


class RecordDecoding:
    """How keys and values are decoded: by which decoders, and with the schemas of which path, or of those beside the data.

    `command` is what the decoder `cmd` asks.
    """

    def __init__(self, key: str, value: str, schemas: str | None, command: Command | None = None) -> None:
        self._key = key
        self._value = value
        self._schemas = schemas
        self._command = command
        self._collections: dict[str, Collection] = {}  # by log directory

    def decoder_of(self, path: str) -> SchemaDecoder | None:
        """The decoder of a log's records; None for internal topics. Raises UsageError, and Unreadable for a path of schemas."""
        topic = file_name.topic(path)
        return None if topic.startswith("__") else self.decoder_for(path, topic)

    def decoder_for(self, path: str, topic: str) -> SchemaDecoder:
        """The same for the log of any topic."""
        return decoder_of_parts(self.collection_of(path), self._key, self._value, topic, self._command)

    def collection_of(self, path: str) -> Collection:
        """The schemas for the records of a log. Raises UsageError, and Unreadable."""
        log_directory = tree.log_directory_of(path)
        if log_directory not in self._collections:
            kind = (self._value or self._key).partition(":")[0]
            self._collections[log_directory] = collection_of(path, self._schemas, kind)
        return self._collections[log_directory]

    def unread(self, path: str) -> str | None:
        """Why schemas for the records of a log may be missing, where the system did not give all of the registry's topic."""
        registry = self.collection_of(path).registry
        if registry is None or registry.is_read:
            return None
        return f"schemas may be missing: {registry.path}: {registry.problems[0]}"


def columns(decoder: SchemaDecoder, part: RecordChunk) -> dict[str, Any]:
    """The columns of decoded keys and values of some records."""
    found = list(_decoded(decoder, part))
    errors = [None if one.fault is None else f"{one.fault.code}: {one.fault.message}" for one in found]
    return {
        "decoded_key": [one.key for one in found],
        "decoded_value": [one.value for one in found],
        "key_schema": [one.key_schema for one in found],
        "value_schema": [one.value_schema for one in found],
        "decode_error": errors,
    }


def _decoded(decoder: SchemaDecoder, part: RecordChunk) -> Iterator[Decoded]:
    size = 0
    rows = zip(*(part.records[name] for name in ("key", "value", "headers")), strict=True)
    for is_control, count in zip(part.batches["is_control"], part.counts, strict=True):
        for _ in range(count):
            key, value, headers = next(rows)
            if is_control:
                yield Decoded()
            elif size > MAX_TABLE:
                yield Decoded(
                    fault=CorruptData(TOO_LARGE, f"the records before it became more than {MAX_TABLE >> 20} MiB of JSON")
                )
            else:
                decoder.note_shapes(key, value, headers)
                one = decoder.decode(key, value, headers)
                one.raw_key = one.raw_value = None
                size += len(one.key or "") + len(one.value or "")
                yield one
