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

    def add(self, section: Section) -> None:
        """Record the nested batches at the start of a section."""
        batches = section.chunk.batches
        positions, sizes = batches["position"], batches["size"]
        count = sum(position < section.nested_end for position in positions)
        if count:
            start, _, before = self._run or (positions[0], 0, 0)
            self._run = start, positions[count - 1] + sizes[count - 1], before + count
        if count < len(positions):
            self.report()

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
