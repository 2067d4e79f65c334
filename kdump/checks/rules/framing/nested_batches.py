"""Batches inside the bytes that a damaged batch claims: payload that looks like batches, or the batches that follow it."""

from __future__ import annotations

from kdump.checks.wording import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.context import FileContext
    from kdump.reading.items import Section


class NestedBatches:
    """Neighbouring nested batches, reported together when the last of them is known."""

    def __init__(self, context: FileContext) -> None:
        self._context = context
        self._run: tuple[int, int, int] | None = None  # start, end, number of batches

    def take(self, section: Section) -> None:
        """Record a nested batch, or report the run that others end."""
        if not section.is_nested:
            self.report()
            return
        batch = section.chunk.batches.row(0)
        first, _, before = self._run or (batch.position, 0, 0)
        self._run = first, batch.position + batch.size, before + 1

    def report(self) -> None:
        """Report the run of nested batches that has ended, if there is one."""
        if self._run is None:
            return
        (start, end, count), self._run = self._run, None
        message = (
            f"{counted(count, 'batch', 'batches')} stand{'s' if count == 1 else ''} inside the bytes "
            "that a damaged batch claims. They may be its payload, or the batches that actually follow it."
        )
        self._context.report("resync-nested-candidate", start, end, message, found=count)
