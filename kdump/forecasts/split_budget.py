"""How far a start is followed that splits segments again and again."""

from __future__ import annotations

from kdump.formats import file_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_FREE_SEGMENTS = 2_000
_BYTES_PER_SEGMENT = 2 << 10


class TooManySplits(Exception):
    """A start makes or loads more segments, because it splits some, than it is followed for. `most` is how many."""

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self.most = most


class SplitBudget:
    """The segments that splits may make, and those that may be loaded once more because of them.

    A broker loads all segments again after each split. Of batches of the usual size, as many splits as there are batches are
    followed.
    """

    def __init__(self, sizes: Mapping[str, int]) -> None:
        """`sizes` are those of all files of the partition, by their names."""
        logs = sum(size for name, size in sizes.items() if name.endswith(file_name.LOG))
        self._most = self._left = _FREE_SEGMENTS + logs // _BYTES_PER_SEGMENT

    def spend(self, segments: int) -> None:
        """Raises TooManySplits if fewer are left."""
        self._left -= segments
        if self._left < 0:
            raise TooManySplits(self._most)
