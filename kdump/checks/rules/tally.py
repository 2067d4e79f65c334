"""Counts what is reported once a file, with the first place where it was seen."""

from __future__ import annotations

from kdump.checks.wording import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.context import FileContext


class Tally:
    """How often something was seen, `one` or `many` of what, and where first."""

    __slots__ = ("count", "end", "many", "note", "offsets", "one", "start")

    def __init__(self, one: str = "batch", many: str = "batches") -> None:
        self.one = one
        self.many = many
        self.count = 0
        self.start = self.end = 0
        self.offsets: tuple[int, int] | None = None
        self.note = ""

    def add(self, start: int, end: int, offsets: tuple[int, int] | None, note: str = "", count: int = 1) -> None:
        """Seen here; only the first place and its note are kept."""
        if not self.count:
            self.start, self.end, self.offsets, self.note = start, end, offsets, note
        self.count += count

    def report(self, context: FileContext, code: str, message: str, *, severity: str | None = None) -> None:
        """Say so, if it was seen. In the message, {count} and {note} are filled in, the count with its noun."""
        if self.count:
            text = message.format(count=counted(self.count, self.one, self.many), note=self.note)
            context.report(code, self.start, self.end, text, severity=severity, offsets=self.offsets, found=self.count)
