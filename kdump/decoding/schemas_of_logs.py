"""The schemas of logs: those that are named, or of the registry beside the data, read once for each log directory."""

from __future__ import annotations

from kdump.decoding.schema_decoder import decoder_of_parts
from kdump.formats import tree
from kdump.schemas.collection import Collection, collection_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.decoding.schema_decoder import SchemaDecoder
    from kdump.schemas.own import Command


class SchemasOfLogs:
    """Makes decoders of records by schema.

    `key` and `value` are decoders as the options name them, such as `avro:shop.Order`; without one, the data say which schema
    they have. `schemas` is where schemas are; by default in `_schemas-0` beside the data. `command` is what the decoder `cmd`
    runs. Raises UsageError for a command that cannot be read.
    """

    def __init__(self, key: str, value: str, schemas: str | None, command: str | None = None) -> None:
        self._key = key
        self._value = value
        self._schemas = schemas
        self._command: Command | None = None
        self._collections: dict[str, Collection] = {}  # by log directory
        if command is not None:
            from kdump.schemas.own import Command

            self._command = Command(command)

    def decoder_of(self, path: str) -> SchemaDecoder | None:
        """The decoder of a log's records; None for internal topics. Raises UsageError, and Unreadable for a path of schemas."""
        topic = tree.topic_of(path)
        return None if topic.startswith("__") else self.decoder_for(path, topic)

    def decoder_for(self, path: str, topic: str) -> SchemaDecoder:
        """The same for the log of any topic."""
        return self._decoder(self.collection_of(path), topic)

    def decoder_beside_nothing(self) -> SchemaDecoder:
        """The same for a file that is not where its data came from, so that no registry is beside it."""
        return self._decoder(Collection(), "")

    def _decoder(self, collection: Collection, topic: str) -> SchemaDecoder:
        return decoder_of_parts(collection, self._key, self._value, topic, self._command)

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

    def close(self) -> None:
        """End the command that decodes."""
        if self._command is not None:
            self._command.close()
