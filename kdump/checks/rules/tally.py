"""Counts what one finding reports for the whole file, at the first place."""

from __future__ import annotations

from kdump.checks.wording import counted
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.context import FileContext
    from kdump.formats.record_batch import RecordBatch


class Tally(Declared):
    """The number of things of a kind, called `one` or `many`, and the first place.

    {count} in the message becomes the count with its noun, {note} the note.
    """

    code: str
    message: str
    one: str
    many: str
    severity: str | None
    count: int = 0
    start: int = 0
    end: int = 0
    offsets: tuple[int, int] | None = None
    note: str = ""

    def add(self, start: int, end: int, offsets: tuple[int, int] | None, note: str = "", count: int = 1) -> None:
        """Count one in these bytes; only the first place and its note are kept."""
        if not self.count:
            self.start, self.end, self.offsets, self.note = start, end, offsets, note
        self.count += count

    def add_batch(self, batch: RecordBatch, note: str = "", count: int = 1) -> None:
        """Count a batch."""
        self.add(batch.position, batch.position + batch.size, (batch.first_offset, batch.last_offset), note, count)

    def report(self, context: FileContext) -> None:
        """Report them in one finding."""
        text = self.message.format(count=counted(self.count, self.one, self.many), note=self.note)
        context.report(self.code, self.start, self.end, text, severity=self.severity, offsets=self.offsets, found=self.count)
