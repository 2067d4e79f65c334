"""The notation of the history: values and parts of lines in force from one release until another."""

from __future__ import annotations

from kdump.errors import UsageError
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeVar

    Value = TypeVar("Value")

FIRST = "0.8.0"
"""The first release of all."""


def version_of(release: str) -> tuple[int, ...]:
    """The numbers of a release, for comparison."""
    return tuple(int(number) for number in release.split("."))


class Part(Declared):
    """A part of a line, from the release `since` up to but not including `until`.

    `{names}` stand for fields of a row. `starts_write` marks where the tool begins another write: if it fails there, everything
    before it is already on stdout.
    """

    text: str
    since: str = FIRST
    until: str = ""
    starts_write: bool = False


class History:
    """Looks up values at one release."""

    def __init__(self, release: str) -> None:
        self.release = release
        self._version = version_of(release)
        self._reached: dict[str, bool] = {}

    def has_reached(self, release: str) -> bool:
        """Whether the release is this one or a later one."""
        known = self._reached.get(release)
        if known is None:
            known = self._reached[release] = version_of(release) <= self._version
        return known

    def at(self, timeline: Mapping[str, Value]) -> Value:
        """The value that held in the release; the timeline gives, in ascending order, the first release of each."""
        for since in reversed(tuple(timeline)):
            if self.has_reached(since):
                return timeline[since]
        raise UsageError(f"Kafka {self.release} has no value here; the first is of {next(iter(timeline))}")

    def find(self, timeline: Mapping[str, Value]) -> Value | None:
        """Like `at`; None if the release is before the timeline."""
        return self.at(timeline) if self.has_reached(next(iter(timeline))) else None

    def line(self, parts: Sequence[Part]) -> tuple[str, ...]:
        """A line as the texts of its writes."""
        writes = [""]
        for part in parts:
            if self.has_reached(part.since) and not (part.until and self.has_reached(part.until)):
                if part.starts_write and writes[-1]:
                    writes.append("")
                writes[-1] += part.text
        return tuple(writes)
