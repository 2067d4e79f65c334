"""What a scan takes over from an earlier one, so that it need not be read again."""

from __future__ import annotations

from typing import NamedTuple

FILES, FINDINGS = "files", "findings"


class Kept(NamedTuple):
    """The files and partitions whose rows are taken over."""

    files: frozenset[str] = frozenset()
    partitions: frozenset[str] = frozenset()

    def of(self, table: str) -> frozenset[str]:
        """The paths that need not be read for a table. The table of files is made from directories, and always new."""
        return frozenset() if table == FILES else self.partitions if table == FINDINGS else self.files


NOTHING = Kept()
