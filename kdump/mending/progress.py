"""Receives how much of a run has been done."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Progress:
    """Counts bytes; `draw`, if given, shows how many of all are done. Each log counts several times, as often as it is read."""

    def __init__(self, draw: Callable[[int, int], object] | None = None) -> None:
        self._draw = draw
        self._done = self._total = 0

    def start(self, total: int) -> None:
        """All steps together read this many bytes."""
        self._total = total

    def advance(self, count: int) -> None:
        """Count bytes that were read."""
        self._done += count
        if self._draw is not None:
            self._draw(min(self._done, self._total), self._total)
