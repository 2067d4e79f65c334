"""Batches inside the bytes that a damaged batch claims: payload that looks like batches, or the batches that follow it."""

from __future__ import annotations

from itertools import groupby

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
        """Record the nested batches of a section, and report the run that others end."""
        if not section.nested:
            self.report()
            return
        positions, sizes = section.chunk.batches["position"], section.chunk.batches["size"]
        row = 0
        for is_nested, run in groupby(section.nested):
            start, row = row, row + len(list(run))
            if is_nested:
                first, _, before = self._run or (positions[start], 0, 0)
                self._run = first, positions[row - 1] + sizes[row - 1], before + row - start
            else:
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
