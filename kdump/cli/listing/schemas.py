"""The schemas of a listing: those that are asked for, or the registry that lies beside the data."""

from __future__ import annotations

import os

from kdump.binary import system
from kdump.cli.shared_options import STDIN
from kdump.formats import tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.cli.listing.request import Request
    from kdump.decoding.schema_decoder import SchemaDecoder
    from kdump.decoding.schemas_of_logs import SchemasOfLogs
    from kdump.schemas.registry import Registry

_REGISTRY = "_schemas-0"


class SchemasOfRun:
    """Makes decoders of records by schema, where the request asks for them or a registry is beside the data.

    `find` takes what is wrong with a registry; `is_unread` is whether the system did not give all of one.
    """

    def __init__(self, request: Request, find: Callable[[str, str], None]) -> None:
        self.is_unread = False
        self._request = request
        self._find = find
        self._of_logs: SchemasOfLogs | None = None
        self._said: set[str] = set()  # paths of registries

    def decoder_of(self, path: str) -> SchemaDecoder | None:
        """The decoder of a log's records; None if there are no schemas for them. Raises UsageError."""
        request = self._request
        if request.output == "kafka":
            return None
        if not request.asks_for_schemas and (request.decode != "auto" or not _has_registry(path)):
            return None
        if self._of_logs is None:
            from kdump.decoding.schemas_of_logs import SchemasOfLogs

            self._of_logs = SchemasOfLogs(*request.part_decoders, request.schemas, request.decoder_command)
        registry = self._of_logs.collection_of(path).registry
        if registry is not None and registry.path not in self._said:
            self._said.add(registry.path)
            self._say_problems(registry)
        return self._of_logs.decoder_for(path, "" if path.startswith(STDIN) else tree.topic_of(path))

    def close(self) -> None:
        """End the command that decodes."""
        if self._of_logs is not None:
            self._of_logs.close()

    def _say_problems(self, registry: Registry) -> None:
        """Report what is wrong with the registry's topic: schemas may be missing."""
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
