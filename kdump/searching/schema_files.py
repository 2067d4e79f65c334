"""The files with the schemas of a search: their digests, and whether they stay the same while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kdump.binary.source import Source
from kdump.errors import KdumpError, Unreadable
from kdump.output.rows.hits import NotRead
from kdump.searching.digests import digest, identity

if TYPE_CHECKING:
    from collections.abc import Sequence


class SchemaFiles:
    """Schema files as they are now. `places` are where they were looked for, `files` what a certificate says of each."""

    def __init__(self, places: Sequence[str], paths: Sequence[str]) -> None:
        self.places = list(places)
        self.files: list[dict[str, Any]] = []
        self.not_read: list[NotRead] = []
        self._identities: dict[str, tuple[int, ...]] = {}
        for path in paths:
            try:
                with Source(path) as source:
                    self._identities[path] = identity(source)
                    self.files.append({"path": path, "size": source.size, "sha256": digest(source)})
            except KdumpError as error:
                code = error.code if isinstance(error, Unreadable) else "file-not-examined"
                self.not_read.append(_not_read(path, code, error.message))

    def changed(self) -> list[NotRead]:
        """Those that are not the same any more."""
        found = []
        for path, before in self._identities.items():
            try:
                with Source(path) as source:
                    is_same = identity(source) == before
            except KdumpError:
                is_same = False
            if not is_same:
                found.append(_not_read(path, "file-changed", "schemas were changed while they were used"))
        return found


def _not_read(path: str, code: str, message: str) -> NotRead:
    return NotRead(path, None, None, None, None, code, message)
