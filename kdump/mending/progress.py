"""Receives how much of a run has been done."""

from __future__ import annotations


class Progress:
    """Counts bytes; a subclass shows them."""

    def __init__(self) -> None:
        self._done = 0

    def start(self, total: int) -> None:
        """All steps together read this many bytes."""

    def at(self, done: int) -> None:
        """This many bytes are done."""

    def advance(self, count: int) -> None:
        """Count bytes that were read."""
        self._done += count
        self.at(self._done)
