"""The schemas of a listing: those that are asked for, or the registry that lies beside the data."""

from __future__ import annotations

import os

from kdump.binary import system
from kdump.cli.shared_options import STDIN
from kdump.formats import file_name, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.cli.listing.request import Request
    from kdump.decoding.schema_decoder import SchemaDecoder
    from kdump.schemas.collection import Collection
    from kdump.schemas.own import Command

_REGISTRY = "_schemas-0"


class SchemasOfRun:
    """Makes decoders of records by schema. A registry is read once, for all partitions beside it.

    `find` takes what is wrong with it; `is_unread` is whether the system did not give all of one.
    """

    def __init__(self, request: Request, find: Callable[[str, str], None]) -> None:
        self.is_unread = False
        self._request = request
        self._find = find
        self._decoder: Command | None = None
        self._collections: dict[str, Collection] = {}  # by log directory

    def decoder_of(self, path: str) -> SchemaDecoder | None:
        """The decoder of a log's records; None if there are no schemas for them. Raises UsageError."""
        request = self._request
        if request.output == "kafka" or not request.is_deep:
            return None
        if not request.asks_for_schemas and (request.decode != "auto" or not _has_registry(path)):
            return None
        from kdump.decoding.schema_decoder import decoder_of_parts

        topic = "" if path.startswith(STDIN) else file_name.topic(path)
        return decoder_of_parts(self._collection(path), *request.part_decoders, topic, self._command())

    def close(self) -> None:
        """End the command that decodes."""
        if self._decoder is not None:
            self._decoder.close()

    def _command(self) -> Command | None:
        command = self._request.decoder_command
        if command is not None and self._decoder is None:
            from kdump.schemas.own import Command

            self._decoder = Command(command)
        return self._decoder

    def _collection(self, path: str) -> Collection:
        from kdump.schemas.collection import collection_of

        request = self._request
        log_directory = tree.log_directory_of(path)
        if log_directory not in self._collections:
            kinds = [decoder.partition(":")[0] for decoder in request.part_decoders if decoder]
            collection = collection_of(path, request.schemas, kinds[-1] if kinds else "")
            self._collections[log_directory] = collection
            self._say_problems(collection)
        return self._collections[log_directory]

    def _say_problems(self, collection: Collection) -> None:
        """Report what is wrong with the registry's topic: schemas may be missing."""
        registry = collection.registry
        if registry is None:
            return
        self.is_unread = self.is_unread or not registry.is_read
        for problem in registry.problems:
            self._find(registry.path, f"schemas may be missing: {problem}")
        more = registry.problem_count - len(registry.problems)
        if more:
            self._find(registry.path, f"schemas may be missing for {more:,} more reasons")


def _has_registry(path: str) -> bool:
    """Whether a registry's topic lies beside the partition of a segment. Looks without importing what reads it."""
    if path.startswith(STDIN):
        return False
    return system.is_directory(os.path.join(tree.log_directory_of(path), _REGISTRY))
